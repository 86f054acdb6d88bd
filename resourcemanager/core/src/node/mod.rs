//! Nodes: registration, heartbeats, health, and how they leave.
//! May touch: `Rm`, through the handlers of this folder.
//! Must not: change an account except through `sched`.

mod decommission;
mod gpus;
mod leave;
mod offer;
pub mod state;
mod tracker;
mod version;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use yarn_types::{ApplicationId, ContainerId, NodeId, NodeState, Resource};

use crate::{
    event::{SignalCommand, UpdateKind},
    gpu::NodeGpus,
};

pub use decommission::Decommissioning;
pub use state::NodeEvent;
pub(crate) use tracker::next_response_id;

/// A node that registered once; it is kept after it has gone, as `yarn node -list -all` shows it.
#[derive(Clone, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Node {
    /// Its id as registered.
    pub id: NodeId,
    /// Web port.
    pub http_port: u16,
    /// Its rack.
    pub rack: Arc<str>,
    /// What it offers: what it registered, as GPUs, administrators and its way out leave it.
    pub total: Resource,
    /// What it registered.
    pub registered: Resource,
    /// What an administrator has it offer instead (`updateNodeResource`, dynamic-resources.xml).
    pub admin_total: Option<Resource>,
    /// Its next heartbeat's answer says what an administrator has it offer.
    pub tell_resource: bool,
    /// What it waits for, while it is DECOMMISSIONING.
    pub decommissioning: Option<Decommissioning>,
    /// Its version text.
    pub version: String,
    /// Its state.
    pub state: NodeState,
    /// Its words on its health.
    pub health_report: String,
    /// Wall milliseconds of the last health check.
    pub health_wall_ms: i64,
    /// Wall milliseconds of the last heartbeat.
    pub heartbeat_wall_ms: i64,
    /// Response id of the last heartbeat answer; 0 after registration.
    pub response_id: i32,
    /// A heartbeat has been answered since registration, so that it can be answered again.
    pub answered: bool,
    /// Live containers on it.
    pub containers: BTreeSet<ContainerId>,
    /// Words for its next heartbeat.
    pub outbox: NodeOutbox,
    /// Its devices, when it sent a list. Kept when it has gone: grants go on counting when it
    /// comes back.
    pub gpus: Option<NodeGpus>,
}

/// What the next heartbeat answer carries.
#[derive(Clone, Default, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct NodeOutbox {
    /// Containers to kill.
    pub kill: BTreeSet<ContainerId>,
    /// Applications that ended.
    pub ended_apps: BTreeSet<ApplicationId>,
    /// Completed containers that it may forget.
    pub acknowledged: BTreeSet<ContainerId>,
    /// Signals to pass on.
    pub signals: BTreeMap<ContainerId, SignalCommand>,
    /// Containers that get another size.
    pub updates: BTreeMap<ContainerId, UpdateKind>,
}

impl Node {
    /// `host:port` of its web page.
    pub fn http_address(&self) -> String {
        format!("{}:{}", self.id.host, self.http_port)
    }

    /// It may send heartbeats.
    pub fn is_active(&self) -> bool {
        state::is_active(self.state)
    }

    pub(crate) fn step(&mut self, event: NodeEvent) -> bool {
        match state::after(self.state, event) {
            Some(next) => {
                self.state = next;
                true
            }
            None => false,
        }
    }

    pub(crate) fn kill(&mut self, id: ContainerId) {
        if self.is_active() {
            self.outbox.kill.insert(id);
        }
    }

    pub(crate) fn acknowledge(&mut self, id: ContainerId) {
        if self.is_active() {
            self.outbox.acknowledged.insert(id);
        }
    }
}
