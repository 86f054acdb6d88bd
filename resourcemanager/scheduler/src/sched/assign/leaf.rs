//! A leaf's part of a walk: its applications in order, each below its user's limit.
//! May touch: the limits handed down, what headroom remembers.
//! Must not: change an account.

use yarn_types::Resource;

use super::{Assignment, Candidates, Limits, Mode, Skip};
use crate::conf::LeafOrder;
use crate::sched::{
    Sched,
    ids::{AppIdx, LabelIdx, QueueIdx},
};

impl Sched {
    /// `AbstractLeafQueue.assignContainers`.
    pub(super) fn assign_leaf(
        &mut self,
        queue: QueueIdx,
        candidates: &Candidates,
        limits: &mut Limits,
        mode: Mode,
    ) -> Assignment {
        let label = candidates.label;
        let headroom = self.headroom_limit(queue, limits.limit);
        self.tree.get_mut(queue).leaf.headroom_limit = headroom;
        limits.allow_preemption = self.below_guarantee(queue, label);
        let reserved = candidates
            .single()
            .and_then(|node| self.nodes.get(node)?.reserved);
        if let Some(reserved) = reserved
            && let Some(app) = self.containers.get(reserved).map(|c| c.app)
        {
            return self.assign_app(app, candidates, limits, mode, Some(reserved));
        }
        if mode == Mode::Respect && !self.may_access(queue, label) {
            return Assignment::default();
        }
        if !self.wants(queue, label, mode) {
            return Assignment::default();
        }
        self.assign_apps(queue, candidates, limits, mode)
    }

    fn assign_apps(
        &mut self,
        queue: QueueIdx,
        candidates: &Candidates,
        limits: &mut Limits,
        mode: Mode,
    ) -> Assignment {
        let label = candidates.label;
        let mut test_queue = true;
        for app in self.apps_in_order(queue, label) {
            let reservation = self
                .app(app)
                .map_or(Resource::ZERO, super::super::app::App::reservation);
            if test_queue {
                if !self.may_take(queue, label, limits, reservation, mode) {
                    return Assignment::default();
                }
                // what was free of reservations once stays so for the rest of the walk
                test_queue = self.conf.queues.cluster.continue_looking && !reservation.is_zero();
            }
            self.consider(queue, app);
            if !self.user_may_take(queue, app, label, limits, mode) {
                continue;
            }
            let found = self.assign_app(app, candidates, limits, mode, None);
            if found.proposal.is_some() || found.skip != Skip::Other {
                return found;
            }
        }
        Assignment::default()
    }

    /// Active applications in the order of the leaf's policy. With `fifo-with-partitions` those
    /// that ask for an exclusive partition's nodes come first there.
    pub(in crate::sched) fn apps_in_order(&self, queue: QueueIdx, label: LabelIdx) -> Vec<AppIdx> {
        let q = self.tree.get(queue);
        let apps = q.leaf.active.values().copied();
        if !matches!(q.conf.leaf_order, LeafOrder::FifoWithPartitions { .. })
            || label == LabelIdx::DEFAULT
        {
            return apps.collect();
        }
        let asks = |app: &AppIdx| {
            self.app(*app)
                .is_some_and(|a| !a.counted.get(label).is_zero())
        };
        let (first, rest): (Vec<AppIdx>, Vec<AppIdx>) = apps.partition(asks);
        first.into_iter().chain(rest).collect()
    }

    /// What an application's headroom is made of, as of its turn.
    fn consider(&mut self, queue: QueueIdx, app: AppIdx) {
        let leaf = &mut self.tree.get_mut(queue).leaf;
        leaf.current_limit = leaf.headroom_limit;
        if let Some(a) = self.app_mut(app) {
            a.considered = true;
        }
    }

    /// Whether the application's user is at most at the user limit, or would be without the
    /// application's reservations (then `limits.to_unreserve` says how much must go).
    pub(in crate::sched) fn user_may_take(
        &self,
        queue: QueueIdx,
        app: AppIdx,
        label: LabelIdx,
        limits: &mut Limits,
        mode: Mode,
    ) -> bool {
        let Some(a) = self.app(app) else {
            return false;
        };
        let (user, reservation) = (a.user, a.reservation());
        let limit = self.user_limit(queue, user, label, mode, true);
        let (calc, types, cluster) = (self.conf.calculator, &self.conf.types, self.cluster_total());
        limits.to_unreserve = Resource::ZERO;
        let Some(u) = self.tree.get(queue).leaf.users.get(&user) else {
            return false;
        };
        let used = u.used.get(label);
        if calc.compare(used, limit, cluster, types).is_le() {
            return true;
        }
        let without = u.used.get(LabelIdx::DEFAULT).minus(reservation);
        if self.conf.queues.cluster.continue_looking
            && calc.compare(without, limit, cluster, types).is_le()
        {
            limits.to_unreserve = used.minus(limit);
            return true;
        }
        false
    }

    /// Only a queue below its guarantee may take killable containers.
    pub(in crate::sched) fn below_guarantee(&self, queue: QueueIdx, label: LabelIdx) -> bool {
        let q = self.tree.get(queue);
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let guaranteed = q.guaranteed(label);
        let used = q.usage(label).used;
        calc.compare(used, guaranteed, self.cluster_total(), types)
            .is_lt()
    }
}
