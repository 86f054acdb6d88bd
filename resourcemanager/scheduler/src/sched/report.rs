//! Figures for readers: queues, applications, nodes, users.
//! May touch: the state, read only.
//! Must not: be used in a decision.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use yarn_types::{QueueState, Resource};

use super::{
    Sched,
    app::{App, Turn},
    assign::Mode,
    ids::{AppIdx, ContainerIdx, LabelIdx, NodeIdx, QueueIdx},
};
use crate::{conf::QueueConf, num::share_of};

/// Bytes that one node, container or application takes in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryBytes {
    /// A node.
    pub node: usize,
    /// A container or reservation.
    pub container: usize,
    /// An application.
    pub app: usize,
}

/// A partition of the cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelFigures {
    /// Its label; empty for the default one.
    pub name: Arc<str>,
    /// Applications that did not ask for it are kept out.
    pub exclusive: bool,
    /// Offered by its usable nodes.
    pub total: Resource,
    /// Its usable nodes.
    pub nodes: u32,
}

/// A queue in one partition.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct QueueUsage {
    /// Held, reservations included.
    pub used: Resource,
    /// What the guarantee leaves (`CSQueueUtils.getMaxAvailableResourceToQueue`).
    pub available: Resource,
    /// Held by reservations.
    pub reserved: Resource,
    /// Outstanding.
    pub pending: Resource,
    /// Share of the parent, 0 to 1.
    pub capacity: f32,
    /// Share of the cluster, 0 to 1.
    pub abs_capacity: f32,
    /// Maximum share of the parent, 0 to 1.
    pub max_capacity: f32,
    /// Maximum share of the cluster, 0 to 1.
    pub abs_max_capacity: f32,
    /// Used part of the guarantee.
    pub used_capacity: f32,
    /// Used part of the partition.
    pub abs_used_capacity: f32,
    /// Guaranteed now.
    pub effective_min: Resource,
    /// Maximum now.
    pub effective_max: Resource,
    /// Guaranteed as configured in amounts.
    pub configured_min: Resource,
    /// Maximum as configured in amounts.
    pub configured_max: Resource,
    /// Held by ApplicationMasters, or granted to them by the limit.
    pub am_used: Resource,
    /// Most that ApplicationMasters may hold.
    pub am_limit: Resource,
    /// Most that one user's ApplicationMasters may hold, for a user of weight 1.
    pub user_am_limit: Resource,
    /// `maximum-am-resource-percent` as a share.
    pub max_am_percent: f32,
    /// Weight as configured; -1 when it has none.
    pub weight: f32,
    /// Weight among the siblings.
    pub normalized_weight: f32,
}

/// A queue.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueFigures {
    /// Which.
    pub idx: QueueIdx,
    /// Full path.
    pub path: Arc<str>,
    /// Its settings.
    pub conf: Arc<QueueConf>,
    /// Path of its parent.
    pub parent: Option<Arc<str>>,
    /// Paths of its children in order.
    pub children: Vec<Arc<str>>,
    /// Made for an application.
    pub dynamic: bool,
    /// Made for an application, unused, and to be removed when it stays so.
    pub deletable: bool,
    /// Its state.
    pub state: QueueState,
    /// By partition, the default one first.
    pub usage: Vec<QueueUsage>,
    /// Containers and reservations below.
    pub containers: u32,
    /// Outstanding containers below.
    pub pending_containers: u32,
    /// Applications submitted and not ended, below it too.
    pub apps: u32,
    /// Applications whose ApplicationMaster may run (leaf).
    pub active_apps: u32,
    /// Applications waiting for that (leaf).
    pub pending_apps: u32,
    /// Runnable applications below.
    pub runnable_apps: u32,
    /// Most applications (leaf).
    pub max_apps: u32,
    /// Most applications of one user (leaf).
    pub max_apps_per_user: u32,
    /// Users with outstanding asks, those all of whose applications wait included (leaf).
    pub active_users: u32,
    /// Users all of whose applications wait (leaf).
    pub active_users_only_pending: u32,
    /// The largest container.
    pub maximum_allocation: Resource,
}

/// What an application holds and wants, all partitions together.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct AppUsage {
    /// Held by containers.
    pub used: Resource,
    /// Containers held.
    pub used_containers: u32,
    /// Held by reservations.
    pub reserved: Resource,
    /// Reservations.
    pub reserved_containers: u32,
    /// Outstanding.
    pub pending: Resource,
    /// Containers outstanding.
    pub pending_containers: u32,
    /// Held, as percent of what its queue is guaranteed.
    pub queue_percent: f32,
    /// Held, as percent of the cluster.
    pub cluster_percent: f32,
}

/// One container of an application.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ContainerFigures {
    /// In the accounts.
    pub idx: ContainerIdx,
    /// Where.
    pub node: NodeIdx,
    /// Its size.
    pub resource: Resource,
    /// It is the ApplicationMaster's.
    pub is_am: bool,
}

/// An application.
#[derive(Clone, PartialEq, Debug)]
pub struct AppFigures {
    /// Its leaf.
    pub queue: QueueIdx,
    /// Priority after clamping.
    pub priority: i32,
    /// Its attempt is in line or runs, as far as `max-parallel-apps` goes.
    pub runnable: bool,
    /// Its ApplicationMaster may run.
    pub active: bool,
    /// Held by containers, by partition.
    pub used: Vec<Resource>,
    /// Held by reservations, by partition.
    pub reserved: Vec<Resource>,
    /// Outstanding, by partition.
    pub pending: Vec<Resource>,
    /// Outstanding containers.
    pub pending_containers: u32,
    /// Live containers, oldest first.
    pub containers: Vec<ContainerFigures>,
    /// Reservations: node and size.
    pub reservations: Vec<(NodeIdx, Resource)>,
    /// Outstanding containers by priority.
    pub outstanding: BTreeMap<i32, i32>,
    /// Scheduling opportunities by priority.
    pub opportunities: BTreeMap<i32, u32>,
    /// Renewed reservations by priority.
    pub re_reservations: BTreeMap<i32, u32>,
}

/// A node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NodeFigures {
    /// Held.
    pub used: Resource,
    /// Free.
    pub available: Resource,
    /// Containers.
    pub containers: u32,
    /// Whose reservation is on it.
    pub reserved_app: Option<AppIdx>,
    /// Its partition.
    pub label: LabelIdx,
}

/// A user of a leaf.
#[derive(Clone, PartialEq, Debug)]
pub struct UserFigures {
    /// Held, by partition.
    pub used: Vec<Resource>,
    /// Applications whose ApplicationMaster may run.
    pub active_apps: u32,
    /// Applications waiting for that.
    pub pending_apps: u32,
    /// Held by ApplicationMasters, all partitions.
    pub am_used: Resource,
    /// Its weight.
    pub weight: f32,
    /// Most that it may hold in the default partition now.
    pub limit: Resource,
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl Sched {
    /// Every queue in tree order.
    pub fn queues(&self) -> Vec<QueueFigures> {
        let order = self.tree.in_order();
        order
            .into_iter()
            .map(|idx| self.queue_figures(idx))
            .collect()
    }

    /// The queue that a client means by a path or a last part.
    pub fn queue(&self, name_or_path: &str) -> Option<QueueFigures> {
        self.tree
            .find(name_or_path)
            .map(|idx| self.queue_figures(idx))
    }

    fn queue_figures(&self, idx: QueueIdx) -> QueueFigures {
        let q = self.tree.get(idx);
        let leaf = !q.is_parent();
        let labels = (0..self.labels.len()).map(|l| LabelIdx(u8::try_from(l).unwrap_or(u8::MAX)));
        QueueFigures {
            idx,
            path: q.path.clone(),
            conf: q.conf.clone(),
            parent: q.parent.map(|p| self.tree.get(p).path.clone()),
            children: q
                .children
                .iter()
                .map(|c| self.tree.get(*c).path.clone())
                .collect(),
            dynamic: q.dynamic,
            deletable: self.deletable(idx),
            state: q.state,
            usage: labels.map(|label| self.usage_figures(idx, label)).collect(),
            containers: q.containers,
            pending_containers: q.pending_containers,
            apps: self.apps_below(idx),
            active_apps: count(q.leaf.active.len()),
            pending_apps: count(q.leaf.pending.len()),
            runnable_apps: q.runnable,
            max_apps: if leaf { self.max_applications(idx) } else { 0 },
            max_apps_per_user: if leaf {
                self.max_applications_per_user(idx)
            } else {
                0
            },
            active_users: self.active_users(idx) + self.active_users_only_pending(idx),
            active_users_only_pending: self.active_users_only_pending(idx),
            maximum_allocation: self.maximum_allocation_of(idx),
        }
    }

    fn usage_figures(&self, idx: QueueIdx, label: LabelIdx) -> QueueUsage {
        let q = self.tree.get(idx);
        let (usage, share) = (q.usage(label), q.share(label));
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let partition = self.labels.total(label);
        let finite = |v: f32| if v.is_finite() { v } else { 0.0 };
        let leaf = !q.is_parent();
        let left = match calc.compare(share.effective_min, usage.used, partition, types) {
            Ordering::Greater => share.effective_min.minus(usage.used).at_least_zero(),
            _ => Resource::ZERO,
        };
        QueueUsage {
            used: usage.used,
            available: left,
            reserved: usage.reserved,
            pending: usage.pending,
            capacity: share.capacity,
            abs_capacity: share.abs_capacity,
            max_capacity: share.max_capacity,
            abs_max_capacity: share.abs_max_capacity,
            used_capacity: finite(self.used_capacity(idx, label)),
            abs_used_capacity: finite(calc.divide(usage.used, partition, partition, types)),
            effective_min: share.effective_min,
            effective_max: share.effective_max,
            configured_min: share.configured_min,
            configured_max: share.configured_max,
            am_used: usage.am_used,
            am_limit: if leaf {
                self.am_limit(idx, label)
            } else {
                Resource::ZERO
            },
            user_am_limit: if leaf {
                self.user_am_limit(idx, label, None)
            } else {
                Resource::ZERO
            },
            max_am_percent: q.conf.am_percent(label.at()),
            weight: share.weight,
            normalized_weight: share.normalized_weight,
        }
    }

    /// Containers of a leaf that did not ask for the partition that they are placed in.
    pub fn sharing_containers(&self, queue: QueueIdx, label: LabelIdx) -> u32 {
        let shared = self.containers.iter().filter(|(_, c)| {
            !c.reserved
                && c.asked == LabelIdx::DEFAULT
                && label != LabelIdx::DEFAULT
                && self.label_of(c.node) == Some(label)
                && self.app(c.app).is_some_and(|a| a.queue == queue)
        });
        count(shared.count())
    }

    /// Outstanding asks of a leaf's active applications, each user's at most what the user limit
    /// leaves (`getTotalPendingResourcesConsideringUserLimit`); a parent's is its leaves' sum.
    pub fn pending_within_limit(
        &self,
        queue: QueueIdx,
        label: LabelIdx,
        less_reserved: bool,
    ) -> Resource {
        let q = self.tree.get(queue);
        if q.is_parent() {
            return q.children.iter().fold(Resource::ZERO, |sum, c| {
                sum.plus(self.pending_within_limit(*c, label, less_reserved))
            });
        }
        let (pending, without) = self.pending_of_leaf(queue, label);
        if less_reserved { without } else { pending }
    }

    /// What the users of a leaf ask for within their limits, and the same less what is reserved.
    pub(super) fn pending_of_leaf(&self, queue: QueueIdx, label: LabelIdx) -> (Resource, Resource) {
        let q = self.tree.get(queue);
        let mut room: BTreeMap<_, [Resource; 2]> = BTreeMap::new();
        let mut sums = [Resource::ZERO; 2];
        for app in q.leaf.active.values() {
            let Some(a) = self.app(*app) else { continue };
            let left = room.entry(a.user).or_insert_with(|| {
                let used = q.leaf.users.get(&a.user).map(|u| u.used.get(label));
                let limit = self.user_limit(queue, a.user, label, Mode::Respect, true);
                [limit.minus(used.unwrap_or_default()).at_least_zero(); 2]
            });
            let pending = a.counted.get(label);
            let both = [pending, pending.minus(a.reserved.get(label))];
            for ((left, sum), pending) in left.iter_mut().zip(&mut sums).zip(both) {
                let within = (*left).min(pending.at_least_zero());
                *sum = sum.plus(within);
                *left = left.minus(within);
            }
        }
        (sums[0], sums[1])
    }

    /// What an application holds and wants.
    pub fn app_usage(&self, app: AppIdx) -> AppUsage {
        let Some(a) = self.app(app) else {
            return AppUsage::default();
        };
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let cluster = self.cluster_total();
        let used = a.used.sum();
        // Of the partition of its ApplicationMaster (`FiCaSchedulerApp.getResourceUsageReport`).
        let partition = self.labels.total(a.am.label);
        let share = self.tree.get(a.queue).share(a.am.label).abs_capacity;
        let guaranteed = share_of(partition, share, types);
        let percent = |of, cluster| {
            let share = calc.divide(used, of, cluster, types) * 100.0;
            if share.is_finite() { share } else { 0.0 }
        };
        AppUsage {
            used,
            used_containers: a.live,
            reserved: a.reserved.sum(),
            reserved_containers: count(a.reservations.values().map(BTreeMap::len).sum()),
            pending: a.counted.sum(),
            pending_containers: a.counted_containers,
            queue_percent: percent(guaranteed, partition),
            cluster_percent: percent(cluster, cluster),
        }
    }

    /// Priority of an application after clamping.
    pub fn priority(&self, app: AppIdx) -> i32 {
        self.app(app).map_or(0, |a| a.priority)
    }

    /// An application.
    pub fn app_figures(&self, app: AppIdx) -> Option<AppFigures> {
        let a = self.app(app)?;
        let labels = 0..u8::try_from(self.labels.len()).unwrap_or(u8::MAX);
        let by =
            |of: &dyn Fn(LabelIdx) -> Resource| labels.clone().map(|l| of(LabelIdx(l))).collect();
        let mut outstanding = BTreeMap::new();
        let (mut opportunities, mut renewed) = (BTreeMap::new(), BTreeMap::new());
        for (key, asks) in a.asks.iter() {
            *outstanding.entry(key.priority).or_insert(0) += asks.count();
        }
        for (key, counters) in a.asks.counters() {
            *opportunities.entry(key.priority).or_insert(0) += counters.scheduling;
            *renewed.entry(key.priority).or_insert(0) += counters.re_reservations;
        }
        let containers = self
            .containers
            .chain(a.first)
            .map(|(idx, c)| ContainerFigures {
                idx,
                node: c.node,
                resource: c.resource,
                is_am: c.is_am,
            });
        let reserved = a.reservations.values().flatten();
        Some(AppFigures {
            queue: a.queue,
            priority: a.priority,
            runnable: !matches!(a.turn, Turn::NotRunnable | Turn::None),
            active: a.turn == Turn::Active,
            used: by(&|l| a.used.get(l)),
            reserved: by(&|l| a.reserved.get(l)),
            pending: by(&|l| a.counted.get(l)),
            pending_containers: a.counted_containers,
            containers: containers.collect(),
            reservations: reserved
                .filter_map(|(node, idx)| Some((*node, self.containers.get(*idx)?.resource)))
                .collect(),
            outstanding,
            opportunities,
            re_reservations: renewed,
        })
    }

    /// A node.
    pub fn node_figures(&self, node: NodeIdx) -> Option<NodeFigures> {
        let n = self.nodes.get(node)?;
        let reserved = n.reserved.and_then(|r| self.containers.get(r));
        Some(NodeFigures {
            used: n.used,
            available: n.free(),
            containers: n.containers,
            reserved_app: reserved.map(|c| c.app),
            label: n.label,
        })
    }

    /// A leaf's users by name.
    pub fn user_figures(&self, queue: QueueIdx) -> BTreeMap<Arc<str>, UserFigures> {
        let labels = 0..u8::try_from(self.labels.len()).unwrap_or(u8::MAX);
        let users = self.tree.get(queue).leaf.users.iter();
        users
            .filter_map(|(idx, u)| {
                let figures = UserFigures {
                    used: labels.clone().map(|l| u.used.get(LabelIdx(l))).collect(),
                    active_apps: u.active_apps,
                    pending_apps: u.pending_apps,
                    am_used: u.am_used.sum(),
                    weight: u.weight,
                    limit: self.user_limit(queue, *idx, LabelIdx::DEFAULT, Mode::Respect, u.active),
                };
                Some((self.users.get(idx.at())?.clone(), figures))
            })
            .collect()
    }

    /// Bytes of one entry of the arenas, with its part of the tables but without texts, and for an
    /// application with one ask.
    pub fn entry_bytes() -> EntryBytes {
        EntryBytes {
            node: size_of::<Option<super::node::Node>>() + super::event::NODE_BYTES,
            container: size_of::<(u32, Option<super::container::Container>)>(),
            app: size_of::<Option<App>>() + super::event::APP_BYTES,
        }
    }

    /// Name of a partition; empty for the default one.
    pub fn label_name(&self, label: LabelIdx) -> Arc<str> {
        self.labels.get(label).name.clone()
    }

    /// Full path of an application's queue.
    pub fn queue_of(&self, app: AppIdx) -> Option<Arc<str>> {
        Some(self.tree.get(self.app(app)?.queue).path.clone())
    }
}
