//! Event-driven assignment: what changed is tried at once, over all nodes, one grant at a time.
//! May touch: what it remembers of asks that found no place; grants go through `assign::submit`.
//! Must not: grant beyond a limit, or take more than its budget of steps in one pass.

mod classes;
mod contest;
mod find;
mod nodes;
mod reserved;
mod tables;
mod walk;

use std::collections::BTreeSet;

use yarn_types::{Millis, limits::PASS_STEPS_MAX};

use super::{
    Sched,
    ask::AskKey,
    assign::{Limits, Mode, Proposal},
    ids::{AppIdx, ContainerIdx, LabelIdx, NodeIdx, QueueIdx},
    tree::ROOT,
};
use tables::Tables;
use walk::Walk;

/// Bytes of the tables for one node: its place, twice its part of the tree, its name's entries.
pub(super) const NODE_BYTES: usize =
    2 * 2 * (size_of::<nodes::Part>() + size_of::<yarn_types::Resource>()) + 160;
/// Bytes of the tables for one application with one ask, its places aside.
pub(super) const APP_BYTES: usize = size_of::<super::ask::KeyAsks>()
    + size_of::<super::ask::Opportunities>()
    + 2 * size_of::<AskKey>()
    + 4 * tables::SEAT_BYTES;

/// How a walk finds queues, applications and nodes: by its tables, or by looking at all of them.
/// Both choose the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Search {
    /// By the tables.
    Tables,
    /// Every one is looked at: the reference, and the way through the queues for what partitions
    /// are shared with.
    Scan,
}

/// What is remembered between passes. All that decides something is kept in a snapshot; what is not
/// kept only spares searches: a scheduler that comes from a snapshot decides as the one it was
/// taken of. Schedulers with the same accounts are the same whatever is noted here.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Event {
    /// Reservations whose node, ask or application changed.
    ripe: BTreeSet<ContainerIdx>,
    /// Times at which a wait ends.
    wakes: BTreeSet<Millis>,
    #[serde(skip)]
    tables: Tables,
    /// Asks found unplaceable in this pass, and the most before it ends.
    #[serde(skip)]
    failed: usize,
    #[serde(skip)]
    failed_max: usize,
}

impl PartialEq for Event {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Event {
    /// What a snapshot keeps of it.
    #[cfg(test)]
    pub(super) fn as_in_a_snapshot(&self) -> Self {
        Self {
            ripe: self.ripe.clone(),
            wakes: self.wakes.clone(),
            ..Self::default()
        }
    }

    /// The pass noted as many failures as it may.
    fn is_spent(&self) -> bool {
        self.failed >= self.failed_max
    }
}

impl Sched {
    /// Grants what can be placed now, until nothing can (false) or the budget of steps is used up
    /// (true: call again). Results are in [`Self::take_told`].
    pub fn pass(&mut self, now: Millis) -> bool {
        self.pass_by(now, Search::Tables, PASS_STEPS_MAX)
    }

    /// [`Self::pass`] with a smaller budget.
    pub fn pass_steps(&mut self, now: Millis, steps: usize) -> bool {
        self.pass_by(now, Search::Tables, steps.min(PASS_STEPS_MAX))
    }

    /// [`Self::pass`] with a given way to search.
    pub(super) fn pass_by(&mut self, now: Millis, search: Search, steps: usize) -> bool {
        self.now = now;
        while self.event.wakes.first().is_some_and(|at| *at <= now) {
            self.event.wakes.pop_first();
            self.stir();
        }
        if !self.stirred {
            return false;
        }
        (self.event.failed, self.event.failed_max) = (0, steps);
        for _ in 0..steps {
            if !self.step(search) {
                self.stirred = self.event.is_spent();
                return self.stirred;
            }
            if self.event.is_spent() {
                break;
            }
        }
        true
    }

    /// When the next wait of an ask for something closer, or for a shared partition, ends.
    pub fn next_wake(&self, now: Millis) -> Option<Millis> {
        if !self.is_event_driven() {
            return None;
        }
        if self.stirred {
            return Some(now);
        }
        self.event.wakes.first().copied()
    }

    /// One grant or change of a reservation; false when nothing is left to do.
    fn step(&mut self, search: Search) -> bool {
        if search == Search::Tables {
            self.settle();
        }
        while let Some(reservation) = self.event.ripe.pop_first() {
            if self.try_reserved(reservation) {
                return true;
            }
        }
        let labels = u8::try_from(self.labels.len()).unwrap_or(u8::MAX);
        let all = || (0..labels).map(LabelIdx);
        if all().any(|label| self.walk_label(label, Mode::Respect, search)) {
            return true;
        }
        all()
            .skip(1)
            .any(|label| self.walk_label(label, Mode::Ignore, search))
    }

    /// Places one ask on a node of `label`; false when none can be.
    fn walk_label(&mut self, label: LabelIdx, mode: Mode, search: Search) -> bool {
        let of = self.labels.get(label);
        let exclusive = of.exclusive;
        #[cfg(feature = "mutants")]
        let exclusive = exclusive && self.mutant != Some(super::Mutant::NoExclusion);
        if of.offered.nodes == 0 || (mode == Mode::Ignore && exclusive) {
            return false;
        }
        let lazy = self.conf.queues.cluster.lazy_preemption;
        let may_kill = lazy && self.nodes.killable().any(|(_, n)| n.usable);
        if mode == Mode::Ignore
            && search == Search::Tables
            && !may_kill
            && !self.event.tables.may_share(self.conf.calculator, label)
        {
            return false;
        }
        self.event.tables.walks += 1;
        let walk = Walk {
            label,
            mode,
            // queues and applications have no places for what they may share
            search: match mode {
                Mode::Respect => search,
                Mode::Ignore => Search::Scan,
            },
            nodes: search,
            may_kill,
            number: self.event.tables.walks,
        };
        let limit = match mode {
            Mode::Respect => of.offered.total,
            Mode::Ignore => self.labels.total(LabelIdx::DEFAULT),
        };
        let mut limits = Limits::new(limit);
        let found = self.walk_queue(ROOT, &mut limits, walk);
        self.event.tables.end_walk();
        // the walk tested it against every limit, and nothing changed since
        found.proposal.is_some_and(|p| self.commit_accepted(&p))
    }

    fn commit_accepted(&mut self, proposal: &Proposal) -> bool {
        let (app, key, node) = (proposal.app, proposal.key, proposal.node);
        let reserve = proposal.reserve;
        if !self.carry_out(proposal) {
            return false;
        }
        if !reserve && let Some(n) = self.nodes.get(node) {
            let default = n.label == LabelIdx::DEFAULT;
            if let Some(asks) = self.app_mut(app).and_then(|a| a.asks.get_mut(key))
                && default
            {
                asks.shared_since = None;
            }
        }
        self.drop_surplus(app, key);
        true
    }

    /// A reservation that no outstanding container is behind any more is given up.
    fn drop_surplus(&mut self, app: AppIdx, key: AskKey) {
        let Some(a) = self.app(app) else { return };
        let wanted = usize::try_from(a.asks.count(key)).unwrap_or(0);
        let Some(of_key) = a.reservations.get(&key) else {
            return;
        };
        let surplus: Vec<ContainerIdx> = of_key.values().skip(wanted).copied().collect();
        for reservation in surplus {
            self.unreserve(reservation);
        }
    }

    /// A node's room or state changed: its reservation is looked at first.
    pub(super) fn touch_node(&mut self, node: NodeIdx) {
        self.event.tables.node(node);
        let reserved = self.nodes.get(node).and_then(|n| n.reserved);
        if let Some(reserved) = reserved.filter(|_| self.is_event_driven()) {
            self.event.ripe.insert(reserved);
        }
    }

    /// An application's asks, places to avoid or turn changed.
    pub(super) fn touch_app(&mut self, app: AppIdx) {
        self.event.tables.app(app);
        let Some(a) = self.app(app) else { return };
        if a.reservations.is_empty() || !self.is_event_driven() {
            return;
        }
        let all: Vec<ContainerIdx> = a
            .reservations
            .values()
            .flat_map(|of_key| of_key.values())
            .copied()
            .collect();
        self.event.ripe.extend(all);
    }

    /// What a leaf holds changed.
    pub(super) fn touch_queue(&mut self, queue: QueueIdx) {
        self.event.tables.queue(queue);
    }

    /// Shares and limits changed: every ask may hold room again, every reservation is looked at,
    /// and queues change places.
    pub(super) fn limits_changed(&mut self) {
        if !self.is_event_driven() {
            return;
        }
        if self.event.tables.are_made() {
            while let Some(app) = self.event.tables.held.take().map(AppIdx) {
                if let Some(a) = self.app_mut(app) {
                    a.asks.retry();
                }
                self.event.tables.app(app);
            }
            self.event.tables.all_queues = true;
        } else {
            for a in self.apps.iter_mut().flatten() {
                a.asks.retry();
            }
        }
        self.event.ripe.extend(self.nodes.reservations());
    }

    /// Queues came or went, or partitions: the tables are laid out again before they are used.
    pub(super) fn forget_places(&mut self, partitions: bool) {
        if partitions {
            self.event.tables.forget();
        } else {
            self.event.tables.forget_queues();
        }
    }
}

#[cfg(test)]
#[path = "event_test.rs"]
pub(in crate::sched) mod tests;
