//! Every queue's shares of the cluster, from the configuration and the partitions' totals.
//! May touch: the queues' shares.
//! Must not: know use or demand.

use super::Sched;

impl Sched {
    /// Computes the shares again.
    pub(super) fn share_out(&mut self) {
        self.lay_out_labels();
    }

    /// The queues' settings by label follow the order of the partitions.
    fn lay_out_labels(&mut self) {
        for queue in &self.conf.queues.queues {
            for label in &queue.labels {
                // beyond the most partitions there can be, a label has no nodes
                let _ = self.labels.intern(&label.label);
            }
        }
        let names: Vec<_> = self.labels.iter().map(|(_, l)| l.name.clone()).collect();
        let table: Vec<&str> = names.iter().map(|name| &**name).collect();
        for q in self.tree.queues.iter_mut().filter(|q| q.live) {
            q.conf.intern(&table);
        }
    }
}
