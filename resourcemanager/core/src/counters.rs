//! What happened in each queue since the start, for monitoring (`QueueMetrics`).
//! May touch: `yarn-types`.
//! Must not: be used in a decision.

use std::collections::BTreeMap;

use yarn_types::Resource;

/// Counts since the start; they only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// Applications that the queue took.
    pub apps_submitted: u64,
    /// Of them those that ended well.
    pub apps_completed: u64,
    /// Of them those that failed.
    pub apps_failed: u64,
    /// Of them those that were killed.
    pub apps_killed: u64,
    /// Containers granted.
    pub containers_allocated: u64,
    /// Containers that ended.
    pub containers_released: u64,
    /// Containers taken by preemption.
    pub containers_preempted: u64,
    /// Their sizes.
    pub preempted: Resource,
    /// Amount × milliseconds that they had lived.
    pub preempted_millis: Resource,
}

impl Counters {
    fn plus(self, other: Self) -> Self {
        Self {
            apps_submitted: self.apps_submitted + other.apps_submitted,
            apps_completed: self.apps_completed + other.apps_completed,
            apps_failed: self.apps_failed + other.apps_failed,
            apps_killed: self.apps_killed + other.apps_killed,
            containers_allocated: self.containers_allocated + other.containers_allocated,
            containers_released: self.containers_released + other.containers_released,
            containers_preempted: self.containers_preempted + other.containers_preempted,
            preempted: self.preempted.plus(other.preempted),
            preempted_millis: self.preempted_millis.plus(other.preempted_millis),
        }
    }
}

/// The counters of leaves by full path. Those of a queue that is gone stay: they are in the sums of
/// the queues above it.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct QueueCounters(BTreeMap<String, Counters>);

impl QueueCounters {
    /// Counts something in the leaf `path`.
    pub(crate) fn count(&mut self, path: &str, what: impl FnOnce(&mut Counters)) {
        // No text is copied where the queue is known.
        match self.0.get_mut(path) {
            Some(own) => what(own),
            None => what(self.0.entry(path.to_owned()).or_default()),
        }
    }

    /// Every queue's, with what is below it.
    pub(crate) fn sums(&self) -> BTreeMap<&str, Counters> {
        let mut sums: BTreeMap<&str, Counters> = BTreeMap::new();
        for (path, counters) in &self.0 {
            let ends = path.match_indices('.').map(|(at, _)| at);
            for end in ends.chain([path.len()]) {
                let sum = sums.entry(&path[..end]).or_default();
                *sum = sum.plus(*counters);
            }
        }
        sums
    }
}

#[cfg(test)]
#[path = "counters_test.rs"]
mod tests;
