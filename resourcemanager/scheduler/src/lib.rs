//! YARN's capacity scheduler as a pure state machine: queues, limits, assignment, preemption.
//! May touch: `yarn-types` and small data-structure crates.
//! Must not: know sockets, files, clocks, randomness, threads, locks, async, or life cycles of applications.

pub mod acl;
pub mod capacity;
pub mod conf;
pub mod num;
pub mod placement;
pub mod preempt;
pub mod reject;
pub mod sched;
pub mod why;
