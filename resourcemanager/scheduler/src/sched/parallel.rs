//! `max-parallel-apps`: how many applications of a queue and of a user run at once
//! (`CSMaxRunningAppsEnforcer`).
//! May touch: the counts of runnable applications.
//! Must not: start an ApplicationMaster (`activate.rs` does).

use super::{
    Sched, Told,
    app::Turn,
    ids::{AppIdx, QueueIdx, UserIdx},
};

impl Sched {
    /// Whether one more application of this user may run in `queue`.
    pub(super) fn may_run(&self, queue: QueueIdx, app: AppIdx) -> bool {
        let Some((_, user)) = self.place_of(app) else {
            return false;
        };
        self.user_may_run(user)
            && self.tree.chain(queue).all(|idx| {
                let q = self.tree.get(idx);
                i64::from(q.runnable) < i64::from(q.conf.max_parallel_apps)
            })
    }

    fn user_may_run(&self, user: UserIdx) -> bool {
        let Some(name) = self.users.get(user.at()) else {
            return true;
        };
        let most = self.conf.queues.cluster.max_parallel_apps(name);
        i64::from(self.runnable_of(user)) < i64::from(most)
    }

    /// Runnable applications of a user in all queues.
    pub(super) fn runnable_of(&self, user: UserIdx) -> u32 {
        self.user_runnable.get(&user).copied().unwrap_or(0)
    }

    /// Counts an application that became runnable, or no longer is.
    pub(super) fn count_runnable(&mut self, queue: QueueIdx, app: AppIdx, up: bool) {
        let by = |n: &mut u32| *n = if up { *n + 1 } else { n.saturating_sub(1) };
        let chain: Vec<QueueIdx> = self.tree.chain(queue).collect();
        for idx in chain {
            by(&mut self.tree.get_mut(idx).runnable);
        }
        if let Some((_, user)) = self.place_of(app) {
            by(self.user_runnable.entry(user).or_default());
        }
    }

    /// An application of `user` in `queue` ended: those that waited for it, in order of
    /// submission, may run now.
    pub(super) fn run_next(&mut self, queue: QueueIdx, user: UserIdx) {
        let waiting: Vec<(u64, AppIdx, QueueIdx)> = {
            let mut all: Vec<_> = self
                .tree
                .iter()
                .flat_map(|(idx, q)| q.leaf.not_runnable.iter().map(move |(n, a)| (*n, *a, idx)))
                .filter(|(_, app, leaf)| {
                    let of_user = self.place_of(*app).is_some_and(|(_, u)| u == user);
                    of_user || self.share_ancestor(queue, *leaf)
                })
                .collect();
            all.sort_unstable();
            all
        };
        for (submitted, app, leaf) in waiting {
            if !self.may_run(leaf, app) {
                continue;
            }
            let table = &mut self.tree.get_mut(leaf).leaf.not_runnable;
            table.remove(&submitted);
            self.make_runnable(app);
            self.count_demand(app);
            self.told.push(Told::Runnable(app));
        }
    }

    /// Runs every application that may run after limits grew.
    pub(super) fn run_all_that_may(&mut self) {
        let leaves: Vec<(QueueIdx, AppIdx)> = self
            .tree
            .iter()
            .flat_map(|(idx, q)| q.leaf.not_runnable.values().map(move |app| (idx, *app)))
            .collect();
        for (queue, app) in leaves {
            if self.app(app).is_some_and(|a| a.turn == Turn::NotRunnable)
                && let Some((_, user)) = self.place_of(app)
            {
                self.run_next(queue, user);
            }
        }
    }

    /// Only queues with some limit in common besides nothing can free a place for each other.
    fn share_ancestor(&self, a: QueueIdx, b: QueueIdx) -> bool {
        let limited = |idx: &QueueIdx| self.tree.get(*idx).conf.max_parallel_apps != i32::MAX;
        let of_a: Vec<QueueIdx> = self.tree.chain(a).filter(limited).collect();
        self.tree.chain(b).any(|idx| of_a.contains(&idx))
    }
}
