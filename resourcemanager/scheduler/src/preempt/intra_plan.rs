//! What each application of one leaf would hold, ideally, and what it should lose to the others
//! (`FifoIntraQueuePreemptionPlugin`).
//! May touch: a snapshot, the working table.
//! Must not: choose containers.

use std::{cmp::Ordering, collections::BTreeMap};

use yarn_types::Resource;

use super::{LeafOrder, nodes::insert_sorted, round::Round};
use crate::{conf::IntraOrder, num::share_of};

/// An application (`TempAppPerPartition`).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct PlannedApp {
    pub(super) app: usize,
    pub(super) user: usize,
    pub(super) priority: i32,
    used: Resource,
    am_used: Resource,
    pending: Resource,
    ideal: Resource,
    selected: Resource,
    to_be_preempted: Resource,
    from_others: Resource,
    /// What it loses in this round.
    pub(super) actually: Resource,
}

/// A user (`TempUserPerPartition`).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct PlannedUser {
    used: Resource,
    /// What its AMs hold.
    pub(super) am_used: Resource,
    /// Its limit less `am_used`.
    pub(super) limit: Resource,
    ideal: Resource,
    selected: Resource,
    quota_done: bool,
}

/// The plan for a leaf in a partition.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Plan {
    /// Applications, those that lose first come first.
    pub(super) apps: Vec<PlannedApp>,
    /// Users.
    pub(super) users: BTreeMap<usize, PlannedUser>,
}

/// Where a plan is made.
pub(super) struct Planner<'a, 'r> {
    pub(super) round: &'a Round<'r>,
    pub(super) partition: usize,
    pub(super) queue: usize,
}

impl Planner<'_, '_> {
    /// The plan (`computeAppsIdealAllocation`); none for a leaf with a single application.
    pub(super) fn plan(&self) -> Option<Plan> {
        let round = self.round;
        let row = round.table.rows[self.partition][self.queue];
        let apps = &round.apps[self.queue];
        if apps.len() == 1 {
            return None;
        }
        let am_used = self.am_used();
        let am_total = am_used.values().fold(Resource::ZERO, |sum, r| sum.plus(*r));
        let reassignable = row.used.minus(row.to_obtain);
        let mut plan = self.people(&am_used);
        self.ideal(&mut plan, reassignable.minus(am_total));
        plan.apps.reverse();
        self.losses(&mut plan);
        self.share_out(&mut plan);
        Some(plan)
    }

    fn user_limit_first(&self) -> bool {
        self.round.conf.intra.order == IntraOrder::UserLimitFirst
    }

    fn more(&self, a: Resource, b: Resource) -> bool {
        self.round.rules.more(a, b, self.round.table.cluster)
    }

    fn min(&self, a: Resource, b: Resource) -> Resource {
        self.round.rules.min(a, b, self.round.table.cluster)
    }

    /// What the AMs of active applications asked for here, by user.
    fn am_used(&self) -> BTreeMap<usize, Resource> {
        let mut by_user: BTreeMap<usize, Resource> = BTreeMap::new();
        for index in &self.round.apps[self.queue] {
            let app = &self.round.snapshot.apps[*index];
            if let Some((_, size)) = app.am.filter(|am| app.active && am.0 == self.partition) {
                let sum = by_user.entry(app.user).or_default();
                *sum = sum.plus(size);
            }
        }
        by_user
    }

    /// Users and applications, those that are served first come first.
    fn people(&self, am_used: &BTreeMap<usize, Resource>) -> Plan {
        let snapshot = self.round.snapshot;
        let mut plan = Plan::default();
        for index in &self.round.apps[self.queue] {
            let app = &snapshot.apps[*index];
            plan.users.entry(app.user).or_insert_with(|| {
                let shares = snapshot.users.get(app.user).map(|u| &u.shares);
                let share = shares.and_then(|s| s.get(self.partition).copied());
                let share = share.unwrap_or_default();
                let am_used = am_used.get(&app.user).copied().unwrap_or_default();
                PlannedUser {
                    used: share.used,
                    am_used,
                    limit: share.limit.minus(am_used),
                    ..PlannedUser::default()
                }
            });
        }
        for index in &self.round.apps[self.queue] {
            let app = &snapshot.apps[*index];
            let share = app.shares.get(self.partition).copied().unwrap_or_default();
            let am = app.am.filter(|am| am.0 == self.partition);
            let planned = PlannedApp {
                app: *index,
                user: app.user,
                priority: app.priority,
                used: share.used,
                am_used: am
                    .filter(|_| !app.waiting_for_am)
                    .map_or(Resource::ZERO, |am| am.1),
                pending: share.pending,
                ..PlannedApp::default()
            };
            let users = &plan.users;
            insert_sorted(&mut plan.apps, planned, |a, b| {
                self.order(users, a, b).is_lt()
            });
        }
        plan
    }

    /// Who is served first: the higher priority, then the older; or, where users count and the
    /// leaf is fair, who uses less.
    fn order(
        &self,
        users: &BTreeMap<usize, PlannedUser>,
        a: &PlannedApp,
        b: &PlannedApp,
    ) -> Ordering {
        let older = a.app.cmp(&b.app);
        let order = self.round.snapshot.queues[self.queue].order;
        let LeafOrder::Fair { size_based_weight } = order else {
            return b.priority.cmp(&a.priority).then(older);
        };
        if !self.user_limit_first() {
            return b.priority.cmp(&a.priority).then(older);
        }
        if a.user == b.user {
            let magnitude = |app| self.round.magnitude(app, size_based_weight);
            return magnitude(a.app).cmp(&magnitude(b.app)).then(older);
        }
        let used = |app: &PlannedApp| {
            let user = users.get(&app.user);
            user.map_or(Resource::ZERO, |u| u.used.minus(u.am_used))
        };
        let (used_a, used_b) = (used(a), used(b));
        if self.more(used_b, used_a) {
            Ordering::Less
        } else if self.more(used_a, used_b) {
            Ordering::Greater
        } else {
            older
        }
    }

    /// Gives applications in their order what they hold and want, within their user's limit, as
    /// long as the leaf has something (`calculateIdealAssignedResourcePerApp`).
    fn ideal(&self, plan: &mut Plan, mut reassignable: Resource) {
        for app in &mut plan.apps {
            if self.exhausted(reassignable) {
                continue;
            }
            let Some(user) = plan.users.get_mut(&app.user) else {
                continue;
            };
            app.selected = self.selected(app.app);
            user.selected = user.selected.plus(app.selected);
            let tasks = app.used.minus(app.am_used);
            let wants = tasks.plus(app.pending).minus(app.selected);
            if !self.more(user.limit, user.ideal) {
                continue;
            }
            let within = self.min(wants, user.limit.minus(user.ideal));
            app.ideal = self.min(reassignable, within);
            user.ideal = user.ideal.plus(app.ideal);
            let keeps = tasks.minus(app.selected);
            if self.more(app.ideal, keeps) {
                app.from_others = app.ideal.minus(keeps);
            }
            reassignable = reassignable.minus(app.ideal).at_least_zero();
        }
    }

    /// Nothing is left to give, or, conservatively, nothing of some type.
    fn exhausted(&self, left: Resource) -> bool {
        let rules = self.round.rules;
        if !rules.some(left, self.round.table.cluster) {
            return true;
        }
        if !self.round.conf.intra.conservative_drf {
            return false;
        }
        if rules.gpu_lane().is_none() {
            return rules.calculator.any_at_most_zero(left, rules.types);
        }
        // a type of which the leaf holds nothing is not exhausted
        let used = self.round.table.rows[self.partition][self.queue].used;
        (0..rules.types.len()).any(|lane| used.0[lane] > 0 && left.0[lane] <= 0)
    }

    /// What was chosen of an application before, by the label that it asked for.
    fn selected(&self, app: usize) -> Resource {
        let chosen = self.round.chosen.range((app, 0)..(app + 1, 0));
        let containers = chosen.map(|place| self.round.container(*place));
        let here = containers.filter(|container| container.asked == self.partition);
        here.fold(Resource::ZERO, |sum, container| sum.plus(container.size))
    }

    /// What each application has too much, up to what may be taken inside the leaf
    /// (`calculateToBePreemptedResourcePerApp`).
    fn losses(&self, plan: &mut Plan) {
        let rules = self.round.rules;
        let row = &self.round.table.rows[self.partition][self.queue];
        let share = self.round.conf.intra.max_allowable_limit;
        let most = share_of(row.guaranteed, share, rules.types);
        let most = if self.more(most, row.to_obtain) {
            most.minus(row.to_obtain)
        } else {
            Resource::ZERO
        };
        let mut limit = self.min(most, self.round.allowed);
        let minimum = self.round.snapshot.minimum_allocation;
        for app in &mut plan.apps {
            if !self.more(limit, Resource::ZERO) || !self.more(app.used, Resource::ZERO) {
                continue;
            }
            let mut over = app.used.minus(app.ideal);
            over = over.minus(app.selected).at_least_zero();
            over = over.minus(app.am_used).at_least_zero();
            if self.user_limit_first() {
                over = over.minus(minimum).at_least_zero();
            }
            app.to_be_preempted = self.min(over, limit);
            limit = limit.minus(app.to_be_preempted).at_least_zero();
        }
    }

    /// Lets applications that want more take from those that come before them in the list, of
    /// lower priority or of other users above their limits
    /// (`validateOutSameAppPriorityFromDemand`).
    fn share_out(&self, plan: &mut Plan) {
        for high in (0..plan.apps.len()).rev() {
            if !self.more(plan.apps[high].from_others, Resource::ZERO) {
                continue;
            }
            for low in 0..plan.apps.len() {
                let amount = self.yields(plan, high, low);
                let taken = &mut plan.apps[low].actually;
                *taken = taken.plus(amount);
                let wanted = &mut plan.apps[high].from_others;
                *wanted = wanted.minus(amount);
            }
        }
    }

    /// What the application at `low` gives to the one at `high`.
    fn yields(&self, plan: &mut Plan, high: usize, low: usize) -> Resource {
        let (to, from) = (plan.apps[high], plan.apps[low]);
        let same_user = to.user == from.user;
        if !self.more(from.to_be_preempted, Resource::ZERO)
            || (same_user && from.priority >= to.priority)
            || !self.more(from.to_be_preempted, from.actually)
            || to.from_others.is_zero()
        {
            return Resource::ZERO;
        }
        let Some(user) = plan.users.get_mut(&from.user) else {
            return Resource::ZERO;
        };
        let tasks = user.used.minus(user.am_used);
        let above_limit = self.more(tasks, user.limit);
        if !same_user && !above_limit && self.user_limit_first() {
            return Resource::ZERO;
        }
        let mut amount = from.to_be_preempted.minus(from.actually);
        if !same_user && from.priority == to.priority && above_limit {
            let above = tasks.minus(user.selected).minus(user.limit);
            let quota = if user.quota_done {
                Resource::ZERO
            } else {
                above
            };
            if self.more(amount, quota) {
                user.quota_done = true;
                amount = quota;
            }
        }
        if self.more(amount, Resource::ZERO) {
            self.min(to.from_others, amount)
        } else {
            Resource::ZERO
        }
    }
}
