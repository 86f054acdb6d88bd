//! The walk: down the queues in their order to the first ask that can be placed.
//! May touch: what asks remember of their waits.
//! Must not: change an account.

use super::{
    super::{
        Sched,
        app::Turn,
        ask::{AskKey, KeyAsks, Locality},
        assign::{Limits, Mode, Proposal, Skip},
        ids::{AppIdx, ContainerIdx, LabelIdx, NodeIdx, QueueIdx},
    },
    Search,
    contest::Wanted,
    find::{Found, Seek},
    tables::user_bit,
};
use yarn_types::Resource;

/// What a walk is for.
#[derive(Clone, Copy, Debug)]
pub(in crate::sched) struct Walk {
    /// Partition whose nodes it fills.
    pub label: LabelIdx,
    /// For asks of the partition, or for sharing it.
    pub mode: Mode,
    /// How queues and applications are found.
    pub search: Search,
    /// How nodes are found.
    pub nodes: Search,
    /// Some container may be taken when its place is needed (lazy preemption).
    pub may_kill: bool,
    /// Its number, with which what it saw is marked.
    pub number: u64,
}

impl Walk {
    /// The partition that asks must name.
    pub fn wanted(self) -> LabelIdx {
        match self.mode {
            Mode::Respect => self.label,
            Mode::Ignore => LabelIdx::DEFAULT,
        }
    }
}

/// Result of a walk.
#[derive(Default)]
pub(super) struct Walked {
    pub proposal: Option<Proposal>,
    pub skip: Skip,
}

impl Walked {
    fn skipped(skip: Skip) -> Self {
        Self {
            proposal: None,
            skip,
        }
    }
}

/// What became of one key of an application.
enum Outcome {
    Proposed(Proposal),
    /// The next key may be tried.
    Skipped,
    /// The limit of a queue holds it back, and with it its queue's siblings' share.
    QueueLimit,
}

/// What is left of the limits when a fitting node is looked for.
#[derive(Clone, Copy)]
struct Fit {
    size: Resource,
    needs: bool,
    to_unreserve: Resource,
    must_unreserve: bool,
}

impl Sched {
    /// The first ask below `queue` that can be placed.
    pub(super) fn walk_queue(
        &mut self,
        queue: QueueIdx,
        limits: &mut Limits,
        walk: Walk,
    ) -> Walked {
        let (label, mode) = (walk.label, walk.mode);
        let is_parent = self.tree.get(queue).is_parent();
        if mode == Mode::Respect && !self.may_access(queue, label)
            || !self.wants(queue, label, mode)
        {
            return Walked::default();
        }
        if !is_parent {
            limits.allow_preemption = walk.may_kill && self.below_guarantee(queue, label);
            return self.walk_leaf(queue, limits, walk);
        }
        let reserved = self.tree.get(queue).usage(label).reserved;
        if !self.may_take(queue, label, limits, reserved, mode) {
            return Walked::default();
        }
        self.walk_children(queue, limits, walk)
    }

    fn walk_children(&mut self, queue: QueueIdx, limits: &mut Limits, walk: Walk) -> Walked {
        let mut skip = Skip::None;
        let mut all = match walk.search {
            Search::Scan => Some(self.children_in_order(queue, walk.label).into_iter()),
            Search::Tables => None,
        };
        loop {
            let child = match &mut all {
                Some(all) => all.next(),
                None => self.next_child(queue, walk),
            };
            let Some(child) = child else {
                return Walked::skipped(skip);
            };
            let limit = self.child_limit(queue, child, limits.limit, limits.blocked, walk.label);
            let mut of_child = Limits::new(limit);
            let found = self.walk_queue(child, &mut of_child, walk);
            if found.proposal.is_some() || self.event.is_spent() {
                return found;
            }
            if found.skip == Skip::QueueLimit {
                skip = Skip::QueueLimit;
                let blocked = if self.tree.get(child).is_parent() {
                    of_child.blocked
                } else {
                    of_child.headroom
                };
                limits.blocked = limits.blocked.plus(self.above_zero(blocked));
            }
        }
    }

    fn wanted_of(&self, walk: Walk, blocked_users: u64) -> Wanted {
        Wanted {
            // what lazy preemption could free is not in the tables
            kinds: if walk.may_kill {
                u64::MAX
            } else {
                self.event.tables.classes.kinds()
            },
            blocked_users,
            walk: walk.number,
        }
    }

    fn next_child(&mut self, queue: QueueIdx, walk: Walk) -> Option<QueueIdx> {
        let wanted = self.wanted_of(walk, 0);
        self.event.tables.next_child(queue, walk.label, wanted)
    }

    fn walk_leaf(&mut self, queue: QueueIdx, limits: &mut Limits, walk: Walk) -> Walked {
        let (label, mode) = (walk.label, walk.mode);
        let mut test_queue = true;
        let mut blocked_users = 0;
        let mut all = match walk.search {
            Search::Scan => Some(self.apps_in_order(queue, label).into_iter()),
            Search::Tables => None,
        };
        loop {
            let app = if let Some(all) = &mut all {
                all.next()
            } else {
                let wanted = self.wanted_of(walk, blocked_users);
                self.event.tables.next_app(queue, label, wanted)
            };
            let Some(app) = app else {
                return Walked::default();
            };
            let Some(a) = self.app(app) else { continue };
            let user = user_bit(a.user.0);
            let reservation = a.reservation();
            if a.counted.get(walk.wanted()).is_zero()
                || blocked_users & user != 0
                || !self.is_worth_a_try(app, walk)
            {
                continue;
            }
            if test_queue {
                if !self.may_take(queue, label, limits, reservation, mode) {
                    return Walked::default();
                }
                test_queue = self.conf.queues.cluster.continue_looking && !reservation.is_zero();
            }
            if !self.user_may_take(queue, app, label, limits, mode) {
                // an application with reservations may still be let through
                let none = self.tree.get(queue).usage(label).reserved.is_zero();
                if user < 1 << 63 && none {
                    blocked_users |= user;
                }
                continue;
            }
            let found = self.walk_app(app, limits, walk);
            if self.event.is_spent() {
                return found;
            }
            if found.proposal.is_some() || found.skip == Skip::QueueLimit {
                return found;
            }
        }
    }

    /// Whether the application has an ask that may hold room still, or that some node has room for.
    /// The tables leave out most of the others: those that they do not must not take a turn either.
    fn is_worth_a_try(&mut self, app: AppIdx, walk: Walk) -> bool {
        if walk.mode == Mode::Ignore || walk.may_kill {
            return true;
        }
        let Some(a) = self.app(app) else { return false };
        let may_hold =
            |(_, k): (AskKey, &KeyAsks)| k.label == walk.label && k.count() > 0 && !k.held_all;
        if a.asks.iter().any(may_hold) {
            return true;
        }
        let mut at = None;
        while let Some(key) = self.app(app).and_then(|a| a.asks.next_key(at)) {
            at = Some(key);
            let ask = self.app(app).and_then(|a| a.asks.get(key));
            let ask = ask.filter(|k| k.label == walk.label && k.count() > 0);
            if let Some((size, class)) = ask.map(|k| (k.size, k.class.0))
                && self.has_room_for(size, class, false, walk)
            {
                return true;
            }
        }
        false
    }

    fn walk_app(&mut self, app: AppIdx, limits: &Limits, walk: Walk) -> Walked {
        let mut at = None;
        while let Some(key) = self.app(app).and_then(|a| a.asks.next_key(at)) {
            at = Some(key);
            match self.walk_key(app, key, limits, walk) {
                Outcome::Skipped => {}
                Outcome::Proposed(proposal) => {
                    return Walked {
                        proposal: Some(proposal),
                        skip: Skip::None,
                    };
                }
                Outcome::QueueLimit => return Walked::skipped(Skip::QueueLimit),
            }
        }
        Walked::skipped(Skip::Other)
    }

    fn walk_key(&mut self, app: AppIdx, key: AskKey, limits: &Limits, walk: Walk) -> Outcome {
        let Some(a) = self.app(app).filter(|a| a.turn == Turn::Active) else {
            return Outcome::Skipped;
        };
        let Some(asks) = a.asks.get(key) else {
            return Outcome::Skipped;
        };
        // an ApplicationMaster never shares a partition
        if asks.count() == 0
            || asks.label != walk.wanted()
            || walk.mode == Mode::Ignore && a.am.waiting
        {
            return Outcome::Skipped;
        }
        let (size, class) = (asks.size, asks.class.0);
        let may_kill = limits.allow_preemption;
        let room = limits.headroom.plus(a.reservation());
        let found = if !may_kill && self.is_asleep(class, walk) {
            Found::No
        } else {
            let seek = Seek {
                app: a,
                key,
                asks,
                may_kill,
            };
            self.find(seek, walk)
        };
        // a limit holds it back only where there would be room
        if matches!(found, Found::No) && !self.has_room_for(size, class, may_kill, walk) {
            return self.hold_room(app, key, limits, walk);
        }
        if !self.conf.calculator.fits(size, room) {
            return Outcome::QueueLimit;
        }
        match found {
            Found::Node(node, locality, kill) => {
                if let Some(until) = self.sharing_from(app, key, walk)
                    && until > self.now
                {
                    self.event.wakes.insert(until);
                    return Outcome::Skipped;
                }
                self.propose(app, key, limits, walk, (node, locality, kill))
            }
            Found::Later(until) => {
                let now = self.now;
                if let Some(asks) = self.app_mut(app).and_then(|a| a.asks.get_mut(key)) {
                    asks.fits_wider_since.get_or_insert(now);
                    asks.wakes_at = Some(until);
                }
                self.event.wakes.insert(until);
                Outcome::Skipped
            }
            Found::No => self.hold_room(app, key, limits, walk),
        }
    }

    /// [`Self::has_room`]; that there is none is remembered for the class.
    fn has_room_for(
        &mut self,
        size: Resource,
        class: Option<u16>,
        may_kill: bool,
        walk: Walk,
    ) -> bool {
        if !may_kill && self.is_asleep(class, walk) {
            return false;
        }
        let class = class.filter(|_| walk.search == Search::Tables);
        let room = self.has_room(size, may_kill, walk);
        if let Some(class) = class
            && !room
        {
            self.event.tables.classes.sleep(class);
        }
        room
    }

    /// It is known that no node has room for the class.
    fn is_asleep(&self, class: Option<u16>, walk: Walk) -> bool {
        let class = class.filter(|_| walk.search == Search::Tables);
        class.is_some_and(|c| self.event.tables.classes.is_asleep(c))
    }

    /// From when on an ask without a label may share the partition of the walk: one heartbeat
    /// after it first could have; `None` where it does not share.
    fn sharing_from(&mut self, app: AppIdx, key: AskKey, walk: Walk) -> Option<yarn_types::Millis> {
        if walk.mode == Mode::Respect {
            return None;
        }
        let (now, heartbeat_ms) = (self.now, self.conf.heartbeat_ms);
        let asks = self.app_mut(app)?.asks.get_mut(key)?;
        let since = *asks.shared_since.get_or_insert(now);
        Some(since.plus(heartbeat_ms))
    }

    fn fit(&self, app: AppIdx, key: AskKey, limits: &Limits) -> Option<Fit> {
        let (calc, types, cluster) = (self.conf.calculator, &self.conf.types, self.cluster_total());
        let a = self.app(app)?;
        let asks = a.asks.get(key)?;
        let wanted = usize::try_from(asks.count()).unwrap_or(0);
        let over = asks.size.minus(limits.headroom);
        let to_unreserve = calc.max(over, limits.to_unreserve, cluster, types);
        Some(Fit {
            size: asks.size,
            needs: wanted > a.reserved_count(key),
            to_unreserve,
            must_unreserve: self.is_some_of(to_unreserve),
        })
    }

    fn propose(
        &self,
        app: AppIdx,
        key: AskKey,
        limits: &Limits,
        walk: Walk,
        (node, locality, kill): (NodeIdx, Locality, Vec<ContainerIdx>),
    ) -> Outcome {
        let Some(fit) = self.fit(app, key, limits) else {
            return Outcome::Skipped;
        };
        let mut unreserve = None;
        if !fit.needs || fit.must_unreserve {
            let least = if fit.must_unreserve {
                fit.to_unreserve
            } else {
                fit.size
            };
            let label = self.nodes.get(node).map(|n| n.label);
            let within = label.filter(|_| fit.must_unreserve);
            unreserve = self.reservation_of(app, key, least, within);
            if unreserve.is_none() {
                return Outcome::Skipped;
            }
        }
        let proposal = Proposal {
            app,
            node,
            key,
            size: fit.size,
            locality,
            mode: walk.mode,
            reserve: false,
            from: None,
            unreserve,
            kill,
        };
        // nothing must go before the user is within its limit: the walk saw that it is
        let user_tested = limits.to_unreserve.is_zero();
        if self.accepts_but(&proposal, user_tested) {
            Outcome::Proposed(proposal)
        } else {
            Outcome::Skipped
        }
    }

    /// An ask that no node has room for holds the one that lacks least, once per outstanding
    /// container, where no limit speaks against it.
    fn hold_room(&mut self, app: AppIdx, key: AskKey, limits: &Limits, walk: Walk) -> Outcome {
        let proposal = self.reservation_for(app, key, limits, walk);
        if let Some(proposal) = proposal {
            return Outcome::Proposed(proposal);
        }
        if walk.mode == Mode::Respect
            && let Some(asks) = self.app_mut(app).and_then(|a| a.asks.get_mut(key))
            && !std::mem::replace(&mut asks.held_all, true)
        {
            self.event.failed += 1;
            self.event.tables.held.add(app.0);
            self.touch_app(app);
        }
        Outcome::Skipped
    }

    fn reservation_for(
        &self,
        app: AppIdx,
        key: AskKey,
        limits: &Limits,
        walk: Walk,
    ) -> Option<Proposal> {
        let a = self.app(app)?;
        let asks = a.asks.get(key)?;
        if asks.held_all || walk.mode == Mode::Ignore {
            return None;
        }
        let fit = self.fit(app, key, limits)?;
        if !fit.needs || fit.must_unreserve {
            return None;
        }
        let seek = Seek {
            app: a,
            key,
            asks,
            may_kill: false,
        };
        let (node, locality) = self.node_to_reserve(seek, walk)?;
        let proposal = Proposal {
            app,
            node,
            key,
            size: fit.size,
            locality,
            mode: walk.mode,
            reserve: true,
            from: None,
            unreserve: None,
            kill: Vec::new(),
        };
        let user_tested = limits.to_unreserve.is_zero();
        self.accepts_but(&proposal, user_tested).then_some(proposal)
    }
}
