//! The preemption monitor: which containers must go so that every queue gets its guarantee.
//! May touch: a snapshot of queues and containers; its own marks.
//! Must not: change an account or know a clock (time comes with the tick).

mod fifo;
mod ideal;
mod intra;
mod intra_plan;
mod killable;
mod monitor;
mod nodes;
mod priority;
mod reserved;
mod round;
mod rules;
mod snapshot;
mod table;
#[cfg(test)]
#[path = "town_test.rs"]
mod town;

pub use killable::{Killable, KillableContainer};
pub use monitor::Monitor;
pub use rules::Rules;
pub use snapshot::{
    Action, App, AppShare, Container, ContainerKey, LeafOrder, Node, Partition, Queue, QueueRow,
    QueueShare, Snapshot, Source, User, UserShare,
};
