//! A node of a run: the model node with its calls in flight.
//! May touch: `testkit`'s model.
//! Must not: reach the core except by messages.

use std::collections::BTreeMap;

use rm_core::{CallId, Reply, effect::Grant, event::NodeRequest};
use testkit::ModelNode;
use yarn_types::ContainerId;

/// After this time an unanswered call is made again.
pub(crate) const CALL_TIMEOUT_MS: u64 = 2_000;

/// A node with its clockwork.
pub(crate) struct SimNode {
    pub model: ModelNode,
    /// The call that it waits for, with when to give up on it.
    pub in_flight: Option<(CallId, u64)>,
    /// When to call next.
    pub next_ms: u64,
    /// Dead until then.
    pub dead_until_ms: u64,
    /// When running containers end by themselves.
    pub ends: BTreeMap<ContainerId, u64>,
    /// Heartbeats answered since the faults ended.
    pub calm_beats: u32,
}

impl SimNode {
    pub(crate) fn new(model: ModelNode) -> Self {
        Self {
            model,
            in_flight: None,
            next_ms: 0,
            dead_until_ms: 0,
            ends: BTreeMap::new(),
            calm_beats: 0,
        }
    }

    pub(crate) fn is_up(&self, now_ms: u64) -> bool {
        now_ms >= self.dead_until_ms
    }

    /// Everything that runs on it is gone, and so is its memory.
    pub(crate) fn die(&mut self, until_ms: u64) {
        let mut fresh = ModelNode::new(&self.model.id.host, self.model.total);
        if let Some(gpus) = &self.model.gpus {
            let cards = gpus.devices().map(|(r, _)| r.device.clone()).collect();
            fresh = fresh.with_gpus(cards);
        }
        *self = Self {
            dead_until_ms: until_ms,
            next_ms: until_ms,
            ..Self::new(fresh)
        };
    }

    /// The call that is due at `now_ms`, if any.
    pub(crate) fn due(&mut self, now_ms: u64) -> Option<NodeRequest> {
        if !self.is_up(now_ms) {
            return None;
        }
        self.end_due(now_ms);
        match self.in_flight {
            Some((_, give_up)) if now_ms < give_up => return None,
            None if now_ms < self.next_ms => return None,
            _ => {}
        }
        Some(if self.model.registered {
            NodeRequest::Heartbeat(Box::new(self.model.heartbeat()))
        } else {
            NodeRequest::Register(Box::new(self.model.registration()))
        })
    }

    fn end_due(&mut self, now_ms: u64) {
        let due: Vec<ContainerId> = self
            .ends
            .iter()
            .filter(|(_, at)| **at <= now_ms)
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            self.ends.remove(&id);
            self.model.end(id, 0, "");
        }
    }

    /// A container is started; one that is to end by itself does so at `ends_ms`.
    pub(crate) fn start(&mut self, grant: &Grant, ends_ms: Option<u64>) {
        let id = grant.container;
        if self.model.start(id, grant.resource, &grant.gpus)
            && let Some(at) = ends_ms
        {
            self.ends.insert(id, at);
        }
    }

    /// An answer to call `call`; one that is not waited for is thrown away.
    pub(crate) fn on_reply(&mut self, call: CallId, reply: &Reply, now_ms: u64) {
        if self.in_flight.is_none_or(|(waited, _)| waited != call) || !self.is_up(now_ms) {
            return;
        }
        self.in_flight = None;
        self.next_ms = now_ms + 1_000;
        match reply {
            Reply::NodeRegistered {
                action, gpu_seq, ..
            } => self.model.on_registered(*action, *gpu_seq),
            Reply::Heartbeat(reply) => self.model.on_heartbeat(reply),
            _ => {}
        }
    }
}
