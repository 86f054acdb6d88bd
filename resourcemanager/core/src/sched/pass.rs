//! The pass: walks the queues in order and places what fits, one grant at a time.
//! May touch: asks (to note failures and waits); grants go through `commit`.
//! Must not: grant beyond a limit; visit more than its budget of steps.

use std::cmp::Ordering;

use yarn_types::{Millis, Resource, limits::PASS_STEPS_MAX};

use super::{
    Am, Granted, Sched,
    ids::{AppIdx, NodeIdx, QueueIdx},
    nodes::Node,
};
use crate::{
    ask::{AskKey, KeyAsks, Locality},
    num,
    why::Why,
};

/// What a search over the nodes found.
enum Found {
    /// A node at this level.
    Node(NodeIdx, Locality),
    /// Only wider than wanted, and the wait is not over; tried again at the given time.
    Later(Millis),
    /// Nothing.
    No(Why),
}

/// A grant that may be committed.
struct Choice {
    app: AppIdx,
    node: NodeIdx,
    /// `None` for the ApplicationMaster's container.
    key: Option<(AskKey, Locality)>,
}

impl Sched {
    /// Grants what fits, until nothing does (false) or the budget is used up (true: call again).
    pub fn pass(&mut self, now: Millis, granted: &mut Vec<Granted>) -> bool {
        if !self.stirred && self.next_wake().is_none_or(|at| at > now) {
            return false;
        }
        for _ in 0..PASS_STEPS_MAX {
            let Some(choice) = self.choose(now, QueueIdx(0)) else {
                self.stirred = false;
                return false;
            };
            granted.extend(self.grant(&choice));
        }
        true
    }

    /// When a wait for a closer node ends.
    pub fn next_wake(&self) -> Option<Millis> {
        self.apps
            .iter()
            .flatten()
            .flat_map(|app| app.asks.iter())
            .filter_map(|(_, asks)| asks.wakes_at)
            .min()
    }

    /// The first placeable ask below `queue`, children in the order of use.
    fn choose(&mut self, now: Millis, queue: QueueIdx) -> Option<Choice> {
        let q = self.tree.get(queue);
        if q.pending_containers == 0 {
            return None;
        }
        if q.children.is_empty() {
            return self.choose_in_leaf(now, queue);
        }
        let mut children: Vec<QueueIdx> = q
            .children
            .iter()
            .copied()
            .filter(|c| self.tree.get(*c).pending_containers > 0)
            .collect();
        children.sort_by(|a, b| self.queue_order(*a, *b));
        children
            .into_iter()
            .find_map(|child| self.choose(now, child))
    }

    /// `utilization`: the smaller use of the guarantee first, then the larger guarantee.
    fn queue_order(&self, a: QueueIdx, b: QueueIdx) -> Ordering {
        let used = |q| self.used_capacity(q);
        let share = |q| self.tree.get(q).share;
        used(a)
            .total_cmp(&used(b))
            .then_with(|| share(b).total_cmp(&share(a)))
    }

    /// Used share of the guarantee; what has no guarantee counts as over when it holds anything.
    pub(super) fn used_capacity(&self, queue: QueueIdx) -> f32 {
        let q = self.tree.get(queue);
        let guaranteed = self
            .tree
            .guaranteed(queue, self.nodes.total, &self.conf.types);
        self.conf
            .calculator
            .share(q.used, guaranteed, &self.conf.types)
    }

    fn choose_in_leaf(&mut self, now: Millis, queue: QueueIdx) -> Option<Choice> {
        let apps: Vec<AppIdx> = self.tree.get(queue).leaf.active.values().copied().collect();
        apps.into_iter()
            .find_map(|app| self.choose_for(now, queue, app))
    }

    fn choose_for(&mut self, now: Millis, queue: QueueIdx, app: AppIdx) -> Option<Choice> {
        let a = self.app(app)?;
        if !a.demanding {
            return None;
        }
        if let Am::Asked {
            size,
            failed_at,
            ref why,
            ..
        } = a.am
        {
            if !self.worth_trying(queue, failed_at, why.as_ref()) {
                return None;
            }
            let found = self.find_am(app, queue, size);
            let change = self.change;
            return match found {
                Ok(node) => Some(Choice {
                    app,
                    node,
                    key: None,
                }),
                Err(reason) => {
                    if let Some(Am::Asked { failed_at, why, .. }) =
                        self.app_mut(app).map(|a| &mut a.am)
                    {
                        *failed_at = change;
                        *why = Some(*reason);
                    }
                    None
                }
            };
        }
        let keys: Vec<AskKey> = a
            .asks
            .iter()
            .filter(|(_, k)| k.count() > 0)
            .map(|(k, _)| k)
            .collect();
        keys.into_iter()
            .find_map(|key| self.choose_key(now, queue, app, key))
    }

    fn choose_key(
        &mut self,
        now: Millis,
        queue: QueueIdx,
        app: AppIdx,
        key: AskKey,
    ) -> Option<Choice> {
        let asks = self.app(app)?.asks.get(key)?;
        let due = asks.wakes_at.is_some_and(|at| at <= now);
        if !due && !self.worth_trying(queue, asks.failed_at, asks.why.as_ref()) {
            return None;
        }
        let found = self.find(now, queue, app, asks);
        let change = self.change;
        let asks = self.app_mut(app)?.asks.get_mut(key)?;
        match found {
            Found::Node(node, level) => {
                return Some(Choice {
                    app,
                    node,
                    key: Some((key, level)),
                });
            }
            Found::Later(until) => {
                asks.fits_wider_since.get_or_insert(now);
                asks.wakes_at = Some(until);
                asks.why = Some(Why::Locality {
                    left_ms: until.since(now),
                });
            }
            Found::No(why) => {
                asks.wakes_at = None;
                asks.why = Some(why);
            }
        }
        asks.failed_at = change;
        None
    }

    /// Whether something changed since the last failure that could have removed its cause.
    fn worth_trying(&self, queue: QueueIdx, failed_at: u64, why: Option<&Why>) -> bool {
        let by_use = matches!(why, Some(Why::UserLimit { .. }));
        failed_at == 0
            || self.grown_at > failed_at
            || (by_use && self.tree.get(queue).leaf.changed_at > failed_at)
    }

    fn over_limit(&self, queue: QueueIdx, app: AppIdx, size: Resource) -> Option<Why> {
        let user = self.app(app)?.user;
        self.over_queue_limit(queue, size)
            .or_else(|| self.over_user_limit(queue, user))
    }

    fn find_am(&self, app: AppIdx, queue: QueueIdx, size: Resource) -> Result<NodeIdx, Box<Why>> {
        if let Some(why) = self.over_limit(queue, app, size) {
            return Err(Box::new(why));
        }
        let avoids = self.app(app).map(|a| &a.am_avoids);
        let open = |n: &Node| avoids.is_none_or(|hosts| !hosts.contains(&n.host));
        let fits = |n: &&Node| self.conf.calculator.fits(size, n.free()) && !open(n);
        self.best_node(size, open).ok_or_else(|| {
            let avoided = self.nodes.usable().map(|(_, n)| n).filter(fits).count();
            Box::new(self.no_room(size, avoided))
        })
    }

    fn find(&self, now: Millis, queue: QueueIdx, app: AppIdx, asks: &KeyAsks) -> Found {
        if let Some(why) = self.over_limit(queue, app, asks.size) {
            return Found::No(why);
        }
        let Some(a) = self.app(app) else {
            return Found::No(Why::NoNodes);
        };
        let open = |n: &Node| !a.blacklist.contains(&n.host) && !a.blacklist.contains(&n.rack);
        let since = asks.fits_wider_since.unwrap_or(now);
        let mut later: Option<Millis> = None;
        for level in [Locality::Node, Locality::Rack, Locality::OffSwitch] {
            let best = self.best_node(asks.size, |n| {
                open(n) && asks.level(&n.host, &n.rack) == Some(level)
            });
            let Some(node) = best else { continue };
            let from = since.plus(self.wait_ms(asks, level));
            if from <= now {
                return Found::Node(node, level);
            }
            later = Some(later.map_or(from, |l| l.min(from)));
        }
        if let Some(until) = later {
            return Found::Later(until);
        }
        let excluded = |n: &Node| !(open(n) && asks.level(&n.host, &n.rack).is_some());
        let fits = |n: &&Node| self.conf.calculator.fits(asks.size, n.free()) && excluded(n);
        Found::No(self.no_room(
            asks.size,
            self.nodes.usable().map(|(_, n)| n).filter(fits).count(),
        ))
    }

    /// How long an ask waits for something closer before `level` is taken.
    fn wait_ms(&self, asks: &KeyAsks, level: Locality) -> u64 {
        let nodes = self.nodes.usable;
        let queues = &self.conf.queues;
        let at_most = |count: i64| count.clamp(0, i64::try_from(nodes).unwrap_or(i64::MAX)) as f64;
        let count = match level {
            Locality::Node => 0.0,
            Locality::Rack => at_most(queues.node_locality_delay),
            Locality::OffSwitch if queues.rack_locality_additional_delay >= 0 => {
                let both = queues
                    .node_locality_delay
                    .max(0)
                    .saturating_add(queues.rack_locality_additional_delay);
                at_most(both)
            }
            Locality::OffSwitch => {
                let places = asks.places_named().saturating_sub(1) as f64 / nodes.max(1) as f64;
                (f64::from(asks.count()) * places.min(1.0)).min(nodes as f64)
            }
        };
        num::wait_ms(self.conf.heartbeat_ms, count, nodes)
    }

    /// The best usable node with room that passes `test`: an ask without a configured type keeps
    /// off nodes that offer one and spreads; an ask with one packs.
    fn best_node(&self, size: Resource, test: impl Fn(&Node) -> bool) -> Option<NodeIdx> {
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let special = |r: Resource| r.0.iter().skip(2).any(|v| *v > 0);
        let packs = special(size);
        let rank = |n: &Node| {
            let share = calc.share(n.used, n.total, types);
            if packs {
                (false, -share)
            } else {
                (special(n.total), share)
            }
        };
        let mut best: Option<(NodeIdx, (bool, f32))> = None;
        for (idx, node) in self.nodes.usable() {
            if !calc.fits(size, node.free()) || !test(node) {
                continue;
            }
            let r = rank(node);
            let better = best.is_none_or(|(_, b)| r.0.cmp(&b.0).then(r.1.total_cmp(&b.1)).is_lt());
            if better {
                best = Some((idx, r));
            }
        }
        best.map(|(idx, _)| idx)
    }

    fn no_room(&self, size: Resource, unwanted: usize) -> Why {
        if self.nodes.usable == 0 {
            return Why::NoNodes;
        }
        if unwanted > 0 {
            return Why::NotWanted { nodes: unwanted };
        }
        let could = |n: &Node| self.conf.calculator.fits(size, n.total);
        match self.nodes.usable().filter(|(_, n)| could(n)).count() {
            0 => Why::NoNodeLargeEnough {
                largest: self.nodes.largest(),
            },
            nodes => Why::NoRoom { nodes },
        }
    }

    fn grant(&mut self, choice: &Choice) -> Option<Granted> {
        let app = choice.app;
        let node = self.nodes.get(choice.node)?;
        let (host, rack) = (node.host.clone(), node.rack.clone());
        let a = self.app_mut(app)?;
        let (resource, priority, request_id, asked_at) = match choice.key {
            None => {
                let Am::Asked { size, asked_at, .. } = a.am else {
                    return None;
                };
                a.am = Am::Placed { size };
                (size, 0, 0, asked_at)
            }
            Some((key, level)) => {
                let asks = a.asks.get(key)?;
                let out = (asks.size, key.priority, key.request_id, asks.asked_at);
                a.asks.granted(key, &host, &rack, level);
                out
            }
        };
        let alloc = self.commit(app, choice.node, resource)?;
        self.count_demand(app);
        Some(Granted {
            app,
            node: choice.node,
            alloc,
            resource,
            priority,
            allocation_request_id: request_id,
            is_am: choice.key.is_none(),
            asked_at,
        })
    }
}
