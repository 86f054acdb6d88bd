//! `Reader`: the items of a segment, with a place for everything that is wrong with it.
//! May touch: a reader of bytes.
//! Must not: take memory for more than the bytes that are there, or panic.

use std::{collections::VecDeque, io::Read};

use crate::{Item, MAGIC, RECORD_BYTES_MAX, VERSION};

/// Length and checksum in front of a record.
pub(crate) const HEAD_BYTES: usize = 8;

/// What is wrong with a journal.
#[derive(thiserror::Error, Debug)]
pub enum JournalError {
    /// It cannot be read.
    #[error("byte {offset}: {source}")]
    Io {
        /// Where.
        offset: u64,
        /// Why.
        source: std::io::Error,
    },
    /// It is something else.
    #[error("is no journal: it does not begin with {MAGIC:?}")]
    NoJournal,
    /// It was written by another version.
    #[error("is a journal of format {found}; this program reads format {VERSION}")]
    Version {
        /// Its format.
        found: u16,
    },
    /// The last record is not whole: the writer was stopped.
    #[error("the tail is cut: the record at byte {offset} has {have} of {want} bytes")]
    Cut {
        /// Where the record begins.
        offset: u64,
        /// Bytes that are there.
        have: u64,
        /// Bytes that it says it has.
        want: u64,
    },
    /// A record is not what was written.
    #[error("the record at byte {offset} is damaged: {what}")]
    Damaged {
        /// Where the record begins.
        offset: u64,
        /// In words.
        what: String,
    },
    /// A record would be too long.
    #[error("a record of {bytes} bytes is too long: at most {max}")]
    TooLong {
        /// Its length.
        bytes: u64,
        /// The limit.
        max: u32,
    },
    /// A value has no serialised form.
    #[error("cannot be written: {0}")]
    Encode(postcard::Error),
}

/// Reads one segment.
pub struct Reader<R> {
    from: R,
    offset: u64,
    begun: bool,
    items: VecDeque<Item>,
}

impl<R: Read> Reader<R> {
    /// A reader of what `from` gives; should be buffered.
    pub fn new(from: R) -> Self {
        Self {
            from,
            offset: 0,
            begun: false,
            items: VecDeque::new(),
        }
    }

    /// Position in the file: the end of the last record that was read.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// At most `want` bytes: fewer at the end.
    fn bytes(&mut self, want: u64) -> Result<Vec<u8>, JournalError> {
        let mut bytes = Vec::new();
        let offset = self.offset;
        (&mut self.from)
            .take(want)
            .read_to_end(&mut bytes)
            .map_err(|source| JournalError::Io { offset, source })?;
        Ok(bytes)
    }

    fn begin(&mut self) -> Result<(), JournalError> {
        let begin = self.bytes(MAGIC.len() as u64 + 2)?;
        let Some((magic, version)) = begin.split_at_checked(MAGIC.len()) else {
            return Err(JournalError::NoJournal);
        };
        if magic != MAGIC {
            return Err(JournalError::NoJournal);
        }
        let version: [u8; 2] = version.try_into().map_err(|_| JournalError::Cut {
            offset: 0,
            have: begin.len() as u64,
            want: MAGIC.len() as u64 + 2,
        })?;
        let found = u16::from_le_bytes(version);
        if found != VERSION {
            return Err(JournalError::Version { found });
        }
        self.offset = begin.len() as u64;
        self.begun = true;
        Ok(())
    }

    /// The next item; `None` after the last.
    ///
    /// # Errors
    /// What is wrong at this place. Nothing can be read after it.
    pub fn next_item(&mut self) -> Result<Option<Item>, JournalError> {
        if !self.begun {
            self.begin()?;
        }
        while self.items.is_empty() {
            let Some(body) = self.record()? else {
                return Ok(None);
            };
            let offset = self.offset;
            self.items = items(&body).map_err(|e| JournalError::Damaged {
                offset,
                what: format!("{e}"),
            })?;
            self.offset += (HEAD_BYTES + body.len()) as u64;
        }
        Ok(self.items.pop_front())
    }

    fn record(&mut self) -> Result<Option<Vec<u8>>, JournalError> {
        let offset = self.offset;
        let head = self.bytes(HEAD_BYTES as u64)?;
        if head.is_empty() {
            return Ok(None);
        }
        let number = |at: usize| {
            let four = head.get(at..at + 4)?;
            Some(u32::from_le_bytes(four.try_into().ok()?))
        };
        let (Some(length), Some(sum)) = (number(0), number(4)) else {
            return Err(JournalError::Cut {
                offset,
                have: head.len() as u64,
                want: HEAD_BYTES as u64,
            });
        };
        if length > RECORD_BYTES_MAX {
            return Err(JournalError::Damaged {
                offset,
                what: format!("it claims {length} bytes, at most {RECORD_BYTES_MAX} are possible"),
            });
        }
        let body = self.bytes(u64::from(length))?;
        if (body.len() as u64) < u64::from(length) {
            return Err(JournalError::Cut {
                offset,
                have: body.len() as u64,
                want: u64::from(length),
            });
        }
        let found = crc32fast::hash(&body);
        if found != sum {
            return Err(JournalError::Damaged {
                offset,
                what: format!("its checksum is {found:08x}, written was {sum:08x}"),
            });
        }
        Ok(Some(body))
    }
}

/// The items of a record's body.
///
/// # Errors
/// They are not in postcard's format or no items.
pub(crate) fn items(mut body: &[u8]) -> Result<VecDeque<Item>, postcard::Error> {
    let mut items = VecDeque::new();
    while !body.is_empty() {
        let (item, rest) = postcard::take_from_bytes(body)?;
        items.push_back(item);
        body = rest;
    }
    Ok(items)
}
