//! The tape: the journal of a run in memory, restarts from it, and the proof that it replays.
//! May touch: the world's core.
//! Must not: change what a run does, but for the value of its core.

use rm_core::{Event, Rm};
use rm_journal::{Batch, Item, Reader, Replay, segment};
use yarn_types::Millis;

use super::World;
use crate::{Mutant, Rng};

/// A segment of a journal that is being written.
#[derive(Default)]
struct Segment {
    bytes: Vec<u8>,
    batch: Batch,
}

impl Segment {
    /// Begins with the core as it is.
    fn begin(rm: &Rm) -> Result<Self, String> {
        Ok(Self {
            bytes: segment(rm, 0).map_err(|e| format!("journal: {e}"))?,
            batch: Batch::default(),
        })
    }

    fn finish(&mut self, rm: &Rm) -> Result<(), String> {
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

    /// Replays to the state of `rm`, everything that a snapshot keeps included.
    fn prove(&self, rm: &Rm) -> Result<(), String> {
        let mut replay = Replay::default();
        replay
            .segment(&*self.bytes, |_| {})
            .map_err(|e| format!("replay: {e}"))?;
        let kept = |rm| segment(rm, 0).map_err(|e| format!("snapshot: {e}"));
        let Some(replayed) = replay.rm() else {
            return Err("replay: nothing was read".to_owned());
        };
        if kept(replayed)? != kept(rm)? {
            return Err("replay: another state with the same digest".to_owned());
        }
        Ok(())
    }
}

/// The journal of a run so far: all of it, and one that began at some moment of the run, as the
/// segments of a daemon do.
#[derive(Default)]
pub(super) struct Tape {
    whole: Segment,
    part: Option<Segment>,
    /// Says when a part ends; it has no say in the run.
    rng: Option<Rng>,
    mutant: Option<Mutant>,
    /// Time of the last event.
    last: Millis,
}

impl Tape {
    /// Begins with the core as it is.
    pub(super) fn begin(rm: &Rm, seed: u64, mutant: Option<Mutant>) -> Result<Self, String> {
        Ok(Self {
            mutant,
            last: Millis(0),
            whole: Segment::begin(rm)?,
            part: None,
            rng: Some(Rng::new(!seed)),
        })
    }

    /// The journal of the whole run.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.whole.bytes
    }

    pub(super) fn event(&mut self, now: Millis, event: &Event) {
        let stored = matches!(event, Event::Stored { .. });
        let before = std::mem::replace(&mut self.last, now);
        let now = match self.mutant {
            Some(Mutant::JournalLeavesOut) if stored => return,
            Some(Mutant::JournalIsLate) => before,
            _ => now,
        };
        self.whole.batch.event(now, event);
        if let Some(part) = &mut self.part {
            part.batch.event(now, event);
        }
    }

    pub(super) fn pass(&mut self, now: Millis) {
        self.whole.batch.pass(now);
        if let Some(part) = &mut self.part {
            part.batch.pass(now);
        }
    }

    pub(super) fn finish(&mut self, rm: &Rm) -> Result<(), String> {
        self.whole.finish(rm)?;
        if let Some(part) = &mut self.part {
            part.finish(rm)?;
            // with a digest each time, so that the very event is named
            part.close(rm)?;
        }
        Ok(())
    }

    /// A part ends now and then and must replay; the next begins with the core as it is, which
    /// goes on with all that it remembers.
    fn maybe_cut(&mut self, rm: &Rm) -> Result<(), String> {
        let cut = self.rng.as_mut().is_some_and(|rng| rng.chance(1, 500));
        if cut {
            if let Some(part) = self.part.take() {
                part.prove(rm)?;
            }
            self.part = Some(Segment::begin(rm)?);
        }
        Ok(())
    }
}

impl World {
    /// Part of the journal ends, or the core goes on as what a snapshot of it says.
    pub(super) fn maybe_restart(&mut self) -> Result<(), String> {
        if !self.options.town {
            return Ok(());
        }
        // a planted bug is not in the journal
        if self.options.core_mutant.is_none() {
            self.tape.maybe_cut(&self.rm)?;
        }
        if !self.faulty() || !self.rng.chance(1, 800) {
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
        self.tape.whole.close(&self.rm)?;
        if !self.options.town || self.options.core_mutant.is_some() {
            return Ok(());
        }
        if let Some(part) = self.tape.part.take() {
            part.prove(&self.rm)?;
        }
        self.tape.whole.prove(&self.rm)
    }
}
