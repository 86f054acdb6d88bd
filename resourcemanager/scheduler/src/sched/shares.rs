//! Every queue's shares of the cluster, from the configuration and the partitions' totals.
//! May touch: the queues' shares.
//! Must not: know use or demand.

use super::Sched;

impl Sched {
    /// Computes the shares again.
    pub(super) fn share_out(&mut self) {}
}
