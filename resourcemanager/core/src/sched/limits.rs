//! Limits of queues, users and ApplicationMasters, and headroom, with Hadoop's arithmetic.
//! May touch: the accounts, read only.
//! Must not: change anything.

use yarn_types::Resource;

use super::{
    Sched,
    ids::{QueueIdx, UserIdx},
};
use crate::{num, why::Why};

impl Sched {
    fn minimum(&self) -> Resource {
        self.conf.types.minimum_allocation()
    }

    /// Guarantee of a queue, at least one smallest container.
    fn capacity(&self, queue: QueueIdx) -> Resource {
        let (calc, types, total) = (self.conf.calculator, &self.conf.types, self.nodes.total);
        calc.max(
            self.tree.guaranteed(queue, total, &self.conf.types),
            self.minimum(),
            total,
            types,
        )
    }

    /// The most that `queue` could hold with what its ancestors' maxima and the other queues'
    /// use leave (`getCurrentLimitResource` on the way down).
    pub(super) fn attainable(&self, queue: QueueIdx) -> Resource {
        let mut limit = self.tree.maximum(queue, self.nodes.total, &self.conf.types);
        let used = self.tree.get(queue).used;
        for idx in self.tree.chain(queue).skip(1) {
            let above = self.tree.maximum(idx, self.nodes.total, &self.conf.types);
            let others = self.tree.get(idx).used.minus(used);
            limit = limit.min(above.minus(others));
        }
        limit
    }

    /// Why one more container of `size` would take `queue` or one above it over its maximum.
    pub(super) fn over_queue_limit(&self, queue: QueueIdx, size: Resource) -> Option<Why> {
        for idx in self.tree.chain(queue) {
            let q = self.tree.get(idx);
            let limit = self.tree.maximum(idx, self.nodes.total, &self.conf.types);
            if !self.conf.calculator.fits(q.used.plus(size), limit) {
                return Some(Why::QueueLimit {
                    queue: q.path.clone(),
                    used: q.used,
                    limit,
                });
            }
        }
        None
    }

    /// The most that `user` may hold in `queue` (`UsersManager.computeUserLimit`).
    pub(super) fn user_limit(&self, queue: QueueIdx, user: UserIdx) -> Resource {
        let (calc, types, total) = (self.conf.calculator, &self.conf.types, self.nodes.total);
        let q = self.tree.get(queue);
        let capacity = self.capacity(queue);
        let users = &q.leaf.users;
        let usage: f32 = users
            .values()
            .map(|u| calc.share(u.used, total, types))
            .sum();
        let consumed = calc.times_up(total, f64::from(usage), types);
        let current = if calc.compare(consumed, capacity, total, types).is_lt() {
            capacity
        } else {
            consumed.plus(self.minimum())
        };
        let active = users.values().filter(|u| u.demanding > 0);
        let count = active.clone().count();
        let is_active = users.get(&user).is_some_and(|u| u.demanding > 0);
        let (sum, weights) = if is_active {
            let used = active.fold(Resource::ZERO, |sum, u| sum.plus(u.used));
            (used.plus(self.minimum()), count)
        } else {
            (
                current,
                users.values().filter(|u| u.apps > 0).count().max(1),
            )
        };
        let by_users = calc.divide_up(sum, weights.max(1) as f64, types);
        let percent = f64::from(q.conf.user_limit_percent);
        let by_percent = calc.divide_up(calc.times_down(current, percent, types), 100.0, types);
        let limit = calc.max(by_users, by_percent, total, types);
        let most = if q.conf.user_limit_factor < 0.0 {
            self.tree.maximum(queue, total, &self.conf.types)
        } else {
            calc.times_down(capacity, f64::from(q.conf.user_limit_factor), types)
        };
        let limit = calc.round_up(calc.min(limit, most, total, types), types);
        // a user's own limit is rounded down to the step after its weight (1)
        calc.round_down(limit, types)
    }

    /// Why `user` may get no more in `queue`: over the limit already (one container may cross it).
    pub(super) fn over_user_limit(&self, queue: QueueIdx, user: UserIdx) -> Option<Why> {
        let (calc, types, total) = (self.conf.calculator, &self.conf.types, self.nodes.total);
        let q = self.tree.get(queue);
        let used = q.leaf.users.get(&user).map_or(Resource::ZERO, |u| u.used);
        let limit = self.user_limit(queue, user);
        calc.compare(used, limit, total, types)
            .is_gt()
            .then(|| Why::UserLimit {
                queue: q.path.clone(),
                used,
                limit,
            })
    }

    /// The most that ApplicationMasters may hold in `queue` (`calculateAndGetAMResourceLimit`).
    pub(super) fn am_limit(&self, queue: QueueIdx) -> Resource {
        let (calc, types, total) = (self.conf.calculator, &self.conf.types, self.nodes.total);
        let guaranteed = self.tree.guaranteed(queue, total, &self.conf.types);
        let base = calc.max(guaranteed, self.attainable(queue), total, types);
        calc.times_up(base, f64::from(self.tree.get(queue).conf.am_percent), types)
    }

    /// The most that one user's ApplicationMasters may hold in `queue`.
    pub(super) fn user_am_limit(&self, queue: QueueIdx) -> Resource {
        let (calc, types, total) = (self.conf.calculator, &self.conf.types, self.nodes.total);
        let q = self.tree.get(queue);
        let users = q
            .leaf
            .users
            .values()
            .filter(|u| u.demanding > 0 || u.waiting > 0)
            .count();
        let by_users = 1.0 / users.max(1) as f32;
        let share = (q.conf.user_limit_percent / 100.0).max(by_users);
        let share = q.conf.am_percent * share * q.conf.user_limit_factor.abs();
        let limit = calc.times_up(
            self.tree.guaranteed(queue, total, &self.conf.types),
            f64::from(share),
            types,
        );
        calc.min(limit, self.am_limit(queue), total, types)
    }

    /// Why an ApplicationMaster of `size` must wait. The first of a queue and of a user never does.
    pub(super) fn over_am_limit(
        &self,
        queue: QueueIdx,
        user: UserIdx,
        size: Resource,
    ) -> Option<Why> {
        let (calc, types, total) = (self.conf.calculator, &self.conf.types, self.nodes.total);
        let q = self.tree.get(queue);
        let over = |used: Resource, limit: Resource, of_user: bool| {
            let after = used.plus(size);
            calc.compare(after, limit, total, types)
                .is_gt()
                .then(|| Why::AmLimit {
                    queue: q.path.clone(),
                    used,
                    limit,
                    of_user,
                })
        };
        if q.leaf.ams > 0
            && let Some(why) = over(q.leaf.am_used, self.am_limit(queue), false)
        {
            return Some(why);
        }
        let own = q.leaf.users.get(&user).filter(|u| u.ams > 0)?;
        over(own.am_used, self.user_am_limit(queue), true)
    }

    /// What an application could still get now, rounded down, never below zero.
    pub(super) fn headroom_in(&self, queue: QueueIdx, user: UserIdx) -> Resource {
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let q = self.tree.get(queue);
        let used = q.leaf.users.get(&user).map_or(Resource::ZERO, |u| u.used);
        let of_user = self.user_limit(queue, user).minus(used);
        let of_queue = self.attainable(queue).minus(q.used);
        let free = self.nodes.total.minus(self.tree.queues[0].used);
        let room = match calc {
            // the default calculator's limits say nothing of vcores
            num::Calculator::Default => {
                let memory = of_user.memory_mb().min(of_queue.memory_mb());
                Resource::new(memory, free.vcores())
            }
            num::Calculator::Dominant => of_user.min(of_queue),
        };
        let rounded = calc.round_down(room.min(free), types);
        let vcores = room.min(free).vcores();
        let idle = self.nodes.idle_gpus();
        let out = if calc == num::Calculator::Default {
            rounded.with(1, vcores)
        } else {
            rounded
        };
        idle.map_or(out, |(lane, room)| out.with(lane, out.0[lane].min(room)))
            .at_least_zero()
    }

    /// Most applications in a leaf (`maximum-applications`, or its share of the system's).
    pub(super) fn max_applications(&self, queue: QueueIdx) -> u32 {
        let q = self.tree.get(queue);
        q.conf
            .maximum_applications
            .unwrap_or_else(|| num::count_share(self.conf.queues.maximum_applications, q.share))
    }

    /// Most applications of one user in a leaf.
    pub(super) fn max_applications_per_user(&self, queue: QueueIdx) -> u32 {
        let conf = &self.tree.get(queue).conf;
        let most = self.max_applications(queue);
        if conf.user_limit_factor < 0.0 {
            return most;
        }
        let share = conf.user_limit_percent / 100.0 * conf.user_limit_factor;
        num::count_share(most, share).min(most)
    }
}
