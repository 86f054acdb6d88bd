//! The preemption monitor of a scenario.
//! May touch: the core and its monitor.
//! Must not: choose containers.

use super::InProcess;
use crate::target::Done;

impl InProcess {
    pub(super) fn run_monitor(&mut self) -> Done {
        let now = self.now;
        self.sched()?.preempt_tick(now);
        self.settle()
    }
}
