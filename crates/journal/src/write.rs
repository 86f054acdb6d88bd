//! Segments and batches as bytes.
//! May touch: memory.
//! Must not: wait for a disk.

use rm_core::{Event, Rm};
use yarn_types::Millis;

use crate::{
    DIGEST_EVENTS, Header, MAGIC, RECORD_BYTES_MAX, VERSION,
    item::ItemRef,
    read::{HEAD_BYTES, JournalError},
};

/// The beginning of a segment: everything up to and with its snapshot.
///
/// # Errors
/// The snapshot is larger than a record may be.
pub fn segment(rm: &Rm, number: u64) -> Result<Vec<u8>, JournalError> {
    let (cluster_timestamp, epoch) = rm.started();
    let header = Header {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        cluster_timestamp,
        epoch,
        types: rm.sched().types().iter().cloned().collect(),
        segment: number,
    };
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    let mut record = Record::default();
    record.push(&ItemRef::Header(&header));
    record.push(&ItemRef::Snapshot(rm));
    bytes.extend_from_slice(&record.finish()?);
    Ok(bytes)
}

/// Items with room for the record's head in front.
struct Record {
    bytes: Vec<u8>,
    /// The first item that could not be written.
    problem: Option<postcard::Error>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            bytes: vec![0; HEAD_BYTES],
            problem: None,
        }
    }
}

impl Record {
    fn push(&mut self, item: &ItemRef<'_>) {
        if self.problem.is_some() {
            return;
        }
        match postcard::to_extend(item, std::mem::take(&mut self.bytes)) {
            Ok(bytes) => self.bytes = bytes,
            Err(e) => self.problem = Some(e),
        }
    }

    fn is_empty(&self) -> bool {
        self.bytes.len() <= HEAD_BYTES && self.problem.is_none()
    }

    /// The record's bytes; it is empty afterwards.
    fn finish(&mut self) -> Result<Vec<u8>, JournalError> {
        let Self { mut bytes, problem } = std::mem::take(self);
        if let Some(e) = problem {
            return Err(JournalError::Encode(e));
        }
        let (head, body) = bytes.split_at_mut(HEAD_BYTES);
        let length = u32::try_from(body.len())
            .ok()
            .filter(|length| *length <= RECORD_BYTES_MAX)
            .ok_or(JournalError::TooLong {
                bytes: body.len() as u64,
                max: RECORD_BYTES_MAX,
            })?;
        let (length_bytes, sum) = head.split_at_mut(4);
        length_bytes.copy_from_slice(&length.to_le_bytes());
        sum.copy_from_slice(&crc32fast::hash(body).to_le_bytes());
        Ok(bytes)
    }
}

/// What the core is told between two waits of its driver.
#[derive(Default)]
pub struct Batch {
    record: Record,
    now: Option<Millis>,
    events: u64,
}

impl Batch {
    fn at(&mut self, now: Millis) {
        if self.now != Some(now) {
            self.now = Some(now);
            self.record.push(&ItemRef::Now(now));
        }
    }

    /// Notes an event; to be called before the core takes it.
    pub fn event(&mut self, now: Millis, event: &Event) {
        self.at(now);
        self.record.push(&ItemRef::Event(event));
        self.events += 1;
    }

    /// Notes a pass.
    pub fn pass(&mut self, now: Millis) {
        self.at(now);
        self.record.push(&ItemRef::Pass);
    }

    /// Length of what is noted, in bytes.
    pub fn bytes(&self) -> usize {
        self.record.bytes.len()
    }

    /// Nothing is noted.
    pub fn is_empty(&self) -> bool {
        self.record.is_empty()
    }

    /// The batch as a record, empty when nothing was noted; `rm` has taken all of it.
    ///
    /// # Errors
    /// It is larger than a record may be.
    pub fn finish(&mut self, rm: &Rm) -> Result<Vec<u8>, JournalError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        self.now = None;
        self.record.push(&ItemRef::Mark(rm.mark()));
        if self.events >= DIGEST_EVENTS {
            self.events = 0;
            self.record.push(&ItemRef::Digest(rm.digest()));
        }
        self.record.finish()
    }

    /// A record with a digest of `rm` as it is.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn close(&mut self, rm: &Rm) -> Result<Vec<u8>, JournalError> {
        self.events = DIGEST_EVENTS;
        self.record.push(&ItemRef::Mark(rm.mark()));
        self.record.push(&ItemRef::Digest(rm.digest()));
        self.events = 0;
        self.now = None;
        self.record.finish()
    }
}

#[cfg(test)]
#[path = "write_test.rs"]
mod tests;
