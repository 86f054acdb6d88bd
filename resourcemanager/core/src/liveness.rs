//! `Deadlines`: who must have been heard of by when, kept in the core.
//! May touch: `Millis` and ids.
//! Must not: decide what expiry means (the life cycles do).

use std::collections::{BTreeMap, BTreeSet};

use yarn_types::{ApplicationAttemptId, ApplicationId, ContainerId, Millis};

use crate::{monitors::Monitor, sched::NodeIdx};

/// Whose deadline.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum Watched {
    /// An ApplicationMaster that must call, or one that unregistered and must exit.
    Master(ApplicationAttemptId),
    /// A node that must send heartbeats.
    Node(NodeIdx),
    /// A container that was handed out and must start.
    Container(ContainerId),
    /// A container whose larger size was handed out and must be used.
    Increase(ContainerId),
    /// An application that must have ended.
    Lifetime(ApplicationId),
    /// A node that must have finished what it runs.
    Decommission(NodeIdx),
    /// A node that must hold no more than it offers.
    Overcommit(NodeIdx),
    /// A monitor of the scheduler whose round is due.
    Monitor(Monitor),
}

/// Deadlines by owner, with a wake-up queue that is renewed lazily: a renewal only moves the
/// owner's deadline; the older queue entry is moved when it comes up.
#[derive(Clone, Default, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Deadlines {
    by_owner: BTreeMap<Watched, Deadline>,
    queue: BTreeSet<(Millis, Watched)>,
}

#[derive(Clone, Copy, Hash, Debug, serde::Serialize, serde::Deserialize)]
struct Deadline {
    at: Millis,
    /// Its entry in the queue; never later than `at`.
    queued: Millis,
}

impl Deadlines {
    /// Sets or renews the deadline of `who`.
    pub fn set(&mut self, who: Watched, at: Millis) {
        match self.by_owner.get_mut(&who) {
            Some(deadline) if deadline.queued <= at => deadline.at = at,
            _ => {
                self.remove(who);
                self.by_owner.insert(who, Deadline { at, queued: at });
                self.queue.insert((at, who));
            }
        }
    }

    /// Forgets `who`.
    pub fn remove(&mut self, who: Watched) {
        if let Some(deadline) = self.by_owner.remove(&who) {
            self.queue.remove(&(deadline.queued, who));
        }
    }

    /// The deadline of `who`.
    pub fn at(&self, who: Watched) -> Option<Millis> {
        self.by_owner.get(&who).map(|d| d.at)
    }

    /// When to look next; may be earlier than any real deadline, never later.
    pub fn next(&self) -> Option<Millis> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// Takes one owner whose deadline has passed at `now`.
    pub fn expired(&mut self, now: Millis) -> Option<Watched> {
        while let Some((queued, who)) = self.queue.first().copied() {
            if queued > now {
                return None;
            }
            self.queue.remove(&(queued, who));
            let Some(deadline) = self.by_owner.get_mut(&who) else {
                continue;
            };
            if deadline.at <= now {
                self.by_owner.remove(&who);
                return Some(who);
            }
            deadline.queued = deadline.at;
            self.queue.insert((deadline.at, who));
        }
        None
    }

    /// Moves every deadline by `ms`: the RM itself was away that long, so silence proves nothing.
    pub fn shift(&mut self, ms: u64) {
        self.queue.clear();
        for (who, deadline) in &mut self.by_owner {
            deadline.at = deadline.at.plus(ms);
            deadline.queued = deadline.at;
            self.queue.insert((deadline.at, *who));
        }
    }

    /// The owners, ascending, with their deadlines.
    pub fn iter(&self) -> impl Iterator<Item = (Watched, Millis)> + '_ {
        self.by_owner.iter().map(|(who, d)| (*who, d.at))
    }

    /// Every owner has exactly one queue entry, not after its deadline.
    pub fn check(&self) -> Result<(), String> {
        if self.queue.len() != self.by_owner.len() {
            return Err(format!(
                "{} deadlines but {} queue entries",
                self.by_owner.len(),
                self.queue.len()
            ));
        }
        for (who, d) in &self.by_owner {
            if d.queued > d.at || !self.queue.contains(&(d.queued, *who)) {
                return Err(format!("{who:?} would wake too late"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "liveness_test.rs"]
mod tests;
