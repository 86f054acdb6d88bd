//! Orders: of applications in a leaf, of queues below a parent, of nodes for multi-node placement.
//! May touch: the accounts, read only; the place of an application in its leaf's tables.
//! Must not: place anything.

use std::cmp::Ordering;

use yarn_types::Resource;

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
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Debug,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub(super) struct AppOrder {
    /// Negated priority (fifo), or what it holds (fair).
    pub rank: i64,
    /// Negated priority where `rank` is something else.
    pub second: i64,
    /// Number of the submission.
    pub submitted: u64,
}

/// Place of a queue among its siblings in one partition.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct ChildOrder {
    /// It may not use the partition.
    shut_out: bool,
    /// Used part of its guarantee.
    used: f32,
    /// Its priority, where the policy looks at it.
    priority: i32,
    configured_min: Resource,
    abs_capacity: f32,
}

impl ChildOrder {
    /// Priorities count among queues on the same side of their guarantee.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let same_side = (self.used < 1.0) == (other.used < 1.0);
        let use_order = if self.priority != other.priority && same_side {
            other.priority.cmp(&self.priority)
        } else {
            self.used.total_cmp(&other.used)
        };
        let by_size = || {
            if !self.configured_min.is_zero() && !other.configured_min.is_zero() {
                other.configured_min.cmp(&self.configured_min)
            } else {
                other.abs_capacity.total_cmp(&self.abs_capacity)
            }
        };
        self.shut_out
            .cmp(&other.shut_out)
            .then(use_order)
            .then_with(by_size)
    }
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
        self.touch_app(app);
    }

    /// Children of `parent` in the order in which they get room of partition `label`
    /// (`PriorityUtilizationQueueOrderingPolicy`).
    pub(super) fn children_in_order(&self, parent: QueueIdx, label: LabelIdx) -> Vec<QueueIdx> {
        let children = self.tree.get(parent).children.iter();
        let mut ranked: Vec<(ChildOrder, QueueIdx)> = children
            .map(|child| (self.child_order(*child, label), *child))
            .collect();
        ranked.sort_by(|(a, _), (b, _)| a.compare(b));
        ranked.into_iter().map(|(_, child)| child).collect()
    }

    /// What the policy of its parent compares of a queue.
    pub(super) fn child_order(&self, queue: QueueIdx, label: LabelIdx) -> ChildOrder {
        let q = self.tree.get(queue);
        let policy = q.parent.map(|p| self.tree.get(p).conf.parent_order);
        let share = q.share(label);
        ChildOrder {
            shut_out: !self.may_access(queue, label),
            used: self.used_capacity(queue, label),
            priority: match policy {
                Some(ParentOrder::PriorityUtilization) => q.conf.priority,
                _ => 0,
            },
            configured_min: share.configured_min,
            abs_capacity: share.abs_capacity,
        }
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
