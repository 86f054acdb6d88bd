//! Figures for readers: applications, queues, reasons, headroom.
//! May touch: the state, read only.
//! Must not: be used in a decision.

use yarn_types::{QueueState, Resource};

use super::{
    Am, Sched,
    ids::{AppIdx, QueueIdx},
};
use crate::view::QueueReport;

/// What an application holds and wants.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct AppUsage {
    /// Held.
    pub used: Resource,
    /// Containers held.
    pub used_containers: u32,
    /// Outstanding.
    pub pending: Resource,
    /// Containers outstanding.
    pub pending_containers: u32,
    /// Held, as percent of what its queue is guaranteed.
    pub queue_percent: f32,
    /// Held, as percent of the cluster.
    pub cluster_percent: f32,
}

impl Sched {
    /// What an application could still get now.
    pub fn headroom(&self, app: AppIdx) -> Resource {
        self.app(app)
            .map_or(Resource::ZERO, |a| self.headroom_in(a.queue, a.user))
    }

    /// Priority of an application after clamping.
    pub fn priority(&self, app: AppIdx) -> i32 {
        self.app(app).map_or(0, |a| a.order.0.0)
    }

    /// Full path of an application's queue.
    pub fn queue_of(&self, app: AppIdx) -> Option<&str> {
        Some(&self.tree.get(self.app(app)?.queue).conf.path)
    }

    /// What an application holds and wants.
    pub fn app_usage(&self, app: AppIdx) -> AppUsage {
        let Some(a) = self.app(app) else {
            return AppUsage::default();
        };
        let (calc, types, total) = (self.conf.calculator, &self.conf.types, self.nodes.total);
        let guaranteed = self.tree.guaranteed(a.queue, total, &self.conf.types);
        let percent = |of| {
            let share = calc.share(a.used, of, types) * 100.0;
            if share.is_finite() { share } else { 0.0 }
        };
        AppUsage {
            used: a.used,
            used_containers: a.containers,
            pending: a.counted.0,
            pending_containers: a.counted.1,
            queue_percent: percent(guaranteed),
            cluster_percent: percent(total),
        }
    }

    /// Why an application's asks are not placed, one line each.
    pub fn why(&self, app: AppIdx) -> Vec<String> {
        let Some(a) = self.app(app) else {
            return Vec::new();
        };
        let types = &self.conf.types;
        let am = match &a.am {
            Am::Waiting {
                size,
                why: Some(why),
                ..
            }
            | Am::Asked {
                size,
                why: Some(why),
                ..
            } => Some(format!(
                "ApplicationMaster {}: {}",
                types.show(*size),
                why.show(types)
            )),
            Am::Waiting {
                size, why: None, ..
            } if self.nodes.usable == 0 => Some(format!(
                "ApplicationMaster {}: {}",
                types.show(*size),
                crate::why::Why::NoNodes.show(types)
            )),
            _ => None,
        };
        let asks = a
            .asks
            .iter()
            .filter(|(_, asks)| asks.count() > 0)
            .filter_map(|(key, asks)| {
                let why = asks.why.as_ref()?;
                Some(format!(
                    "{} containers of {} at priority {}: {}",
                    asks.count(),
                    types.show(asks.size),
                    key.priority,
                    why.show(types)
                ))
            });
        am.into_iter().chain(asks).collect()
    }

    /// Every queue in tree order.
    pub fn queues(&self) -> Vec<QueueReport> {
        (0_u16..)
            .take(self.tree.queues.len())
            .map(|idx| self.report(QueueIdx(idx)))
            .collect()
    }

    /// The queue that a client means by a path or a last part.
    pub fn queue(&self, name_or_path: &str) -> Option<QueueReport> {
        self.tree.find(name_or_path).map(|idx| self.report(idx))
    }

    fn report(&self, idx: QueueIdx) -> QueueReport {
        let q = self.tree.get(idx);
        let (calc, types, total) = (self.conf.calculator, &self.conf.types, self.nodes.total);
        let state = match (q.conf.stopped, q.leaf.apps > 0 || q.containers > 0) {
            (false, _) => QueueState::Running,
            (true, true) => QueueState::Draining,
            (true, false) => QueueState::Stopped,
        };
        let finite = |share: f32| if share.is_finite() { share } else { 0.0 };
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        QueueReport {
            name: q.conf.name.clone(),
            path: q.conf.path.clone(),
            parent: q.parent.map(|p| self.tree.get(p).conf.path.clone()),
            is_leaf: !q.conf.is_parent,
            state,
            capacity: q.conf.capacity,
            maximum_capacity: q.conf.maximum_capacity,
            absolute_capacity: q.share,
            absolute_maximum_capacity: q.maximum_share,
            used_capacity: finite(self.used_capacity(idx)),
            absolute_used_capacity: finite(calc.share(q.used, total, types)),
            used: q.used,
            pending: q.pending,
            guaranteed: self.tree.guaranteed(idx, total, &self.conf.types),
            maximum: self.tree.maximum(idx, total, &self.conf.types),
            active_apps: count(q.leaf.active.len()),
            pending_apps: count(q.leaf.waiting.len()),
            containers: q.containers,
            am_used: q.leaf.am_used,
            am_limit: self.am_limit(idx),
            user_limit_percent: q.conf.user_limit_percent,
            user_limit_factor: q.conf.user_limit_factor,
            max_applications: self.max_applications(idx),
        }
    }
}
