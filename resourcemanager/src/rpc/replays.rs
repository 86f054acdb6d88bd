//! Last answers to `allocate` and `nodeHeartbeat`, sent again word for word when a reply was lost.
//! May touch: response messages.
//! Must not: decide what is a repetition (the core does).

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use yarn_proto::{server::NodeHeartbeatResponseProto, yarn::AllocateResponseProto};
use yarn_types::{ApplicationAttemptId, NodeId};

/// Both tables. An answer is kept before it is sent, on the driver's thread, so a repetition always
/// finds it.
#[derive(Default)]
pub struct Replays {
    allocate: Mutex<HashMap<ApplicationAttemptId, AllocateResponseProto>>,
    heartbeat: Mutex<HashMap<NodeId, NodeHeartbeatResponseProto>>,
}

fn lock<T>(table: &Mutex<T>) -> MutexGuard<'_, T> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Replays {
    /// Keeps the answer to `attempt`.
    pub fn allocated(&self, attempt: ApplicationAttemptId, answer: &AllocateResponseProto) {
        lock(&self.allocate).insert(attempt, answer.clone());
    }

    /// The last answer to `attempt`.
    pub fn allocate(&self, attempt: ApplicationAttemptId) -> Option<AllocateResponseProto> {
        lock(&self.allocate).get(&attempt).cloned()
    }

    /// The attempt ended.
    pub fn forget_attempt(&self, attempt: ApplicationAttemptId) {
        lock(&self.allocate).remove(&attempt);
    }

    /// Keeps the answer to `node`.
    pub fn heartbeat_answered(&self, node: &NodeId, answer: &NodeHeartbeatResponseProto) {
        lock(&self.heartbeat).insert(node.clone(), answer.clone());
    }

    /// The last answer to `node`.
    pub fn heartbeat(&self, node: &NodeId) -> Option<NodeHeartbeatResponseProto> {
        lock(&self.heartbeat).get(node).cloned()
    }

    /// The node registers anew or is gone.
    pub fn forget_node(&self, node: &NodeId) {
        lock(&self.heartbeat).remove(node);
    }
}
