//! `Rm::digest`: one number of the whole state, the same for the same past on every machine.
//! May touch: every field, read only.
//! Must not: depend on addresses, hash seeds or byte order.

use std::hash::{Hash, Hasher};

use crate::rm::Rm;

/// FNV-1a, 64 bits, over little-endian bytes.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn write_u16(&mut self, i: u16) {
        self.write(&i.to_le_bytes());
    }

    fn write_u32(&mut self, i: u32) {
        self.write(&i.to_le_bytes());
    }

    fn write_u64(&mut self, i: u64) {
        self.write(&i.to_le_bytes());
    }

    fn write_u128(&mut self, i: u128) {
        self.write(&i.to_le_bytes());
    }

    fn write_usize(&mut self, i: usize) {
        self.write_u64(i as u64);
    }
}

impl Rm {
    /// A number that changes with almost every event and costs almost nothing: counters and the
    /// ends of tables. The journal keeps it after every batch, so that a replay that goes wrong
    /// says where; [`Self::digest`] proves what this does not see.
    pub fn mark(&self) -> u64 {
        let mut fnv = Fnv::new();
        (self.events, self.now, self.last_app, self.next_app).hash(&mut fnv);
        let tables = [
            self.apps.len(),
            self.completed.len(),
            self.nodes.len(),
            self.containers.len(),
            self.by_account.len(),
            self.released.len(),
            self.waiting.len(),
        ];
        tables.hash(&mut fnv);
        self.containers.last_key_value().hash(&mut fnv);
        (self.deadlines.next(), self.passes_held).hash(&mut fnv);
        fnv.finish()
    }

    /// Start of this RM in wall milliseconds, and the number of starts with the same store.
    pub fn started(&self) -> (i64, u32) {
        (self.cluster_timestamp, self.epoch)
    }

    /// A digest of the whole state. Two RMs that took the same events at the same times have the
    /// same digest; the journal keeps it so that a replay can prove itself.
    pub fn digest(&self) -> u64 {
        let mut fnv = Fnv::new();
        (
            self.cluster_timestamp,
            self.epoch,
            self.now,
            self.wall_offset_ms,
        )
            .hash(&mut fnv);
        (self.events, self.last_app, self.next_app, self.passes_held).hash(&mut fnv);
        self.store.hash(&mut fnv);
        self.apps.hash(&mut fnv);
        self.completed.hash(&mut fnv);
        self.nodes.hash(&mut fnv);
        self.hosts.hash(&mut fnv);
        self.labels.hash(&mut fnv);
        self.containers.hash(&mut fnv);
        self.deadlines.hash(&mut fnv);
        self.waiting.hash(&mut fnv);
        self.sched.digest(&mut |word| fnv.write_u64(word));
        fnv.finish()
    }
}
