//! Every queue's shares of the cluster, from the configuration and the partitions' totals.
//! May touch: the queues' shares.
//! Must not: know use or demand.

use std::sync::Arc;

use yarn_types::Resource;

use super::{Sched, ids::QueueIdx};
use crate::capacity::{self, Partitions, QueueCaps, Warning, WarningKind};

impl Sched {
    /// Computes the shares again.
    pub(super) fn share_out(&mut self) {
        let (order, outcome) = self.compute_shares();
        for (queue, shares) in order.iter().zip(outcome.shares) {
            self.tree.get_mut(*queue).shares = shares;
        }
        self.warnings = outcome.warnings;
    }

    fn compute_shares(&self) -> (Vec<QueueIdx>, capacity::Outcome) {
        let order = self.tree.in_order();
        let mut position = vec![0; self.tree.queues.len()];
        for (at, idx) in order.iter().enumerate() {
            position[idx.at()] = at;
        }
        let caps: Vec<QueueCaps<'_>> = order
            .iter()
            .map(|idx| {
                let q = self.tree.get(*idx);
                QueueCaps {
                    conf: &q.conf,
                    parent: q.parent.map(|p| position[p.at()]),
                    dynamic: q.dynamic,
                    prior: &q.shares,
                }
            })
            .collect();
        let names: Vec<&str> = self.labels.iter().map(|(_, l)| &*l.name).collect();
        let totals: Vec<Resource> = self.labels.iter().map(|(_, l)| l.offered.total).collect();
        let outcome = capacity::compute(
            &caps,
            self.conf.queues.cluster.legacy_mode,
            Partitions {
                names: &names,
                totals: &totals,
            },
            self.conf.calculator,
            &self.conf.types,
        );
        (order, outcome)
    }

    /// What may be wrong with the shares without being an error, with the path of the queue.
    pub fn warnings(&self) -> Vec<(WarningKind, Arc<str>)> {
        let order = self.tree.in_order();
        let of = |w: &Warning| {
            let idx = order.get(w.queue)?;
            Some((w.kind, self.tree.get(*idx).path.clone()))
        };
        self.warnings.iter().filter_map(of).collect()
    }

    /// The queues' settings by label follow the order of the partitions.
    pub(super) fn lay_out_labels(&mut self) {
        for queue in &self.conf.queues.queues {
            for label in &queue.labels {
                // beyond the most partitions there can be, a label has no nodes
                let _ = self.labels.intern(&label.label);
            }
        }
        let names: Vec<Arc<str>> = self.labels.iter().map(|(_, l)| l.name.clone()).collect();
        let table: Vec<&str> = names.iter().map(|name| &**name).collect();
        for q in self.tree.queues.iter_mut().filter(|q| q.live) {
            Arc::make_mut(&mut q.conf).intern(&table);
        }
    }
}
