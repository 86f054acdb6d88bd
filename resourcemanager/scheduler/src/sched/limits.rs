//! Limits of queues, users and ApplicationMasters, and headroom, with Hadoop's arithmetic.
//! May touch: the accounts, read only.
//! Must not: change anything.

use yarn_types::Resource;

use super::{
    Sched,
    app::{App, Turn},
    assign::Mode,
    ids::{AppIdx, LabelIdx, QueueIdx, UserIdx},
};
use crate::{conf::Pacing, num};

impl Sched {
    /// The most that `queue` may hold in `label`, down to a multiple of the smallest container
    /// (`getEffectiveMaxCapacityDown`).
    pub(super) fn maximum_down(&self, queue: QueueIdx, label: LabelIdx) -> Resource {
        let maximum = self.maximum(queue, label);
        self.conf.calculator.round_down(maximum, &self.conf.types)
    }

    /// The most that `queue` may hold in `label`.
    pub(super) fn maximum(&self, queue: QueueIdx, label: LabelIdx) -> Resource {
        #[cfg(feature = "mutants")]
        if self.mutant == Some(super::Mutant::NoMaximum) {
            return self.labels.total(label);
        }
        self.tree.get(queue).maximum(label)
    }

    /// What a child may hold when its parent may hold `limit`
    /// (`AbstractParentQueue.getResourceLimitsOfChild`).
    pub(super) fn child_limit(
        &self,
        parent: QueueIdx,
        child: QueueIdx,
        limit: Resource,
        blocked: Resource,
        label: LabelIdx,
    ) -> Resource {
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let p = self.tree.get(parent);
        let capped = calc.min(
            limit,
            self.maximum(parent, label),
            self.cluster_total(),
            types,
        );
        let left = capped
            .minus(blocked)
            .minus(p.usage(label).used)
            .plus(self.killable_in(parent, label));
        calc.round_down(left.plus(self.tree.get(child).usage(label).used), types)
    }

    /// Placing does not wait for heartbeats.
    pub(super) fn is_event_driven(&self) -> bool {
        self.conf.queues.cluster.pacing == Pacing::Event
    }

    /// The most that `queue` could hold in the default partition with what its ancestors' maxima
    /// and the other queues' use leave.
    pub(super) fn attainable(&self, queue: QueueIdx) -> Resource {
        let label = LabelIdx::DEFAULT;
        let mut path: Vec<QueueIdx> = self.tree.chain(queue).collect();
        path.reverse();
        let mut limit = self.labels.total(label);
        for pair in path.windows(2) {
            limit = self.child_limit(pair[0], pair[1], limit, Resource::ZERO, label);
        }
        self.headroom_limit(queue, limit)
    }

    /// What a limit handed down means for headroom (`updateCurrentResourceLimits`).
    pub(super) fn headroom_limit(&self, queue: QueueIdx, limit: Resource) -> Resource {
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let most = self.maximum_down(queue, LabelIdx::DEFAULT);
        calc.min(most, limit, self.cluster_total(), types)
    }

    /// The most that `user` may hold in `queue` (`UsersManager.computeUserLimit`, for active
    /// users or for all).
    pub(super) fn user_limit(
        &self,
        queue: QueueIdx,
        user: UserIdx,
        label: LabelIdx,
        mode: Mode,
        active: bool,
    ) -> Resource {
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let (partition, minimum) = (self.labels.total(label), self.minimum());
        let q = self.tree.get(queue);
        let guaranteed = q.guaranteed(label);
        let capacity = calc.max(guaranteed, minimum, partition, types);
        let sums = &q.leaf.sums;
        let consumed = calc.times_up(partition, f64::from(sums.ratio(label)), types);
        let current = if calc.compare(consumed, capacity, partition, types).is_lt() {
            capacity
        } else {
            consumed.plus(minimum)
        };
        let (sum, weight) = if active {
            let used = sums.used_by_active.get(label).plus(minimum);
            (used, sums.active_weight)
        } else {
            (current, sums.all_weight)
        };
        let by_users = calc.divide_up(sum, f64::from(weight), types);
        let percent = f64::from(q.conf.user_limit_percent(label.at()));
        let by_percent = calc.divide_up(calc.times_down(current, percent, types), 100.0, types);
        let limit = calc.max(by_users, by_percent, partition, types);
        let factor = q.conf.user_limit_factor;
        #[cfg(feature = "mutants")]
        let factor = match self.mutant {
            Some(super::Mutant::NoUserFactor) => -1.0,
            _ => factor,
        };
        let most = match mode {
            Mode::Ignore => partition,
            Mode::Respect if factor < 0.0 || guaranteed.is_zero() => {
                self.maximum_down(queue, label)
            }
            Mode::Respect => calc.times_down(capacity, f64::from(factor), types),
        };
        let limit = calc.round_up(calc.min(limit, most, partition, types), types);
        let weight = q.leaf.users.get(&user).map_or(1.0, |u| u.weight);
        calc.times_round_down(limit, f64::from(weight), types)
    }

    /// The most that ApplicationMasters may hold in `queue`
    /// (`calculateAndGetAMResourceLimitPerPartition`).
    pub(super) fn am_limit(&self, queue: QueueIdx, label: LabelIdx) -> Resource {
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let q = self.tree.get(queue);
        let guaranteed = q.guaranteed(label);
        let attainable = match (label, self.is_event_driven()) {
            (LabelIdx::DEFAULT, true) => self.attainable(queue),
            (LabelIdx::DEFAULT, false) => q.leaf.current_limit,
            _ => Resource::ZERO,
        };
        let base = if calc.fits(guaranteed, attainable) {
            attainable
        } else {
            guaranteed
        };
        calc.times_up(base, f64::from(q.conf.am_percent(label.at())), types)
    }

    /// The most that one user's ApplicationMasters may hold in `queue`; without a user, one of
    /// weight 1 (`getUserAMResourceLimitPerPartition`).
    pub(super) fn user_am_limit(
        &self,
        queue: QueueIdx,
        label: LabelIdx,
        user: Option<UserIdx>,
    ) -> Resource {
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let q = self.tree.get(queue);
        let weight = user
            .and_then(|u| q.leaf.users.get(&u))
            .map_or(1.0, |u| u.weight);
        let users = self.active_users(queue) + self.active_users_only_pending(queue);
        let share =
            (q.conf.user_limit_percent(label.at()) / 100.0).max(1.0 / num::float(users.max(1)));
        let share = (share * weight).min(1.0);
        let percent = q.conf.am_percent(label.at());
        let by = if q.conf.user_limit_factor < 0.0 {
            percent
        } else {
            percent * share * q.conf.user_limit_factor
        };
        let limit = calc.times_up(q.guaranteed(label), f64::from(by), types);
        let of_queue = self.am_limit(queue, label);
        calc.min(limit, of_queue, self.cluster_total(), types)
    }

    /// Users with an application that may run and outstanding asks.
    pub(super) fn active_users(&self, queue: QueueIdx) -> u32 {
        #[cfg(feature = "stubs")]
        if let Some(users) = self.stub_active_users.get(&queue) {
            return *users;
        }
        self.tree.get(queue).leaf.sums.active
    }

    /// Users all of whose applications wait for their ApplicationMaster's turn.
    pub(super) fn active_users_only_pending(&self, queue: QueueIdx) -> u32 {
        #[cfg(feature = "stubs")]
        if self.stub_active_users.contains_key(&queue) {
            return 0;
        }
        let users = self.tree.get(queue).leaf.users.values();
        let waiting = users.filter(|u| u.pending_apps > 0 && u.active_apps == 0);
        u32::try_from(waiting.count()).unwrap_or(u32::MAX)
    }

    /// What `user` could still get in partition `label` of `queue` (`LeafQueue.getHeadroom`).
    fn headroom_in(&self, queue: QueueIdx, user: UserIdx, label: LabelIdx) -> Resource {
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let q = self.tree.get(queue);
        let held = q
            .leaf
            .users
            .get(&user)
            .map_or(Resource::ZERO, |u| u.used.get(label));
        let limit = match (label, self.is_event_driven()) {
            (LabelIdx::DEFAULT, true) => self.attainable(queue),
            (LabelIdx::DEFAULT, false) => q.leaf.current_limit,
            _ => q.maximum(label),
        };
        let of_user = self.user_limit(queue, user, label, Mode::Respect, true);
        let of_user = of_user.minus(held).at_least_zero();
        let of_queue = limit.minus(q.usage(label).used).at_least_zero();
        let room = calc.round_down(of_user.min(of_queue), types);
        let partition = self.labels.total(label);
        let free = partition.minus(self.tree.get(super::tree::ROOT).usage(label).used);
        let room = calc.min(free, room, partition, types);
        // whole devices that are idle: a sum over nodes promises none (gpu headroom)
        let offered = self.labels.get(label).offered;
        match types.gpu_lane().filter(|_| offered.listed > 0) {
            Some(lane) => room.with(lane, room.0[lane].min(offered.idle_gpus)),
            None => room,
        }
    }

    /// What an application could still get in the partitions that it asked for
    /// (`CapacityHeadroomProvider`); nothing before it was ever considered. Event-driven, it is
    /// what the queues' use leaves now, not what the last walk through its queue left.
    pub fn headroom(&self, app: AppIdx) -> Resource {
        let counts = |a: &&App| a.considered || self.is_event_driven() && a.turn == Turn::Active;
        let Some(a) = self.app(app).filter(counts) else {
            return Resource::ZERO;
        };
        let mut labels: Vec<LabelIdx> = a.asks.iter().map(|(_, asks)| asks.label).collect();
        labels.sort_unstable();
        labels.dedup();
        if labels.is_empty() {
            labels.push(LabelIdx::DEFAULT);
        }
        labels
            .into_iter()
            .fold(Resource::ZERO, |sum, label| {
                sum.plus(self.headroom_in(a.queue, a.user, label))
            })
            .at_least_zero()
    }

    /// Most applications in a leaf (`maximum-applications`, or its share of the system's).
    pub(super) fn max_applications(&self, queue: QueueIdx) -> u32 {
        let q = self.tree.get(queue);
        if let Some(own) = q.conf.maximum_applications {
            return own;
        }
        if let Some(all) = self.conf.queues.global_maximum_applications {
            return all.min(self.conf.queues.maximum_applications);
        }
        let share = q.shares.iter().map(|s| s.abs_capacity);
        num::count_share(
            self.conf.queues.maximum_applications,
            share.fold(0.0, f32::max),
        )
    }

    /// Most applications of one user in a leaf.
    pub(super) fn max_applications_per_user(&self, queue: QueueIdx) -> u32 {
        let conf = &self.tree.get(queue).conf;
        let most = self.max_applications(queue);
        if conf.user_limit_factor < 0.0 {
            return most;
        }
        let percent = conf.user_limit_percent(0) / 100.0;
        num::count_share(most, percent * conf.user_limit_factor).min(most)
    }
}
