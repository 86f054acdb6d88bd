//! Completed and larger containers that the ResourceManager may not know of yet.
//! May touch: ids.
//! Must not: forget a status before a heartbeat that carried it was answered in sequence.

use std::collections::BTreeSet;

use yarn_types::ContainerId;

/// Ids of completed containers to report.
///
/// A request that got no answer may have been processed; its repetition is then answered from
/// the ResourceManager's memory, without looking at what it carries. So the first answer after a
/// failure proves nothing, and what it carried is sent once more.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outbox {
    pending: BTreeSet<ContainerId>,
    in_flight: BTreeSet<ContainerId>,
    increased: BTreeSet<ContainerId>,
    increases_in_flight: BTreeSet<ContainerId>,
    missed: bool,
}

impl Outbox {
    /// `container` completed.
    pub fn add(&mut self, container: ContainerId) {
        self.pending.insert(container);
    }

    /// `container` is larger.
    pub fn add_increase(&mut self, container: ContainerId) {
        self.increased.insert(container);
        // What is on its way tells of an earlier size.
        self.increases_in_flight.remove(&container);
    }

    /// Ids of larger containers for the next heartbeat.
    pub fn send_increases(&mut self) -> BTreeSet<ContainerId> {
        self.increases_in_flight = self.increased.clone();
        self.increases_in_flight.clone()
    }

    /// Ids for the next heartbeat.
    pub fn send(&mut self) -> BTreeSet<ContainerId> {
        self.in_flight = self.pending.clone();
        self.in_flight.clone()
    }

    /// The heartbeat was answered: the ids that arrived.
    pub fn on_answered(&mut self) -> BTreeSet<ContainerId> {
        let sent = std::mem::take(&mut self.in_flight);
        let increases = std::mem::take(&mut self.increases_in_flight);
        if std::mem::take(&mut self.missed) {
            return BTreeSet::new();
        }
        self.increased.retain(|id| !increases.contains(id));
        self.pending.retain(|id| !sent.contains(id));
        sent
    }

    /// The heartbeat was not answered.
    pub fn on_missed(&mut self) {
        self.in_flight.clear();
        self.increases_in_flight.clear();
        self.missed = true;
    }

    /// A new registration begins with these completed containers.
    pub fn restart(&mut self, completed: impl Iterator<Item = ContainerId>) {
        *self = Self {
            pending: completed.collect(),
            ..Self::default()
        };
    }

    /// The status arrived for good.
    pub fn remove(&mut self, container: ContainerId) {
        self.pending.remove(&container);
        self.increased.remove(&container);
    }

    /// Still to be reported.
    pub fn contains(&self, container: ContainerId) -> bool {
        self.pending.contains(&container)
    }

    /// Nothing to report.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.increased.is_empty()
    }
}
