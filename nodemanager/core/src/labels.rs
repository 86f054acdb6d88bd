//! The node's own label: when the ResourceManager is told
//! (`NodeStatusUpdaterImpl.NMDistributedNodeLabelsHandler`).
//! May touch: times.
//! Must not: ask for the label, or judge it (the shell does).

use std::sync::Arc;

use yarn_types::Millis;

/// The label as it is told: one, or none.
pub type SaidLabels = Vec<Arc<str>>;

/// What was found and what was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnLabel {
    resync_ms: u64,
    /// As found last; `None` until it was found once.
    found: Option<SaidLabels>,
    told: Option<SaidLabels>,
    /// Of the last heartbeat that told it.
    told_at: Option<Millis>,
}

impl OwnLabel {
    /// Nothing was found yet; what does not change is told again after `resync_ms`.
    pub fn new(resync_ms: u64) -> Self {
        Self {
            resync_ms,
            found: None,
            told: None,
            told_at: None,
        }
    }

    /// The provider found `label`.
    pub fn on_found(&mut self, label: Option<Arc<str>>) {
        self.found = Some(label.into_iter().collect());
    }

    /// For a registration: always.
    pub fn to_register(&mut self) -> Option<SaidLabels> {
        self.told.clone_from(&self.found);
        self.found.clone()
    }

    /// For a heartbeat: when it changed, or was not told for long.
    pub fn to_heartbeat(&mut self, now: Millis) -> Option<SaidLabels> {
        let long_ago = |at: Millis| now.since(at) > self.resync_ms;
        if self.found == self.told && !self.told_at.is_none_or(long_ago) {
            return None;
        }
        self.told.clone_from(&self.found);
        self.told_at = Some(now);
        self.found.clone()
    }
}

#[cfg(test)]
#[path = "labels_test.rs"]
mod tests;
