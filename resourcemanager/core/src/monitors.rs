//! The scheduler's monitors: preemption and the removal of unused queues, each in its period.
//! May touch: `Rm`.
//! Must not: choose containers or queues (the scheduler does).

use crate::{
    effect::{Action, Effect, Note},
    liveness::Watched,
    rm::Rm,
};

/// A monitor that the core runs (`SchedulingEditPolicy`).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum Monitor {
    /// `ProportionalCapacityPreemptionPolicy`.
    Preemption,
    /// `AutoCreatedQueueDeletionPolicy`.
    QueueDeletion,
}

impl Monitor {
    const ALL: [Self; 2] = [Self::Preemption, Self::QueueDeletion];
}

impl Rm {
    /// Monitors that the settings name are due within their period, the others never. One that
    /// runs keeps its turn, so that refreshes cannot put it off.
    pub(crate) fn follow_monitors(&mut self) {
        for monitor in Monitor::ALL {
            let who = Watched::Monitor(monitor);
            let Some(period_ms) = self.period_ms(monitor) else {
                self.deadlines.remove(who);
                continue;
            };
            let next = self.now.plus(period_ms);
            if self.deadlines.at(who).is_none_or(|at| at > next) {
                self.deadlines.set(who, next);
            }
        }
    }

    /// One round of a monitor; the next is a period later (`scheduleWithFixedDelay`).
    pub(crate) fn on_monitor(&mut self, monitor: Monitor, out: &mut Vec<Effect>) {
        match monitor {
            Monitor::Preemption => {
                self.sched.preempt_tick(self.now);
                self.on_told(out);
            }
            Monitor::QueueDeletion => {
                for path in self.sched.expire_queues(self.now) {
                    let text =
                        format!("queue {path} was created for applications, is unused, goes");
                    out.push(Effect::now(Action::Note(Note::Text(text))));
                }
            }
        }
        self.follow_monitors();
    }

    fn period_ms(&self, monitor: Monitor) -> Option<u64> {
        match monitor {
            Monitor::Preemption => self.sched.preemption_interval_ms(),
            Monitor::QueueDeletion => self.sched.queue_deletion_interval_ms(),
        }
    }
}
