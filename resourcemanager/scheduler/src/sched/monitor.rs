//! The preemption monitor's rounds: what it is shown, and what is done of what it wants.
//! May touch: reservations through `commit.rs`; what may be taken when its place is needed.
//! Must not: choose containers (`preempt` does).

use std::{cell::RefCell, collections::BTreeMap};

use yarn_types::{Millis, Resource};

use super::{
    Sched, Told,
    app::{App, Turn},
    assign::Mode,
    container::Container,
    ids::{AppIdx, ContainerIdx, LabelIdx, NodeIdx, QueueIdx, UserIdx},
};
use crate::{
    conf::{LeafOrder, ParentOrder},
    num,
    preempt::{self, Action, ContainerKey, Monitor, QueueRow, Rules, Snapshot, Source},
};

/// Where the parts of a snapshot come from.
#[derive(Default)]
struct Places {
    nodes: Vec<NodeIdx>,
    /// By index of the node.
    node_at: Vec<usize>,
    queues: Vec<QueueIdx>,
    /// By index of the queue.
    queue_at: Vec<usize>,
    user_at: BTreeMap<(QueueIdx, UserIdx), usize>,
    apps: Vec<AppIdx>,
}

/// What a round wants done, and what its names mean.
struct MonitorRound {
    actions: Vec<Action>,
    by_key: ByKey,
    nodes: Vec<NodeIdx>,
}

/// Containers by their numbers.
type ByKey = BTreeMap<ContainerKey, ContainerIdx>;

impl Sched {
    /// Whether the monitor is on; its period then, in milliseconds.
    pub fn preemption_interval_ms(&self) -> Option<u64> {
        let conf = &self.conf.queues.cluster.preemption;
        conf.enabled.then_some(conf.interval_ms.max(1))
    }

    /// Period in which [`Self::expire_queues`] is due, in milliseconds, where the monitor is on.
    pub fn queue_deletion_interval_ms(&self) -> Option<u64> {
        let period_ms = self.conf.queues.cluster.queue_deletion_interval_ms?;
        Some(period_ms.max(1))
    }

    /// Period in which the shell looks for a changed capacity-scheduler.xml
    /// (`QueueConfigurationAutoRefreshPolicy`), in milliseconds, where the monitor is on.
    pub fn auto_refresh_interval_ms(&self) -> Option<u64> {
        let period_ms = self.conf.queues.cluster.auto_refresh_interval_ms?;
        Some(period_ms.max(1))
    }

    /// One round of the monitor: containers to ask back or to end are told.
    pub fn preempt_tick(&mut self, now: Millis) {
        self.now = now;
        let mut monitor = std::mem::take(&mut self.monitor);
        let round = self.monitor_round(&mut monitor, now);
        self.monitor = monitor;
        for action in round.actions {
            self.act(action, &round.nodes, &round.by_key);
        }
    }

    fn monitor_round(&self, monitor: &mut Monitor, now: Millis) -> MonitorRound {
        let mut places = Places::default();
        let snapshot = self.snapshot(&mut places);
        #[cfg(feature = "mutants")]
        let snapshot = self.shown_wrongly(snapshot);
        let looked_at = RefCell::new(Vec::new());
        let containers = |app: usize| {
            let a = places.apps.get(app).and_then(|app| self.app(*app));
            a.map_or_else(Vec::new, |a| {
                self.shown_containers(a, &places, &mut looked_at.borrow_mut())
            })
        };
        let source = Source {
            containers: &containers,
            beside_reservations: &self.beside_reservations(&places),
        };
        let conf = self.conf.queues.cluster.preemption;
        let actions = monitor.tick_from(now, &snapshot, source, &conf, &self.preemption_rules());
        MonitorRound {
            actions,
            by_key: looked_at.into_inner().into_iter().collect(),
            nodes: places.nodes,
        }
    }

    fn preemption_rules(&self) -> Rules<'_> {
        Rules {
            calculator: self.conf.calculator,
            types: &self.conf.types,
            spare_cpu_only: true,
        }
    }

    /// How many actions a round wants; `None` where it would want others, or remember something
    /// else, with all containers in its picture from the start.
    #[cfg(test)]
    pub(super) fn actions_of_a_round(&self, now: Millis) -> Option<usize> {
        let mut places = Places::default();
        let mut snapshot = self.snapshot(&mut places);
        let mut all = Vec::new();
        for (shown, app) in snapshot.apps.iter_mut().zip(&places.apps) {
            let a = self.app(*app);
            shown.containers =
                a.map_or_else(Vec::new, |a| self.shown_containers(a, &places, &mut all));
        }
        let conf = self.conf.queues.cluster.preemption;
        let (mut one, mut other) = (self.monitor.clone(), self.monitor.clone());
        let actions = one.tick(now, &snapshot, &conf, &self.preemption_rules());
        let same = actions == self.monitor_round(&mut other, now).actions && one == other;
        same.then_some(actions.len())
    }

    /// Applications, as places of the picture, that hold something on nodes with reservations.
    fn beside_reservations(&self, places: &Places) -> Vec<usize> {
        let mut is_reserved = vec![false; places.node_at.len()];
        for c in self
            .nodes
            .reservations()
            .filter_map(|idx| self.containers.get(idx))
        {
            if let Some(node) = is_reserved.get_mut(c.node.at()) {
                *node = true;
            }
        }
        if !is_reserved.contains(&true) {
            return Vec::new();
        }
        let mut holds = vec![false; self.apps.len()];
        for (_, c) in self.containers.iter() {
            if let Some(app) = holds.get_mut(c.app.at()) {
                *app |= is_reserved
                    .get(c.node.at())
                    .is_some_and(|reserved| *reserved);
            }
        }
        let apps = places.apps.iter().enumerate();
        apps.filter(|(_, app)| holds[app.at()])
            .map(|(at, _)| at)
            .collect()
    }

    fn act(&mut self, action: Action, nodes: &[NodeIdx], by_key: &ByKey) {
        let of = |key: &ContainerKey| by_key.get(key).copied();
        match action {
            Action::MarkPreemption(key) => {
                if let Some(container) = of(&key)
                    && let Some(c) = self.containers.get(container)
                    && !c.reserved
                {
                    let app = c.app;
                    self.told.push(Told::Preempt { container, app });
                }
            }
            Action::Kill(key) => {
                let Some(container) = of(&key) else { return };
                let Some((app, reserved)) =
                    self.containers.get(container).map(|c| (c.app, c.reserved))
                else {
                    return;
                };
                if reserved {
                    self.unreserve(container);
                } else if self.conf.queues.cluster.lazy_preemption {
                    self.set_killable(container, true);
                } else {
                    self.told.push(Told::Kill {
                        container,
                        app,
                        released: false,
                    });
                }
            }
            Action::DropReservation(key) => {
                if let Some(container) = of(&key) {
                    self.unreserve(container);
                }
            }
            Action::MoveReservation { reservation, to } => {
                if let (Some(container), Some(node)) = (of(&reservation), nodes.get(to)) {
                    self.move_reservation(container, *node);
                }
            }
        }
    }

    /// A reservation goes to a node that has none (`CapacityScheduler.moveReservedContainer`).
    fn move_reservation(&mut self, reservation: ContainerIdx, to: NodeIdx) {
        let Some(c) = self.containers.get(reservation).cloned() else {
            return;
        };
        let free = self.nodes.get(to).is_some_and(|n| n.reserved.is_none());
        if free && self.unreserve(reservation) {
            self.reserve(c.app, to, c.resource, c.key, c.asked);
        }
    }

    /// How many containers of the smallest size are as much as `resource`, rounded up
    /// (`FiCaSchedulerApp.getAllocation`).
    pub fn in_smallest_containers(&self, resource: Resource) -> i32 {
        let (types, cluster) = (&self.conf.types, self.cluster_total());
        let calculator = self.conf.calculator;
        num::count_up(calculator.divide(resource, self.minimum(), cluster, types))
    }

    /// The containers that the monitor asked back.
    pub fn marked_for_preemption(&self) -> Vec<ContainerIdx> {
        let marked: BTreeMap<ContainerKey, Millis> = self.monitor.marked().collect();
        let live = self.containers.iter();
        live.filter(|(_, c)| marked.contains_key(&c.number))
            .map(|(idx, _)| idx)
            .collect()
    }

    /// The monitor's last figures of a queue in a partition.
    pub fn preemption_row(&self, queue: QueueIdx, label: LabelIdx) -> Option<&QueueRow> {
        let at = self.tree.in_order().iter().position(|idx| *idx == queue)?;
        self.monitor.row(at, label.at())
    }

    /// What lazy preemption may take of a queue in all partitions, and of an application.
    pub fn killable_of(&self, queue: QueueIdx) -> Resource {
        let labels = 0..u8::try_from(self.labels.len()).unwrap_or(u8::MAX);
        labels.fold(Resource::ZERO, |sum, label| {
            sum.plus(self.killable_in(queue, LabelIdx(label)))
        })
    }

    /// Containers of an application that lazy preemption may take.
    pub fn killable_containers(&self, app: AppIdx) -> Vec<ContainerIdx> {
        let killable = self.nodes.killable().flat_map(|(_, n)| &n.killable);
        killable
            .copied()
            .filter(|idx| self.containers.get(*idx).is_some_and(|c| c.app == app))
            .collect()
    }

    fn labels_in_order(&self) -> impl Iterator<Item = LabelIdx> + use<> {
        (0..u8::try_from(self.labels.len()).unwrap_or(u8::MAX)).map(LabelIdx)
    }

    fn snapshot(&self, places: &mut Places) -> Snapshot {
        for (idx, _) in self.nodes.iter() {
            places.node_at.resize(idx.at() + 1, 0);
            places.node_at[idx.at()] = places.nodes.len();
            places.nodes.push(idx);
        }
        places.queues = self.tree.in_order();
        places.queue_at.resize(self.tree.queues.len(), 0);
        for (at, idx) in places.queues.iter().enumerate() {
            places.queue_at[idx.at()] = at;
        }
        let users = self.shown_users(places);
        Snapshot {
            partitions: self
                .labels
                .iter()
                .map(|(idx, l)| preempt::Partition {
                    total: l.offered.total,
                    exclusive: l.exclusive || idx == LabelIdx::DEFAULT,
                })
                .collect(),
            nodes: self
                .nodes
                .iter()
                .map(|(_, n)| preempt::Node {
                    partition: n.label.at(),
                    total: n.total,
                })
                .collect(),
            queues: self.shown_queues(places),
            users,
            apps: self.shown_apps(places),
            minimum_allocation: self.minimum(),
        }
    }

    #[cfg(feature = "mutants")]
    fn shown_wrongly(&self, mut snapshot: Snapshot) -> Snapshot {
        for q in &mut snapshot.queues {
            q.disabled &= self.mutant != Some(super::Mutant::TakeFromDisabled);
            if self.mutant == Some(super::Mutant::NoGuarantee) && q.leaf {
                for share in &mut q.shares {
                    share.guaranteed = Resource::ZERO;
                }
            }
        }
        snapshot
    }

    fn shown_users(&self, places: &mut Places) -> Vec<preempt::User> {
        let mut users = Vec::new();
        for queue in places.queues.clone() {
            for (user, held) in &self.tree.get(queue).leaf.users {
                places.user_at.insert((queue, *user), users.len());
                let shares = self.labels_in_order().map(|label| preempt::UserShare {
                    used: held.used.get(label),
                    limit: self.user_limit(queue, *user, label, Mode::Respect, false),
                });
                users.push(preempt::User {
                    shares: shares.collect(),
                });
            }
        }
        users
    }

    fn shown_queues(&self, places: &Places) -> Vec<preempt::Queue> {
        let conf = &self.conf.queues.cluster.preemption;
        let mut out: Vec<preempt::Queue> = Vec::with_capacity(places.queues.len());
        for idx in &places.queues {
            let q = self.tree.get(*idx);
            let parent = q.parent.and_then(|p| places.queue_at.get(p.at())).copied();
            let above = parent.map(|p| (out[p].disabled, out[p].intra_disabled));
            let (disabled, intra) = above.unwrap_or((false, false));
            let shares = self.labels_in_order().map(|label| {
                let usage = q.usage(label);
                // a parent's demand is that of its leaves
                let (pending, pending_less_reserved) = if q.is_parent() {
                    Default::default()
                } else {
                    self.pending_of_leaf(*idx, label)
                };
                preempt::QueueShare {
                    guaranteed: q.guaranteed(label),
                    max: q.maximum(label),
                    used: usage.used,
                    reserved: usage.reserved,
                    pending,
                    pending_less_reserved,
                    killable: self.killable_in(*idx, label),
                }
            });
            out.push(preempt::Queue {
                parent,
                leaf: !q.is_parent(),
                priority: q.conf.priority,
                priority_order: q.conf.parent_order == ParentOrder::PriorityUtilization,
                disabled: q.conf.disable_preemption.unwrap_or(disabled),
                intra_disabled: !conf.intra.enabled
                    || q.conf.disable_intra_preemption.unwrap_or(intra),
                max_am_percent: q.conf.am_percent(0),
                order: match q.conf.leaf_order {
                    LeafOrder::Fair { size_based_weight } => {
                        preempt::LeafOrder::Fair { size_based_weight }
                    }
                    _ => preempt::LeafOrder::Fifo,
                },
                shares: shares.collect(),
            });
        }
        out
    }

    fn shown_apps(&self, places: &mut Places) -> Vec<preempt::App> {
        let all = (0..).map(AppIdx).zip(&self.apps);
        let mut apps: Vec<(AppIdx, &App)> = all
            .filter_map(|(idx, a)| Some((idx, a.as_ref()?)))
            .filter(|(_, a)| matches!(a.turn, Turn::Active | Turn::Pending))
            .collect();
        apps.sort_by_key(|(_, a)| a.submitted);
        places.apps = apps.iter().map(|(idx, _)| *idx).collect();
        let shown = apps.into_iter().map(|(_, a)| self.shown_app(a, places));
        shown.collect()
    }

    /// The containers of an application, oldest first; each is noted in `looked_at`.
    fn shown_containers(
        &self,
        a: &App,
        places: &Places,
        looked_at: &mut Vec<(ContainerKey, ContainerIdx)>,
    ) -> Vec<preempt::Container> {
        let stays = |c: &Container| self.nodes.get(c.node).is_some_and(|n| !n.going);
        let live = self.containers.chain(a.first).filter(|(_, c)| stays(c));
        let reserved = a.reservations.values().flatten().filter_map(|(_, idx)| {
            let c = self.containers.get(*idx)?;
            Some((*idx, c))
        });
        let mut held: Vec<(ContainerIdx, &Container)> = live.chain(reserved).collect();
        held.sort_by_key(|(_, c)| c.number);
        let containers = held.into_iter().map(|(idx, c)| {
            looked_at.push((c.number, idx));
            let asks = a.asks.get(c.key);
            let killable = self
                .nodes
                .get(c.node)
                .is_some_and(|n| n.killable.contains(&idx));
            preempt::Container {
                key: c.number,
                size: c.resource,
                node: places.node_at.get(c.node.at()).copied().unwrap_or(0),
                asked: c.asked.at(),
                priority: c.key.priority,
                am: c.is_am,
                reserved: c.reserved,
                killable,
                pinned: c.key.update.is_some()
                    || asks.is_some_and(|asks| !asks.relaxed_at(super::ask::ANY)),
                created: c.created,
            }
        });
        containers.collect()
    }

    /// Its containers are shown when somebody looks at them.
    fn shown_app(&self, a: &App, places: &Places) -> preempt::App {
        let shares = self.labels_in_order().map(|label| preempt::AppShare {
            used: a.used.get(label),
            pending: a.counted.get(label),
        });
        preempt::App {
            queue: places.queue_at.get(a.queue.at()).copied().unwrap_or(0),
            user: places.user_at.get(&(a.queue, a.user)).copied().unwrap_or(0),
            priority: a.priority,
            active: a.turn == Turn::Active,
            am: Some((a.am.label.at(), a.am.size)),
            waiting_for_am: a.am.waiting,
            shares: shares.collect(),
            containers: Vec::new(),
        }
    }
}
