//! The users of a leaf and the sums that make a user limit O(1) (`UsersManager`).
//! May touch: the leaf's user table.
//! Must not: compute limits (`limits.rs` does).

use yarn_types::Resource;

use super::{
    Sched,
    ids::{AppIdx, LabelIdx, QueueIdx, UserIdx},
    label::PerLabel,
};

/// One user's part of a leaf.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct LeafUser {
    /// Held by containers and reservations.
    pub used: PerLabel,
    /// Share of the partition held, by partition.
    ratio: Vec<f32>,
    pub am_used: PerLabel,
    /// Applications submitted and not ended.
    pub apps: u32,
    /// Applications whose ApplicationMaster may run.
    pub active_apps: u32,
    /// Applications waiting for that.
    pub pending_apps: u32,
    /// Applications with outstanding asks.
    pub demanding: u32,
    /// Counts among the active users.
    pub active: bool,
    /// `user-settings.<user>.weight`.
    pub weight: f32,
}

impl Default for LeafUser {
    fn default() -> Self {
        Self {
            used: PerLabel::default(),
            ratio: Vec::new(),
            am_used: PerLabel::default(),
            apps: 0,
            active_apps: 0,
            pending_apps: 0,
            demanding: 0,
            active: false,
            weight: 1.0,
        }
    }
}

/// Sums over the users of a leaf.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct UserSums {
    /// Held by active users (`totalResUsageForActiveUsers`).
    pub used_by_active: PerLabel,
    /// Σ weights of active users.
    pub active_weight: f32,
    /// Σ weights of all users.
    pub all_weight: f32,
    /// Active users.
    pub active: u32,
    /// Σ of the users' shares of the partition (`qUsageRatios`).
    ratio: Vec<f32>,
}

impl UserSums {
    /// Σ of the users' shares of partition `label`.
    pub fn ratio(&self, label: LabelIdx) -> f32 {
        self.ratio.get(label.at()).copied().unwrap_or(0.0)
    }
}

fn slot(ratios: &mut Vec<f32>, label: LabelIdx) -> &mut f32 {
    if ratios.len() <= label.at() {
        ratios.resize(label.at() + 1, 0.0);
    }
    &mut ratios[label.at()]
}

impl Sched {
    /// The user's entry in `queue`, made when new.
    pub(super) fn leaf_user(&mut self, queue: QueueIdx, user: UserIdx) -> &mut LeafUser {
        if !self.tree.get(queue).leaf.users.contains_key(&user) {
            let name = self.users.get(user.at()).cloned().unwrap_or_default();
            let q = self.tree.get_mut(queue);
            let weight = q.conf.user_weight(&name);
            q.leaf.users.insert(
                user,
                LeafUser {
                    weight,
                    ..LeafUser::default()
                },
            );
            self.weigh_users(queue);
        }
        self.tree.get_mut(queue).leaf.users.entry(user).or_default()
    }

    /// Forgets a user who has no application in `queue` any more.
    pub(super) fn forget_user(&mut self, queue: QueueIdx, user: UserIdx) {
        let leaf = &mut self.tree.get_mut(queue).leaf;
        if leaf
            .users
            .get(&user)
            .is_some_and(|u| u.apps == 0 && u.used.sum().is_zero())
        {
            leaf.users.remove(&user);
            self.weigh_users(queue);
        }
    }

    /// Sums the weights up again, after a user came or went or became (in)active.
    pub(super) fn weigh_users(&mut self, queue: QueueIdx) {
        let leaf = &mut self.tree.get_mut(queue).leaf;
        let (mut active, mut all, mut count) = (0.0, 0.0, 0);
        for user in leaf.users.values() {
            all += user.weight;
            if user.active {
                active += user.weight;
                count += 1;
            }
        }
        leaf.sums.active_weight = active;
        leaf.sums.all_weight = all;
        leaf.sums.active = count;
    }

    /// Makes the user (in)active as its applications say: active while one of its applications
    /// may run and one has outstanding asks.
    pub(super) fn settle_user(&mut self, queue: QueueIdx, user: UserIdx) {
        let leaf = &mut self.tree.get_mut(queue).leaf;
        let Some(u) = leaf.users.get_mut(&user) else {
            return;
        };
        let active = u.demanding > 0 && u.active_apps > 0;
        if active == u.active {
            return;
        }
        u.active = active;
        for label in u.used.labels() {
            if active {
                leaf.sums.used_by_active.add(label, u.used.get(label));
            } else {
                leaf.sums.used_by_active.take(label, u.used.get(label));
            }
        }
        self.weigh_users(queue);
        self.stir();
    }

    /// Changes what a user holds in a leaf by `r` (negative to give back).
    pub(super) fn change_user(
        &mut self,
        queue: QueueIdx,
        user: UserIdx,
        label: LabelIdx,
        r: Resource,
    ) {
        self.leaf_user(queue, user);
        let (calc, total) = (self.conf.calculator, self.labels.total(label));
        let types = &self.conf.types;
        let leaf = &mut self.tree.get_mut(queue).leaf;
        let Some(u) = leaf.users.get_mut(&user) else {
            return;
        };
        u.used.add(label, r);
        if u.active {
            leaf.sums.used_by_active.add(label, r);
        }
        let share = calc.share(u.used.get(label), total, types);
        let old = std::mem::replace(slot(&mut u.ratio, label), share);
        *slot(&mut leaf.sums.ratio, label) += share - old;
    }

    /// Computes every user's share again, after the partitions' totals changed.
    pub(super) fn settle_ratios(&mut self, queue: QueueIdx) {
        let calc = self.conf.calculator;
        let leaf = &mut self.tree.queues[queue.at()].leaf;
        leaf.sums.ratio.clear();
        for user in leaf.users.values_mut() {
            user.ratio.clear();
            for label in user.used.labels() {
                let total = self.labels.total(label);
                let share = calc.share(user.used.get(label), total, &self.conf.types);
                *slot(&mut user.ratio, label) = share;
                *slot(&mut leaf.sums.ratio, label) += share;
            }
        }
    }

    /// Takes the weights from the configuration again.
    pub(super) fn settle_weights(&mut self, queue: QueueIdx) {
        let q = self.tree.get_mut(queue);
        for (idx, user) in &mut q.leaf.users {
            if let Some(name) = self.users.get(idx.at()) {
                user.weight = q.conf.user_weight(name);
            }
        }
        self.weigh_users(queue);
    }

    /// The leaf and user of an application.
    pub(super) fn place_of(&self, app: AppIdx) -> Option<(QueueIdx, UserIdx)> {
        self.app(app).map(|a| (a.queue, a.user))
    }
}
