//! `Inbox`: what waits for the driver, bounded, with a lane that is never refused.
//! May touch: one lock and one condition variable.
//! Must not: look into what it carries.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// What one [`Inbox::take`] gives.
#[derive(Debug)]
pub struct Batch<T> {
    /// Store, timer and launcher news, in order of arrival.
    pub priority: VecDeque<T>,
    /// Calls and queries, in order of arrival.
    pub ordinary: VecDeque<T>,
    /// The inbox is closed and empty after this batch.
    pub closed: bool,
}

struct Lanes<T> {
    priority: VecDeque<T>,
    ordinary: VecDeque<T>,
    closed: bool,
}

/// Two lanes with one reader.
pub struct Inbox<T> {
    lanes: Mutex<Lanes<T>>,
    news: Condvar,
    ordinary_len_max: usize,
}

impl<T> Inbox<T> {
    /// An empty inbox whose ordinary lane holds at most `ordinary_len_max`.
    pub fn new(ordinary_len_max: usize) -> Self {
        let lanes = Lanes {
            priority: VecDeque::new(),
            ordinary: VecDeque::new(),
            closed: false,
        };
        Self {
            lanes: Mutex::new(lanes),
            news: Condvar::new(),
            ordinary_len_max,
        }
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes<T>> {
        // The lanes are whole between any two statements, so a panic elsewhere leaves them usable.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call or query.
    ///
    /// # Errors
    /// The lane is full or closed: `item` comes back.
    pub fn push(&self, item: T) -> Result<(), T> {
        let mut lanes = self.lanes();
        if lanes.closed || lanes.ordinary.len() >= self.ordinary_len_max {
            return Err(item);
        }
        lanes.ordinary.push_back(item);
        drop(lanes);
        self.news.notify_one();
        Ok(())
    }

    /// Adds news that calls may wait for; refused only after [`Inbox::close`].
    pub fn push_priority(&self, item: T) {
        let mut lanes = self.lanes();
        if !lanes.closed {
            lanes.priority.push_back(item);
        }
        drop(lanes);
        self.news.notify_one();
    }

    /// Nothing is waiting.
    pub fn is_empty(&self) -> bool {
        let lanes = self.lanes();
        lanes.priority.is_empty() && lanes.ordinary.is_empty()
    }

    /// Refuses everything from now on; what is there is still delivered.
    pub fn close(&self) {
        self.lanes().closed = true;
        self.news.notify_one();
    }

    /// Everything that waits; blocks for at most `wait` (`None`: as long as it takes) while there is
    /// nothing. `spare` gives its room to the lanes.
    pub fn take(&self, wait: Option<Duration>, spare: Batch<T>) -> Batch<T> {
        let empty = |lanes: &mut Lanes<T>| {
            lanes.priority.is_empty() && lanes.ordinary.is_empty() && !lanes.closed
        };
        let lanes = self.lanes();
        let mut lanes = match wait {
            Some(wait) => {
                self.news
                    .wait_timeout_while(lanes, wait, empty)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => self
                .news
                .wait_while(lanes, empty)
                .unwrap_or_else(PoisonError::into_inner),
        };
        let mut batch = spare;
        batch.priority.clear();
        batch.ordinary.clear();
        std::mem::swap(&mut batch.priority, &mut lanes.priority);
        std::mem::swap(&mut batch.ordinary, &mut lanes.ordinary);
        batch.closed = lanes.closed;
        batch
    }
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self {
            priority: VecDeque::new(),
            ordinary: VecDeque::new(),
            closed: false,
        }
    }
}

#[cfg(test)]
#[path = "inbox_test.rs"]
mod tests;
