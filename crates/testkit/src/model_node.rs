//! `ModelNode`: a NodeManager as the RM sees one, without processes.
//! May touch: the events and replies of `rm-core`, the device ledger of `nm-core`.
//! Must not: know time (its caller paces it).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use nm_core::gpu::Gpus;
use rm_core::{
    effect::{Grant, HeartbeatReply, NodeAction},
    event::{Heartbeat, NodeContainer, NodeHealth, NodeRegistration},
};
use yarn_types::{
    ApplicationId, ContainerId, ContainerState, NodeId, Resource, exit,
    gpu::{DeviceGrant, GpuDevice, GpuHealth},
};

/// Card number `n` of the node on `host`: healthy, alone on its NUMA node's half of four.
pub fn gpu_device(host: &str, n: u32) -> GpuDevice {
    GpuDevice {
        uuid: Arc::from(format!("GPU-{host}-{n}")),
        index: n,
        minor: n,
        pci: format!("00000000:{n:02X}:00.0"),
        model: "NVIDIA A100-SXM4-40GB".to_owned(),
        memory_mib: 40_960,
        numa: Some(n / 4),
        links: Vec::new(),
        health: GpuHealth::Ok,
    }
}

/// A node and what runs on it.
#[derive(Clone, Debug)]
pub struct ModelNode {
    /// Its id.
    pub id: NodeId,
    /// What it offers.
    pub total: Resource,
    /// It has registered and was not told to do so again.
    pub registered: bool,
    /// It was told to stop.
    pub stopped: bool,
    /// What it says of its health.
    pub healthy: bool,
    /// Response id of the last answer.
    pub response_id: i32,
    /// What it knows of containers, ended ones included until the RM lets it forget them.
    pub containers: BTreeMap<ContainerId, NodeContainer>,
    /// Applications it has heard of.
    pub apps: BTreeSet<ApplicationId>,
    /// Its devices, when it sends lists of them.
    pub gpus: Option<Gpus>,
    /// Containers that the RM had it clean up: their tokens are good for nothing any more.
    pub cleaned: BTreeSet<ContainerId>,
    /// Versions of the sizes of its containers, where they changed.
    pub versions: BTreeMap<ContainerId, i32>,
    /// Containers that grew since the last answer.
    pub increased: BTreeMap<ContainerId, Resource>,
    /// Why devices that the RM granted could not be used.
    pub gpu_faults: Vec<String>,
}

impl ModelNode {
    /// A node that has not registered.
    pub fn new(host: &str, total: Resource) -> Self {
        Self {
            id: NodeId::new(host, 45_454),
            total,
            registered: false,
            stopped: false,
            healthy: true,
            response_id: 0,
            containers: BTreeMap::new(),
            apps: BTreeSet::new(),
            gpus: None,
            cleaned: BTreeSet::new(),
            versions: BTreeMap::new(),
            increased: BTreeMap::new(),
            gpu_faults: Vec::new(),
        }
    }

    /// The same with these cards.
    #[must_use]
    pub fn with_gpus(mut self, cards: Vec<GpuDevice>) -> Self {
        self.read_gpus(cards);
        self
    }

    /// A reading of its cards; containers on lost ones end.
    pub fn read_gpus(&mut self, cards: Vec<GpuDevice>) {
        let gpus = self.gpus.get_or_insert_default();
        gpus.read(cards);
        for (id, why) in gpus.lost() {
            self.end(id, exit::ABORTED, &why);
        }
    }

    fn health(&self) -> NodeHealth {
        let report = if self.healthy {
            ""
        } else {
            "1/1 local-dirs are bad"
        };
        NodeHealth {
            healthy: self.healthy,
            report: report.to_owned(),
            reported_wall_ms: 0,
        }
    }

    /// Its registration.
    pub fn registration(&self) -> NodeRegistration {
        NodeRegistration {
            labels: None,
            node: self.id.clone(),
            http_port: 8042,
            rack: "/default-rack".into(),
            total: self.total,
            version: "3.5.0".to_owned(),
            containers: self
                .containers
                .values()
                .map(|c| self.recovered(c))
                .collect(),
            running_apps: self.apps.iter().copied().collect(),
            health: Some(self.health()),
            gpus: self.gpus.as_ref().map(Gpus::list),
        }
    }

    fn recovered(&self, container: &NodeContainer) -> NodeContainer {
        let gpus = self.gpus.as_ref();
        NodeContainer {
            gpus: gpus.map_or_else(Vec::new, |g| g.grants_of(container.id)),
            ..container.clone()
        }
    }

    fn echoed(&mut self, gpu_seq: Option<u64>) {
        if let (Some(gpus), Some(seq)) = (&mut self.gpus, gpu_seq) {
            gpus.echoed(seq);
        }
    }

    /// The RM's answer to the registration.
    pub fn on_registered(&mut self, action: NodeAction, gpu_seq: Option<u64>) {
        self.echoed(gpu_seq);
        self.registered = action == NodeAction::Normal;
        self.stopped = action == NodeAction::Shutdown;
        self.response_id = 0;
    }

    /// Its next heartbeat.
    pub fn heartbeat(&self) -> Heartbeat {
        Heartbeat {
            labels: None,
            node: self.id.clone(),
            response_id: self.response_id,
            containers: self.containers.values().cloned().collect(),
            increased: self.increased.iter().map(|(id, r)| (*id, *r)).collect(),
            health: self.health(),
            gpus: self.gpus.as_ref().map(Gpus::changes),
        }
    }

    /// The RM's answer to a heartbeat.
    pub fn on_heartbeat(&mut self, reply: &HeartbeatReply) {
        self.echoed(reply.gpu_seq);
        match reply.action {
            NodeAction::Normal => self.response_id = reply.response_id,
            NodeAction::Resync => self.registered = false,
            NodeAction::Shutdown => self.stopped = true,
        }
        self.increased.clear();
        for (_, grant) in &reply.containers_to_update {
            self.resize(grant);
        }
        for id in &reply.containers_to_cleanup {
            self.cleaned.insert(*id);
            self.end(*id, exit::KILLED_BY_RESOURCEMANAGER, "killed by the RM");
        }
        for id in &reply.containers_to_be_removed {
            self.containers.remove(id);
        }
        for app in &reply.applications_to_cleanup {
            self.apps.remove(app);
            let of_app: Vec<ContainerId> = self.running().filter(|c| c.app() == *app).collect();
            for id in of_app {
                self.end(id, exit::KILLED_BY_RESOURCEMANAGER, "application ended");
            }
            self.containers.retain(|id, _| id.app() != *app);
        }
    }

    /// An ApplicationMaster (or the launcher) starts a container on the devices in its token;
    /// false when it is known already, or was cleaned up. Where a device is at fault it ends.
    pub fn start(&mut self, id: ContainerId, resource: Resource, devices: &[DeviceGrant]) -> bool {
        if self.containers.contains_key(&id) || self.cleaned.contains(&id) {
            return false;
        }
        self.apps.insert(id.app());
        let container = NodeContainer {
            id,
            state: ContainerState::Running,
            resource,
            priority: 0,
            exit_status: 0,
            diagnostics: String::new(),
            created_wall_ms: 0,
            gpus: Vec::new(),
        };
        self.containers.insert(id, container);
        let taken = self.gpus.as_mut().map(|gpus| gpus.take(id, devices));
        if let Some(Err(fault)) = taken {
            self.end(id, exit::ABORTED, &fault.0);
            self.gpu_faults.push(fault.0);
        }
        true
    }

    /// A container gets the size in a token; false for a token that is older than its size, or
    /// of a container that does not run.
    pub fn resize(&mut self, grant: &Grant) -> bool {
        let id = grant.container;
        let version = self.versions.get(&id).copied().unwrap_or(0);
        let container = self.containers.get_mut(&id);
        let container = container.filter(|c| c.state == ContainerState::Running);
        let Some(container) = container.filter(|_| grant.version > version) else {
            return false;
        };
        self.versions.insert(id, grant.version);
        let was = std::mem::replace(&mut container.resource, grant.resource);
        if was != grant.resource && was.fits(grant.resource) {
            self.increased.insert(id, grant.resource);
        }
        true
    }

    /// A container ends; nothing happens to one that has ended.
    pub fn end(&mut self, id: ContainerId, exit_status: i32, diagnostics: &str) {
        if let Some(container) = self.containers.get_mut(&id)
            && container.state != ContainerState::Complete
        {
            container.state = ContainerState::Complete;
            container.exit_status = exit_status;
            diagnostics.clone_into(&mut container.diagnostics);
            if let Some(gpus) = &mut self.gpus {
                gpus.release(id, None);
            }
        }
    }

    /// It runs this container.
    pub fn runs(&self, id: ContainerId) -> bool {
        self.containers
            .get(&id)
            .is_some_and(|c| c.state == ContainerState::Running)
    }

    /// Containers that run.
    pub fn running(&self) -> impl Iterator<Item = ContainerId> + '_ {
        let running = self
            .containers
            .values()
            .filter(|c| c.state == ContainerState::Running);
        running.map(|c| c.id)
    }

    /// What all running containers hold.
    pub fn used(&self) -> Resource {
        let running = self
            .containers
            .values()
            .filter(|c| c.state == ContainerState::Running);
        running.fold(Resource::ZERO, |sum, c| sum.plus(c.resource))
    }
}
