//! `Item`: what records are made of; read as [`Item`], written as [`ItemRef`] from what is borrowed.
//! May touch: serde derives of the core's types.
//! Must not: differ between the two enums: the order of variants is the format.

use rm_core::{Event, Rm};
use serde::{Deserialize, Serialize};
use yarn_types::{Millis, ResourceType};

/// Where a segment comes from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// Version of the program that wrote it; only the same one replays it exactly.
    pub program: String,
    /// Start of the ResourceManager, wall milliseconds.
    pub cluster_timestamp: i64,
    /// Number of starts with the same store.
    pub epoch: u32,
    /// The lanes of every `Resource` in it.
    pub types: Vec<ResourceType>,
    /// Number of this segment since the start, from 0.
    pub segment: u64,
}

/// One thing that a segment says.
#[derive(Clone, Debug, Deserialize)]
pub enum Item {
    /// First of a segment.
    Header(Header),
    /// The whole core before the items that follow.
    Snapshot(Box<Rm>),
    /// Time of the following events and passes, monotonic milliseconds.
    Now(Millis),
    /// The core took this event.
    Event(Box<Event>),
    /// The core made a scheduling pass.
    Pass,
    /// [`Rm::mark`] at the end of a batch.
    Mark(u64),
    /// [`Rm::digest`] at this point.
    Digest(u64),
}

/// [`Item`] of borrowed values.
#[derive(Clone, Copy, Serialize)]
pub(crate) enum ItemRef<'a> {
    Header(&'a Header),
    Snapshot(&'a Rm),
    Now(Millis),
    Event(&'a Event),
    Pass,
    Mark(u64),
    Digest(u64),
}
