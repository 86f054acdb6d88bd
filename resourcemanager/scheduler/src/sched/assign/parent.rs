//! A parent's part of a walk: its limit, then its children in their order.
//! May touch: the limits handed down.
//! Must not: change an account.

use yarn_types::Resource;

use super::{Assignment, Candidates, Limits, Mode, Skip};
use crate::sched::{
    Sched,
    ids::{LabelIdx, QueueIdx},
};

impl Sched {
    /// The assignment below `queue`, a parent or a leaf.
    pub(super) fn assign_queue(
        &mut self,
        queue: QueueIdx,
        candidates: &Candidates,
        limits: &mut Limits,
        mode: Mode,
    ) -> Assignment {
        if self.tree.get(queue).is_parent() {
            self.assign_parent(queue, candidates, limits, mode)
        } else {
            self.assign_leaf(queue, candidates, limits, mode)
        }
    }

    /// `AbstractParentQueue.assignContainers`.
    pub(super) fn assign_parent(
        &mut self,
        queue: QueueIdx,
        candidates: &Candidates,
        limits: &mut Limits,
        mode: Mode,
    ) -> Assignment {
        let label = candidates.label;
        if mode == Mode::Respect && !self.may_access(queue, label) {
            return Assignment::default();
        }
        if !self.wants(queue, label, mode) || !self.node_has_room(candidates) {
            return Assignment::default();
        }
        let reserved = self.tree.get(queue).usage(label).reserved;
        if !self.may_take(queue, label, limits, reserved, mode) {
            return Assignment::default();
        }
        self.assign_children(queue, candidates, limits, mode)
    }

    fn assign_children(
        &mut self,
        queue: QueueIdx,
        candidates: &Candidates,
        limits: &mut Limits,
        mode: Mode,
    ) -> Assignment {
        let label = candidates.label;
        let mut best = Assignment::default();
        for child in self.children_in_order(queue, label) {
            let limit = self.child_limit(queue, child, limits.limit, limits.blocked, label);
            let mut of_child = Limits::new(limit);
            let found = self.assign_queue(child, candidates, &mut of_child, mode);
            if found.proposal.is_some() {
                return found;
            }
            if found.excess.is_some() {
                best.excess = found.excess;
            }
            if found.skip == Skip::QueueLimit {
                best.skip = Skip::QueueLimit;
                let blocked = if self.tree.get(child).is_parent() {
                    of_child.blocked
                } else {
                    of_child.headroom
                };
                limits.blocked = limits.blocked.plus(self.above_zero(blocked));
            }
        }
        best
    }

    pub(in crate::sched) fn above_zero(&self, r: Resource) -> Resource {
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        calc.max(r, Resource::ZERO, self.cluster_total(), types)
    }

    /// Outstanding asks below that a walk of `label` could serve.
    pub(in crate::sched) fn wants(&self, queue: QueueIdx, label: LabelIdx, mode: Mode) -> bool {
        let label = match mode {
            Mode::Respect => label,
            Mode::Ignore => LabelIdx::DEFAULT,
        };
        let pending = self.tree.get(queue).usage(label).pending;
        self.is_some_of(pending)
    }

    /// More than nothing, as the calculator compares.
    pub(in crate::sched) fn is_some_of(&self, r: Resource) -> bool {
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        calc.compare(r, Resource::ZERO, self.cluster_total(), types)
            .is_gt()
    }

    fn node_has_room(&self, candidates: &Candidates) -> bool {
        let Some(node) = candidates.single() else {
            return true;
        };
        self.nodes.get(node).is_some_and(|n| {
            let room = n.free().plus(self.killable_on(node));
            n.reserved.is_none() && self.conf.calculator.fits(self.minimum(), room)
        })
    }

    /// `AbstractCSQueue.canAssignToThisQueue`: whether the queue is below its limit, or would be
    /// without `reservations`. Leaves what is left in `limits.headroom`.
    pub(in crate::sched) fn may_take(
        &self,
        queue: QueueIdx,
        label: LabelIdx,
        limits: &mut Limits,
        reservations: Resource,
        mode: Mode,
    ) -> bool {
        let (calc, types, cluster) = (self.conf.calculator, &self.conf.types, self.cluster_total());
        let q = self.tree.get(queue);
        let limit = match mode {
            Mode::Respect => calc.min(self.maximum(queue, label), limits.limit, cluster, types),
            Mode::Ignore => self.labels.total(label),
        };
        let mut used = q.usage(label).used;
        if q.is_parent() {
            used = used.minus(self.killable_in(queue, label));
        }
        limits.headroom = limit.minus(used);
        if calc.compare(used, limit, cluster, types).is_lt() {
            return true;
        }
        self.conf.queues.cluster.continue_looking
            && self.is_some_of(reservations)
            && calc
                .compare(used.minus(reservations), limit, cluster, types)
                .is_lt()
    }
}
