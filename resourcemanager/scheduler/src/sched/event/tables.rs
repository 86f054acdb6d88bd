//! The tables that spare a walk from looking at everything, kept up to date from a list of what
//! changed since the last step.
//! May touch: its own tables; nothing of them decides what is granted, only how it is found.
//! Must not: change an account.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    super::{
        Sched,
        app::{App, Turn},
        ask::{KeyAsks, Noted},
        ids::{AppIdx, LabelIdx, NodeIdx, QueueIdx},
        node::Node,
        policy::{AppOrder, ChildOrder},
    },
    classes::{ALWAYS, Classes},
    contest::{Contest, Rank, Seat, Wanted},
    find::packs,
    nodes::{Listed, NOTHING, Part, PartitionNodes},
};
use crate::num::Calculator;

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
pub(super) struct Changed {
    list: Vec<u32>,
    listed: Vec<bool>,
}

impl Changed {
    pub fn add(&mut self, idx: u32) {
        let at = idx as usize;
        if self.listed.len() <= at {
            self.listed.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.listed[at], true) {
            self.list.push(idx);
        }
    }

    pub fn take(&mut self) -> Option<u32> {
        let idx = self.list.pop()?;
        self.listed[idx as usize] = false;
        Some(idx)
    }

    fn clear(&mut self) {
        while self.take().is_some() {}
    }
}

/// Where a node is in its partition's nodes, and the names that it is known by. It stays when the
/// node is gone, for when it comes back.
#[derive(Clone, Debug)]
struct Place {
    label: LabelIdx,
    /// Among the nodes with configured types.
    typed: bool,
    at: u32,
    host: Arc<str>,
    rack: Arc<str>,
}

/// All tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// Queues and applications have their places; false at first.
    made: bool,
    /// Nodes have theirs.
    has_nodes: bool,
    pub classes: Classes,
    /// By partition.
    pub nodes: Vec<PartitionNodes>,
    places: Vec<Option<Place>>,
    by_host: BTreeMap<Arc<str>, Vec<NodeIdx>>,
    by_rack: BTreeMap<Arc<str>, Vec<NodeIdx>>,
    queues: Vec<OfQueue>,
    /// Leaf and seat of each application.
    apps: Vec<Option<(QueueIdx, u32)>>,
    changed_nodes: Changed,
    changed_queues: Changed,
    changed_apps: Changed,
    /// The shares of all queues changed.
    pub all_queues: bool,
    /// Applications with asks that hold all the room that they may.
    pub held: Changed,
    /// Number of the last walk.
    pub walks: u64,
    /// Contests that the walk in progress left something out of.
    open: Vec<(QueueIdx, LabelIdx, bool)>,
}

impl Tables {
    /// False until the first step, and after [`Self::forget_queues`].
    pub fn are_made(&self) -> bool {
        self.made
    }

    /// Queues came or went.
    pub fn forget_queues(&mut self) {
        self.made = false;
    }

    /// Partitions came or went.
    pub fn forget(&mut self) {
        (self.made, self.has_nodes) = (false, false);
    }

    /// Some ask without a label may fit on a node of `label`.
    pub fn may_share(&self, calculator: Calculator, label: LabelIdx) -> bool {
        let nodes = self.nodes.get(label.at());
        let fits = |size| nodes.is_some_and(|n| n.may_fit(calculator, size));
        self.classes.any_of(LabelIdx::DEFAULT, fits)
    }

    pub fn node(&mut self, idx: NodeIdx) {
        if self.has_nodes {
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

    /// The node is known by its names.
    fn is_named(&self, idx: NodeIdx, n: &Node) -> bool {
        let place = self.places.get(idx.at()).and_then(Option::as_ref);
        place.is_some_and(|p| Arc::ptr_eq(&p.host, &n.host) && Arc::ptr_eq(&p.rack, &n.rack))
    }

    /// Notes where a node is, and its names where they are new.
    fn place(&mut self, idx: NodeIdx, n: &Node, at: u32) {
        if self.places.len() <= idx.at() {
            self.places.resize(idx.at() + 1, None);
        }
        if !self.is_named(idx, n) {
            if let Some(old) = self.places[idx.at()].take() {
                forget_name(&mut self.by_host, &old.host, idx);
                forget_name(&mut self.by_rack, &old.rack, idx);
            }
            self.by_host.entry(n.host.clone()).or_default().push(idx);
            self.by_rack.entry(n.rack.clone()).or_default().push(idx);
        }
        self.places[idx.at()] = Some(Place {
            label: n.label,
            typed: packs(n.total),
            at,
            host: n.host.clone(),
            rack: n.rack.clone(),
        });
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

fn forget_name(names: &mut BTreeMap<Arc<str>, Vec<NodeIdx>>, name: &Arc<str>, idx: NodeIdx) {
    if let Some(of) = names.get_mut(name) {
        of.retain(|n| *n != idx);
        if of.is_empty() {
            names.remove(name);
        }
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
            self.make_queues();
        }
        if !self.event.tables.has_nodes {
            self.make_nodes();
        }
        while let Some(app) = self.event.tables.changed_apps.take() {
            self.settle_app(AppIdx(app));
        }
        if self.event.tables.all_queues {
            self.settle_all_queues();
        }
        while let Some(queue) = self.event.tables.changed_queues.take() {
            self.settle_queue(QueueIdx(u16::try_from(queue).unwrap_or(0)));
        }
        while let Some(node) = self.event.tables.changed_nodes.take() {
            self.settle_node(NodeIdx(node));
        }
    }

    fn make_queues(&mut self) {
        let labels = self.labels.len();
        let tables = &mut self.event.tables;
        tables.made = true;
        tables.changed_queues.clear();
        tables.changed_apps.clear();
        tables.held.clear();
        tables.all_queues = true;
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
        for (at, app) in (0..).zip(&self.apps) {
            self.event.tables.changed_apps.add(at);
            let holds = |a: &App| a.asks.iter().any(|(_, asks)| asks.held_all);
            if app.as_ref().is_some_and(holds) {
                self.event.tables.held.add(at);
            }
        }
    }

    fn make_nodes(&mut self) {
        let mut lists = vec![[Listed::new(), Listed::new()]; self.labels.len()];
        let tables = &mut self.event.tables;
        tables.has_nodes = true;
        tables.changed_nodes.clear();
        tables.places.clear();
        tables.by_host.clear();
        tables.by_rack.clear();
        for (idx, n) in self.nodes.usable() {
            let typed = packs(n.total);
            let list = &mut lists[n.label.at()][usize::from(typed)];
            let at = u32::try_from(list.len()).unwrap_or(u32::MAX);
            list.push((idx, self.part(n), n.total));
            self.event.tables.place(idx, n, at);
        }
        self.event.tables.nodes = lists
            .into_iter()
            .map(|[plain, typed]| PartitionNodes::new(plain, typed))
            .collect();
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
        let n = self.nodes.get(idx).filter(|n| n.usable);
        let now = n.map(|n| (self.part(n), n.total, n.label, packs(n.total)));
        let tables = &mut self.event.tables;
        let place = tables.places.get(idx.at()).and_then(Option::as_ref);
        let place = place.map(|p| (p.label, p.typed, p.at));
        if let Some((label, typed, at)) = place
            && now.is_none_or(|(.., l, t)| (l, t) != (label, typed))
        {
            let tree = tables.nodes[label.at()].tree(typed);
            tree.set(at, NOTHING, NOTHING.free);
        }
        let (Some((part, total, label, typed)), Some(n)) = (now, n) else {
            return;
        };
        let tree = tables.nodes[label.at()].tree(typed);
        let stays = place.filter(|(l, t, _)| (*l, *t) == (label, typed));
        let Some(at) = stays.map(|(.., at)| at).or_else(|| tree.append(idx)) else {
            self.make_nodes();
            self.event.tables.classes.wake_all();
            return;
        };
        let before = tree.set(at, part, total);
        if stays.is_none() || !tables.is_named(idx, n) {
            tables.place(idx, n, at);
        }
        if !part.free.fits(before.free) {
            tables.classes.room(self.conf.calculator, label, part.free);
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
                let entry = Seat {
                    key: order,
                    owner: app.0,
                    kinds,
                    user,
                };
                contest.set(seat, (kinds != 0).then_some(entry));
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
            contest.set(seat, None);
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
        let mut at = queue;
        while let Some(parent) = self.tree.get(at).parent {
            self.seat_queue(parent, at, Contest::set);
            at = parent;
        }
    }

    /// Puts all queues where they belong.
    fn settle_all_queues(&mut self) {
        self.event.tables.all_queues = false;
        self.event.tables.changed_queues.clear();
        for queue in self.tree.in_order().into_iter().rev() {
            if let Some(of) = self.event.tables.queues.get_mut(queue.at()) {
                of.children.iter_mut().for_each(Contest::play_all);
            }
            if let Some(parent) = self.tree.get(queue).parent {
                self.seat_queue(parent, queue, |contest, seat, entry| {
                    contest.put(seat, entry);
                });
            }
        }
    }

    fn seat_queue(
        &mut self,
        parent: QueueIdx,
        queue: QueueIdx,
        set: impl Fn(&mut Contest<ChildOrder>, u32, Option<Seat<ChildOrder>>),
    ) {
        let labels = u8::try_from(self.labels.len()).unwrap_or(u8::MAX);
        for label in (0..labels).map(LabelIdx) {
            let kinds = self.event.tables.kinds(queue, label);
            let entry = (kinds != 0).then(|| Seat {
                key: self.child_order(queue, label),
                owner: u32::from(queue.0),
                kinds,
                user: 0,
            });
            let Some(of) = self.event.tables.queues.get(queue.at()) else {
                return;
            };
            let seat = of.seat;
            if let Some(contest) = self.event.tables.children(parent, label) {
                set(contest, seat, entry);
            }
        }
    }
}
