//! Indices into the scheduler's arenas: small integers that decisions compare instead of names.
//! May touch: nothing.
//! Must not: be made anywhere but where their arena grows.

/// An application; the caller chooses it (one per application id, never reused).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct AppIdx(pub u32);

/// A node; the caller chooses it (one per node id).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct NodeIdx(pub u32);

/// A queue; stays the same over a refresh.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct QueueIdx(pub u16);

/// A user, interned in order of arrival.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct UserIdx(pub u32);

/// A partition of the nodes; 0 is the default partition (no label).
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct LabelIdx(pub u8);

/// A container in the accounts, allocated or reserved.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct ContainerIdx {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

impl LabelIdx {
    /// Nodes without a label (`RMNodeLabelsManager.NO_LABEL`).
    pub const DEFAULT: Self = Self(0);
}

macro_rules! at {
    ($($idx:ty),*) => {
        $(impl $idx {
            /// Its position in the arena.
            pub fn at(self) -> usize {
                self.0 as usize
            }
        })*
    };
}
at!(AppIdx, NodeIdx, QueueIdx, UserIdx, LabelIdx);
