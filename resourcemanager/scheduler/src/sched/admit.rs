//! Applications come, ask and go: admission, attempts, asks, blacklists.
//! May touch: queues' and applications' tables.
//! Must not: grant (`assign` decides, `commit.rs` grants).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use yarn_types::{Millis, QueueState, Resource};

use super::{
    Sched,
    app::{Am, App, Submitted, Turn},
    ask::{ANY, Ask, AskKey, Asks},
    ids::{AppIdx, ContainerIdx, LabelIdx, QueueIdx},
    label::PerLabel,
    policy::AppOrder,
    tree::ROOT,
};
use crate::reject::{Reject, RejectKind};

/// Priority of the ask for an ApplicationMaster's container (`RMAppAttemptImpl.AM_CONTAINER_PRIORITY`).
pub const AM_PRIORITY: i32 = 0;

/// Key of the ask for an ApplicationMaster's container.
const AM_KEY: AskKey = AskKey {
    priority: AM_PRIORITY,
    request_id: 0,
    update: None,
};

impl Sched {
    /// Takes an application into its queue; the effective priority is answered.
    ///
    /// # Errors
    /// Unknown queue, not a leaf, stopped, or too many applications: Hadoop's text, which becomes
    /// the application's diagnostics.
    pub fn submit(&mut self, app: AppIdx, submission: &Submitted) -> Result<i32, Reject> {
        let queue = self.admit(submission)?;
        let user = self.intern(&submission.user);
        let default = self.tree.get(queue).conf.default_application_priority;
        let most = self.conf.max_application_priority.max(0);
        let priority = submission.priority.unwrap_or(default).min(most);
        self.submitted += 1;
        let submitted = self.submitted;
        if self.apps.len() <= app.at() {
            self.apps.resize(app.at() + 1, None);
        }
        self.apps[app.at()] = Some(App {
            id: submission.id,
            queue,
            user,
            priority,
            submitted,
            order: AppOrder::default(),
            turn: Turn::None,
            am: Am {
                size: Resource::ZERO,
                label: LabelIdx::DEFAULT,
                waiting: false,
            },
            used: PerLabel::default(),
            reserved: PerLabel::default(),
            live: 0,
            first: None,
            last: None,
            reservations: BTreeMap::new(),
            asks: Asks::default(),
            blacklist: BTreeSet::new(),
            am_blacklist: BTreeSet::new(),
            demanding: false,
            counted: PerLabel::default(),
            counted_containers: 0,
            considered: false,
        });
        self.leaf_user(queue, user).apps += 1;
        self.tree.get_mut(queue).leaf.apps += 1;
        Ok(priority)
    }

    pub(super) fn admit(&self, submission: &Submitted) -> Result<QueueIdx, Reject> {
        let refuse = |text: String| Err(Reject::new(RejectKind::Yarn, text));
        let (id, user, name) = (submission.id, &submission.user, submission.queue.trim());
        let Some(idx) = self.tree.find(name) else {
            let (what, hint) = if self.tree.is_ambiguous(name) {
                ("ambiguous", " please use full queue path instead.")
            } else {
                ("unknown", "")
            };
            return refuse(format!(
                "Application {id} submitted by user {user} to {what} queue: {name}{hint}"
            ));
        };
        let queue = self.tree.get(idx);
        let path = &queue.path;
        if queue.is_parent() {
            return refuse(format!(
                "Application {id} submitted by user : {user} to non-leaf queue : {name}"
            ));
        }
        if queue.state != QueueState::Running {
            return refuse(format!(
                "Queue {path} is STOPPED. Cannot accept submission of application: {id}"
            ));
        }
        if queue.leaf.apps >= self.max_applications(idx) {
            return refuse(format!(
                "Queue {path} already has {} applications, cannot accept submission of application: {id}",
                queue.leaf.apps
            ));
        }
        let own = self
            .user_ids
            .get(user)
            .and_then(|u| queue.leaf.users.get(u))
            .map_or(0, |u| u.apps);
        if own >= self.max_applications_per_user(idx) {
            return refuse(format!(
                "Queue {path} already has {own} applications from user {user} cannot accept submission of application: {id}"
            ));
        }
        if self.apps_below(ROOT) >= self.conf.queues.maximum_applications {
            return refuse(format!(
                "Maximum system application limit reached,cannot accept submission of application: {id}"
            ));
        }
        Ok(idx)
    }

    /// An attempt begins. With `am` (a normalised size and its partition) its ApplicationMaster's
    /// container is asked for as soon as the limits allow; without, it is unmanaged and counts one
    /// smallest container against the limits of ApplicationMasters, as in Hadoop.
    pub fn start_attempt(&mut self, now: Millis, app: AppIdx, am: Option<(Resource, LabelIdx)>) {
        self.now = now;
        let unmanaged = (self.minimum(), LabelIdx::DEFAULT);
        let Some((queue, _)) = self.place_of(app) else {
            return;
        };
        let runnable = self.may_run(queue, app);
        let Some(a) = self.app_mut(app) else { return };
        let (size, label) = am.unwrap_or(unmanaged);
        a.am = Am {
            size,
            label,
            waiting: am.is_some(),
        };
        if am.is_some() {
            a.asks.update(
                now,
                &Ask {
                    key: AM_KEY,
                    place: Arc::from(ANY),
                    size,
                    count: 1,
                    relax: true,
                    label,
                },
            );
        }
        let submitted = a.submitted;
        if runnable {
            self.make_runnable(app);
        } else {
            a.turn = Turn::NotRunnable;
            self.tree
                .get_mut(queue)
                .leaf
                .not_runnable
                .insert(submitted, app);
        }
        self.count_demand(app);
    }

    /// An attempt joins the line of its leaf.
    pub(super) fn make_runnable(&mut self, app: AppIdx) {
        let Some((queue, user)) = self.place_of(app) else {
            return;
        };
        let order = self.app_order(app, Turn::Pending);
        if let Some(a) = self.app_mut(app) {
            (a.turn, a.order) = (Turn::Pending, order);
        }
        self.tree.get_mut(queue).leaf.pending.insert(order, app);
        self.leaf_user(queue, user).pending_apps += 1;
        self.count_runnable(queue, app, true);
        self.activate(queue);
    }

    /// Replaces the counts of `asks`, which were validated.
    pub fn update_asks(&mut self, now: Millis, app: AppIdx, asks: &[Ask]) {
        self.now = now;
        let Some(a) = self.app_mut(app) else { return };
        for ask in asks {
            a.asks.update(now, ask);
        }
        self.count_demand(app);
        self.stir();
    }

    /// Changes the hosts and racks that an application avoids.
    pub fn update_blacklist(&mut self, app: AppIdx, add: &[Arc<str>], remove: &[Arc<str>]) {
        let Some(a) = self.app_mut(app) else { return };
        a.blacklist
            .extend(add.iter().filter(|place| &***place != ANY).cloned());
        for place in remove {
            a.blacklist.remove(place);
        }
        a.asks.retry();
        self.touch_app(app);
        self.stir();
    }

    /// Replaces the hosts that the application's next ApplicationMaster avoids.
    pub fn avoid_for_am(&mut self, app: AppIdx, hosts: &[Arc<str>]) {
        if let Some(a) = self.app_mut(app) {
            a.am_blacklist = hosts.iter().cloned().collect();
            a.asks.retry();
            self.touch_app(app);
            self.stir();
        }
    }

    /// An attempt ends: its asks, reservations, blacklist and place in line are dropped. Its
    /// containers are released one by one by the caller.
    pub fn end_attempt(&mut self, app: AppIdx) {
        let Some(a) = self.app_mut(app) else { return };
        a.asks.clear();
        a.blacklist.clear();
        a.am.waiting = false;
        let (queue, user, turn) = (a.queue, a.user, a.turn);
        let reservations: Vec<ContainerIdx> = a
            .reservations
            .values()
            .flat_map(BTreeMap::values)
            .copied()
            .collect();
        for reservation in reservations {
            self.unreserve(reservation);
        }
        self.count_demand(app);
        self.stop(app);
        if matches!(turn, Turn::Pending | Turn::Active) {
            self.count_runnable(queue, app, false);
            self.run_next(queue, user);
        }
        self.stir();
        self.activate(queue);
    }

    /// An application ends; its attempt ended before.
    pub fn remove_app(&mut self, app: AppIdx) {
        self.end_attempt(app);
        let Some(a) = self.apps.get_mut(app.at()).and_then(Option::take) else {
            return;
        };
        let leaf = &mut self.tree.get_mut(a.queue).leaf;
        leaf.apps = leaf.apps.saturating_sub(1);
        if let Some(u) = leaf.users.get_mut(&a.user) {
            u.apps = u.apps.saturating_sub(1);
        }
        self.forget_user(a.queue, a.user);
        self.settle_state(a.queue);
        self.activate(a.queue);
    }

    /// Brings the queues' demand and the user's place among the demanding up to date with the
    /// application's asks.
    pub(super) fn count_demand(&mut self, app: AppIdx) {
        let labels = u8::try_from(self.labels.len()).unwrap_or(u8::MAX);
        let Some(a) = self.apps.get_mut(app.at()).and_then(Option::as_mut) else {
            return;
        };
        let counts = !matches!(a.turn, Turn::None | Turn::NotRunnable);
        let (queue, user) = (a.queue, a.user);
        let mut count: u32 = 0;
        for label in (0..labels).map(LabelIdx) {
            let mut wanted = Resource::ZERO;
            for (_, asks) in a.asks.iter().filter(|(_, k)| counts && k.label == label) {
                wanted = wanted.plus(asks.pending());
                count = count.saturating_add(asks.count().unsigned_abs());
            }
            let by = wanted.minus(a.counted.get(label));
            if !by.is_zero() {
                a.counted.add(label, by);
                self.tree.change_pending(queue, label, by);
            }
        }
        let old_count = std::mem::replace(&mut a.counted_containers, count);
        let was = std::mem::replace(&mut a.demanding, count > 0);
        let by = i64::from(count) - i64::from(old_count);
        self.tree.change_pending_containers(queue, by);
        if (count > 0) != was {
            let u = self.leaf_user(queue, user);
            u.demanding = if count > 0 {
                u.demanding + 1
            } else {
                u.demanding.saturating_sub(1)
            };
            self.settle_user(queue, user);
        }
        self.touch_app(app);
        self.reorder(app);
    }
}
