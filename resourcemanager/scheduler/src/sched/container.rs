//! Containers and reservations in an arena, chained per application from the oldest.
//! May touch: its own arena.
//! Must not: change an account (only `commit.rs` calls it).

use yarn_types::{Millis, Resource};

use super::{
    ask::AskKey,
    ids::{AppIdx, ContainerIdx, LabelIdx, NodeIdx},
};

/// A container that holds something, or a reservation.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Container {
    pub app: AppIdx,
    pub node: NodeIdx,
    /// Size; of a reservation what it holds.
    pub resource: Resource,
    /// Key of its ask.
    pub key: AskKey,
    /// Partition that was asked for, which may not be its node's.
    pub asked: LabelIdx,
    pub reserved: bool,
    pub is_am: bool,
    /// Number of the grant: larger is newer.
    pub number: u64,
    /// When it was granted or reserved.
    pub created: Millis,
    /// Neighbours in its application's chain.
    pub previous: Option<ContainerIdx>,
    pub next: Option<ContainerIdx>,
}

/// All of them.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Containers {
    slots: Vec<(u32, Option<Container>)>,
    free: Vec<u32>,
    granted: u64,
}

impl Containers {
    pub fn insert(&mut self, mut container: Container) -> ContainerIdx {
        self.granted += 1;
        container.number = self.granted;
        if let Some(slot) = self.free.pop() {
            let entry = &mut self.slots[slot as usize];
            entry.1 = Some(container);
            return ContainerIdx {
                slot,
                generation: entry.0,
            };
        }
        let slot = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push((0, Some(container)));
        ContainerIdx {
            slot,
            generation: 0,
        }
    }

    pub fn remove(&mut self, idx: ContainerIdx) -> Option<Container> {
        let (generation, container) = self.slots.get_mut(idx.slot as usize)?;
        if *generation != idx.generation {
            return None;
        }
        let taken = container.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(idx.slot);
        Some(taken)
    }

    pub fn get(&self, idx: ContainerIdx) -> Option<&Container> {
        let (generation, container) = self.slots.get(idx.slot as usize)?;
        container.as_ref().filter(|_| *generation == idx.generation)
    }

    pub fn get_mut(&mut self, idx: ContainerIdx) -> Option<&mut Container> {
        let (generation, container) = self.slots.get_mut(idx.slot as usize)?;
        container.as_mut().filter(|_| *generation == idx.generation)
    }

    /// All of them, by slot.
    pub fn iter(&self) -> impl Iterator<Item = (ContainerIdx, &Container)> {
        (0_u32..)
            .zip(&self.slots)
            .filter_map(|(slot, (generation, container))| {
                let idx = ContainerIdx {
                    slot,
                    generation: *generation,
                };
                Some((idx, container.as_ref()?))
            })
    }

    /// A chain from its first container on.
    pub fn chain(
        &self,
        first: Option<ContainerIdx>,
    ) -> impl Iterator<Item = (ContainerIdx, &Container)> {
        let step = |idx: ContainerIdx| self.get(idx).map(|c| (idx, c));
        std::iter::successors(first.and_then(step), move |(_, c)| c.next.and_then(step))
    }
}
