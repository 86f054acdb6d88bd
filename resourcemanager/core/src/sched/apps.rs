//! Applications in the scheduler: admission, the ApplicationMaster's turn, asks.
//! May touch: queues' and applications' tables.
//! Must not: grant (`pass.rs` decides, `commit.rs` grants).

use std::{cmp::Reverse, sync::Arc};

use yarn_types::{ApplicationId, Millis, Resource};

use super::{
    Am, App, Sched,
    ids::{AllocIdx, AppIdx, NodeIdx, QueueIdx},
};
use crate::{
    ask::{ANY, Asks},
    event::Ask,
    reject::{Reject, RejectKind},
};

impl Sched {
    /// Takes an application into its queue.
    ///
    /// # Errors
    /// Unknown queue, not a leaf, stopped, or too many applications: Hadoop's text, which becomes
    /// the application's diagnostics.
    pub fn submit(
        &mut self,
        app: AppIdx,
        queue: &str,
        user: &Arc<str>,
        priority: Option<i32>,
        id: ApplicationId,
    ) -> Result<(), Reject> {
        let name = if queue.trim().is_empty() {
            "default"
        } else {
            queue.trim()
        };
        let idx = self.admit(name, user, id)?;
        let user = self.intern(user);
        let most = self.conf.max_application_priority;
        let priority = priority.unwrap_or(0).clamp(0, most.max(0));
        if self.apps.len() <= app.at() {
            self.apps.resize(app.at() + 1, None);
        }
        self.apps[app.at()] = Some(App {
            id,
            queue: idx,
            user,
            order: (Reverse(priority), u64::from(app.0)),
            used: Resource::ZERO,
            containers: 0,
            asks: Asks::default(),
            am: Am::None,
            blacklist: std::collections::BTreeSet::new(),
            am_avoids: std::collections::BTreeSet::new(),
            demanding: false,
            counted: (Resource::ZERO, 0),
        });
        let leaf = &mut self.tree.get_mut(idx).leaf;
        leaf.apps += 1;
        leaf.users.entry(user).or_default().apps += 1;
        Ok(())
    }

    fn admit(&self, name: &str, user: &Arc<str>, id: ApplicationId) -> Result<QueueIdx, Reject> {
        let refuse = |text: String| Err(Reject::new(RejectKind::Yarn, text));
        let Some(idx) = self.tree.find(name) else {
            let what = if self.tree.is_ambiguous(name) {
                "ambiguous"
            } else {
                "unknown"
            };
            return refuse(format!(
                "Application {id} submitted by user {user} to {what} queue: {name}"
            ));
        };
        let queue = self.tree.get(idx);
        let path = &queue.conf.path;
        if queue.conf.is_parent {
            return refuse(format!(
                "Application {id} submitted by user : {user} to non-leaf queue : {name}"
            ));
        }
        if queue.conf.stopped {
            return refuse(format!(
                "Queue {path} is STOPPED. Cannot accept submission of application: {id}"
            ));
        }
        let most = self.max_applications(idx);
        if queue.leaf.apps >= most {
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
        Ok(idx)
    }

    /// The normalised size of an ApplicationMaster's container.
    ///
    /// # Errors
    /// `InvalidResourceRequest` for a negative amount or one above the maximum allocation.
    pub fn validate_am(&self, _app: AppIdx, resource: Resource) -> Result<Resource, Reject> {
        self.validate_size(resource)
    }

    fn validate_size(&self, size: Resource) -> Result<Resource, Reject> {
        let types = &self.conf.types;
        let maximum = types.maximum_allocation();
        let refuse = |reason: String| {
            Err(Reject::new(
                RejectKind::InvalidResourceRequest,
                format!(
                    "Invalid resource request! {reason} Requested resource={}, maximum allowed allocation={}, please note that maximum allowed allocation is calculated by scheduler based on maximum resource of registered NodeManagers, which might be less than configured maximum allocation={}",
                    types.show(size),
                    types.show(maximum),
                    types.show(maximum)
                ),
            ))
        };
        for (lane, t) in types.iter().enumerate() {
            let name = &t.name;
            if size.0[lane] < 0 {
                return refuse(format!(
                    "Cannot allocate containers as requested resource is less than 0! Requested resource type=[{name}],"
                ));
            }
            if size.0[lane] > maximum.0[lane] {
                return refuse(format!(
                    "Cannot allocate containers as requested resource is greater than maximum allowed allocation. Requested resource type=[{name}],"
                ));
            }
        }
        Ok(self.conf.calculator.normalize(size, types, maximum))
    }

    /// An attempt begins: asks for its ApplicationMaster's container of (normalised) size `am`
    /// as soon as the limits allow, or runs at once when unmanaged.
    pub fn start_attempt(&mut self, now: Millis, app: AppIdx, am: Option<Resource>) {
        let Some(a) = self.app_mut(app) else { return };
        let (queue, user, order) = (a.queue, a.user, a.order);
        a.am = match am {
            Some(size) => Am::Waiting {
                size,
                asked_at: now,
                why: None,
            },
            None => Am::Placed {
                size: Resource::ZERO,
            },
        };
        let leaf = &mut self.tree.get_mut(queue).leaf;
        if am.is_some() {
            leaf.waiting.insert(order, app);
            leaf.users.entry(user).or_default().waiting += 1;
        } else {
            leaf.active.insert(order, app);
        }
        self.activate(queue);
    }

    /// Lets waiting ApplicationMasters of `queue` start where the limits allow, in order; one that
    /// must wait is passed over.
    pub(super) fn activate(&mut self, queue: QueueIdx) {
        if self.nodes.usable == 0 {
            return;
        }
        let waiting: Vec<AppIdx> = self
            .tree
            .get(queue)
            .leaf
            .waiting
            .values()
            .copied()
            .collect();
        for app in waiting {
            let Some(App {
                user,
                order,
                am: Am::Waiting { size, asked_at, .. },
                ..
            }) = self.app(app)
            else {
                continue;
            };
            let (user, order, size, asked_at) = (*user, *order, *size, *asked_at);
            let why = self.over_am_limit(queue, user, size);
            let blocked = why.is_some();
            if let Some(a) = self.app_mut(app) {
                a.am = if blocked {
                    Am::Waiting {
                        size,
                        asked_at,
                        why,
                    }
                } else {
                    Am::Asked {
                        size,
                        asked_at,
                        failed_at: 0,
                        why: None,
                    }
                };
            }
            if blocked {
                continue;
            }
            let leaf = &mut self.tree.get_mut(queue).leaf;
            leaf.waiting.remove(&order);
            leaf.active.insert(order, app);
            leaf.am_used = leaf.am_used.plus(size);
            leaf.ams += 1;
            let of_user = leaf.users.entry(user).or_default();
            of_user.waiting = of_user.waiting.saturating_sub(1);
            of_user.am_used = of_user.am_used.plus(size);
            of_user.ams += 1;
            self.count_demand(app);
        }
    }

    pub(super) fn activate_everywhere(&mut self) {
        for index in 0..self.tree.queues.len() {
            if !self.tree.queues[index].leaf.waiting.is_empty() {
                self.activate(QueueIdx(u16::try_from(index).unwrap_or(u16::MAX)));
            }
        }
    }

    /// Checks and normalises asks before any of them is applied.
    ///
    /// # Errors
    /// The first ask that Hadoop would refuse, with its text; nothing was changed then.
    pub fn validate_asks(&self, _app: AppIdx, asks: &mut [Ask]) -> Result<(), Reject> {
        let invalid = |text: String| Err(Reject::new(RejectKind::InvalidResourceRequest, text));
        for ask in asks {
            if let Some(name) = &ask.unknown_resource {
                return invalid(format!(
                    "Unknown resource name {name}; this cluster has {}",
                    self.conf
                        .types
                        .iter()
                        .map(|t| t.name.as_str())
                        .collect::<Vec<_>>()
                        .join(", ")
                ));
            }
            if ask.count < 0 {
                return invalid(format!(
                    "Invalid number of containers {} at '{}': it must not be negative",
                    ask.count, ask.place
                ));
            }
            if ask.opportunistic {
                return invalid(
                    "opportunistic containers are not built yet; ask for GUARANTEED".to_owned(),
                );
            }
            if let Some(label) = ask.label.as_deref().filter(|l| !l.trim().is_empty()) {
                return Err(Reject::new(
                    RejectKind::InvalidLabelResourceRequest,
                    format!(
                        "Invalid resource request, node label not enabled but request contains label expression {label}"
                    ),
                ));
            }
            ask.capability = self.validate_size(ask.capability)?;
        }
        Ok(())
    }

    /// Replaces the counts of `asks`, which were validated.
    pub fn update_asks(&mut self, now: Millis, app: AppIdx, asks: &[Ask]) {
        let Some(a) = self.app_mut(app) else { return };
        for ask in asks {
            a.asks.update(now, ask);
        }
        let queue = a.queue;
        self.count_demand(app);
        self.leaf_changed(queue);
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
        self.stirred = true;
    }

    /// The application's next ApplicationMaster is kept off `hosts`, whatever was said before.
    pub fn avoid_for_am(&mut self, app: AppIdx, hosts: &[Arc<str>]) {
        if let Some(a) = self.app_mut(app) {
            a.am_avoids = hosts.iter().cloned().collect();
        }
    }

    /// `yarn.cluster.max-application-priority`, for applications that come from now on.
    pub fn set_max_application_priority(&mut self, most: i32) {
        self.conf.max_application_priority = most;
    }

    /// An attempt ends: its asks, its blacklist and its place in line are dropped. Its containers
    /// are released one by one by the caller.
    pub fn end_attempt(&mut self, app: AppIdx) {
        let Some(a) = self.app_mut(app) else { return };
        a.asks.clear();
        a.blacklist.clear();
        let (queue, user, order) = (a.queue, a.user, a.order);
        let am = std::mem::replace(&mut a.am, Am::None);
        self.count_demand(app);
        let leaf = &mut self.tree.get_mut(queue).leaf;
        leaf.active.remove(&order);
        leaf.waiting.remove(&order);
        let of_user = leaf.users.entry(user).or_default();
        match am {
            Am::Waiting { .. } => of_user.waiting = of_user.waiting.saturating_sub(1),
            Am::Asked { size, .. } | Am::Placed { size } if !size.is_zero() => {
                leaf.am_used = leaf.am_used.minus(size);
                leaf.ams = leaf.ams.saturating_sub(1);
                of_user.am_used = of_user.am_used.minus(size);
                of_user.ams = of_user.ams.saturating_sub(1);
            }
            Am::None | Am::Asked { .. } | Am::Placed { .. } => {}
        }
        self.grown();
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
        let of_user = leaf.users.entry(a.user).or_default();
        of_user.apps = of_user.apps.saturating_sub(1);
        if of_user.apps == 0 && of_user.used.is_zero() {
            leaf.users.remove(&a.user);
        }
        self.activate(a.queue);
    }

    /// A container that a re-registered node still runs comes back into the accounts.
    pub fn recover(
        &mut self,
        app: AppIdx,
        node: NodeIdx,
        resource: Resource,
        is_am: bool,
    ) -> Option<AllocIdx> {
        if is_am
            && let Some(a) = self.app_mut(app)
            && let Am::Asked { size, .. } = a.am
        {
            a.am = Am::Placed { size };
            self.count_demand(app);
        }
        self.commit(app, node, resource)
    }

    /// Brings the queues' demand and the user's place among the demanding up to date with the
    /// application's asks.
    pub(super) fn count_demand(&mut self, app: AppIdx) {
        let Some(a) = self.app_mut(app) else { return };
        let (mut amount, mut count) = a.asks.pending();
        if let Am::Asked { size, .. } = a.am {
            amount = amount.plus(size);
            count += 1;
        }
        let (old, old_count) = std::mem::replace(&mut a.counted, (amount, count));
        let demanding = count > 0;
        let was = std::mem::replace(&mut a.demanding, demanding);
        let (queue, user) = (a.queue, a.user);
        self.tree.change_pending(
            queue,
            amount.minus(old),
            i64::from(count) - i64::from(old_count),
        );
        if demanding != was {
            let of_user = self.tree.get_mut(queue).leaf.users.entry(user).or_default();
            of_user.demanding = if demanding {
                of_user.demanding + 1
            } else {
                of_user.demanding.saturating_sub(1)
            };
            self.leaf_changed(queue);
        }
    }
}
