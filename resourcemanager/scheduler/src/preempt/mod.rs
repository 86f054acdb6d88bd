//! The preemption monitor: which containers must go so that every queue gets its guarantee.
//! May touch: a snapshot of queues and containers; its own marks.
//! Must not: change an account or know a clock (time comes with the tick).

mod snapshot;

pub use snapshot::{
    Action, App, AppShare, Container, ContainerKey, LeafOrder, Node, Partition, Queue, QueueRow,
    QueueShare, Snapshot, User, UserShare,
};

use yarn_types::ResourceTypes;

use crate::num::Calculator;

/// How amounts are compared, and what counts as a victim.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// `yarn.scheduler.capacity.resource-calculator`.
    pub calculator: Calculator,
    /// The lanes.
    pub types: &'a ResourceTypes,
    /// Where GPUs alone are short, only containers with GPUs are taken, and a type that nobody
    /// wants never stops the choice. Off: Hadoop to the letter.
    pub spare_cpu_only: bool,
}
