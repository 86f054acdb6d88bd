//! `Rm::digest`: one number of the whole state, the same for the same past on every machine.
//! May touch: every field, read only.
//! Must not: depend on addresses, hash seeds or byte order.

use std::hash::{Hash, Hasher};

use crate::rm::Rm;

/// FNV-1a, 64 bits, over little-endian bytes.
struct Fnv(u64);

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
    /// A digest of the whole state. Two RMs that took the same events at the same times have the
    /// same digest; the journal keeps it so that a replay can prove itself.
    pub fn digest(&self) -> u64 {
        let mut fnv = Fnv(0xcbf2_9ce4_8422_2325);
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
