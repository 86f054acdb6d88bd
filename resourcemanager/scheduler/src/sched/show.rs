//! What is shown of queues beside their accounts: their users with limits, switches as inherited.
//! May touch: the state, read only.
//! Must not: be used in a decision.

use std::{collections::BTreeMap, sync::Arc};

use yarn_types::Resource;

use super::{
    Sched,
    app::Turn,
    assign::Mode,
    ids::{AppIdx, LabelIdx, QueueIdx},
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
        });
        let shown = |s: &AppShare| {
            let idle = s.used.is_zero() && s.reserved.is_zero() && s.pending.is_zero();
            s.label == LabelIdx::DEFAULT || !idle
        };
        shares.filter(shown).collect()
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
                        am_limit: self.user_am_limit(queue, label, Some(*idx)),
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

    /// Reservations of every queue's applications, those below it too.
    pub fn reservations_by_queue(&self) -> BTreeMap<QueueIdx, u32> {
        let mut counts = BTreeMap::new();
        for app in self.apps.iter().flatten() {
            let own = app.reservations.values().map(BTreeMap::len).sum::<usize>();
            if own > 0 {
                for queue in self.tree.chain(app.queue) {
                    let count: &mut u32 = counts.entry(queue).or_default();
                    *count += u32::try_from(own).unwrap_or(u32::MAX);
                }
            }
        }
        counts
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
