//! The ResourceManager's journal: what its core was told and when, from a snapshot on; and its replay.
//! May touch: bytes, readers and writers, `rm-core`.
//! Must not: read clocks, open files, or be read by the ResourceManager (it is for finding out later).
//!
//! A segment is [`MAGIC`], a version, then records. A record is its length, a CRC-32 of what follows,
//! and [`Item`]s in postcard's format, numbers little-endian. The first record holds the header and a
//! snapshot of the whole core; each other record is one batch of the driver, ending with a mark. After
//! every [`DIGEST_EVENTS`] events there is a digest of the whole state.

mod item;
mod read;
mod replay;
mod write;

pub use item::{Header, Item};
pub use read::{JournalError, Reader};
pub use replay::{Difference, Position, Replay, ReplayError, describe};
pub use write::{Batch, segment};

/// First bytes of every segment.
pub const MAGIC: &[u8; 8] = b"RMjrnl\r\n";
/// Format of what follows; a file of another version is refused.
pub const VERSION: u16 = 3;
/// Longest record, in bytes. The longest is a snapshot: about 2 KiB a node and 1 KiB a container.
pub const RECORD_BYTES_MAX: u32 = 1 << 30;
/// Events between two digests.
pub const DIGEST_EVENTS: u64 = 1_000;
