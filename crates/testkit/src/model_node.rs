//! `ModelNode`: a NodeManager as the RM sees one, without processes.
//! May touch: the events and replies of `rm-core`.
//! Must not: know time (its caller paces it).

use std::collections::{BTreeMap, BTreeSet};

use rm_core::{
    effect::{HeartbeatReply, NodeAction},
    event::{Heartbeat, NodeContainer, NodeHealth, NodeRegistration},
};
use yarn_types::{ApplicationId, ContainerId, ContainerState, NodeId, Resource, exit};

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
            node: self.id.clone(),
            http_port: 8042,
            rack: "/default-rack".into(),
            total: self.total,
            version: "3.5.0".to_owned(),
            containers: self.containers.values().cloned().collect(),
            running_apps: self.apps.iter().copied().collect(),
            health: Some(self.health()),
        }
    }

    /// The RM's answer to the registration.
    pub fn on_registered(&mut self, action: NodeAction) {
        self.registered = action == NodeAction::Normal;
        self.stopped = action == NodeAction::Shutdown;
        self.response_id = 0;
    }

    /// Its next heartbeat.
    pub fn heartbeat(&self) -> Heartbeat {
        Heartbeat {
            node: self.id.clone(),
            response_id: self.response_id,
            containers: self.containers.values().cloned().collect(),
            health: self.health(),
        }
    }

    /// The RM's answer to a heartbeat.
    pub fn on_heartbeat(&mut self, reply: &HeartbeatReply) {
        match reply.action {
            NodeAction::Normal => self.response_id = reply.response_id,
            NodeAction::Resync => self.registered = false,
            NodeAction::Shutdown => self.stopped = true,
        }
        for id in &reply.containers_to_cleanup {
            self.end(*id, exit::KILLED_BY_RESOURCEMANAGER, "killed by the RM");
        }
        for id in &reply.containers_to_be_removed {
            self.containers.remove(id);
        }
        for app in &reply.applications_to_cleanup {
            self.apps.remove(app);
            self.containers.retain(|id, _| id.app() != *app);
        }
    }

    /// An ApplicationMaster (or the launcher) starts a container; false when it is known already.
    pub fn start(&mut self, id: ContainerId, resource: Resource) -> bool {
        if self.containers.contains_key(&id) {
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
        };
        self.containers.insert(id, container);
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
