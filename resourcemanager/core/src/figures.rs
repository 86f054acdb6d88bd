//! Reads: sums over the cluster, and what applications ask for.
//! May touch: every field, read only.
//! Must not: change anything, or be journaled.

use std::sync::Arc;

use yarn_types::{ApplicationId, ApplicationState, NodeState};

use crate::{
    rm::Rm,
    sched::{ANY, NodeIdx},
    view::{AskReport, ClusterMetrics},
};

impl Rm {
    /// Sums over the cluster.
    pub fn metrics(&self) -> ClusterMetrics {
        let mut metrics = ClusterMetrics::default();
        for (at, node) in self.nodes.iter().enumerate() {
            let idx = NodeIdx(u32::try_from(at).unwrap_or(u32::MAX));
            let state = NodeState::ALL.iter().position(|s| *s == node.state);
            if let Some(count) = state.and_then(|at| metrics.nodes.get_mut(at)) {
                *count += 1;
            }
            let (used, containers) = self.sched.node_used(idx);
            metrics.used = metrics.used.plus(used);
            metrics.containers += containers;
            if node.state == NodeState::Running {
                metrics.total = metrics.total.plus(node.total);
            }
        }
        for (idx, app) in &self.apps {
            let seen = app.seen_state();
            let state = ApplicationState::ALL.iter().position(|s| *s == seen);
            if let Some(count) = state.and_then(|at| metrics.apps.get_mut(at)) {
                *count += 1;
            }
            let usage = self.sched.app_usage(*idx);
            metrics.pending = metrics.pending.plus(usage.pending);
            metrics.pending_containers += usage.pending_containers;
        }
        metrics
    }

    /// What an application asks for (`getPendingResourceRequestsForAttempt`).
    pub fn asks(&self, id: ApplicationId) -> Vec<AskReport> {
        let Some(idx) = self.app_by_id.get(&id) else {
            return Vec::new();
        };
        let asks = self.sched.asks_shown(*idx).into_iter();
        asks.map(|ask| AskReport {
            priority: ask.key.priority,
            // What Hadoop writes into that request.
            allocation_request_id: if ask.is_am { -1 } else { ask.key.request_id },
            // Only the line for any place has a say.
            label: if &*ask.place == ANY {
                self.sched.label_name(ask.label)
            } else {
                Arc::from("")
            },
            place: ask.place,
            size: ask.size,
            count: ask.count,
            relax: ask.relax,
        })
        .collect()
    }
}
