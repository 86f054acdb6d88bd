//! Choice of a node: the closest level that an ask may use now, then packing or spreading.
//! May touch: the nodes, read only.
//! Must not: change anything.

use yarn_types::{MILLI, Millis, Resource};

use super::{
    super::{
        Sched,
        app::App,
        ask::{ANY, AskKey, KeyAsks, Locality},
        ids::{ContainerIdx, LabelIdx, NodeIdx},
        node::Node,
    },
    Search,
    nodes::Room,
    walk::Walk,
};
use crate::num;

/// What a search over the nodes found.
pub(super) enum Found {
    /// A node that has room, at this level, once the containers named end.
    Node(NodeIdx, Locality, Vec<ContainerIdx>),
    /// Only wider than wanted, and the wait is not over before the given time.
    Later(Millis),
    /// Nothing that the ask may use.
    No,
}

/// An ask that looks for a node.
#[derive(Clone, Copy)]
pub(super) struct Seek<'a> {
    pub app: &'a App,
    pub key: AskKey,
    pub asks: &'a KeyAsks,
    /// Containers that lazy preemption marked may be taken.
    pub may_kill: bool,
}

/// Buckets that nodes are ranked into.
pub(super) const RANKS: u32 = 64;

/// It asks for a configured type, as GPUs are.
pub(super) fn packs(size: Resource) -> bool {
    size.0.iter().skip(2).any(|v| *v > 0)
}

/// Only the whole partition can be searched for nodes at `level`.
fn anywhere(seek: Seek<'_>, level: Locality) -> bool {
    level == Locality::OffSwitch && seek.key.update.is_none()
}

impl Sched {
    /// How late a node comes for asks that pack: the fewest free devices first, or the most used
    /// first where it offers none.
    pub(super) fn pack_rank(&self, n: &Node) -> u32 {
        let last = RANKS - 1;
        match self.conf.types.gpu_lane() {
            Some(lane) if n.total.0[lane] > 0 => {
                let devices = n.free().0[lane].max(0) / MILLI;
                u32::try_from(devices).map_or(last, |d| d.min(last))
            }
            _ => last - self.level_of_use(n, RANKS),
        }
    }

    /// How late a node comes for the others: those without configured types first, the least
    /// used first.
    pub(super) fn spread_rank(&self, n: &Node) -> u32 {
        let half = RANKS / 2;
        let used = self.level_of_use(n, half);
        if packs(n.total) { half + used } else { used }
    }

    fn level_of_use(&self, n: &Node, levels: u32) -> u32 {
        let share = self
            .conf
            .calculator
            .share(n.used, n.total, &self.conf.types);
        num::level(share, levels)
    }

    /// How close `node` is to where the ask wants to be; `None` where it may not go
    /// (`RegularContainerAllocator.assignContainersOnNode`).
    pub(in crate::sched) fn level(
        &self,
        app: &App,
        key: AskKey,
        node: NodeIdx,
    ) -> Option<Locality> {
        let (asks, n) = (app.asks.get(key)?, self.nodes.get(node)?);
        if let Some(target) = key.update
            && self.containers.get(target).is_none_or(|c| c.node != node)
        {
            return None;
        }
        if asks.places.is_empty() {
            return asks.relaxed_at(ANY).then_some(Locality::OffSwitch);
        }
        if asks.count_at(&n.host) > 0 {
            Some(Locality::Node)
        } else if asks.count_at(&n.rack) > 0 {
            asks.relaxed_at(&n.rack).then_some(Locality::Rack)
        } else {
            asks.relaxed_at(ANY).then_some(Locality::OffSwitch)
        }
    }

    /// Whether some node of the walk has room for `size`, whoever may use it.
    pub(super) fn has_room(&self, size: Resource, may_kill: bool, walk: Walk) -> bool {
        let open = |n: &Node| n.label == walk.label && n.reserved.is_none();
        let fits = |(idx, n): (NodeIdx, &Node)| {
            open(n)
                && (self.conf.calculator.fits(size, n.free())
                    || may_kill && self.kill_for(idx, size).is_some())
        };
        match walk.nodes {
            Search::Scan => self.nodes.usable().any(fits),
            Search::Tables => {
                let tree = self.event.tables.nodes.get(walk.label.at());
                let found = tree.and_then(|t| t.first(self.room(size), &|_| true));
                found.is_some()
                    || may_kill
                        && self
                            .nodes
                            .killable()
                            .any(|(idx, n)| n.usable && fits((idx, n)))
            }
        }
    }

    fn room(&self, size: Resource) -> Room {
        let packs = packs(size);
        let gpus = self.conf.types.gpu_lane().map_or(0, |lane| size.0[lane]);
        let devices = u32::try_from(gpus.max(0) / MILLI).unwrap_or(u32::MAX);
        Room {
            calculator: self.conf.calculator,
            size,
            packs,
            from: if packs { devices.min(RANKS - 1) } else { 0 },
        }
    }

    /// The node for one container of an ask.
    pub(super) fn find(&self, seek: Seek<'_>, walk: Walk) -> Found {
        let since = seek.asks.fits_wider_since.unwrap_or(self.now);
        let mut later: Option<Millis> = None;
        for level in [Locality::Node, Locality::Rack, Locality::OffSwitch] {
            if level != Locality::OffSwitch && seek.asks.places.is_empty() {
                continue;
            }
            let Some((node, kill)) = self.best_node(seek, level, walk) else {
                continue;
            };
            let from = since.plus(self.wait_ms(seek.asks, level));
            if from <= self.now {
                return Found::Node(node, level, kill);
            }
            later = Some(later.map_or(from, |l| l.min(from)));
        }
        later.map_or(Found::No, Found::Later)
    }

    /// The best node with room at `level`; ties go to the smaller index.
    fn best_node(
        &self,
        seek: Seek<'_>,
        level: Locality,
        walk: Walk,
    ) -> Option<(NodeIdx, Vec<ContainerIdx>)> {
        let size = seek.asks.size;
        let calc = self.conf.calculator;
        let rank = |(idx, n): &(NodeIdx, &Node)| {
            let rank = if packs(size) {
                self.pack_rank(n)
            } else {
                self.spread_rank(n)
            };
            (rank, packs(n.total), *idx)
        };
        let fits = |(_, n): &(NodeIdx, &Node)| calc.fits(size, n.free());
        let found = match walk.nodes {
            Search::Tables if anywhere(seek, level) => {
                let tree = self.event.tables.nodes.get(walk.label.at());
                let open = |idx| self.is_open(seek, level, walk.label, idx);
                tree.and_then(|t| t.first(self.room(size), &open))
            }
            Search::Tables => self
                .nodes_named(seek, level, walk.label)
                .filter(fits)
                .min_by_key(rank)
                .map(|(idx, _)| idx),
            Search::Scan => self
                .open_nodes(seek, level, walk.label)
                .filter(fits)
                .min_by_key(rank)
                .map(|(idx, _)| idx),
        };
        if let Some(node) = found {
            return Some((node, Vec::new()));
        }
        if !seek.may_kill {
            return None;
        }
        self.nodes
            .killable()
            .filter(|(idx, _)| self.is_open(seek, level, walk.label, *idx))
            .find_map(|(idx, _)| Some((idx, self.kill_for(idx, size)?)))
    }

    /// Nodes of `label` that no reservation holds and that the ask may use at `level`.
    fn open_nodes<'a>(
        &'a self,
        seek: Seek<'a>,
        level: Locality,
        label: LabelIdx,
    ) -> impl Iterator<Item = (NodeIdx, &'a Node)> {
        self.nodes
            .usable()
            .filter(move |(idx, _)| self.is_open(seek, level, label, *idx))
    }

    /// As [`Self::open_nodes`], from the places that the ask names.
    fn nodes_named<'a>(
        &'a self,
        seek: Seek<'a>,
        level: Locality,
        label: LabelIdx,
    ) -> impl Iterator<Item = (NodeIdx, &'a Node)> {
        let target = seek.key.update.and_then(|c| self.containers.get(c));
        let named = match target {
            Some(_) => None,
            None => Some(self.event.tables.nodes_named(seek.asks)),
        };
        let all = target
            .map(|c| c.node)
            .into_iter()
            .chain(named.into_iter().flatten());
        all.filter(move |idx| self.is_open(seek, level, label, *idx))
            .filter_map(|idx| Some((idx, self.nodes.get(idx)?)))
    }

    /// The ask may use this node of `label` at `level`.
    fn is_open(&self, seek: Seek<'_>, level: Locality, label: LabelIdx, idx: NodeIdx) -> bool {
        let Some(n) = self.nodes.get(idx) else {
            return false;
        };
        n.usable
            && n.label == label
            && n.reserved.is_none()
            && !seek.app.avoids(&n.host, &n.rack)
            && self.level(seek.app, seek.key, idx) == Some(level)
    }

    /// The node to hold for an ask that fits nowhere: at the closest level, the one that lacks
    /// the smallest share.
    pub(super) fn node_to_reserve(
        &self,
        seek: Seek<'_>,
        walk: Walk,
    ) -> Option<(NodeIdx, Locality)> {
        let levels = [Locality::Node, Locality::Rack, Locality::OffSwitch];
        levels.into_iter().find_map(|level| {
            let node = self.least_lacking(seek, level, walk)?;
            Some((node, level))
        })
    }

    fn least_lacking(&self, seek: Seek<'_>, level: Locality, walk: Walk) -> Option<NodeIdx> {
        let size = seek.asks.size;
        let calc = self.conf.calculator;
        let better = |(a, na): &(NodeIdx, &Node), (b, nb): &(NodeIdx, &Node)| {
            let (la, lb) = (self.lack(size, na.free()), self.lack(size, nb.free()));
            num::compare(la, lb).then((packs(na.total), a).cmp(&(packs(nb.total), b)))
        };
        let could = |(_, n): &(NodeIdx, &Node)| calc.fits(size, n.total);
        match walk.nodes {
            Search::Tables if anywhere(seek, level) => {
                let tree = self.event.tables.nodes.get(walk.label.at())?;
                let open = |idx| self.is_open(seek, level, walk.label, idx);
                let lack = |free| self.lack(size, free);
                tree.least(calc, size, &lack, &|a, b| num::compare(a, b).is_lt(), &open)
            }
            Search::Tables => self
                .nodes_named(seek, level, walk.label)
                .filter(could)
                .min_by(better)
                .map(|(idx, _)| idx),
            Search::Scan => self
                .open_nodes(seek, level, walk.label)
                .filter(could)
                .min_by(better)
                .map(|(idx, _)| idx),
        }
    }

    /// The dominant share of the cluster that `free` is short of `size`.
    pub(super) fn lack(&self, size: Resource, free: Resource) -> f32 {
        let short = size.minus(free).at_least_zero();
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        calc.share(short, self.cluster_total(), types)
    }

    /// How long an ask waits for something closer before `level` is taken, in milliseconds:
    /// Hadoop's counts of missed nodes, as each of `n` nodes reports once per heartbeat.
    pub(in crate::sched) fn wait_ms(&self, asks: &KeyAsks, level: Locality) -> u64 {
        if asks.places.is_empty() {
            return 0;
        }
        let nodes = self.nodes.usable;
        let conf = &self.conf.queues.cluster;
        let delay = i64::from(conf.node_locality_delay.max(0));
        let additional = i64::from(conf.rack_locality_additional_delay);
        let count = match level {
            Locality::Node => return 0,
            Locality::Rack => num::at_most(delay, nodes),
            Locality::OffSwitch if additional >= 0 => {
                num::at_most(delay.saturating_add(additional), nodes)
            }
            Locality::OffSwitch => {
                num::off_switch_wait(asks.count(), asks.places_named(), nodes.max(1))
            }
        };
        num::wait_ms(self.conf.heartbeat_ms, f64::from(count), nodes)
    }
}
