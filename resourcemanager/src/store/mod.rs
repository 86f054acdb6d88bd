//! The store port: what makes records last before their effects are let go.
//! May touch: records of the core.
//! Must not: interpret a record, or block the driver.

use rm_core::effect::Record;

mod keeping;
mod labels;
mod memory;

pub use keeping::LabelKeeper;
pub use labels::{KeptLabels, LabelFiles, LabelStoreError};
pub use memory::MemoryStore;

/// Where records go. `stored` of the implementation is called with the sequence number once the
/// record and all before it last; from any thread, never from inside `put` of a slow store.
pub trait Store: Send {
    /// Takes record number `seq`; returns at once.
    fn put(&mut self, seq: u64, record: Record);
}
