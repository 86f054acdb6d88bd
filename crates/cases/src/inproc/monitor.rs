//! The preemption monitor of a scenario.
//! May touch: the core and its monitor.
//! Must not: choose containers.

use std::collections::BTreeSet;

use capacity_scheduler::sched::ContainerIdx;

use super::InProcess;
use crate::target::Done;

/// The monitor and what it has marked.
#[derive(Default)]
pub(super) struct Monitors {
    marked: BTreeSet<ContainerIdx>,
}

impl Monitors {
    /// A container shall be given back.
    pub fn mark(&mut self, container: ContainerIdx) {
        self.marked.insert(container);
    }

    /// A container ended.
    pub fn forget(&mut self, container: ContainerIdx) {
        self.marked.remove(&container);
    }

    /// Containers marked now.
    pub fn marked(&self) -> &BTreeSet<ContainerIdx> {
        &self.marked
    }
}

impl InProcess {
    pub(super) fn run_monitor(&mut self) -> Done {
        let now = self.now;
        self.sched()?.preempt_tick(now);
        self.settle()
    }
}
