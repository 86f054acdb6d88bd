//! Orders: of applications in a leaf, of queues below a parent, of nodes for multi-node placement.
//! May touch: the accounts, read only; the place of an application in its leaf's tables.
//! Must not: place anything.

use std::cmp::Ordering;

use super::{
    Sched,
    app::Turn,
    ids::{AppIdx, LabelIdx, QueueIdx},
};
use crate::{
    conf::{LeafOrder, ParentOrder},
    num,
};

/// Place of an application in its leaf: what the ordering policy compares, then submission.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct AppOrder {
    /// Negated priority (fifo), or what it holds (fair).
    pub rank: i64,
    /// Negated priority where `rank` is something else.
    pub second: i64,
    /// Number of the submission.
    pub submitted: u64,
}

impl Sched {
    /// What the policy of its leaf says of an application now.
    pub(super) fn app_order(&self, app: AppIdx, turn: Turn) -> AppOrder {
        let Some(a) = self.app(app) else {
            return AppOrder::default();
        };
        let priority = -i64::from(a.priority);
        let (rank, second) = match self.tree.get(a.queue).conf.leaf_order {
            LeafOrder::Fair { size_based_weight } if turn == Turn::Active => {
                let held = a.used.sum().memory_mb();
                let wanted = a.counted.sum().memory_mb();
                let held = num::fair_magnitude(held, wanted, size_based_weight);
                (held, priority)
            }
            _ => (priority, 0),
        };
        AppOrder {
            rank,
            second,
            submitted: a.submitted,
        }
    }

    /// Puts an application where its leaf's policy wants it now.
    pub(super) fn reorder(&mut self, app: AppIdx) {
        let Some(a) = self.app(app) else { return };
        let (queue, turn, old) = (a.queue, a.turn, a.order);
        let new = self.app_order(app, turn);
        if new == old {
            return;
        }
        let leaf = &mut self.tree.get_mut(queue).leaf;
        let table = match turn {
            Turn::Active => &mut leaf.active,
            Turn::Pending => &mut leaf.pending,
            Turn::None | Turn::NotRunnable => return,
        };
        table.remove(&old);
        table.insert(new, app);
        if let Some(a) = self.app_mut(app) {
            a.order = new;
        }
    }

    /// Children of `parent` in the order in which they get room of partition `label`
    /// (`PriorityUtilizationQueueOrderingPolicy`).
    pub(super) fn children_in_order(&self, parent: QueueIdx, label: LabelIdx) -> Vec<QueueIdx> {
        let p = self.tree.get(parent);
        let by_priority = p.conf.parent_order == ParentOrder::PriorityUtilization;
        let mut children = p.children.clone();
        children.sort_by(|a, b| self.queue_order(*a, *b, label, by_priority));
        children
    }

    fn queue_order(
        &self,
        a: QueueIdx,
        b: QueueIdx,
        label: LabelIdx,
        by_priority: bool,
    ) -> Ordering {
        let (qa, qb) = (self.tree.get(a), self.tree.get(b));
        let access = |q: QueueIdx| !self.may_access(q, label);
        let (used_a, used_b) = (self.used_capacity(a, label), self.used_capacity(b, label));
        let (prio_a, prio_b) = (qa.conf.priority, qb.conf.priority);
        let same_side = (used_a < 1.0) == (used_b < 1.0);
        let use_order = if by_priority && prio_a != prio_b && same_side {
            prio_b.cmp(&prio_a)
        } else {
            used_a.total_cmp(&used_b)
        };
        let (min_a, min_b) = (
            qa.share(label).configured_min,
            qb.share(label).configured_min,
        );
        access(a).cmp(&access(b)).then(use_order).then_with(|| {
            if !min_a.is_zero() && !min_b.is_zero() {
                min_b.cmp(&min_a)
            } else {
                qb.share(label)
                    .abs_capacity
                    .total_cmp(&qa.share(label).abs_capacity)
            }
        })
    }

    /// Whether a queue may use partition `label` at all.
    pub(super) fn may_access(&self, queue: QueueIdx, label: LabelIdx) -> bool {
        let name = &self.labels.get(label).name;
        label == LabelIdx::DEFAULT || self.tree.get(queue).conf.may_access(name)
    }

    /// Used part of the guarantee in `label` (`CSQueueUtils.updateUsedCapacity`).
    pub(super) fn used_capacity(&self, queue: QueueIdx, label: LabelIdx) -> f32 {
        let (calc, types) = (self.conf.calculator, &self.conf.types);
        let total = self.labels.total(label);
        if total.is_zero() {
            return 0.0;
        }
        let q = self.tree.get(queue);
        let guaranteed = calc.max(q.guaranteed(label), self.minimum(), total, types);
        calc.divide(q.usage(label).used, guaranteed, total, types)
    }
}
