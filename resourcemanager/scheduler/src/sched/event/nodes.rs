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

/// The nodes of one partition; their places stay the same until it is made again.
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
    pub fn new(nodes: Vec<(NodeIdx, Part, Resource)>) -> Self {
        let size = nodes.len().next_power_of_two().max(2);
        let mut tree = Self {
            nodes: nodes.iter().map(|(idx, ..)| *idx).collect(),
            parts: vec![NOTHING; 2 * size],
            totals: vec![NOTHING.free; 2 * size],
            size,
        };
        for (place, (_, part, total)) in nodes.into_iter().enumerate() {
            tree.parts[size + place] = part;
            tree.totals[size + place] = total;
        }
        for at in (1..size).rev() {
            tree.parts[at] = tree.join(at);
            tree.totals[at] = tree.totals[2 * at].max(tree.totals[2 * at + 1]);
        }
        tree
    }

    fn join(&self, at: usize) -> Part {
        let (a, b) = (&self.parts[2 * at], &self.parts[2 * at + 1]);
        Part {
            free: a.free.max(b.free),
            pack: a.pack | b.pack,
            spread: a.spread | b.spread,
        }
    }

    /// Sets what a node offers; answers what it offered before.
    pub fn set(&mut self, place: u32, part: Part) -> Part {
        let mut at = self.size + place as usize;
        let before = std::mem::replace(&mut self.parts[at], part);
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

    /// The node with room of the lowest rank, then the first place, that `open` takes.
    pub fn first(&self, room: Room, open: &impl Fn(NodeIdx) -> bool) -> Option<NodeIdx> {
        let all = self.parts.get(1)?;
        if !room.calculator.fits(room.size, all.free) {
            return None;
        }
        let mut ranks = ranks(all, room.packs) & (u64::MAX << room.from.min(63));
        while ranks != 0 {
            let rank = ranks & ranks.wrapping_neg();
            if let Some(found) = self.first_of(1, rank, room, open) {
                return Some(found);
            }
            ranks &= !rank;
        }
        None
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

    /// The node that lacks least by `lack`, which never grows with what is free, among those whose
    /// total could hold `size` and that `open` takes; ties go to the first place.
    pub fn least<L: Copy>(
        &self,
        calculator: Calculator,
        size: Resource,
        lack: &impl Fn(Resource) -> L,
        less: &impl Fn(L, L) -> bool,
        open: &impl Fn(NodeIdx) -> bool,
    ) -> Option<NodeIdx> {
        let mut best: Option<(L, NodeIdx)> = None;
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
                best = Some((here, idx));
            }
        }
        best.map(|(_, idx)| idx)
    }
}

fn ranks(part: &Part, packs: bool) -> u64 {
    if packs { part.pack } else { part.spread }
}
