//! The ApplicationMasters' turn: which waiting applications may run.
//! May touch: the leaves' tables of applications.
//! Must not: grant (`assign` decides, `commit.rs` grants).

use std::collections::BTreeMap;

use yarn_types::Resource;

use super::{
    Sched,
    app::Turn,
    ids::{AppIdx, LabelIdx, QueueIdx},
};
use crate::why::Why;

/// Limits of a round, by partition.
#[derive(Default)]
struct AmLimits {
    of_queue: BTreeMap<LabelIdx, Resource>,
    /// Hadoop computes it once per round, with the first user's weight.
    of_user: BTreeMap<LabelIdx, Resource>,
}

impl Sched {
    /// Lets waiting ApplicationMasters of `queue` start where the limits allow, in order; one that
    /// must wait is passed over (`AbstractLeafQueue.activateApplications`).
    pub(super) fn activate(&mut self, queue: QueueIdx) {
        if self.tree.get(queue).leaf.pending.is_empty() || self.cluster_total().is_zero() {
            return;
        }
        let waiting: Vec<AppIdx> = self
            .tree
            .get(queue)
            .leaf
            .pending
            .values()
            .copied()
            .collect();
        let mut limits = AmLimits::default();
        for app in waiting {
            if self.must_wait(queue, app, &mut limits).is_none() {
                self.start(queue, app);
            }
        }
    }

    /// Why an ApplicationMaster must wait. The first of a queue never does.
    fn must_wait(&self, queue: QueueIdx, app: AppIdx, limits: &mut AmLimits) -> Option<Why> {
        let a = self.app(app)?;
        let calc = self.conf.calculator;
        let (size, label) = (a.am.size, a.am.label);
        let q = self.tree.get(queue);
        let used = q.usage(label).am_used;
        let first = q.leaf.active.is_empty()
            || calc
                .compare(used, Resource::ZERO, self.cluster_total(), &self.conf.types)
                .is_le();
        if first {
            return None;
        }
        let of_queue = limits.of_queue.entry(label);
        let limit = *of_queue.or_insert_with(|| self.am_limit(queue, label));
        let path = || q.path.clone();
        if !calc.fits(used.plus(size), limit) {
            return Some(Why::AmLimit {
                queue: path(),
                used,
                limit,
                of_user: false,
            });
        }
        let limit = *limits
            .of_user
            .entry(label)
            .or_insert_with(|| self.user_am_limit(queue, label, Some(a.user)));
        let used = q
            .leaf
            .users
            .get(&a.user)
            .map_or(Resource::ZERO, |u| u.am_used.get(label));
        (!calc.fits(used.plus(size), limit)).then(|| Why::AmLimit {
            queue: path(),
            used,
            limit,
            of_user: true,
        })
    }

    /// Why an application's ApplicationMaster waits for its turn now, if it does.
    pub(super) fn why_waiting(&self, app: AppIdx) -> Option<Why> {
        let a = self.app(app).filter(|a| a.turn == Turn::Pending)?;
        if self.cluster_total().is_zero() {
            return Some(Why::NoNodes);
        }
        self.must_wait(a.queue, app, &mut AmLimits::default())
    }

    fn start(&mut self, queue: QueueIdx, app: AppIdx) {
        let Some(a) = self.app_mut(app) else { return };
        a.turn = Turn::Active;
        let (order, user, am) = (a.order, a.user, a.am);
        let q = self.tree.get_mut(queue);
        q.leaf.pending.remove(&order);
        q.leaf.active.insert(order, app);
        let usage = q.usage_mut(am.label);
        usage.am_used = usage.am_used.plus(am.size);
        let u = self.leaf_user(queue, user);
        u.pending_apps = u.pending_apps.saturating_sub(1);
        u.active_apps += 1;
        u.am_used.add(am.label, am.size);
        self.settle_user(queue, user);
        self.touch_app(app);
        self.reorder(app);
        self.stir();
    }

    /// An application leaves the table that it is in, with what its ApplicationMaster counted.
    pub(super) fn stop(&mut self, app: AppIdx) {
        let Some(a) = self.app_mut(app) else { return };
        let turn = std::mem::replace(&mut a.turn, Turn::None);
        let (queue, user, order, submitted, am) = (a.queue, a.user, a.order, a.submitted, a.am);
        self.touch_app(app);
        let q = self.tree.get_mut(queue);
        match turn {
            Turn::None => return,
            Turn::NotRunnable => {
                q.leaf.not_runnable.remove(&submitted);
                return;
            }
            Turn::Pending => {
                q.leaf.pending.remove(&order);
                let u = self.leaf_user(queue, user);
                u.pending_apps = u.pending_apps.saturating_sub(1);
            }
            Turn::Active => {
                q.leaf.active.remove(&order);
                let usage = q.usage_mut(am.label);
                usage.am_used = usage.am_used.minus(am.size);
                let u = self.leaf_user(queue, user);
                u.active_apps = u.active_apps.saturating_sub(1);
                u.am_used.take(am.label, am.size);
            }
        }
        self.settle_user(queue, user);
        self.stir();
    }

    /// An ApplicationMaster's node changed its partition: what it counts goes along.
    pub(super) fn move_am(&mut self, app: AppIdx, to: LabelIdx) {
        let Some(a) = self.app_mut(app) else { return };
        let from = std::mem::replace(&mut a.am.label, to);
        let (queue, user, size, turn) = (a.queue, a.user, a.am.size, a.turn);
        if turn != Turn::Active {
            return;
        }
        let q = self.tree.get_mut(queue);
        let usage = q.usage_mut(from);
        usage.am_used = usage.am_used.minus(size);
        let usage = q.usage_mut(to);
        usage.am_used = usage.am_used.plus(size);
        let u = self.leaf_user(queue, user);
        u.am_used.take(from, size);
        u.am_used.add(to, size);
    }
}
