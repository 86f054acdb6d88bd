//! Running containers and applications changed by request: size, queue, priority.
//! May touch: asks; accounts through `commit.rs`.
//! Must not: grant an increase (a walk does, at its turn).

use std::sync::Arc;

use yarn_types::{Millis, Resource};

use super::{
    Sched,
    app::Turn,
    ask::{ANY, Ask, AskKey},
    ids::{AppIdx, ContainerIdx, QueueIdx},
    validate::shown_labels,
};
use crate::reject::{Reject, RejectKind};

impl Sched {
    /// Asks for a container to grow to `to`, or withdraws that with its present size: the
    /// difference is asked for on the same node and nowhere else.
    ///
    /// # Errors
    /// A size beyond the maximum allocation, or below the present one in some lane.
    pub fn increase(
        &mut self,
        now: Millis,
        container: ContainerIdx,
        to: Resource,
    ) -> Result<(), Reject> {
        let Some(to) = self.resized(container, to)? else {
            return Ok(());
        };
        if !self
            .containers
            .get(container)
            .is_some_and(|c| c.resource.fits(to))
        {
            return Err(Reject::new(
                RejectKind::InvalidResourceRequest,
                "Trying to increase a container to a smaller size".to_owned(),
            ));
        }
        self.ask_to_grow(now, container, to);
        Ok(())
    }

    /// The normalised size that a container may be given; `None` for one that is gone.
    ///
    /// # Errors
    /// A negative size, or one beyond the maximum allocation.
    pub fn resized(
        &self,
        container: ContainerIdx,
        to: Resource,
    ) -> Result<Option<Resource>, Reject> {
        let Some((queue, _)) = self
            .containers
            .get(container)
            .and_then(|c| self.place_of(c.app))
        else {
            return Ok(None);
        };
        self.validate_size(queue, to).map(Some)
    }

    /// [`Self::increase`] to a size that was checked; what is smaller stays as it is
    /// (`ContainerUpdateContext.getResourceToIncrease`).
    pub fn ask_to_grow(&mut self, now: Millis, container: ContainerIdx, to: Resource) {
        self.now = now;
        let Some(c) = self.containers.get(container).cloned() else {
            return;
        };
        let by = to.max(c.resource).minus(c.resource);
        let key = AskKey {
            update: Some(container),
            ..c.key
        };
        let Some(n) = self.nodes.get(c.node) else {
            return;
        };
        let (host, rack, label) = (n.host.clone(), n.rack.clone(), n.label);
        // What is held for another size is of no use.
        self.drop_reservations_of(c.app, key);
        let count = i32::from(!by.is_zero());
        let places = [(host, true), (rack, false), (Arc::<str>::from(ANY), false)];
        let asks = places.map(|(place, relax)| Ask {
            key,
            place,
            size: by,
            count,
            relax,
            label,
        });
        self.update_asks(now, c.app, &asks);
    }

    /// A container shrinks or ends: it does not wait to grow any more.
    pub(super) fn withdraw_increase(&mut self, container: ContainerIdx, app: AppIdx, of: AskKey) {
        let key = AskKey {
            update: Some(container),
            ..of
        };
        if self.app(app).is_none_or(|a| a.asks.get(key).is_none()) {
            return;
        }
        self.drop_reservations_of(app, key);
        let Some(a) = self.app_mut(app) else { return };
        a.asks.remove(key);
        self.count_demand(app);
        self.stir();
    }

    fn drop_reservations_of(&mut self, app: AppIdx, key: AskKey) {
        let of_key = self.app(app).and_then(|a| a.reservations.get(&key));
        let all: Vec<ContainerIdx> =
            of_key.map_or_else(Vec::new, |r| r.values().copied().collect());
        for reservation in all {
            self.unreserve(reservation);
        }
    }

    /// Shrinks a container at once; a pending increase of it is withdrawn.
    ///
    /// # Errors
    /// A negative size, or above the present one in some lane.
    pub fn decrease(&mut self, container: ContainerIdx, to: Resource) -> Result<(), Reject> {
        let Some(to) = self.resized(container, to)? else {
            return Ok(());
        };
        if !self
            .containers
            .get(container)
            .is_some_and(|c| to.fits(c.resource))
        {
            return Err(Reject::new(
                RejectKind::InvalidResourceRequest,
                "Trying to decrease a container to a larger size".to_owned(),
            ));
        }
        self.shrink(container, to);
        Ok(())
    }

    /// [`Self::decrease`] to a size that was checked.
    pub fn shrink(&mut self, container: ContainerIdx, to: Resource) {
        let Some((app, key)) = self.containers.get(container).map(|c| (c.app, c.key)) else {
            return;
        };
        let Some((queue, _)) = self.place_of(app) else {
            return;
        };
        self.withdraw_increase(container, app, key);
        self.set_size(container, to);
        self.activate(queue);
    }

    /// The size of a container in the accounts.
    pub fn size_of(&self, container: ContainerIdx) -> Option<Resource> {
        self.containers.get(container).map(|c| c.resource)
    }

    /// Moves an application with everything that it holds to another leaf
    /// (`CapacityScheduler.moveApplication`).
    ///
    /// # Errors
    /// Unknown, full or stopped queue, or one that may not use a partition that the application
    /// uses: Hadoop's text.
    pub fn move_app(&mut self, app: AppIdx, queue: &str) -> Result<(), Reject> {
        let refuse = |text: String| Err(Reject::new(RejectKind::Yarn, text));
        let Some(to) = self.tree.find(queue) else {
            return refuse(format!("The specified Queue: {queue} doesn't exist"));
        };
        let Some(a) = self.app(app) else {
            return Ok(());
        };
        let (from, user, turn) = (a.queue, a.user, a.turn);
        if from == to {
            return Ok(());
        }
        self.check_move(app, to)?;
        if turn != Turn::None {
            self.stop_counting(app, from);
        }
        self.rehome(app, to);
        self.tree.get_mut(from).leaf.apps = self.tree.get(from).leaf.apps.saturating_sub(1);
        if let Some(u) = self.tree.get_mut(from).leaf.users.get_mut(&user) {
            u.apps = u.apps.saturating_sub(1);
        }
        self.tree.get_mut(to).leaf.apps += 1;
        self.leaf_user(to, user).apps += 1;
        self.forget_user(from, user);
        if turn != Turn::None {
            self.join(app, to, turn);
        }
        self.settle_state(from);
        self.stir();
        self.activate(from);
        self.activate(to);
        Ok(())
    }

    fn check_move(&self, app: AppIdx, to: QueueIdx) -> Result<(), Reject> {
        let refuse = |text: String| Err(Reject::new(RejectKind::Yarn, text));
        let q = self.tree.get(to);
        let Some(a) = self.app(app) else {
            return Ok(());
        };
        if q.is_parent() {
            return refuse(format!(
                "The specified Queue: {} is not a Leaf Queue.",
                q.path
            ));
        }
        let submission = super::app::Submitted {
            id: a.id,
            queue: q.path.to_string(),
            user: self.users[a.user.at()].clone(),
            priority: Some(a.priority),
        };
        self.admit(&submission)?;
        let refused = a
            .asks
            .iter()
            .map(|(_, asks)| asks.label)
            .chain(a.used.labels())
            .find(|label| !self.may_access(to, *label));
        match refused {
            Some(label) => refuse(format!(
                "Specified queue={} can't satisfy following apps label expressions =[{}] accessible node labels =[{}]",
                q.conf.name,
                self.labels.get(label).name,
                shown_labels(&q.conf)
            )),
            None => Ok(()),
        }
    }

    /// Takes an application out of its leaf's tables and its demand out of the queues.
    fn stop_counting(&mut self, app: AppIdx, queue: QueueIdx) {
        let turn = self.app(app).map(|a| a.turn);
        self.stop(app);
        self.count_demand(app);
        if matches!(turn, Some(Turn::Pending | Turn::Active)) {
            self.count_runnable(queue, app, false);
        }
    }

    /// Puts an application into another leaf's tables; one that ran goes on running.
    fn join(&mut self, app: AppIdx, queue: QueueIdx, turn: Turn) {
        match turn {
            Turn::None => {}
            Turn::NotRunnable if !self.may_run(queue, app) => {
                let Some(a) = self.app_mut(app) else { return };
                a.turn = Turn::NotRunnable;
                let submitted = a.submitted;
                let leaf = &mut self.tree.get_mut(queue).leaf;
                leaf.not_runnable.insert(submitted, app);
            }
            Turn::NotRunnable | Turn::Pending | Turn::Active => self.make_runnable(app),
        }
        self.count_demand(app);
    }

    /// Seconds after its submission at which an application of this queue must have ended, when it
    /// asks for `asked_s` (below 1 for nothing): its queue's default, at most the queue's maximum;
    /// below 1 for no end (`CapacityScheduler.checkAndGetApplicationLifetime`).
    pub fn lifetime_s(&self, app: AppIdx, asked_s: i64) -> i64 {
        let Some(a) = self.app(app) else {
            return -1;
        };
        let own = &self.tree.get(a.queue).conf.lifetimes;
        let wanted = if asked_s > 0 { asked_s } else { own.default_s };
        match own.max_s {
            max if max > 0 && (wanted <= 0 || wanted > max) => max,
            _ => wanted,
        }
    }

    /// Gives an application another priority, clamped to the cluster's maximum; answers it.
    pub fn set_priority(&mut self, app: AppIdx, priority: i32) -> i32 {
        let priority = priority.min(self.conf.max_application_priority.max(0));
        if let Some(a) = self.app_mut(app) {
            a.priority = priority;
        }
        self.reorder(app);
        self.stir();
        priority
    }
}
