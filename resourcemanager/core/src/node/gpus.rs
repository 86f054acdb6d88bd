//! The device ledgers of nodes, kept in step with containers, heartbeats and the scheduler.
//! May touch: `Rm`.
//! Must not: free a device before its NodeManager says so (the ledger does not let it).

use yarn_types::{
    ContainerId, ContainerState, MILLI, NodeId, Resource,
    gpu::{DeviceChange, DeviceGrant, DeviceReport, GpuHealth},
};

use crate::{
    container::{EndCause, Ended},
    effect::{Action, Effect, Note},
    event::NodeContainer,
    gpu::{HeldDevices, NodeGpus},
    rm::Rm,
    sched::NodeIdx,
};

impl Rm {
    /// Whole devices in `resource`.
    pub(crate) fn devices_in(&self, resource: Resource) -> usize {
        let lane = self.sched.types().gpu_lane();
        let amount = lane.map_or(0, |lane| resource.0[lane]);
        usize::try_from(amount.saturating_add(MILLI - 1) / MILLI).unwrap_or(0)
    }

    /// The ledger that a registration's list makes, after the node's earlier one.
    pub(crate) fn registered_gpus(
        &self,
        idx: NodeIdx,
        list: Option<&(u64, Vec<DeviceReport>)>,
        containers: &[NodeContainer],
    ) -> Option<NodeGpus> {
        self.sched.types().gpu_lane()?;
        let (seq, devices) = list?;
        // A live container that claims other than it was granted has nothing, and ends.
        let granted = |c: &NodeContainer| {
            let live = self.containers.get(&c.id).filter(|live| live.node == idx);
            live.is_none_or(|live| self.devices_in(live.resource) == c.gpus.len())
        };
        let held: Vec<HeldDevices> = containers
            .iter()
            .filter(|c| c.state != ContainerState::Complete && !c.gpus.is_empty())
            .filter(|c| granted(c))
            .map(|c| HeldDevices {
                container: c.id,
                grants: c.gpus.clone(),
            })
            .collect();
        let start = u64::try_from(self.cluster_timestamp).unwrap_or(0);
        let mut gpus = NodeGpus::registered(*seq, devices.clone(), &held, start);
        if let Some(before) = &self.nodes[idx.at()].gpus {
            gpus.continue_from(before);
        }
        Some(gpus)
    }

    /// `total` with the GPUs that the ledger counts on, where there is one.
    pub(crate) fn with_gpus(&self, total: Resource, gpus: Option<&NodeGpus>) -> Resource {
        match (self.sched.types().gpu_lane(), gpus) {
            (Some(lane), Some(gpus)) => {
                let usable = i64::try_from(gpus.usable()).unwrap_or(i64::MAX);
                total.with(lane, usable.saturating_mul(MILLI))
            }
            _ => total,
        }
    }

    /// After a registration's containers were compared with the books: what the node holds for
    /// nobody is on its way out, and what lost its devices ends.
    pub(crate) fn settle_gpus(&mut self, idx: NodeIdx, out: &mut Vec<Effect>) {
        let Some(gpus) = &self.nodes[idx.at()].gpus else {
            return;
        };
        out.push(note(format!(
            "{} has {} GPUs, {} usable",
            self.nodes[idx.at()].id,
            gpus.devices().count(),
            gpus.usable()
        )));
        let live = |c: &ContainerId| self.nodes[idx.at()].containers.contains(c);
        let strays: Vec<ContainerId> = gpus
            .holders()
            .filter(|(c, counts)| *counts && !live(c))
            .map(|(c, _)| c)
            .collect();
        let node = &mut self.nodes[idx.at()];
        if let Some(gpus) = &mut node.gpus {
            for stray in strays {
                gpus.ended(stray);
            }
            let leaving: Vec<ContainerId> = gpus.leaving().collect();
            for id in leaving {
                node.kill(id);
            }
        }
        self.end_without_devices(idx, out);
        self.gpus_changed(idx);
    }

    /// Ends containers whose devices are lost or held by others.
    fn end_without_devices(&mut self, idx: NodeIdx, out: &mut Vec<Effect>) {
        let node = &self.nodes[idx.at()];
        let Some(gpus) = &node.gpus else {
            return;
        };
        let mut lost = gpus.lost();
        for id in &node.containers {
            let wanted = self
                .containers
                .get(id)
                .map_or(0, |c| self.devices_in(c.resource));
            let held = gpus.held_by(*id).len();
            if held != wanted {
                let text = format!("gpu lost: the node has {held} of its {wanted} devices");
                lost.push((*id, text));
            }
        }
        self.end_lost(lost, out);
    }

    fn end_lost(&mut self, lost: Vec<(ContainerId, String)>, out: &mut Vec<Effect>) {
        for (id, text) in lost {
            out.push(note(format!("{id} ends: {text}")));
            let ended = Ended {
                diagnostics: text,
                ..Ended::by_rm(EndCause::DeviceLost)
            };
            self.end_container(id, ended, out);
        }
    }

    /// Changes that a heartbeat brings, also one whose answer is repeated.
    pub(crate) fn on_gpu_changes(
        &mut self,
        idx: NodeIdx,
        changes: Option<&(u64, Vec<DeviceChange>)>,
        out: &mut Vec<Effect>,
    ) {
        let node = &mut self.nodes[idx.at()];
        let (Some((seq, changes)), Some(gpus)) = (changes, &mut node.gpus) else {
            return;
        };
        if *seq <= gpus.seq() {
            return;
        }
        for change in changes.iter().filter(|change| gpus.is_news(change)) {
            out.push(note(change_text(&node.id, change)));
        }
        let lost = gpus.apply(*seq, changes);
        self.end_lost(lost, out);
        self.gpus_changed(idx);
    }

    /// Why a heartbeat in turn does not follow on the node's ledger, if so.
    pub(crate) fn gpus_out_of_step(
        &mut self,
        idx: NodeIdx,
        changes: Option<&(u64, Vec<DeviceChange>)>,
    ) -> Option<String> {
        let node = &mut self.nodes[idx.at()];
        let (seq, _) = changes?;
        let gpus = node.gpus.as_mut()?;
        (!gpus.follows(*seq)).then(|| {
            let (id, applied) = (&node.id, gpus.seq());
            format!("GPU changes of {id} are out of step: {applied} applied, {seq} sent")
        })
    }

    /// A heartbeat in turn proves that the last answer arrived: what that listed for cleanup, and
    /// the node does not run, gives its devices back.
    pub(crate) fn gpu_answer_received(&mut self, idx: NodeIdx, statuses: &[NodeContainer]) {
        let Some(gpus) = &mut self.nodes[idx.at()].gpus else {
            return;
        };
        gpus.answer_received(|id| {
            let runs = |c: &NodeContainer| c.id == id && c.state != ContainerState::Complete;
            statuses.iter().any(runs)
        });
        self.gpus_changed(idx);
    }

    /// An answer to the node lists these for cleanup.
    pub(crate) fn gpu_cleanup_listed(&mut self, idx: NodeIdx, listed: &[ContainerId]) {
        if let Some(gpus) = &mut self.nodes[idx.at()].gpus {
            for id in listed {
                gpus.cleanup_listed(*id);
            }
        }
    }

    /// The node says that a container is complete.
    pub(crate) fn gpu_completed(&mut self, idx: NodeIdx, id: ContainerId) {
        if let Some(gpus) = &mut self.nodes[idx.at()].gpus
            && gpus.holders().any(|(holder, _)| holder == id)
        {
            gpus.completed(id);
            self.gpus_changed(idx);
        }
    }

    /// Number of the last change applied, for the node.
    pub(crate) fn gpu_seq(&self, idx: NodeIdx) -> Option<u64> {
        self.nodes[idx.at()].gpus.as_ref().map(NodeGpus::seq)
    }

    /// Devices for a container that was just granted on a node; `None` where the ledger has too
    /// few, which the scheduler's room for devices rules out.
    pub(crate) fn grant_devices(
        &mut self,
        idx: NodeIdx,
        id: ContainerId,
        resource: Resource,
    ) -> Option<Vec<DeviceGrant>> {
        let count = self.devices_in(resource);
        let Some(gpus) = &mut self.nodes[idx.at()].gpus else {
            return Some(Vec::new());
        };
        if count == 0 {
            return Some(Vec::new());
        }
        let grants = gpus.grant(id, count);
        self.gpus_changed(idx);
        grants
    }

    /// The scheduler learns what the ledger says: devices that count, devices that are free.
    pub(crate) fn gpus_changed(&mut self, idx: NodeIdx) {
        let node = &self.nodes[idx.at()];
        let Some(gpus) = &node.gpus else {
            return;
        };
        let free = gpus.free().len();
        self.offer_changed(idx);
        self.sched.set_free_devices(idx, free);
    }
}

fn note(text: String) -> Effect {
    Effect::now(Action::Note(Note::Text(text)))
}

fn change_text(node: &NodeId, change: &DeviceChange) -> String {
    match change {
        DeviceChange::Gone(uuid) => format!("{node}: {uuid} is gone"),
        DeviceChange::Is(report) => {
            let uuid = &report.device.uuid;
            match (&report.device.health, &report.dirty) {
                (GpuHealth::Bad(why), _) => format!("{node}: {uuid} is lost: {why}"),
                (GpuHealth::Ok, Some(why)) => format!("{node}: {uuid} is dirty: {why}"),
                (GpuHealth::Ok, None) => format!("{node}: {uuid} can be used"),
            }
        }
    }
}
