//! States of queues: running, draining, stopped.
//! May touch: the queues' states.
//! Must not: end applications (they drain).

use yarn_types::QueueState;

use super::{Sched, ids::QueueIdx};
use crate::{
    conf::ConfiguredState,
    reject::{Reject, RejectKind},
};

impl Sched {
    /// Applications below a queue, itself included.
    pub(super) fn apps_below(&self, queue: QueueIdx) -> u32 {
        let q = self.tree.get(queue);
        let below = q.children.iter().map(|c| self.apps_below(*c));
        q.leaf.apps.saturating_add(below.sum())
    }

    /// Stops a queue and those below: at once where no application is left, else they drain
    /// (`QueueStateManager.stopQueue`).
    ///
    /// # Errors
    /// There is no such queue.
    pub fn stop_queue(&mut self, path: &str) -> Result<(), Reject> {
        let idx = self.known(path)?;
        self.stop_from(idx);
        Ok(())
    }

    /// Lets a stopped queue run again (`QueueStateManager.activateQueue`).
    ///
    /// # Errors
    /// There is no such queue, or its parent does not run.
    pub fn activate_queue(&mut self, path: &str) -> Result<(), Reject> {
        let idx = self.known(path)?;
        let parent = self.tree.get(idx).parent;
        if let Some(parent) = parent.filter(|p| self.tree.get(*p).state != QueueState::Running) {
            return Err(Reject::new(
                RejectKind::Yarn,
                format!(
                    "The parent Queue:{} is not running. Please activate the parent queue first",
                    self.tree.get(parent).path
                ),
            ));
        }
        self.tree.get_mut(idx).state = QueueState::Running;
        Ok(())
    }

    fn known(&self, path: &str) -> Result<QueueIdx, Reject> {
        self.tree.find(path).ok_or_else(|| {
            Reject::new(
                RejectKind::Yarn,
                format!("The specified queue:{path} does not exist!"),
            )
        })
    }

    pub(super) fn stop_from(&mut self, idx: QueueIdx) {
        for child in self.tree.get(idx).children.clone() {
            self.stop_from(child);
        }
        if self.tree.get(idx).state == QueueState::Running {
            let left = self.apps_below(idx) > 0;
            self.tree.get_mut(idx).state = if left {
                QueueState::Draining
            } else {
                QueueState::Stopped
            };
        }
    }

    /// A queue's application ended: what drained and is empty is stopped.
    pub(super) fn settle_state(&mut self, queue: QueueIdx) {
        let chain: Vec<QueueIdx> = self.tree.chain(queue).collect();
        for idx in chain {
            if self.tree.get(idx).state == QueueState::Draining && self.apps_below(idx) == 0 {
                self.tree.get_mut(idx).state = QueueState::Stopped;
            }
        }
    }

    /// Takes the configured states over, parents first (`AbstractCSQueue.initializeQueueState`):
    /// a new queue without one follows its parent, an old one keeps its own.
    ///
    /// # Errors
    /// A child shall run below a parent that does not: Hadoop's text.
    pub(super) fn take_states(&mut self, old: &[QueueIdx]) -> Result<(), Reject> {
        for idx in self.tree.in_order() {
            let q = self.tree.get(idx);
            let parent = q.parent.map(|p| self.tree.get(p));
            let above = parent.map_or(QueueState::Running, |p| p.state);
            let is_new = !old.contains(&idx);
            match (is_new, q.conf.state) {
                (_, Some(ConfiguredState::Running)) if above != QueueState::Running => {
                    let parent = parent.map_or_else(String::new, |p| p.path.to_string());
                    return Err(Reject::new(
                        RejectKind::Yarn,
                        format!(
                            "The parent queue:{parent} cannot be STOPPED as the child queue:{} is in RUNNING state.",
                            q.path
                        ),
                    ));
                }
                (true, None) => {
                    let state = if above == QueueState::Draining {
                        QueueState::Stopped
                    } else {
                        above
                    };
                    self.tree.get_mut(idx).state = state;
                }
                (_, Some(ConfiguredState::Running)) => {
                    self.tree.get_mut(idx).state = QueueState::Running;
                }
                (true, Some(ConfiguredState::Stopped)) => {
                    self.tree.get_mut(idx).state = QueueState::Stopped;
                }
                (false, Some(ConfiguredState::Stopped)) => self.stop_from(idx),
                (false, None) => {}
            }
        }
        Ok(())
    }
}
