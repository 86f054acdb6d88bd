//! The only place that changes what is held: node, queues, user and application in one step.
//! May touch: every account.
//! Must not: decide; whoever calls has tested every limit.

use yarn_types::Resource;

use super::{
    Sched,
    ask::AskKey,
    container::Container,
    ids::{AppIdx, ContainerIdx, LabelIdx, NodeIdx, QueueIdx, UserIdx},
    node::Node,
};

/// What one change adds to the accounts; negative figures take away.
#[derive(Clone, Copy, Default)]
struct Delta {
    /// Held by containers.
    live: Resource,
    /// Held by reservations.
    reserved: Resource,
    /// Containers and reservations.
    count: i64,
}

impl Delta {
    fn negated(self) -> Self {
        Self {
            live: Resource::ZERO.minus(self.live),
            reserved: Resource::ZERO.minus(self.reserved),
            count: -self.count,
        }
    }
}

fn counted(n: u32, by: i64) -> u32 {
    u32::try_from(i64::from(n).saturating_add(by).max(0)).unwrap_or(u32::MAX)
}

impl Sched {
    /// Puts a new container into every account.
    pub(super) fn place(
        &mut self,
        app: AppIdx,
        node: NodeIdx,
        resource: Resource,
        key: AskKey,
        asked: LabelIdx,
        is_am: bool,
    ) -> Option<ContainerIdx> {
        let (queue, user) = self.place_of(app)?;
        let label = self.nodes.get(node)?.label;
        let idx = self.containers.insert(Container {
            app,
            node,
            resource,
            key,
            asked,
            reserved: false,
            is_am,
            number: 0,
            created: self.now,
            previous: None,
            next: None,
        });
        self.link(app, idx);
        let delta = Delta {
            live: resource,
            count: 1,
            ..Delta::default()
        };
        self.on_node(node, resource, 1);
        self.in_queues(queue, user, app, label, delta);
        self.stir();
        Some(idx)
    }

    /// Holds room on a node for a container that does not fit yet.
    pub(super) fn reserve(
        &mut self,
        app: AppIdx,
        node: NodeIdx,
        resource: Resource,
        key: AskKey,
        asked: LabelIdx,
    ) -> Option<ContainerIdx> {
        let (queue, user) = self.place_of(app)?;
        let label = self.nodes.get(node)?.label;
        let idx = self.containers.insert(Container {
            app,
            node,
            resource,
            key,
            asked,
            reserved: true,
            is_am: false,
            number: 0,
            created: self.now,
            previous: None,
            next: None,
        });
        self.change_node(node, |n| n.reserved = Some(idx));
        self.reservations.made(node, app, resource);
        let a = self.app_mut(app)?;
        a.reservations.entry(key).or_default().insert(node, idx);
        let delta = Delta {
            reserved: resource,
            count: 1,
            ..Delta::default()
        };
        self.in_queues(queue, user, app, label, delta);
        self.stir();
        Some(idx)
    }

    /// Gives a reservation up; false when it already is.
    pub fn unreserve(&mut self, reservation: ContainerIdx) -> bool {
        if !self.containers.get(reservation).is_some_and(|c| c.reserved) {
            return false;
        }
        let Some(c) = self.containers.remove(reservation) else {
            return false;
        };
        let Some((queue, user)) = self.place_of(c.app) else {
            return false;
        };
        let dropped = self.change_node(c.node, |n| {
            n.reserved = n.reserved.filter(|r| *r != reservation);
            n.label
        });
        let label = dropped.unwrap_or_default();
        if let Some(a) = self.app_mut(c.app) {
            if let Some(of_key) = a.reservations.get_mut(&c.key) {
                of_key.remove(&c.node);
                if of_key.is_empty() {
                    a.reservations.remove(&c.key);
                }
            }
            a.asks.opportunities_mut(c.key).re_reservations = 0;
            if let Some(asks) = a.asks.get_mut(c.key) {
                asks.held_all = false;
            }
        }
        let delta = Delta {
            reserved: c.resource,
            count: 1,
            ..Delta::default()
        };
        #[cfg(feature = "mutants")]
        let delta = match self.mutant {
            Some(super::Mutant::KeepReservation) => Delta::default(),
            _ => delta,
        };
        self.in_queues(queue, user, c.app, label, delta.negated());
        // its ask may hold room again
        self.touch_app(c.app);
        self.stir();
        self.activate(queue);
        true
    }

    /// Takes a container out of every account; false when it already is, or is a reservation.
    pub fn release(&mut self, container: ContainerIdx) -> bool {
        let Some(c) = self.containers.get(container).filter(|c| !c.reserved) else {
            return false;
        };
        self.withdraw_increase(container, c.app, c.key);
        let Some(c) = self.unlink(container) else {
            return false;
        };
        self.monitor.forget(c.number);
        let killable = |n: &Node| n.killable.contains(&container);
        if self.nodes.get(c.node).is_some_and(killable) {
            self.change_node(c.node, |n| n.killable.retain(|k| *k != container));
        }
        self.on_node(c.node, Resource::ZERO.minus(c.resource), -1);
        let node = self.nodes.get(c.node);
        let label = node.map_or(LabelIdx::DEFAULT, |n| n.label);
        if let Some((queue, user)) = self.place_of(c.app) {
            let delta = Delta {
                live: c.resource,
                count: 1,
                ..Delta::default()
            };
            self.in_queues(queue, user, c.app, label, delta.negated());
            #[cfg(feature = "mutants")]
            if self.mutant == Some(super::Mutant::DoubleRelease) {
                self.in_queues(queue, user, c.app, label, delta.negated());
            }
            self.stir();
            self.activate(queue);
        }
        true
    }

    /// Gives a container another size; its accounts follow. False when it is gone.
    pub(super) fn set_size(&mut self, container: ContainerIdx, resource: Resource) -> bool {
        let Some(c) = self.containers.get_mut(container) else {
            return false;
        };
        let by = resource.minus(std::mem::replace(&mut c.resource, resource));
        let (app, node) = (c.app, c.node);
        let Some((queue, user)) = self.place_of(app) else {
            return false;
        };
        let label = self.nodes.get(node).map_or(LabelIdx::DEFAULT, |n| n.label);
        self.on_node(node, by, 0);
        let delta = Delta {
            live: by,
            ..Delta::default()
        };
        self.in_queues(queue, user, app, label, delta);
        self.stir();
        true
    }

    /// Moves what a node's containers and reservation hold from one partition to another.
    pub(super) fn relabel(&mut self, node: NodeIdx, to: LabelIdx) {
        let change = |n: &mut Node| std::mem::replace(&mut n.label, to);
        let Some(from) = self.change_node(node, change) else {
            return;
        };
        let held: Vec<Container> = self
            .containers
            .iter()
            .filter(|(_, c)| c.node == node)
            .map(|(_, c)| c.clone())
            .collect();
        for c in held {
            let Some((queue, user)) = self.place_of(c.app) else {
                continue;
            };
            let delta = Self::held_by(&c);
            #[cfg(feature = "mutants")]
            if self.mutant == Some(super::Mutant::StayInPartition) {
                continue;
            }
            self.in_queues(queue, user, c.app, from, delta.negated());
            self.in_queues(queue, user, c.app, to, delta);
            if c.is_am {
                self.move_am(c.app, to);
            }
        }
    }

    /// Moves everything that an application holds to another leaf.
    pub(super) fn rehome(&mut self, app: AppIdx, to: QueueIdx) {
        let Some((from, user)) = self.place_of(app) else {
            return;
        };
        let held: Vec<Container> = self
            .containers
            .iter()
            .filter(|(_, c)| c.app == app)
            .map(|(_, c)| c.clone())
            .collect();
        for (queue, way) in [(from, false), (to, true)] {
            for c in &held {
                let label = self
                    .nodes
                    .get(c.node)
                    .map_or(LabelIdx::DEFAULT, |n| n.label);
                let delta = Self::held_by(c);
                let delta = if way { delta } else { delta.negated() };
                self.in_queues(queue, user, app, label, delta);
            }
        }
        if let Some(a) = self.app_mut(app) {
            a.queue = to;
        }
    }

    fn held_by(c: &Container) -> Delta {
        let (live, reserved) = if c.reserved {
            (Resource::ZERO, c.resource)
        } else {
            (c.resource, Resource::ZERO)
        };
        Delta {
            live,
            reserved,
            count: 1,
        }
    }

    fn on_node(&mut self, node: NodeIdx, by: Resource, count: i64) {
        self.change_node(node, |n| {
            n.used = n.used.plus(by);
            n.containers = counted(n.containers, count);
            // a device comes back only when its ledger says so, not with the account
            if let Some((lane, room)) = &mut n.gpu_room
                && by.0[*lane] > 0
            {
                *room -= by.0[*lane];
            }
        });
    }

    fn in_queues(
        &mut self,
        queue: QueueIdx,
        user: UserIdx,
        app: AppIdx,
        label: LabelIdx,
        delta: Delta,
    ) {
        let both = delta.live.plus(delta.reserved);
        let mut at = Some(queue);
        while let Some(idx) = at {
            #[cfg(feature = "mutants")]
            if self.mutant == Some(super::Mutant::SkipAncestor)
                && delta.count > 0
                && idx == super::tree::ROOT
            {
                break;
            }
            let q = self.tree.get_mut(idx);
            q.containers = counted(q.containers, delta.count);
            let usage = q.usage_mut(label);
            usage.used = usage.used.plus(both);
            usage.reserved = usage.reserved.plus(delta.reserved);
            at = q.parent;
        }
        self.touch_queue(queue);
        self.change_user(queue, user, label, both);
        if let Some(a) = self.app_mut(app) {
            a.used.add(label, delta.live);
            a.reserved.add(label, delta.reserved);
        }
        self.reorder(app);
    }

    /// Appends a container to its application's chain.
    fn link(&mut self, app: AppIdx, idx: ContainerIdx) {
        let Some(a) = self.app_mut(app) else { return };
        a.live += 1;
        let last = a.last.replace(idx);
        a.first = a.first.or(Some(idx));
        if let Some(last) = last
            && let Some(before) = self.containers.get_mut(last)
        {
            before.next = Some(idx);
        }
        if let Some(c) = self.containers.get_mut(idx) {
            c.previous = last;
        }
    }

    /// Takes a container out of the arena and its application's chain.
    fn unlink(&mut self, idx: ContainerIdx) -> Option<Container> {
        let c = self.containers.remove(idx)?;
        if let Some(before) = c.previous
            && let Some(before) = self.containers.get_mut(before)
        {
            before.next = c.next;
        }
        if let Some(after) = c.next
            && let Some(after) = self.containers.get_mut(after)
        {
            after.previous = c.previous;
        }
        if let Some(a) = self.app_mut(c.app) {
            a.live = a.live.saturating_sub(1);
            if a.first == Some(idx) {
                a.first = c.next;
            }
            if a.last == Some(idx) {
                a.last = c.previous;
            }
        }
        Some(c)
    }
}
