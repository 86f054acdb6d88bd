//! The only place that changes what is held: node, queue, user and application in one step.
//! May touch: every account.
//! Must not: decide; whoever calls has tested every limit.

use yarn_types::Resource;

use super::{
    Sched,
    ids::{AllocIdx, AppIdx, NodeIdx, QueueIdx, UserIdx},
};

/// A container that holds something.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Alloc {
    pub app: AppIdx,
    pub node: NodeIdx,
    pub queue: QueueIdx,
    pub user: UserIdx,
    pub resource: Resource,
}

/// All containers that hold something.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Allocs {
    slots: Vec<(u32, Option<Alloc>)>,
    free: Vec<u32>,
}

impl Allocs {
    fn insert(&mut self, alloc: Alloc) -> AllocIdx {
        if let Some(slot) = self.free.pop() {
            let entry = &mut self.slots[slot as usize];
            entry.1 = Some(alloc);
            return AllocIdx {
                slot,
                generation: entry.0,
            };
        }
        let slot = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push((0, Some(alloc)));
        AllocIdx {
            slot,
            generation: 0,
        }
    }

    fn remove(&mut self, idx: AllocIdx) -> Option<Alloc> {
        let (generation, alloc) = self.slots.get_mut(idx.slot as usize)?;
        if *generation != idx.generation {
            return None;
        }
        let taken = alloc.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(idx.slot);
        Some(taken)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Alloc> {
        self.slots
            .iter_mut()
            .filter_map(|(_, alloc)| alloc.as_mut())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Alloc> {
        self.slots.iter().filter_map(|(_, alloc)| alloc.as_ref())
    }
}

/// In or out of the accounts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Take,
    Give,
}

impl Way {
    fn of(self, held: Resource, r: Resource) -> Resource {
        match self {
            Self::Take => held.plus(r),
            Self::Give => held.minus(r),
        }
    }

    fn count(self, n: u32) -> u32 {
        match self {
            Self::Take => n.saturating_add(1),
            Self::Give => n.saturating_sub(1),
        }
    }
}

impl Sched {
    /// Puts a container into every account.
    pub(super) fn commit(
        &mut self,
        app: AppIdx,
        node: NodeIdx,
        resource: Resource,
    ) -> Option<AllocIdx> {
        let a = self.app(app)?;
        let alloc = Alloc {
            app,
            node,
            queue: a.queue,
            user: a.user,
            resource,
        };
        self.account(&alloc, Way::Take);
        self.leaf_changed(alloc.queue);
        Some(self.allocs.insert(alloc))
    }

    /// Takes a container out of every account; false when it already is.
    pub fn release(&mut self, alloc: AllocIdx) -> bool {
        let Some(alloc) = self.allocs.remove(alloc) else {
            return false;
        };
        self.account(&alloc, Way::Give);
        #[cfg(feature = "mutants")]
        if self.mutant == Some(crate::mutant::Mutant::DoubleRelease) {
            self.account(&alloc, Way::Give);
        }
        self.grown();
        self.activate(alloc.queue);
        true
    }

    fn account(&mut self, alloc: &Alloc, way: Way) {
        if let Some(node) = self.nodes.get_mut(alloc.node) {
            node.used = way.of(node.used, alloc.resource);
            node.containers = way.count(node.containers);
            // a device comes back only when its ledger says so, not with the account
            if let (Way::Take, Some((lane, room))) = (way, &mut node.gpu_room) {
                *room -= alloc.resource.0[*lane];
            }
        }
        if let Some(app) = self.app_mut(alloc.app) {
            app.used = way.of(app.used, alloc.resource);
            app.containers = way.count(app.containers);
        }
        let user = self
            .tree
            .get_mut(alloc.queue)
            .leaf
            .users
            .entry(alloc.user)
            .or_default();
        user.used = way.of(user.used, alloc.resource);
        let mut at = Some(alloc.queue);
        while let Some(idx) = at {
            #[cfg(feature = "mutants")]
            if self.mutant == Some(crate::mutant::Mutant::SkipAncestor)
                && way == Way::Take
                && idx.at() == 0
            {
                break;
            }
            let queue = self.tree.get_mut(idx);
            queue.used = way.of(queue.used, alloc.resource);
            queue.containers = way.count(queue.containers);
            at = queue.parent;
        }
    }
}
