//! Indices into the core's arenas.
//! May touch: integers.
//! Must not: travel (wire ids are in `yarn-types`).

/// An application; chosen by the life cycles, never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AppIdx(pub u32);

/// A node; chosen by the life cycles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeIdx(pub u32);

/// A queue in tree order; root is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueueIdx(pub u16);

/// A user name, interned in order of arrival.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UserIdx(pub u32);

/// A live container; stale after its release.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AllocIdx {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

macro_rules! at {
    ($($idx:ident),+) => {
        $(impl $idx {
            /// Position in its arena.
            pub fn at(self) -> usize {
                self.0 as usize
            }
        })+
    };
}

at!(AppIdx, NodeIdx, QueueIdx, UserIdx);
