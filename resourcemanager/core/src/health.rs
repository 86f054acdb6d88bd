//! What the scheduler did last, for `/scheduler` (`SchedulerHealth`).
//! May touch: its own counts; `Rm` read only.
//! Must not: be used in a decision.

use yarn_types::{ContainerId, NodeId, Resource};

use crate::{
    rm::Rm,
    sched::{AppIdx, NodeIdx, Reservations},
};

/// Containers and their sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Sum {
    /// How many.
    pub count: u64,
    /// Their sizes.
    pub amount: Resource,
}

impl Sum {
    fn add(&mut self, amount: Resource) {
        self.count += 1;
        self.amount = self.amount.plus(amount);
    }
}

/// What one run of the scheduler did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct RunSums {
    /// Containers that ended since the run before.
    pub released: Sum,
    /// Containers granted.
    pub allocated: Sum,
    /// Reservations made.
    pub reserved: Sum,
}

/// The latest operation of a kind.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Latest {
    node: Option<NodeIdx>,
    container: Option<ContainerId>,
    queue: String,
}

impl Latest {
    fn set(&mut self, node: NodeIdx, container: Option<ContainerId>, queue: &str) {
        self.node = Some(node);
        self.container = container;
        // The text that is there already is written over.
        self.queue.clear();
        self.queue.push_str(queue);
    }
}

/// What is remembered.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Health {
    run_wall_ms: i64,
    run: RunSums,
    /// Since that run.
    since: RunSums,
    reservations: Reservations,
    allocation: Latest,
    release: Latest,
    preemption: Latest,
    reservation: Latest,
}

impl Health {
    pub(crate) fn granted(
        &mut self,
        node: NodeIdx,
        id: ContainerId,
        queue: &str,
        amount: Resource,
    ) {
        self.since.allocated.add(amount);
        self.allocation.set(node, Some(id), queue);
    }

    pub(crate) fn released(
        &mut self,
        node: NodeIdx,
        id: ContainerId,
        queue: &str,
        amount: Resource,
    ) {
        self.since.released.add(amount);
        self.release.set(node, Some(id), queue);
    }

    pub(crate) fn preempted(&mut self, node: NodeIdx, id: ContainerId, queue: &str) {
        self.preemption.set(node, Some(id), queue);
    }
}

/// The latest operation of a kind, for readers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OperationReport {
    /// Where; `None` when there was none.
    pub node: Option<NodeId>,
    /// Which container; a reservation is none yet.
    pub container: Option<ContainerId>,
    /// Full path of the leaf.
    pub queue: Option<String>,
}

/// What the scheduler did last, for readers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HealthReport {
    /// Wall milliseconds of the latest look at a node, which every heartbeat brings, or pass that
    /// did something. 0 before the first.
    pub run_wall_ms: i64,
    /// What a node's turn did, or with event pacing the latest pass that did something.
    pub run: RunSums,
    /// The latest grant.
    pub allocation: OperationReport,
    /// The latest end of a container.
    pub release: OperationReport,
    /// The latest container taken by preemption.
    pub preemption: OperationReport,
    /// The latest reservation.
    pub reservation: OperationReport,
}

impl Rm {
    /// The scheduler ran; whether that counts where it did nothing.
    pub(crate) fn scheduler_ran(&mut self, always: bool) {
        let made = self.sched.reservations();
        let before = std::mem::replace(&mut self.health.reservations, made);
        if let Some((node, app)) = made.last.filter(|_| made.count != before.count) {
            self.health.since.reserved = Sum {
                count: made.count - before.count,
                amount: made.amount.minus(before.amount),
            };
            let queue = self.apps.get(&app).map_or("", |app| &app.queue);
            self.health.reservation.set(node, None, queue);
        }
        if always || self.health.since != RunSums::default() {
            self.health.run = std::mem::take(&mut self.health.since);
            self.health.run_wall_ms = self.wall_now();
        }
    }

    /// A node said what it has.
    pub(crate) fn scheduler_looked(&mut self) {
        self.health.run_wall_ms = self.wall_now();
    }

    /// Counts an end, and one by preemption also as that.
    pub(crate) fn count_release(
        &mut self,
        (app, node): (AppIdx, NodeIdx),
        id: ContainerId,
        amount: Resource,
        preempted: bool,
    ) {
        let Some(app) = self.apps.get(&app) else {
            return;
        };
        self.health.released(node, id, &app.queue, amount);
        if preempted {
            self.health.preempted(node, id, &app.queue);
        }
    }

    /// What the scheduler did last.
    pub fn health(&self) -> HealthReport {
        let report = |latest: &Latest| OperationReport {
            node: latest
                .node
                .and_then(|node| self.nodes.get(node.at()))
                .map(|node| node.id.clone()),
            container: latest.container,
            queue: latest.node.map(|_| latest.queue.clone()),
        };
        let health = &self.health;
        HealthReport {
            run_wall_ms: health.run_wall_ms,
            run: health.run,
            allocation: report(&health.allocation),
            release: report(&health.release),
            preemption: report(&health.preemption),
            reservation: report(&health.reservation),
        }
    }
}
