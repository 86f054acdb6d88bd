//! One round: the table, what was chosen so far, and the rule by which one container is taken.
//! May touch: a snapshot, the working table.
//! Must not: decide in which order containers are looked at.

use std::{cell::OnceCell, collections::BTreeSet};

use yarn_types::{LANES, Millis, Resource};

use super::{
    Action, Container, LeafOrder, Rules, Snapshot, Source,
    ideal::{Ideal, Purpose},
    table::Table,
};
use crate::{
    conf::PreemptionConf,
    num::{fair_magnitude, share_of},
};

/// A container: its application, and its place there.
pub(super) type Place = (usize, usize);

/// What is still to be obtained in one partition.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Need {
    left: Resource,
    wanted: [bool; LANES],
}

impl Need {
    /// `left` of everything.
    pub(super) fn new(left: Resource) -> Self {
        Self {
            left,
            wanted: left.0.map(|v| v > 0),
        }
    }
}

/// The state of a round.
pub(super) struct Round<'a> {
    /// The picture.
    pub(super) snapshot: &'a Snapshot,
    /// The settings.
    pub(super) conf: &'a PreemptionConf,
    /// The comparisons.
    pub(super) rules: &'a Rules<'a>,
    /// Now.
    pub(super) now: Millis,
    /// The working table.
    pub(super) table: Table,
    /// What the round may still take.
    pub(super) allowed: Resource,
    /// Chosen so far.
    pub(super) chosen: BTreeSet<Place>,
    /// The same in the order of choice, with how long to wait before the kill, ms.
    pub(super) picks: Vec<(Place, u64)>,
    /// The wait of the selector at work.
    pub(super) wait_ms: u64,
    /// What takes effect at once, whatever is marked.
    pub(super) at_once: Vec<Action>,
    /// Applications of each queue in the order of submission.
    pub(super) apps: Vec<Vec<usize>>,
    /// Where containers come from, if not from the picture.
    source: Option<Source<'a>>,
    /// Those that were looked at, by application.
    looked_at: Vec<OnceCell<Vec<Container>>>,
}

impl<'a> Round<'a> {
    /// A round over `snapshot`; nothing chosen yet.
    pub(super) fn new(
        now: Millis,
        snapshot: &'a Snapshot,
        conf: &'a PreemptionConf,
        rules: &'a Rules<'a>,
    ) -> Self {
        let table = Table::new(snapshot);
        let mut apps = vec![Vec::new(); snapshot.queues.len()];
        for (index, app) in snapshot.apps.iter().enumerate() {
            if let Some(list) = apps.get_mut(app.queue) {
                list.push(index);
            }
        }
        Self {
            allowed: share_of(table.cluster, conf.total_per_round, rules.types),
            snapshot,
            conf,
            rules,
            now,
            table,
            chosen: BTreeSet::new(),
            picks: Vec::new(),
            wait_ms: conf.max_wait_before_kill_ms,
            at_once: Vec::new(),
            apps,
            source: None,
            looked_at: Vec::new(),
        }
    }

    /// Containers come from `source`.
    pub(super) fn with_source(mut self, source: Source<'a>) -> Self {
        self.looked_at
            .resize_with(self.snapshot.apps.len(), OnceCell::new);
        self.source = Some(source);
        self
    }

    /// The containers of an application, oldest first.
    pub(super) fn containers(&self, app: usize) -> &[Container] {
        match self.source {
            None => &self.snapshot.apps[app].containers,
            Some(source) => self.looked_at[app].get_or_init(|| (source.containers)(app)),
        }
    }

    /// There may be reservations.
    pub(super) fn may_have_reservations(&self) -> bool {
        let is_some = |source: Source<'_>| !source.beside_reservations.is_empty();
        self.source.is_none_or(is_some)
    }

    /// The applications that hold something on the nodes that selectors look at: those with
    /// reservations, or all where a reservation may move.
    pub(super) fn apps_on_boards(&self) -> Vec<usize> {
        match self.source {
            Some(source) if !self.conf.underutilized_move_reservation => {
                source.beside_reservations.to_vec()
            }
            _ => (0..self.snapshot.apps.len()).collect(),
        }
    }

    /// The container at `place`.
    pub(super) fn container(&self, place: Place) -> Container {
        self.containers(place.0)[place.1]
    }

    /// The partition of its node.
    pub(super) fn partition(&self, container: &Container) -> usize {
        let node = self.snapshot.nodes.get(container.node);
        node.map_or(0, |node| node.partition)
    }

    /// Computes what queues should lose, less what was chosen before (`computeIdealAllocation`).
    pub(super) fn compute(&mut self, purpose: Purpose) {
        let ideal = Ideal {
            snapshot: self.snapshot,
            conf: self.conf,
            rules: self.rules,
            purpose,
            allowed: self.allowed,
        };
        ideal.compute(&mut self.table);
    }

    /// Takes what was chosen before off what is still to be obtained.
    pub(super) fn deduct_chosen(&mut self) {
        for place in &self.chosen {
            let container = self.container(*place);
            let partition = self.partition(&container);
            let queue = self.snapshot.apps[place.0].queue;
            let total = self.snapshot.partitions[partition].total;
            self.table
                .deduct(self.rules, total, (partition, queue), container.size);
        }
    }

    /// By partition, what is to be obtained from a leaf
    /// (`getResToObtainByPartitionForLeafQueue`).
    pub(super) fn needs(&self, queue: usize) -> Vec<Option<Need>> {
        let disabled = self.snapshot.queues[queue].disabled;
        let need = |rows: &Vec<super::QueueRow>| {
            let left = rows[queue].to_obtain;
            let some = !disabled && self.rules.some(left, self.table.cluster);
            some.then(|| Need::new(left))
        };
        self.table.rows.iter().map(need).collect()
    }

    /// Takes a container when it helps and the round allows it
    /// (`tryPreemptContainerAndDeductResToObtain`).
    pub(super) fn take(
        &mut self,
        needs: &mut [Option<Need>],
        place: Place,
        conservative: bool,
    ) -> bool {
        if self.chosen.contains(&place) {
            return false;
        }
        let container = self.container(place);
        let partition = self.partition(&container);
        let Some(need) = needs.get_mut(partition).and_then(Option::as_mut) else {
            return false;
        };
        // so that a type of which nothing is wanted does not count as met
        for amount in need.left.0.iter_mut().take(self.rules.types.len()) {
            if *amount == 0 {
                *amount = -1;
            }
        }
        if !self
            .rules
            .calculator
            .any_above_zero(need.left, self.rules.types)
            || !self.rules.fits(container.size, self.allowed)
            || !self.helps(need, container.size, conservative)
        {
            return false;
        }
        need.left = need.left.minus(container.size);
        self.allowed = self.allowed.minus(container.size);
        if !self.rules.some(need.left, self.table.cluster) {
            needs[partition] = None;
        }
        self.choose(place);
        true
    }

    /// Whether taking `size` helps. Conservative: no wanted type is met yet; else a type that is
    /// wanted becomes less.
    fn helps(&self, need: &Need, size: Resource, conservative: bool) -> bool {
        let rules = self.rules;
        let lowers = || {
            let after = need.left.minus(size).at_least_zero();
            rules.less(after, need.left.at_least_zero(), self.table.cluster)
        };
        if !conservative {
            return lowers();
        }
        if rules.gpu_lane().is_none() {
            return !rules.calculator.any_at_most_zero(need.left, rules.types);
        }
        let met = |lane: usize| need.wanted[lane] && need.left.0[lane] <= 0;
        !(0..rules.types.len()).any(met) && lowers()
    }

    /// Notes a choice.
    pub(super) fn choose(&mut self, place: Place) {
        self.chosen.insert(place);
        self.picks.push((place, self.wait_ms));
    }

    /// The containers of an application that run, those of the lowest priority and then the newest
    /// first (`PreemptionCandidatesSelector.sortContainers`).
    pub(super) fn victims(&self, app: usize) -> Vec<Place> {
        let containers = self.containers(app);
        let live = containers.iter().enumerate().filter(|(_, c)| !c.reserved);
        let mut places: Vec<Place> = live.map(|(at, _)| (app, at)).rev().collect();
        places.sort_by_key(|(_, at)| std::cmp::Reverse(containers[*at].priority));
        places
    }

    /// The active applications of a leaf in the order in which they are served.
    pub(super) fn in_order(&self, queue: usize) -> Vec<usize> {
        let app = |index: &usize| &self.snapshot.apps[*index];
        let active = self.apps[queue].iter().copied();
        let mut apps: Vec<usize> = active.filter(|index| app(index).active).collect();
        match self.snapshot.queues[queue].order {
            LeafOrder::Fifo => apps.sort_by_key(|index| std::cmp::Reverse(app(index).priority)),
            LeafOrder::Fair { size_based_weight } => {
                apps.sort_by_key(|index| self.magnitude(*index, size_based_weight));
            }
        }
        apps
    }

    /// What the fair order compares.
    pub(super) fn magnitude(&self, app: usize, size_based_weight: bool) -> i64 {
        let shares = &self.snapshot.apps[app].shares;
        let held: i64 = shares.iter().map(|s| s.used.memory_mb()).sum();
        let wanted: i64 = shares.iter().map(|s| s.pending.memory_mb()).sum();
        fair_magnitude(held, wanted, size_based_weight)
    }
}
