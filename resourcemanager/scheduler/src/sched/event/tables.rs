//! The tables that spare a walk from looking at everything, kept up to date from a list of what
//! changed since the last step.
//! May touch: its own tables; nothing of them decides what is granted, only how it is found.
//! Must not: change an account.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    super::{
        Sched,
        app::Turn,
        ask::{KeyAsks, Noted},
        ids::{AppIdx, LabelIdx, NodeIdx, QueueIdx},
        node::Node,
        policy::{AppOrder, ChildOrder},
    },
    classes::{ALWAYS, Classes},
    contest::{Contest, Rank, Wanted},
    find::packs,
    nodes::{NOTHING, NodeTree, Part},
};

impl Rank for AppOrder {
    fn before(&self, other: &Self) -> bool {
        self < other
    }
}

impl Rank for ChildOrder {
    fn before(&self, other: &Self) -> bool {
        self.compare(other).is_lt()
    }
}

/// Bytes of an application's seat in one partition.
pub(super) const SEAT_BYTES: usize = Contest::<AppOrder>::SEAT_BYTES;

/// Contests of one queue by partition.
#[derive(Clone, Debug, Default)]
struct OfQueue {
    children: Vec<Contest<ChildOrder>>,
    apps: Vec<Contest<AppOrder>>,
    /// Its seat among its parent's children.
    seat: u32,
    /// Seats for applications: given out so far, and given back.
    seats: u32,
    vacant: Vec<u32>,
}

/// A list of what changed, each entry once.
#[derive(Clone, Debug, Default)]
struct Changed {
    list: Vec<u32>,
    listed: Vec<bool>,
}

impl Changed {
    fn add(&mut self, idx: u32) {
        let at = idx as usize;
        if self.listed.len() <= at {
            self.listed.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.listed[at], true) {
            self.list.push(idx);
        }
    }

    fn take(&mut self) -> Option<u32> {
        let idx = self.list.pop()?;
        self.listed[idx as usize] = false;
        Some(idx)
    }

    fn clear(&mut self) {
        while self.take().is_some() {}
    }
}

/// All tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// Everything must be made again; true at first.
    made: bool,
    pub classes: Classes,
    /// By partition.
    pub nodes: Vec<NodeTree>,
    /// Partition and place of each node there.
    places: Vec<Option<(LabelIdx, u32)>>,
    by_host: BTreeMap<Arc<str>, Vec<NodeIdx>>,
    by_rack: BTreeMap<Arc<str>, Vec<NodeIdx>>,
    queues: Vec<OfQueue>,
    /// Leaf and seat of each application.
    apps: Vec<Option<(QueueIdx, u32)>>,
    changed_nodes: Changed,
    changed_queues: Changed,
    changed_apps: Changed,
    /// Number of the last walk.
    pub walks: u64,
    /// Contests that the walk in progress left something out of.
    open: Vec<(QueueIdx, LabelIdx, bool)>,
}

impl Tables {
    pub fn forget(&mut self) {
        self.made = false;
    }

    pub fn node(&mut self, idx: NodeIdx) {
        if self.made {
            self.changed_nodes.add(idx.0);
        }
    }

    pub fn queue(&mut self, idx: QueueIdx) {
        if self.made {
            self.changed_queues.add(u32::from(idx.0));
        }
    }

    pub fn app(&mut self, idx: AppIdx) {
        if self.made {
            self.changed_apps.add(idx.0);
        }
    }

    /// The next child of a queue that is worth a try.
    pub fn next_child(
        &mut self,
        queue: QueueIdx,
        label: LabelIdx,
        wanted: Wanted,
    ) -> Option<QueueIdx> {
        let contest = self.children(queue, label)?;
        let before = contest.has_hidden();
        let owner = contest.take(wanted);
        if !before && contest.has_hidden() {
            self.open.push((queue, label, true));
        }
        Some(QueueIdx(u16::try_from(owner?).ok()?))
    }

    /// The next application of a leaf that is worth a try.
    pub fn next_app(&mut self, queue: QueueIdx, label: LabelIdx, wanted: Wanted) -> Option<AppIdx> {
        let contest = self.apps(queue, label)?;
        let before = contest.has_hidden();
        let owner = contest.take(wanted);
        if !before && contest.has_hidden() {
            self.open.push((queue, label, false));
        }
        owner.map(AppIdx)
    }

    /// A walk is over: what it left out takes part again.
    pub fn end_walk(&mut self) {
        while let Some((queue, label, children)) = self.open.pop() {
            if children {
                if let Some(contest) = self.children(queue, label) {
                    contest.show();
                }
            } else if let Some(contest) = self.apps(queue, label) {
                contest.show();
            }
        }
    }

    /// The children of a queue in a partition.
    fn children(&mut self, queue: QueueIdx, label: LabelIdx) -> Option<&mut Contest<ChildOrder>> {
        self.queues
            .get_mut(queue.at())?
            .children
            .get_mut(label.at())
    }

    /// The applications of a leaf that ask for a partition.
    fn apps(&mut self, queue: QueueIdx, label: LabelIdx) -> Option<&mut Contest<AppOrder>> {
        self.queues.get_mut(queue.at())?.apps.get_mut(label.at())
    }

    fn kinds(&self, queue: QueueIdx, label: LabelIdx) -> u64 {
        let Some(of) = self.queues.get(queue.at()) else {
            return 0;
        };
        let apps = of.apps.get(label.at()).map_or(0, Contest::kinds);
        apps | of.children.get(label.at()).map_or(0, Contest::kinds)
    }

    /// Nodes of the hosts and racks that an ask names.
    pub fn nodes_named<'a>(&'a self, asks: &'a KeyAsks) -> impl Iterator<Item = NodeIdx> + 'a {
        asks.places.keys().flat_map(|place| {
            let table = if place.starts_with('/') {
                &self.by_rack
            } else {
                &self.by_host
            };
            table.get(place).into_iter().flatten().copied()
        })
    }
}

/// The bit of a user: exact for the first 63, and for nobody else.
pub(super) fn user_bit(user: u32) -> u64 {
    1 << user.min(63)
}

impl Sched {
    /// Brings the tables up to date.
    pub(super) fn settle(&mut self) {
        if !self.event.tables.made || self.event.tables.classes.is_full() {
            self.make_tables();
        }
        while let Some(app) = self.event.tables.changed_apps.take() {
            self.settle_app(AppIdx(app));
        }
        while let Some(queue) = self.event.tables.changed_queues.take() {
            self.settle_queue(QueueIdx(u16::try_from(queue).unwrap_or(0)));
        }
        while let Some(node) = self.event.tables.changed_nodes.take() {
            self.settle_node(NodeIdx(node));
        }
    }

    fn make_tables(&mut self) {
        let labels = self.labels.len();
        let tables = &mut self.event.tables;
        tables.made = true;
        tables.changed_nodes.clear();
        tables.changed_queues.clear();
        tables.changed_apps.clear();
        tables.classes = Classes::default();
        tables.apps.clear();
        tables.queues.clear();
        tables
            .queues
            .resize_with(self.tree.queues.len(), || OfQueue {
                children: vec![Contest::default(); labels],
                apps: vec![Contest::default(); labels],
                ..OfQueue::default()
            });
        for (_, q) in self.tree.iter() {
            for (seat, child) in (0..).zip(&q.children) {
                tables.queues[child.at()].seat = seat;
            }
        }
        self.make_nodes();
        for at in 0..self.apps.len() {
            self.event
                .tables
                .changed_apps
                .add(u32::try_from(at).unwrap_or(u32::MAX));
        }
    }

    fn make_nodes(&mut self) {
        let mut by_label = vec![Vec::new(); self.labels.len()];
        let mut places = Vec::new();
        let mut by_host: BTreeMap<Arc<str>, Vec<NodeIdx>> = BTreeMap::new();
        let mut by_rack: BTreeMap<Arc<str>, Vec<NodeIdx>> = BTreeMap::new();
        for (idx, n) in self.nodes.usable() {
            by_label[n.label.at()].push(idx);
            by_host.entry(n.host.clone()).or_default().push(idx);
            by_rack.entry(n.rack.clone()).or_default().push(idx);
        }
        let mut trees = Vec::with_capacity(by_label.len());
        for (label, mut nodes) in (0..).map(LabelIdx).zip(by_label) {
            nodes.sort_by_key(|idx| {
                let special = self.nodes.get(*idx).is_some_and(|n| packs(n.total));
                (special, *idx)
            });
            for (place, idx) in (0..).zip(&nodes) {
                if places.len() <= idx.at() {
                    places.resize(idx.at() + 1, None);
                }
                places[idx.at()] = Some((label, place));
            }
            let parts = nodes.iter().filter_map(|idx| {
                let n = self.nodes.get(*idx)?;
                Some((*idx, self.part(n), n.total))
            });
            trees.push(NodeTree::new(parts.collect()));
        }
        let tables = &mut self.event.tables;
        tables.nodes = trees;
        tables.places = places;
        tables.by_host = by_host;
        tables.by_rack = by_rack;
    }

    /// What a node offers to those who have no reservation on it.
    fn part(&self, n: &Node) -> Part {
        if n.reserved.is_some() {
            // it still has ranks: it is no node that is not there
            return Part {
                free: NOTHING.free,
                pack: 0,
                spread: 0,
            };
        }
        Part {
            free: n.free(),
            pack: 1 << self.pack_rank(n),
            spread: 1 << self.spread_rank(n),
        }
    }

    fn settle_node(&mut self, idx: NodeIdx) {
        let (Some(n), Some(Some((label, place)))) =
            (self.nodes.get(idx), self.event.tables.places.get(idx.at()))
        else {
            return;
        };
        let (label, place) = (*label, *place);
        let part = self.part(n);
        let calculator = self.conf.calculator;
        let tables = &mut self.event.tables;
        let Some(tree) = tables.nodes.get_mut(label.at()) else {
            return;
        };
        let before = tree.set(place, part);
        if !part.free.fits(before.free) {
            tables.classes.room(calculator, label, part.free);
        }
    }

    /// Puts an application on its seat in its leaf with what it asks for, by partition.
    fn settle_app(&mut self, app: AppIdx) {
        let at = app.at();
        if self.event.tables.apps.len() <= at {
            self.event.tables.apps.resize(at + 1, None);
        }
        let a = self.apps.get(at).and_then(Option::as_ref);
        let active = a.filter(|a| a.turn == Turn::Active).map(|a| a.queue);
        let seated = self.event.tables.apps[at];
        if let Some((queue, seat)) = seated
            && active != Some(queue)
        {
            self.unseat(app, queue, seat);
        }
        let Some(queue) = active else { return };
        let seat = self.seat_of(app, queue);
        let labels = u8::try_from(self.labels.len()).unwrap_or(u8::MAX);
        for label in (0..labels).map(LabelIdx) {
            let kinds = self.kinds_of(app, label);
            let Some(a) = self.app(app) else { return };
            let (order, user) = (a.order, user_bit(a.user.0));
            if let Some(contest) = self.event.tables.apps(queue, label) {
                contest.set(seat, app.0, order, kinds, user);
            }
        }
        self.event.tables.queue(queue);
    }

    fn seat_of(&mut self, app: AppIdx, queue: QueueIdx) -> u32 {
        let tables = &mut self.event.tables;
        if let Some((_, seat)) = tables.apps[app.at()] {
            return seat;
        }
        let of = &mut tables.queues[queue.at()];
        let seat = of.vacant.pop().unwrap_or_else(|| {
            of.seats += 1;
            of.seats - 1
        });
        tables.apps[app.at()] = Some((queue, seat));
        seat
    }

    fn unseat(&mut self, app: AppIdx, queue: QueueIdx, seat: u32) {
        let tables = &mut self.event.tables;
        tables.apps[app.at()] = None;
        let Some(of) = tables.queues.get_mut(queue.at()) else {
            return;
        };
        for contest in &mut of.apps {
            contest.set(seat, app.0, AppOrder::default(), 0, 0);
        }
        of.vacant.push(seat);
        tables.queue(queue);
    }

    /// The kinds of asks of an application in a partition; their classes are noted.
    fn kinds_of(&mut self, app: AppIdx, label: LabelIdx) -> u64 {
        let classes = &mut self.event.tables.classes;
        let Some(a) = self.apps.get_mut(app.at()).and_then(Option::as_mut) else {
            return 0;
        };
        let mut kinds = 0;
        for asks in a.asks.values_mut() {
            if asks.label != label || asks.count() == 0 {
                continue;
            }
            asks.class = Noted(classes.intern(label, asks.size));
            kinds |= match asks.class.0 {
                Some(class) if asks.held_all => Classes::bit(class),
                Some(class) => Classes::bit(class) | ALWAYS,
                None => ALWAYS,
            };
        }
        kinds
    }

    /// Puts a queue and those above it where their use and their asks want them.
    fn settle_queue(&mut self, queue: QueueIdx) {
        let labels = u8::try_from(self.labels.len()).unwrap_or(u8::MAX);
        let mut at = queue;
        while let Some(parent) = self.tree.get(at).parent {
            for label in (0..labels).map(LabelIdx) {
                let kinds = self.event.tables.kinds(at, label);
                let order = self.child_order(at, label);
                let Some(of) = self.event.tables.queues.get(at.at()) else {
                    return;
                };
                let (seat, owner) = (of.seat, u32::from(at.0));
                if let Some(contest) = self.event.tables.children(parent, label) {
                    contest.set(seat, owner, order, kinds, 0);
                }
            }
            at = parent;
        }
    }
}
