//! How many bytes of unfinished requests a daemon holds for all its peers together.
//! May touch: counters, wake-ups of connections.
//! Must not: hold a byte itself, or make small requests wait for large ones.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, watch};

/// Limit of a budget that says no other: less than half of what a daemon may grow by under attack.
pub const INPUT_BYTES_MAX: usize = 24 * 1024 * 1024;

/// The sum that connections share; one budget may serve several ports. What a connection holds
/// below the first read's room is not counted.
///
/// Who needs more when all is given away takes it from the connection that holds the most, be it
/// itself: that one is closed. So a flood of large requests never keeps small ones out.
#[derive(Debug)]
pub struct InputBudget {
    bytes_max: usize,
    state: Mutex<State>,
    freed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    /// Part of `used` whose holders are told to leave.
    leaving: usize,
    last: u64,
    /// Who holds something, the oldest first.
    holders: BTreeMap<u64, Holder>,
}

#[derive(Debug)]
struct Holder {
    bytes: usize,
    leaving: bool,
    leave: Arc<Notify>,
}

/// Answer to a connection that needs room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grant {
    /// It may read so much.
    Given,
    /// Another is leaving: ask again when [`Share::woken`] says so.
    Wait,
    /// It holds the most: it is to be closed.
    Leave,
}

impl InputBudget {
    /// At most so many bytes; also the largest frame that is taken.
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes_max,
            ..Self::default()
        })
    }

    /// The limit.
    pub const fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Bytes that are held now.
    pub fn used(&self) -> usize {
        self.lock().used
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for InputBudget {
    fn default() -> Self {
        Self {
            bytes_max: INPUT_BYTES_MAX,
            state: Mutex::default(),
            freed: watch::Sender::new(()),
        }
    }
}

/// What one connection holds; given back when dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<InputBudget>,
    freed: watch::Receiver<()>,
    leave: Arc<Notify>,
    /// Its place among the holders while it holds something.
    id: Option<u64>,
}

impl Share {
    pub(super) fn new(budget: &Arc<InputBudget>) -> Self {
        Self {
            budget: Arc::clone(budget),
            freed: budget.freed.subscribe(),
            leave: Arc::default(),
            id: None,
        }
    }

    /// Asks to hold `bytes` in all.
    pub(super) fn ask(&mut self, bytes: usize) -> Grant {
        self.freed.mark_unchanged();
        let mut state = self.budget.lock();
        let own = self.id.and_then(|id| state.holders.get(&id));
        if own.is_some_and(|h| h.leaving) {
            return Grant::Leave;
        }
        let held = own.map_or(0, |h| h.bytes);
        let more = bytes.saturating_sub(held);
        if state.used + more <= self.budget.bytes_max {
            let State {
                used,
                last,
                holders,
                ..
            } = &mut *state;
            let id = *self.id.get_or_insert_with(|| {
                *last += 1;
                *last
            });
            let holder = holders.entry(id).or_insert_with(|| Holder {
                bytes: 0,
                leaving: false,
                leave: Arc::clone(&self.leave),
            });
            holder.bytes += more;
            *used += more;
            return Grant::Given;
        }
        if state.used + more - state.leaving <= self.budget.bytes_max {
            return Grant::Wait;
        }
        let staying = state.holders.iter_mut().filter(|(_, h)| !h.leaving);
        // Of two that hold the same the older one goes.
        let most = staying.max_by_key(|(id, h)| (h.bytes, std::cmp::Reverse(**id)));
        match most {
            Some((id, most)) if Some(*id) != self.id && most.bytes >= held => {
                most.leaving = true;
                most.leave.notify_one();
                let bytes = most.bytes;
                state.leaving += bytes;
                Grant::Wait
            }
            _ => Grant::Leave,
        }
    }

    /// Holds no more than `bytes` from now on.
    pub(super) fn keep(&mut self, bytes: usize) {
        let Some(id) = self.id else { return };
        let mut state = self.budget.lock();
        let Some(holder) = state.holders.get_mut(&id) else {
            return;
        };
        let less = holder.bytes.saturating_sub(bytes);
        holder.bytes -= less;
        let (leaving, rest) = (holder.leaving, holder.bytes);
        state.used -= less;
        if leaving {
            state.leaving -= less;
        }
        if rest == 0 {
            state.holders.remove(&id);
            self.id = None;
        }
        drop(state);
        if less > 0 {
            self.budget.freed.send_replace(());
        }
    }

    /// True when another needs what this one holds; false, for one that `waits`, when somebody has
    /// given something back since the last [`ask`](Self::ask).
    pub(super) async fn woken(&mut self, waits: bool) -> bool {
        tokio::select! {
            () = self.leave.notified() => true,
            // The sender lives as long as the budget, of which this is a part.
            _ = self.freed.changed(), if waits => false,
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.keep(0);
    }
}

#[cfg(test)]
#[path = "budget_test.rs"]
mod tests;
