//! What a node offers: what it registered, what an administrator made of that, and what goes when
//! it is less than what is held.
//! May touch: `Rm`.
//! Must not: change an account except through `sched`; make devices that the node does not have.

use std::cmp::Reverse;

use yarn_types::{ContainerId, NodeId, NodeState, Resource, exit};

use crate::{
    container::{EndCause, Ended},
    effect::{Action, Effect, Note},
    event::NodeOption,
    gpu::NodeGpus,
    liveness::Watched,
    reject::{Reject, RejectKind},
    rm::Rm,
    sched::NodeIdx,
};

/// The most of a type that one node offers, whatever it says: sums over nodes stay exact.
const AMOUNT_MAX: i64 = 1 << 44;

impl Rm {
    /// What the scheduler may count on: nothing beyond what is held while the node is
    /// DECOMMISSIONING (`AbstractYarnScheduler.nodeUpdate`), else [`Self::capped`].
    pub(crate) fn offered(&self, idx: NodeIdx) -> Resource {
        let node = &self.nodes[idx.at()];
        let going = node.state == NodeState::Decommissioning;
        #[cfg(feature = "mutants")]
        let going = going && self.mutant != Some(crate::mutant::Mutant::OfferWhileGoing);
        if going {
            return self.sched.node_used(idx).0;
        }
        self.capped(node.registered, node.gpus.as_ref(), node.admin_total)
    }

    /// An administrator's amounts stand for the registered ones, but for devices in the ledger:
    /// there they are the most that is granted at a time.
    pub(crate) fn capped(
        &self,
        registered: Resource,
        gpus: Option<&NodeGpus>,
        cap: Option<Resource>,
    ) -> Resource {
        let total = self.with_gpus(cap.unwrap_or(registered), gpus);
        let total = match (cap, self.sched.types().gpu_lane()) {
            (Some(cap), Some(lane)) => total.with(lane, total.0[lane].min(cap.0[lane])),
            _ => total,
        };
        Resource(total.0.map(|amount| amount.min(AMOUNT_MAX)))
    }

    /// The scheduler learns what a node offers now.
    pub(crate) fn offer_changed(&mut self, idx: NodeIdx) {
        let total = self.offered(idx);
        let node = &mut self.nodes[idx.at()];
        if node.total != total {
            node.total = total;
            self.sched.set_total(idx, total);
        }
    }

    /// `AdminService.updateNodeResource`: all of it, or nothing when a node is not active.
    pub(crate) fn update_node_resource(
        &mut self,
        options: &[NodeOption],
        out: &mut Vec<Effect>,
    ) -> Result<(), Reject> {
        if let Some(unknown) = options.iter().find(|o| self.active(&o.node).is_none()) {
            return Err(Reject::new(
                RejectKind::Yarn,
                format!(
                    "Resource update get failed on all nodes due to change resource on an \
                     unrecognized node: {}",
                    unknown.node
                ),
            ));
        }
        for option in options {
            if let Some(idx) = self.active(&option.node) {
                self.set_admin_total(idx, option, out);
            }
        }
        Ok(())
    }

    /// An active node by its id.
    fn active(&self, id: &NodeId) -> Option<NodeIdx> {
        let idx = *self.node_by_id.get(id)?;
        self.nodes[idx.at()].is_active().then_some(idx)
    }

    fn set_admin_total(&mut self, idx: NodeIdx, option: &NodeOption, out: &mut Vec<Effect>) {
        let node = &mut self.nodes[idx.at()];
        let before = node.total;
        node.admin_total = Some(option.total.at_least_zero());
        node.tell_resource = true;
        self.offer_changed(idx);
        let (types, timeout_ms) = (self.sched.types(), option.overcommit_timeout_ms);
        let node = &self.nodes[idx.at()];
        out.push(Effect::now(Action::Note(Note::Text(format!(
            "{} offers {} by an administrator's word, {} before (over-commit timeout {timeout_ms} ms)",
            node.id,
            types.show(node.total),
            types.show(before),
        )))));
        if node.total == before {
            return;
        }
        self.deadlines.remove(Watched::Overcommit(idx));
        match u64::try_from(timeout_ms) {
            Err(_) => {}
            Ok(0) => self.end_overcommit(idx, out),
            Ok(ms) => {
                let at = self.now.plus(ms);
                self.deadlines.set(Watched::Overcommit(idx), at);
                for id in self.beyond_offer(idx) {
                    if let Some((_, attempt)) = self.current_attempt_of(id) {
                        attempt.preempting.insert(id);
                    }
                }
            }
        }
    }

    /// Ends containers until the rest fits what the node offers.
    pub(crate) fn end_overcommit(&mut self, idx: NodeIdx, out: &mut Vec<Effect>) {
        for id in self.beyond_offer(idx) {
            let ended = Ended {
                exit_status: exit::PREEMPTED,
                ..Ended::by_rm(EndCause::Preempted)
            };
            self.end_container(id, ended, out);
        }
    }

    /// The containers without which the rest fits what the node offers: ApplicationMasters last,
    /// the newest first (`SchedulerNode.getContainersToKill`).
    fn beyond_offer(&self, idx: NodeIdx) -> Vec<ContainerId> {
        let node = &self.nodes[idx.at()];
        let held = node
            .containers
            .iter()
            .filter_map(|c| self.containers.get(c));
        let mut held: Vec<_> = held.collect();
        held.sort_by_key(|c| (c.is_am, Reverse((c.granted_at, c.id))));
        let calculator = self.sched.calculator();
        let mut used = self.sched.node_used(idx).0;
        let mut beyond = Vec::new();
        for container in held {
            if calculator.fits(used, node.total) {
                break;
            }
            used = used.minus(container.resource);
            beyond.push(container.id);
        }
        beyond
    }
}
