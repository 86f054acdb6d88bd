//! The tape: the journal of a run in memory, restarts from it, and the proof that it replays.
//! May touch: the world's core.
//! Must not: change what a run does, but for the value of its core.

use rm_core::{Event, Rm};
use rm_journal::{Batch, Item, Reader, Replay, segment};
use yarn_types::Millis;

use super::World;

/// The journal of a run so far.
#[derive(Default)]
pub(super) struct Tape {
    pub bytes: Vec<u8>,
    batch: Batch,
}

impl Tape {
    /// Begins with the core as it is.
    pub(super) fn begin(rm: &Rm) -> Result<Self, String> {
        Ok(Self {
            bytes: segment(rm, 0).map_err(|e| format!("journal: {e}"))?,
            batch: Batch::default(),
        })
    }

    pub(super) fn event(&mut self, now: Millis, event: &Event) {
        self.batch.event(now, event);
    }

    pub(super) fn pass(&mut self, now: Millis) {
        self.batch.pass(now);
    }

    pub(super) fn finish(&mut self, rm: &Rm) -> Result<(), String> {
        let record = self.batch.finish(rm);
        self.bytes
            .extend(record.map_err(|e| format!("journal: {e}"))?);
        Ok(())
    }

    fn close(&mut self, rm: &Rm) -> Result<(), String> {
        let record = self.batch.close(rm);
        self.bytes
            .extend(record.map_err(|e| format!("journal: {e}"))?);
        Ok(())
    }
}

impl World {
    /// The core goes on as what a snapshot of it says.
    pub(super) fn maybe_restart(&mut self) -> Result<(), String> {
        if !self.options.town || !self.faulty() || !self.rng.chance(1, 800) {
            return Ok(());
        }
        let written = segment(&self.rm, 0).map_err(|e| format!("snapshot: {e}"))?;
        let mut reader = Reader::new(&*written);
        let mut read = || reader.next_item().map_err(|e| format!("snapshot: {e}"));
        let (_, Some(Item::Snapshot(rm))) = (read()?, read()?) else {
            return Err("a snapshot reads as something else".to_owned());
        };
        if rm.digest() != self.rm.digest() {
            return Err("a snapshot reads as another state".to_owned());
        }
        let again = segment(&rm, 0).map_err(|e| format!("snapshot: {e}"))?;
        if again != written {
            return Err("a snapshot of a snapshot differs from it".to_owned());
        }
        self.rm = *rm;
        if let Some(mutant) = self.options.core_mutant {
            self.rm.plant(mutant);
        }
        self.report.restarts += 1;
        Ok(())
    }

    /// The journal of the run replays to the same state, though the run was restarted.
    pub(super) fn prove_tape(&mut self) -> Result<(), String> {
        self.tape.close(&self.rm)?;
        // a planted bug is not in the journal
        if !self.options.town || self.options.core_mutant.is_some() {
            return Ok(());
        }
        let mut replay = Replay::default();
        replay
            .segment(&*self.tape.bytes, |_| {})
            .map_err(|e| format!("replay: {e}"))
    }
}
