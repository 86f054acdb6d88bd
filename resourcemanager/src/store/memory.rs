//! A store that keeps nothing: Hadoop's default, `yarn.resourcemanager.recovery.enabled` = false.
//! May touch: the callback.
//! Must not: keep records (nobody would read them).

use rm_core::effect::Record;

use super::Store;

/// Every record lasts at once, for as long as the process does.
pub struct MemoryStore {
    stored: Box<dyn Fn(u64) + Send>,
}

impl MemoryStore {
    /// Tells `stored` each number.
    pub fn new(stored: impl Fn(u64) + Send + 'static) -> Self {
        Self {
            stored: Box::new(stored),
        }
    }
}

impl Store for MemoryStore {
    fn put(&mut self, seq: u64, _record: Record) {
        (self.stored)(seq);
    }
}
