//! `StoreQueue`: numbers of records given to the store, and what to do once each lasts.
//! May touch: ids.
//! Must not: know how records are kept.

use std::collections::VecDeque;

use yarn_types::{ApplicationAttemptId, ApplicationId};

/// What a stored record allows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum After {
    /// The scheduler may be asked.
    AppSaved(ApplicationId),
    /// The ApplicationMaster may be launched.
    AttemptSaved(ApplicationAttemptId),
    /// The attempt may end.
    AttemptEndSaved(ApplicationAttemptId),
    /// The application may end.
    AppEndSaved(ApplicationId),
    /// Nothing but the answer to the change waits for it.
    ChangeSaved,
}

/// Records on their way to the store, oldest first.
#[derive(Clone, Default, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct StoreQueue {
    last_seq: u64,
    stored_seq: u64,
    waiting: VecDeque<(u64, After)>,
}

impl StoreQueue {
    /// The number of the next record, with what it allows once it lasts.
    pub fn push(&mut self, after: After) -> u64 {
        self.last_seq += 1;
        self.waiting.push_back((self.last_seq, after));
        self.last_seq
    }

    /// Everything up to `seq` lasts. A number from the future is a broken store and is cut.
    pub fn stored(&mut self, seq: u64) {
        self.stored_seq = self.stored_seq.max(seq.min(self.last_seq));
    }

    /// The next thing that became allowed.
    pub fn take_stored(&mut self) -> Option<After> {
        let (seq, after) = *self.waiting.front()?;
        if seq > self.stored_seq {
            return None;
        }
        self.waiting.pop_front();
        Some(after)
    }

    /// `seq`, when it does not last yet: what an effect that waits for it must carry.
    pub fn unless_stored(&self, seq: u64) -> Option<u64> {
        (seq > self.stored_seq).then_some(seq)
    }

    /// What waits, oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = After> + '_ {
        self.waiting.iter().map(|(_, after)| *after)
    }
}

#[cfg(test)]
#[path = "store_test.rs"]
mod tests;
