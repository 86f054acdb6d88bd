//! An application's part of a walk: its keys in order, each at the closest place it may use
//! (`RegularContainerAllocator`).
//! May touch: counters of opportunities.
//! Must not: change an account.

use yarn_types::Resource;

use super::{Assignment, Candidates, Limits, Mode, Proposal, Skip};
use crate::{
    num,
    sched::{
        Sched,
        ask::{ANY, AskKey, KeyAsks, Locality},
        ids::{AppIdx, ContainerIdx, LabelIdx, NodeIdx},
        node::Node,
    },
};

/// What became of one key (`AllocationState`).
enum Outcome {
    /// The next key may be tried.
    PrioritySkipped,
    /// A wider place may be tried.
    LocalitySkipped,
    /// The next application may be tried.
    AppSkipped,
    /// The limit of a queue holds it back; a reservation without an ask is given up.
    QueueSkipped(Option<ContainerIdx>),
    /// To be committed.
    Proposed(Proposal),
}

/// One key of one application on the way through the nodes.
#[derive(Clone, Copy)]
struct Try {
    app: AppIdx,
    key: AskKey,
    mode: Mode,
    from: Option<ContainerIdx>,
}

impl Sched {
    /// The assignment for one application; with `from`, for the ask of that reservation alone.
    pub(super) fn assign_app(
        &mut self,
        app: AppIdx,
        candidates: &Candidates,
        limits: &Limits,
        mode: Mode,
        from: Option<ContainerIdx>,
    ) -> Assignment {
        let label = match mode {
            Mode::Respect => candidates.label,
            Mode::Ignore => LabelIdx::DEFAULT,
        };
        if let Some(reservation) = from {
            let Some(key) = self.containers.get(reservation).map(|c| c.key) else {
                return Assignment::default();
            };
            let one = Try {
                app,
                key,
                mode,
                from,
            };
            return match self.try_key(one, candidates, limits) {
                Outcome::Proposed(proposal) => Assignment {
                    proposal: Some(proposal),
                    ..Assignment::default()
                },
                Outcome::AppSkipped => Assignment::skipped(Skip::Other),
                Outcome::QueueSkipped(excess) => Assignment {
                    excess,
                    ..Assignment::skipped(Skip::QueueLimit)
                },
                Outcome::PrioritySkipped | Outcome::LocalitySkipped => Assignment::default(),
            };
        }
        let wants = self
            .app(app)
            .map_or(Resource::ZERO, |a| a.counted.get(label));
        if !self.is_some_of(wants) {
            return Assignment::skipped(Skip::Other);
        }
        let mut at = None;
        while let Some(key) = self.app(app).and_then(|a| a.asks.next_key(at)) {
            at = Some(key);
            let one = Try {
                app,
                key,
                mode,
                from: None,
            };
            match self.try_key(one, candidates, limits) {
                Outcome::PrioritySkipped => {}
                Outcome::Proposed(proposal) => {
                    return Assignment {
                        proposal: Some(proposal),
                        ..Assignment::default()
                    };
                }
                Outcome::QueueSkipped(_) => return Assignment::skipped(Skip::QueueLimit),
                Outcome::AppSkipped => return Assignment::skipped(Skip::Other),
                Outcome::LocalitySkipped => return Assignment::default(),
            }
        }
        Assignment::skipped(Skip::Other)
    }

    fn try_key(&mut self, one: Try, candidates: &Candidates, limits: &Limits) -> Outcome {
        match one.from {
            None => {
                if let Some(no) = self.precheck(one, candidates, limits) {
                    return no;
                }
            }
            Some(from) => {
                if self.app(one.app).is_none_or(|a| a.asks.count(one.key) == 0) {
                    return Outcome::QueueSkipped(Some(from));
                }
            }
        }
        let mut result = Outcome::PrioritySkipped;
        let skip_reserved = self.conf.queues.cluster.skip_reserved_nodes;
        for (at, node) in candidates.nodes.iter().enumerate() {
            let last = at + 1 == candidates.nodes.len();
            let held = self.nodes.get(*node).is_some_and(|n| n.reserved.is_some());
            if one.from.is_none() && held && !last && skip_reserved {
                continue;
            }
            result = self.try_node(one, *node, limits);
            match &result {
                // with many nodes a reservation is made only where no later one has room
                Outcome::Proposed(p) if p.reserve && !last => {}
                Outcome::Proposed(_) => break,
                _ => {}
            }
        }
        if let Outcome::Proposed(p) = &result {
            self.count_opportunities(one, p);
        }
        result
    }

    /// `preCheckForNodeCandidateSet`.
    fn precheck(&mut self, one: Try, candidates: &Candidates, limits: &Limits) -> Option<Outcome> {
        let a = self.app(one.app)?;
        let Some(asks) = a.asks.get(one.key).filter(|asks| asks.count() > 0) else {
            return Some(Outcome::PrioritySkipped);
        };
        if one.mode == Mode::Ignore && a.am.waiting {
            return Some(Outcome::AppSkipped);
        }
        let wanted = match one.mode {
            Mode::Respect => candidates.label,
            Mode::Ignore => LabelIdx::DEFAULT,
        };
        if asks.label != wanted {
            return Some(Outcome::PrioritySkipped);
        }
        let (size, unlabelled) = (asks.size, asks.label == LabelIdx::DEFAULT);
        let looking = self.conf.queues.cluster.continue_looking;
        if !looking && !self.needs_another(one.app, one.key, size) {
            return Some(Outcome::PrioritySkipped);
        }
        let mut room = limits.headroom;
        if looking && candidates.label == LabelIdx::DEFAULT {
            room = room.plus(a.reservation());
        }
        if !self.conf.calculator.fits(size, room) {
            return Some(Outcome::QueueSkipped(None));
        }
        let mut missed = 0;
        if unlabelled {
            let counters = self.app_mut(one.app)?.asks.opportunities_mut(one.key);
            counters.non_partitioned = counters.non_partitioned.saturating_add(1);
            missed = counters.non_partitioned;
        }
        let too_soon = (missed as usize) < self.nodes.count;
        (one.mode == Mode::Ignore && too_soon).then_some(Outcome::AppSkipped)
    }

    fn try_node(&mut self, one: Try, node: NodeIdx, limits: &Limits) -> Outcome {
        let Some(n) = self.nodes.get(node) else {
            return Outcome::PrioritySkipped;
        };
        let Some(a) = self.app(one.app) else {
            return Outcome::AppSkipped;
        };
        if a.avoids(&n.host, &n.rack) {
            return Outcome::AppSkipped;
        }
        let target = one.key.update.and_then(|c| self.containers.get(c));
        if one.key.update.is_some() && target.is_none_or(|c| c.node != node) {
            return Outcome::PrioritySkipped;
        }
        let seen = |s: &mut Self, by: i64| {
            if let Some(a) = s.app_mut(one.app) {
                let n = &mut a.asks.opportunities_mut(one.key).scheduling;
                *n = u32::try_from((i64::from(*n) + by).max(0)).unwrap_or(u32::MAX);
            }
        };
        seen(self, 1);
        let result = self.at_node(one, node, limits);
        if one.from.is_none() && matches!(result, Outcome::PrioritySkipped) {
            // a node that is of no use is no opportunity
            seen(self, -1);
        }
        result
    }

    /// Tries the levels of locality in turn (`assignContainersOnNode`).
    fn at_node(&self, one: Try, node: NodeIdx, limits: &Limits) -> Outcome {
        let (Some(a), Some(n)) = (self.app(one.app), self.nodes.get(node)) else {
            return Outcome::PrioritySkipped;
        };
        let Some(asks) = a.asks.get(one.key) else {
            return Outcome::PrioritySkipped;
        };
        if asks.count_at(&n.host) > 0
            && let Outcome::Proposed(p) = self.at_level(one, node, Locality::Node, limits)
        {
            return Outcome::Proposed(p);
        }
        if asks.count_at(&n.rack) > 0 {
            if !asks.relaxed_at(&n.rack) {
                return Outcome::PrioritySkipped;
            }
            if let Outcome::Proposed(p) = self.at_level(one, node, Locality::Rack, limits) {
                return Outcome::Proposed(p);
            }
        }
        if asks.count() > 0 {
            if !asks.relaxed_at(ANY) {
                return Outcome::PrioritySkipped;
            }
            return match self.at_level(one, node, Locality::OffSwitch, limits) {
                Outcome::LocalitySkipped => Outcome::AppSkipped,
                other => other,
            };
        }
        Outcome::PrioritySkipped
    }

    fn at_level(&self, one: Try, node: NodeIdx, level: Locality, limits: &Limits) -> Outcome {
        let (Some(a), Some(n)) = (self.app(one.app), self.nodes.get(node)) else {
            return Outcome::LocalitySkipped;
        };
        let Some(asks) = a.asks.get(one.key) else {
            return Outcome::LocalitySkipped;
        };
        let seen = a.asks.opportunities(one.key).scheduling;
        if !self.may_use_level(asks, n, level, seen, one.from.is_some()) {
            return Outcome::LocalitySkipped;
        }
        self.fit_or_reserve(one, node, level, limits, asks.size)
    }

    /// `canAssign`: whether enough closer chances were missed.
    fn may_use_level(
        &self,
        asks: &KeyAsks,
        node: &Node,
        level: Locality,
        seen: u32,
        reserved: bool,
    ) -> bool {
        let (nodes, seen) = (
            i64::try_from(self.nodes.count).unwrap_or(i64::MAX),
            i64::from(seen),
        );
        let conf = &self.conf.queues.cluster;
        match level {
            Locality::Node => asks.count_at(&node.host) > 0,
            Locality::Rack => {
                asks.count_at(&node.rack) > 0
                    && nodes.min(i64::from(conf.node_locality_delay)) < seen
            }
            Locality::OffSwitch if reserved => true,
            Locality::OffSwitch if nodes == 0 => false,
            Locality::OffSwitch if asks.places_named() == 1 => true,
            Locality::OffSwitch if conf.rack_locality_additional_delay > -1 => {
                let delay = conf
                    .node_locality_delay
                    .saturating_add(conf.rack_locality_additional_delay);
                seen > nodes.min(i64::from(delay))
            }
            Locality::OffSwitch => {
                num::off_switch_wait(asks.count(), asks.places_named(), self.nodes.count)
                    < num::float_of(seen)
            }
        }
    }

    /// `assignContainer`: takes the node, holds room on it, or neither.
    fn fit_or_reserve(
        &self,
        one: Try,
        node: NodeIdx,
        locality: Locality,
        limits: &Limits,
        size: Resource,
    ) -> Outcome {
        let (calc, types, cluster) = (self.conf.calculator, &self.conf.types, self.cluster_total());
        let Some(n) = self.nodes.get(node) else {
            return Outcome::LocalitySkipped;
        };
        if !calc.fits(size, n.total) {
            return Outcome::LocalitySkipped;
        }
        let needs = self.needs_another(one.app, one.key, size);
        let over = size.minus(limits.headroom);
        let mut to_unreserve = calc.max(over, limits.to_unreserve, cluster, types);
        let must_unreserve = self.is_some_of(to_unreserve);
        let looking = self.conf.queues.cluster.continue_looking && one.from.is_none();
        let mut proposal = Proposal {
            app: one.app,
            node,
            key: one.key,
            size,
            locality,
            mode: one.mode,
            reserve: false,
            from: one.from,
            unreserve: None,
            kill: Vec::new(),
        };
        let mut fits = calc.fits(size, n.free());
        if !fits && limits.allow_preemption {
            let mut room = n.free();
            for idx in &n.killable {
                let Some(c) = self.containers.get(*idx) else {
                    continue;
                };
                proposal.kill.push(*idx);
                room = room.plus(c.resource);
                fits = calc.fits(size, room);
                if fits {
                    break;
                }
            }
        }
        if fits {
            if looking && n.label == LabelIdx::DEFAULT && (!needs || must_unreserve) {
                if !must_unreserve {
                    to_unreserve = size;
                }
                let within = must_unreserve.then_some(n.label);
                proposal.unreserve = self.reservation_of(one.app, one.key, to_unreserve, within);
                if proposal.unreserve.is_none() {
                    return Outcome::LocalitySkipped;
                }
            }
            return Outcome::Proposed(proposal);
        }
        if !needs && one.from.is_none() || looking && must_unreserve {
            return Outcome::LocalitySkipped;
        }
        proposal.reserve = true;
        proposal.kill = Vec::new();
        Outcome::Proposed(proposal)
    }

    /// The first reservation of `key` that is at least `size` (`getNodeIdToUnreserve`); where it is
    /// to make room below a limit, one in the partition whose limit that is.
    pub(in crate::sched) fn reservation_of(
        &self,
        app: AppIdx,
        key: AskKey,
        size: Resource,
        within: Option<LabelIdx>,
    ) -> Option<ContainerIdx> {
        let of_key = self.app(app)?.reservations.get(&key)?;
        let of_limit = |(node, _): &(&NodeIdx, &ContainerIdx)| {
            within.is_none() || self.nodes.get(**node).map(|n| n.label) == within
        };
        let mut all = of_key.iter().filter(of_limit).map(|(_, idx)| *idx);
        all.find(|idx| {
            let c = self.containers.get(*idx);
            c.is_some_and(|c| self.conf.calculator.fits(size, c.resource))
        })
    }

    /// `shouldAllocOrReserveNewContainer`: fewer reservations than containers wanted, or waiting
    /// for long enough that one more is fair.
    fn needs_another(&self, app: AppIdx, key: AskKey, size: Resource) -> bool {
        let Some(a) = self.app(app) else { return false };
        let reserved = a.reserved_count(key);
        let renewed = a.asks.opportunities(key).re_reservations;
        let maximum = self.maximum_allocation_of(a.queue);
        let calc = self.conf.calculator;
        let types = &self.conf.types;
        let node_factor = calc.share(size, maximum, types);
        let minimum_factor = calc.share(maximum.minus(self.minimum()), maximum, types);
        let starved = num::starvation(renewed, reserved, node_factor.min(minimum_factor));
        let wanted = i64::from(a.asks.count(key));
        starved + wanted > i64::try_from(reserved).unwrap_or(i64::MAX)
    }

    /// What a first proposal does to the counters, committed or not (`doAllocation`).
    fn count_opportunities(&mut self, one: Try, p: &Proposal) {
        if one.from.is_some() {
            return;
        }
        let full_reset = self.conf.queues.cluster.rack_locality_full_reset;
        let on_default = self
            .nodes
            .get(p.node)
            .is_some_and(|n| n.label == LabelIdx::DEFAULT);
        let Some(a) = self.app_mut(one.app) else {
            return;
        };
        let counters = a.asks.opportunities_mut(one.key);
        let local = p.locality == Locality::Node;
        if local || (p.locality == Locality::Rack && full_reset) {
            counters.scheduling = 0;
        }
        if on_default {
            counters.non_partitioned = 0;
        }
    }
}
