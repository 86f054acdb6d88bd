//! Runs the preemption monitor over a frozen picture.
//! May touch: `capacity_scheduler::preempt`.
//! Must not: choose containers.

use crate::{case::SnapshotBody, report::Failure};

/// Runs a case of this kind.
pub fn run(_body: &SnapshotBody) -> Vec<Failure> {
    vec![Failure::new("tick 1", "marks", "the monitor is not built yet")]
}
