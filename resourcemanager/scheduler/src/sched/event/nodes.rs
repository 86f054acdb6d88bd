//! The nodes of a partition in a tree of maxima: the first in rank that has room, without a scan.
//! May touch: its own arrays.
//! Must not: know who asks.

use yarn_types::Resource;

use super::super::ids::NodeIdx;
use crate::num::Calculator;

/// The most that any node of a part has free, and which ranks are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub free: Resource,
    /// Bit `r` is set where a node has rank `r`, for asks that pack and for those that spread.
    pub pack: u64,
    pub spread: u64,
}

/// No node, or one without any room to give.
pub(super) const NOTHING: Part = Part {
    free: Resource([i64::MIN; yarn_types::LANES]),
    pack: 0,
    spread: 0,
};

/// The nodes of one partition: those without configured types, which come first where all else is
/// equal, and those with.
#[derive(Clone, Debug, Default)]
pub(super) struct PartitionNodes {
    plain: NodeTree,
    typed: NodeTree,
}

/// A list of nodes, each with what it offers and its total.
pub(super) type Listed = Vec<(NodeIdx, Part, Resource)>;

impl PartitionNodes {
    /// Of the nodes without configured types and of those with, each in order.
    pub fn new(plain: Listed, typed: Listed) -> Self {
        Self {
            plain: NodeTree::new(plain),
            typed: NodeTree::new(typed),
        }
    }

    /// The nodes with or without configured types.
    pub fn tree(&mut self, typed: bool) -> &mut NodeTree {
        if typed {
            &mut self.typed
        } else {
            &mut self.plain
        }
    }

    /// Some node may have room for `size`.
    pub fn may_fit(&self, calculator: Calculator, size: Resource) -> bool {
        let all = [&self.plain, &self.typed];
        let fits = |t: &&NodeTree| {
            t.parts
                .get(1)
                .is_some_and(|p| calculator.fits(size, p.free))
        };
        all.iter().any(fits)
    }

    /// The node with room of the lowest rank, then the first in order, that `open` takes.
    pub fn first(&self, room: Room, open: &impl Fn(NodeIdx) -> bool) -> Option<NodeIdx> {
        let of = |tree: &NodeTree| {
            let all = tree.parts.get(1);
            let all = all.filter(|all| room.calculator.fits(room.size, all.free));
            all.map_or(0, |all| {
                ranks(all, room.packs) & (u64::MAX << room.from.min(63))
            })
        };
        let (plain, typed) = (of(&self.plain), of(&self.typed));
        let mut left = plain | typed;
        while left != 0 {
            let rank = left & left.wrapping_neg();
            for (tree, has) in [(&self.plain, plain), (&self.typed, typed)] {
                if has & rank != 0
                    && let Some(found) = tree.first_of(1, rank, room, open)
                {
                    return Some(found);
                }
            }
            left &= !rank;
        }
        None
    }

    /// The node that lacks least by `lack`, which never grows with what is free, among those whose
    /// total could hold `size` and that `open` takes; ties go to the first in order.
    pub fn least<L: Copy>(
        &self,
        calculator: Calculator,
        size: Resource,
        lack: &impl Fn(Resource) -> L,
        less: &impl Fn(L, L) -> bool,
        open: &impl Fn(NodeIdx) -> bool,
    ) -> Option<NodeIdx> {
        let mut best: Option<(L, NodeIdx)> = None;
        for tree in [&self.plain, &self.typed] {
            tree.least(&mut best, calculator, size, lack, less, open);
        }
        best.map(|(_, idx)| idx)
    }
}

/// Nodes in order; their places stay the same until it is made again.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeTree {
    nodes: Vec<NodeIdx>,
    /// Implicit tree: part 1 is all, part `n` is `2n` and `2n + 1`, places begin at `size`.
    parts: Vec<Part>,
    totals: Vec<Resource>,
    size: usize,
}

/// What a search over the nodes takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub calculator: Calculator,
    pub size: Resource,
    /// Ranks for packing, not for spreading.
    pub packs: bool,
    /// Lower ranks have no room, as is known of GPUs.
    pub from: u32,
}

impl NodeTree {
    /// The tree of `nodes`, in the order in which ties are broken.
    fn new(nodes: Listed) -> Self {
        let mut tree = Self {
            nodes: nodes.iter().map(|(idx, ..)| *idx).collect(),
            ..Self::default()
        };
        tree.lay_out(nodes.into_iter().map(|(_, part, total)| (part, total)));
        tree
    }

    fn lay_out(&mut self, all: impl Iterator<Item = (Part, Resource)>) {
        let size = self.nodes.len().next_power_of_two().max(2);
        self.size = size;
        self.parts = vec![NOTHING; 2 * size];
        self.totals = vec![NOTHING.free; 2 * size];
        for (place, (part, total)) in all.enumerate() {
            self.parts[size + place] = part;
            self.totals[size + place] = total;
        }
        for at in (1..size).rev() {
            self.parts[at] = self.join(at);
            self.totals[at] = self.totals[2 * at].max(self.totals[2 * at + 1]);
        }
    }

    /// The place of a new node after all others, with nothing on it; `None` where it comes before
    /// some.
    pub fn append(&mut self, idx: NodeIdx) -> Option<u32> {
        if self.nodes.last().is_some_and(|last| *last >= idx) {
            return None;
        }
        let place = u32::try_from(self.nodes.len()).ok()?;
        self.nodes.push(idx);
        if self.nodes.len() > self.size {
            let (parts, totals) = (std::mem::take(&mut self.parts), &self.totals);
            let before = parts.iter().zip(totals.clone()).skip(self.size);
            let before: Vec<_> = before.map(|(part, total)| (*part, total)).collect();
            self.lay_out(before.into_iter());
        }
        Some(place)
    }

    fn join(&self, at: usize) -> Part {
        let (a, b) = (&self.parts[2 * at], &self.parts[2 * at + 1]);
        Part {
            free: a.free.max(b.free),
            pack: a.pack | b.pack,
            spread: a.spread | b.spread,
        }
    }

    /// Sets what a node offers and its total; answers what it offered before.
    pub fn set(&mut self, place: u32, part: Part, total: Resource) -> Part {
        let leaf = self.size + place as usize;
        if self.totals[leaf] != total {
            self.totals[leaf] = total;
            let mut at = leaf;
            while at > 1 {
                at /= 2;
                self.totals[at] = self.totals[2 * at].max(self.totals[2 * at + 1]);
            }
        }
        let before = std::mem::replace(&mut self.parts[leaf], part);
        let mut at = leaf;
        while at > 1 {
            at /= 2;
            let joined = self.join(at);
            if joined == self.parts[at] {
                break;
            }
            self.parts[at] = joined;
        }
        before
    }

    fn first_of(
        &self,
        at: usize,
        rank: u64,
        room: Room,
        open: &impl Fn(NodeIdx) -> bool,
    ) -> Option<NodeIdx> {
        let part = &self.parts[at];
        if ranks(part, room.packs) & rank == 0 || !room.calculator.fits(room.size, part.free) {
            return None;
        }
        if at >= self.size {
            return Some(self.nodes[at - self.size]).filter(|idx| open(*idx));
        }
        self.first_of(2 * at, rank, room, open)
            .or_else(|| self.first_of(2 * at + 1, rank, room, open))
    }

    fn least<L: Copy>(
        &self,
        best: &mut Option<(L, NodeIdx)>,
        calculator: Calculator,
        size: Resource,
        lack: &impl Fn(Resource) -> L,
        less: &impl Fn(L, L) -> bool,
        open: &impl Fn(NodeIdx) -> bool,
    ) {
        let mut open_parts = vec![1];
        while let Some(at) = open_parts.pop() {
            let Some(part) = self.parts.get(at).filter(|p| p.pack | p.spread != 0) else {
                continue;
            };
            let here = lack(part.free);
            let no_better = |(l, _): (L, NodeIdx)| !less(here, l);
            if best.is_some_and(no_better) || !calculator.fits(size, self.totals[at]) {
                continue;
            }
            if at < self.size {
                open_parts.extend([2 * at + 1, 2 * at]);
                continue;
            }
            let idx = self.nodes[at - self.size];
            if open(idx) {
                *best = Some((here, idx));
            }
        }
    }
}

fn ranks(part: &Part, packs: bool) -> u64 {
    if packs { part.pack } else { part.spread }
}
