//! Heartbeat-paced assignment: one node's turn, as Hadoop's CapacityScheduler takes it.
//! May touch: counters of opportunities; grants go through `submit` and `commit.rs`.
//! Must not: grant beyond a limit.

mod leaf;
mod parent;
mod regular;
mod submit;

use yarn_types::{Millis, Resource};

use super::{
    Sched,
    ask::{AskKey, Locality},
    ids::{AppIdx, ContainerIdx, LabelIdx, NodeIdx},
    tree::ROOT,
};

/// Whether a partition serves only who asked for it (`SchedulingMode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Only asks for the partition.
    Respect,
    /// Asks without a label on idle nodes of a shareable partition.
    Ignore,
}

/// The nodes that a walk may use.
#[derive(Clone, Debug)]
pub(super) struct Candidates {
    /// In the order in which they are tried.
    pub nodes: Vec<NodeIdx>,
    /// Their partition.
    pub label: LabelIdx,
}

impl Candidates {
    /// The node, when there is only one.
    fn single(&self) -> Option<NodeIdx> {
        match self.nodes[..] {
            [node] => Some(node),
            _ => None,
        }
    }
}

/// What a queue may still take on a walk (`ResourceLimits`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Most that the queue may hold.
    pub limit: Resource,
    /// Kept for children that wait at their limit.
    pub blocked: Resource,
    /// What of the limit is left.
    pub headroom: Resource,
    /// To give up first, to stay below a limit.
    pub to_unreserve: Resource,
    /// Killable containers may be taken.
    pub allow_preemption: bool,
}

impl Limits {
    pub(super) fn new(limit: Resource) -> Self {
        Self {
            limit,
            blocked: Resource::ZERO,
            headroom: limit,
            to_unreserve: Resource::ZERO,
            allow_preemption: false,
        }
    }
}

/// Why a walk came back with nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) enum Skip {
    /// Nothing to say.
    #[default]
    None,
    /// The application could not use the node.
    Other,
    /// A limit of a queue holds the next ask back, and with it its queue's siblings' share.
    QueueLimit,
}

/// What shall be done, before it is tested once more and committed.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Proposal {
    pub app: AppIdx,
    pub node: NodeIdx,
    pub key: AskKey,
    pub size: Resource,
    pub locality: Locality,
    pub mode: Mode,
    /// It only holds room.
    pub reserve: bool,
    /// The reservation that it fulfils or renews.
    pub from: Option<ContainerIdx>,
    /// A reservation elsewhere that is given up for it.
    pub unreserve: Option<ContainerIdx>,
    /// Containers that must end for it.
    pub kill: Vec<ContainerIdx>,
}

/// Result of a walk (`CSAssignment`).
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Assignment {
    pub proposal: Option<Proposal>,
    /// A reservation that nobody needs any more.
    pub excess: Option<ContainerIdx>,
    pub skip: Skip,
}

impl Assignment {
    fn skipped(skip: Skip) -> Self {
        Self {
            skip,
            ..Self::default()
        }
    }
}

impl Sched {
    /// A node's turn: a reservation on it first, then the tree is walked, as often as the keys of
    /// `yarn.scheduler.capacity.per-node-heartbeat` allow. Answers how close the last container
    /// was placed, when any was placed or reserved.
    pub fn node_update(&mut self, now: Millis, node: NodeIdx) -> Option<Locality> {
        self.now = now;
        let label = self.nodes.get(node).filter(|n| n.usable)?.label;
        let candidates = self.candidates(node, label);
        let conf = &self.conf.queues.cluster;
        let (multiple, off_switch_max, containers_max) = (
            conf.assign_multiple,
            i64::from(conf.offswitch_per_heartbeat),
            i64::from(conf.max_assign_per_heartbeat),
        );
        let (mut off_switch, mut containers) = (0, 0);
        let mut last = None;
        loop {
            let Some(done) = self.one_turn(&candidates, node) else {
                return last;
            };
            last = Some(done.locality);
            off_switch += i64::from(done.locality == Locality::OffSwitch);
            containers += 1;
            let more = !done.reserve
                && multiple
                && off_switch < off_switch_max
                && (containers_max < 0 || containers < containers_max);
            if !more {
                return last;
            }
        }
    }

    /// The nodes looked at in the turn of `node`.
    fn candidates(&mut self, node: NodeIdx, label: LabelIdx) -> Candidates {
        let nodes = if self.conf.queues.cluster.multi_node_placement {
            self.preferred_nodes(label)
        } else {
            vec![node]
        };
        Candidates { nodes, label }
    }

    fn one_turn(&mut self, candidates: &Candidates, node: NodeIdx) -> Option<Proposal> {
        let Some(node) = candidates.single().or_else(|| {
            let off = !self.conf.queues.cluster.multi_node_placement;
            off.then_some(node)
        }) else {
            return self.turn_of_many(candidates);
        };
        self.try_reservation(node);
        let n = self.nodes.get(node)?;
        if n.reserved.is_some() {
            return None;
        }
        let room = n.free().plus(self.killable_on(node));
        if !self.conf.calculator.fits(self.minimum(), room) {
            return None;
        }
        self.walk(candidates)
    }

    fn turn_of_many(&mut self, candidates: &Candidates) -> Option<Proposal> {
        for node in &candidates.nodes {
            self.try_reservation(*node);
        }
        let full = self.used_capacity(ROOT, candidates.label) >= 1.0;
        if full && self.killable_in(ROOT, candidates.label).is_zero() {
            return None;
        }
        self.walk(candidates)
    }

    /// Tries the reservation on `node` alone.
    fn try_reservation(&mut self, node: NodeIdx) {
        let reserved = self.nodes.get(node).and_then(|n| n.reserved);
        let Some(c) = reserved.and_then(|r| self.containers.get(r)) else {
            return;
        };
        let Some((queue, _)) = self.place_of(c.app) else {
            return;
        };
        let candidates = Candidates {
            nodes: vec![node],
            label: self.nodes.get(node).map_or(LabelIdx::DEFAULT, |n| n.label),
        };
        let mut limits = Limits::new(self.labels.total(LabelIdx::DEFAULT));
        let assignment = self.assign_leaf(queue, &candidates, &mut limits, Mode::Respect);
        self.submit_assignment(assignment);
    }

    /// Walks the tree for asks of the nodes' partition, then, where it is shareable, for others.
    /// Answers what was proposed, whether or not it could be committed.
    fn walk(&mut self, candidates: &Candidates) -> Option<Proposal> {
        let label = candidates.label;
        let mut limits = Limits::new(self.labels.total(label));
        let found = self.assign_parent(ROOT, candidates, &mut limits, Mode::Respect);
        let proposed = found.proposal.clone();
        self.submit_assignment(found);
        let exclusive = self.labels.get(label).exclusive;
        #[cfg(feature = "mutants")]
        let exclusive = exclusive && self.mutant != Some(super::Mutant::NoExclusion);
        if proposed.is_some() || label == LabelIdx::DEFAULT || exclusive {
            return proposed;
        }
        let mut limits = Limits::new(self.labels.total(LabelIdx::DEFAULT));
        let found = self.assign_parent(ROOT, candidates, &mut limits, Mode::Ignore);
        let proposed = found.proposal.clone();
        self.submit_assignment(found);
        proposed
    }
}

#[cfg(test)]
#[path = "assign_test.rs"]
mod tests;
