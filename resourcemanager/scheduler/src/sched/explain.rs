//! Why an application's outstanding asks are not placed now, with numbers, computed when asked.
//! May touch: the state, read only.
//! Must not: cost a pass anything.

use std::collections::BTreeMap;

use yarn_types::Resource;

use super::{
    Sched,
    app::{App, Turn},
    ask::{ANY, AskKey, KeyAsks, Locality},
    assign::Mode,
    ids::{AppIdx, LabelIdx, NodeIdx, QueueIdx},
    node::Node,
};
use crate::{conf::Pacing, why::Why};

impl Sched {
    /// One line for each thing that an application waits for: its turn, or each outstanding ask.
    pub fn why(&self, app: AppIdx) -> Vec<String> {
        let types = &self.conf.types;
        let Some(a) = self.app(app) else {
            return Vec::new();
        };
        let waiting = match a.turn {
            Turn::None => return Vec::new(),
            Turn::NotRunnable => self.why_not_runnable(a),
            Turn::Pending => self.why_waiting(app),
            Turn::Active => None,
        };
        if let Some(why) = waiting {
            let size = types.show(a.am.size);
            return vec![format!("ApplicationMaster {size}: {}", why.show(types))];
        }
        a.asks
            .iter()
            .filter(|(_, asks)| asks.count() > 0)
            .flat_map(|(key, asks)| {
                let ask = self.shown(a, key, asks);
                self.whys(a, key, asks)
                    .into_iter()
                    .map(move |why| format!("{ask}: {}", why.show(types)))
            })
            .collect()
    }

    fn shown(&self, a: &App, key: AskKey, asks: &KeyAsks) -> String {
        let size = self.conf.types.show(asks.size);
        let what = match (key.update, a.am.waiting) {
            (Some(_), _) => "increase by".to_owned(),
            (None, true) => "ApplicationMaster".to_owned(),
            (None, false) => format!("{} x", asks.count()),
        };
        if a.am.waiting {
            return format!("{what} {size}");
        }
        format!("{what} {size} at priority {}", key.priority)
    }

    /// Which number of `max-parallel-apps` keeps an attempt back.
    fn why_not_runnable(&self, a: &App) -> Option<Why> {
        let of_queue = self.tree.chain(a.queue).find_map(|idx| {
            let q = self.tree.get(idx);
            let full = i64::from(q.runnable) >= i64::from(q.conf.max_parallel_apps);
            full.then(|| Why::ParallelApps {
                queue: Some(q.path.clone()),
                running: q.runnable,
                limit: q.conf.max_parallel_apps,
            })
        });
        of_queue.or_else(|| {
            let name = self.users.get(a.user.at())?;
            Some(Why::ParallelApps {
                queue: None,
                running: self.runnable_of(a.user),
                limit: self.conf.queues.cluster.max_parallel_apps(name),
            })
        })
    }

    /// Why the containers of one key are not placed: one reason, or one per reservation.
    pub(super) fn whys(&self, a: &App, key: AskKey, asks: &KeyAsks) -> Vec<Why> {
        if let Some(why) = self.why_never(a, asks) {
            return vec![why];
        }
        let reserved = self.why_reserved(a, key, asks);
        if !reserved.is_empty() {
            return reserved;
        }
        let why = self
            .why_limited(a, asks)
            .unwrap_or_else(|| self.why_no_node(a, key, asks));
        vec![why]
    }

    /// What only an administrator, or another node, could change.
    fn why_never(&self, a: &App, asks: &KeyAsks) -> Option<Why> {
        let label = asks.label;
        let name = self.labels.get(label).name.clone();
        let shut = self
            .tree
            .chain(a.queue)
            .find(|idx| !self.may_access(*idx, label));
        if let Some(idx) = shut {
            return Some(Why::NotAccessible {
                queue: self.tree.get(idx).path.clone(),
                label: name,
            });
        }
        if !self.offered(asks, a).any(|_| true) {
            return Some(if label == LabelIdx::DEFAULT {
                Why::NoNodes
            } else {
                Why::NoNodesInPartition { label: name }
            });
        }
        let calc = self.conf.calculator;
        let large = self
            .offered(asks, a)
            .any(|(_, n)| calc.fits(asks.size, n.total));
        (!large).then(|| Why::NoNodeLargeEnough {
            largest: self
                .offered(asks, a)
                .fold(Resource::ZERO, |max, (_, n)| max.max(n.total)),
        })
    }

    /// Usable nodes that an ask could be placed on: of its partition, and, for asks without a
    /// label that are no ApplicationMaster's, of those that are shared.
    fn offered<'a>(
        &'a self,
        asks: &'a KeyAsks,
        a: &'a App,
    ) -> impl Iterator<Item = (NodeIdx, &'a Node)> {
        let shares = asks.label == LabelIdx::DEFAULT && !a.am.waiting;
        self.nodes.usable().filter(move |(_, n)| {
            n.label == asks.label || shares && !self.labels.get(n.label).exclusive
        })
    }

    fn why_reserved(&self, a: &App, key: AskKey, asks: &KeyAsks) -> Vec<Why> {
        let of_key = a.reservations.get(&key);
        of_key
            .into_iter()
            .flat_map(BTreeMap::keys)
            .filter_map(|node| self.nodes.get(*node))
            .map(|n| Why::Reserved {
                host: n.host.clone(),
                lacks: asks.size.minus(n.free()).at_least_zero(),
            })
            .collect()
    }

    /// The limit that the next container would break: of the user, then of the leaf and upward.
    fn why_limited(&self, a: &App, asks: &KeyAsks) -> Option<Why> {
        let (calc, types, cluster) = (self.conf.calculator, &self.conf.types, self.cluster_total());
        let label = asks.label;
        let leaf = self.tree.get(a.queue);
        let over = |idx: QueueIdx| {
            let q = self.tree.get(idx);
            let used = q.usage(label).used;
            let limit = self.limit_of(idx, label);
            let fits = calc.fits(used.plus(asks.size), limit);
            (!fits).then(|| Why::QueueLimit {
                queue: q.path.clone(),
                used,
                limit,
            })
        };
        let used = leaf
            .leaf
            .users
            .get(&a.user)
            .map_or(Resource::ZERO, |u| u.used.get(label));
        let limit = self.user_limit(a.queue, a.user, label, Mode::Respect, true);
        if calc.compare(used, limit, cluster, types).is_gt() {
            return Some(Why::UserLimit {
                queue: leaf.path.clone(),
                used,
                limit,
            });
        }
        // the root's limit is the partition: that there is no room says it better
        let mut below_root = self
            .tree
            .chain(a.queue)
            .take_while(|idx| self.tree.get(*idx).parent.is_some());
        below_root.find_map(over)
    }

    fn limit_of(&self, idx: QueueIdx, label: LabelIdx) -> Resource {
        self.tree.get(idx).maximum(label)
    }

    /// Limits allow it: what is wrong with the nodes.
    fn why_no_node(&self, a: &App, key: AskKey, asks: &KeyAsks) -> Why {
        let calc = self.conf.calculator;
        let fits = |(_, n): &(NodeIdx, &Node)| calc.fits(asks.size, n.free());
        let with_room: Vec<(NodeIdx, &Node)> = self.offered(asks, a).filter(fits).collect();
        if with_room.is_empty() {
            return self.why_no_room(a, asks);
        }
        let free: Vec<(NodeIdx, &Node)> = with_room
            .iter()
            .copied()
            .filter(|(_, n)| n.reserved.is_none())
            .collect();
        if free.is_empty() {
            return Why::HeldForOthers {
                nodes: with_room.len(),
            };
        }
        let open: Vec<(Locality, &Node)> = free
            .iter()
            .filter(|(_, n)| !a.avoids(&n.host, &n.rack))
            .filter_map(|(idx, n)| Some((self.level(a, key, *idx)?, *n)))
            .collect();
        if open.is_empty() {
            return Why::NotWanted { nodes: free.len() };
        }
        self.why_later(asks, &open).unwrap_or(Why::Turn)
    }

    /// No node has room: too few GPUs together, or too little of anything.
    fn why_no_room(&self, a: &App, asks: &KeyAsks) -> Why {
        let calc = self.conf.calculator;
        let could = |(_, n): &(NodeIdx, &Node)| calc.fits(asks.size, n.total);
        let nodes = self.offered(asks, a).filter(could).count();
        if let Some(lane) = self.conf.types.gpu_lane().filter(|l| asks.size.0[*l] > 0) {
            let rooms = self
                .offered(asks, a)
                .filter(could)
                .map(|(_, n)| n.free().0[lane].max(0))
                .filter(|gpus| *gpus > 0);
            let (free, some) = rooms.fold((0, 0), |(sum, n), gpus| (gpus + sum, n + 1));
            // without the GPUs it would fit on a node
            let rest = asks.size.with(lane, 0);
            let alone = self
                .offered(asks, a)
                .any(|(_, n)| n.free().0[lane] > 0 && calc.fits(rest, n.free()));
            if free >= asks.size.0[lane] && alone {
                return Why::GpusFragmented {
                    free: Resource::ZERO.with(lane, free),
                    nodes: some,
                };
            }
        }
        Why::NoRoom { nodes }
    }

    /// A wait that is not over for any of the nodes.
    fn why_later(&self, asks: &KeyAsks, open: &[(Locality, &Node)]) -> Option<Why> {
        if self.conf.queues.cluster.pacing == Pacing::Heartbeat {
            let named = asks.places.keys().any(|place| &**place != ANY);
            let wider = open.iter().all(|(level, _)| *level != Locality::Node);
            // counted in missed nodes there, each of which reports once per heartbeat
            let level = open.iter().map(|(level, _)| *level).min()?;
            return (named && wider).then(|| Why::Locality {
                left_ms: self.wait_ms(asks, level),
            });
        }
        let since = asks.fits_wider_since.unwrap_or(self.now);
        let shared_since = asks.shared_since.unwrap_or(self.now);
        let left = |(level, n): &(Locality, &Node)| {
            let near = since.plus(self.wait_ms(asks, *level)).since(self.now);
            let shared = shared_since.plus(self.conf.heartbeat_ms).since(self.now);
            let shared = if n.label == asks.label { 0 } else { shared };
            (near.max(shared), shared > near, n.label)
        };
        let (left_ms, is_shared, label) = open.iter().map(left).min()?;
        if left_ms == 0 {
            return None;
        }
        Some(if is_shared {
            Why::Sharing {
                label: self.labels.get(label).name.clone(),
                left_ms,
            }
        } else {
            Why::Locality { left_ms }
        })
    }
}

#[cfg(test)]
#[path = "explain_test.rs"]
mod tests;
