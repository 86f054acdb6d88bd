//! What is shown of queues beside their accounts: their users with limits, switches as inherited.
//! May touch: the state, read only.
//! Must not: be used in a decision.

use std::{collections::BTreeMap, sync::Arc};

use yarn_types::Resource;

use super::{
    Sched,
    app::{App, Turn},
    ask::{ANY, AskKey},
    assign::Mode,
    ids::{AppIdx, LabelIdx, NodeIdx, QueueIdx},
};
use crate::conf::{Standing, Templates};

/// A user of a leaf in one partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserShare {
    /// The partition.
    pub label: LabelIdx,
    /// Held by containers and reservations.
    pub used: Resource,
    /// Held by ApplicationMasters.
    pub am_used: Resource,
    /// Most that its ApplicationMasters may hold.
    pub am_limit: Resource,
}

/// An application in one partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppShare {
    /// The partition.
    pub label: LabelIdx,
    /// Held by containers.
    pub used: Resource,
    /// Held by reservations.
    pub reserved: Resource,
    /// Outstanding.
    pub pending: Resource,
    /// Size of its ApplicationMaster, in the partition that this counts in.
    pub am: Resource,
}

/// What an application asks for under one key at one place.
#[derive(Clone, PartialEq, Debug)]
pub struct AskShown {
    /// Its key.
    pub key: AskKey,
    /// A host, a rack or [`ANY`].
    pub place: Arc<str>,
    /// Size of each container.
    pub size: Resource,
    /// Containers outstanding there.
    pub count: i32,
    /// Whether this level may be used for containers wanted at a narrower place.
    pub relax: bool,
    /// The partition that the key's containers are wanted in.
    pub label: LabelIdx,
    /// For the ApplicationMaster's container.
    pub is_am: bool,
}

/// Reservations made since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Reservations {
    /// How many.
    pub count: u64,
    /// Their sizes.
    pub amount: Resource,
    /// The latest: where and whose.
    pub last: Option<(NodeIdx, AppIdx)>,
}

impl Reservations {
    pub(super) fn made(&mut self, node: NodeIdx, app: AppIdx, amount: Resource) {
        self.count += 1;
        self.amount = self.amount.plus(amount);
        self.last = Some((node, app));
    }
}

/// Containers of a queue in the default partition, those below it too (`QueueMetrics`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ContainerCounts {
    /// Granted.
    pub allocated: u32,
    /// Reserved.
    pub reserved: u32,
    /// Outstanding.
    pub pending: u32,
}

/// A user of a leaf, with limits (`UserInfo`).
#[derive(Clone, PartialEq, Debug)]
pub struct UserShown {
    /// Its name.
    pub name: Arc<str>,
    /// Its weight.
    pub weight: f32,
    /// It counts among the active users.
    pub active: bool,
    /// Applications whose ApplicationMaster may run.
    pub active_apps: u32,
    /// Applications waiting for that.
    pub pending_apps: u32,
    /// Most that it may hold in the default partition, as it is told to asks of active users.
    pub limit: Resource,
    /// By partition: those where it holds anything, the default one always.
    pub shares: Vec<UserShare>,
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Sched {
    /// An application by partition: those where it holds or wants anything, the default one always.
    pub fn app_shares(&self, app: AppIdx) -> Vec<AppShare> {
        let Some(a) = self.app(app) else {
            return Vec::new();
        };
        let labels = (0..u8::try_from(self.labels.len()).unwrap_or(u8::MAX)).map(LabelIdx);
        let shares = labels.map(|label| AppShare {
            label,
            used: a.used.get(label),
            reserved: a.reserved.get(label),
            pending: a.counted.get(label),
            am: if label == a.am.label {
                a.am.size
            } else {
                Resource::ZERO
            },
        });
        let shown = |s: &AppShare| {
            let idle = s.used.is_zero() && s.reserved.is_zero() && s.pending.is_zero();
            s.label == LabelIdx::DEFAULT || !idle || !s.am.is_zero()
        };
        shares.filter(shown).collect()
    }

    /// What an application asks for, key by key; hosts and racks before [`ANY`].
    pub fn asks_shown(&self, app: AppIdx) -> Vec<AskShown> {
        let Some(a) = self.app(app) else {
            return Vec::new();
        };
        let mut shown = Vec::new();
        for (key, asks) in a.asks.iter() {
            let any: Arc<str> = Arc::from(ANY);
            let any = asks.any.iter().map(|ask| (&any, ask));
            let lines = asks.places.iter().chain(any);
            shown.extend(lines.map(|(place, ask)| AskShown {
                key,
                place: Arc::clone(place),
                size: asks.size,
                count: ask.count,
                relax: ask.relax,
                label: asks.label,
                is_am: a.am.waiting,
            }));
        }
        shown
    }

    /// Whether an application waits for its turn, not for room.
    pub fn waits_for_turn(&self, app: AppIdx) -> bool {
        self.app(app)
            .is_some_and(|a| matches!(a.turn, Turn::NotRunnable | Turn::Pending))
    }

    /// A leaf's users by name; of a parent none.
    pub fn users_shown(&self, queue: QueueIdx) -> Vec<UserShown> {
        let labels = || (0..u8::try_from(self.labels.len()).unwrap_or(u8::MAX)).map(LabelIdx);
        let users = self.tree.get(queue).leaf.users.iter();
        let mut shown: Vec<UserShown> = users
            .filter_map(|(idx, u)| {
                let shares = labels().filter_map(|label| {
                    let used = u.used.get(label);
                    let am_used = u.am_used.get(label);
                    let held = !used.is_zero() || !am_used.is_zero();
                    (label == LabelIdx::DEFAULT || held).then(|| UserShare {
                        label,
                        used,
                        am_used,
                        // Hadoop knows it where an ApplicationMaster counts.
                        am_limit: if am_used.is_zero() {
                            Resource::ZERO
                        } else {
                            self.user_am_limit(queue, label, Some(*idx))
                        },
                    })
                });
                Some(UserShown {
                    name: self.users.get(idx.at())?.clone(),
                    weight: u.weight,
                    active: u.active,
                    active_apps: u.active_apps,
                    pending_apps: u.pending_apps,
                    limit: self.user_limit(queue, *idx, LabelIdx::DEFAULT, Mode::Respect, true),
                    shares: shares.collect(),
                })
            })
            .collect();
        shown.sort_by(|a, b| a.name.cmp(&b.name));
        shown
    }

    /// Every queue's containers in the default partition.
    pub fn container_counts(&self) -> BTreeMap<QueueIdx, ContainerCounts> {
        let mut counts: BTreeMap<QueueIdx, ContainerCounts> = BTreeMap::new();
        for app in self.apps.iter().flatten() {
            let own = self.default_counts(app);
            if own == ContainerCounts::default() {
                continue;
            }
            for queue in self.tree.chain(app.queue) {
                let of = counts.entry(queue).or_default();
                of.allocated += own.allocated;
                of.reserved += own.reserved;
                of.pending += own.pending;
            }
        }
        counts
    }

    fn default_counts(&self, app: &App) -> ContainerCounts {
        let one = self.labels.len() == 1;
        let default = |node: &NodeIdx| {
            let node = self.nodes.get(*node);
            one || node.is_some_and(|node| node.label == LabelIdx::DEFAULT)
        };
        let reservations = app.reservations.values().flat_map(BTreeMap::keys);
        let wanted = app
            .asks
            .iter()
            .filter(|(_, asks)| asks.label == LabelIdx::DEFAULT);
        let counted = ContainerCounts {
            allocated: app.live,
            reserved: number(reservations.filter(|node| default(node)).count()),
            pending: app.counted_containers,
        };
        if one {
            return counted;
        }
        let live = self.containers.chain(app.first);
        ContainerCounts {
            allocated: number(live.filter(|(_, c)| default(&c.node)).count()),
            // One whose turn has not come is not counted at all.
            pending: match app.counted_containers {
                0 => 0,
                _ => wanted.map(|(_, asks)| asks.count().unsigned_abs()).sum(),
            },
            ..counted
        }
    }

    /// Whether preemption takes nothing from a queue, and nothing inside it
    /// (`isQueueHierarchyPreemptionDisabled`, `isIntraQueueHierarchyPreemptionDisabled`).
    pub fn preemption_disabled(&self, queue: QueueIdx) -> (bool, bool) {
        let conf = &self.conf.queues.cluster.preemption;
        let nearest = |own: &dyn Fn(QueueIdx) -> Option<bool>| {
            self.tree.chain(queue).find_map(own).unwrap_or(false)
        };
        let inter = nearest(&|q| self.tree.get(q).conf.disable_preemption);
        let intra = nearest(&|q| self.tree.get(q).conf.disable_intra_preemption);
        (!conf.enabled || inter, !conf.intra.enabled || intra)
    }

    /// Reservations made since the start.
    pub fn reservations(&self) -> Reservations {
        self.reservations
    }

    /// Whether `yarn.scheduler.capacity.legacy-queue-mode.enabled` is on.
    pub fn legacy_mode(&self) -> bool {
        self.conf.queues.cluster.legacy_mode
    }

    /// What a configuration that is read again has to know.
    pub fn standing(&self) -> Standing {
        let created = self.tree.iter().filter(|(_, q)| q.dynamic && q.is_parent());
        Standing {
            cluster: self.cluster_total(),
            created_parents: created.map(|(_, q)| q.path.to_string()).collect(),
        }
    }

    /// The templates of a parent for queues that are made below it; of a leaf none.
    pub fn templates_of(&self, queue: QueueIdx) -> Templates {
        let conf = &self.tree.get(queue).conf;
        if conf.is_parent {
            self.conf.queues.templates(conf)
        } else {
            Templates::default()
        }
    }
}
