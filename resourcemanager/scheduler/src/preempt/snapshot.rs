//! What the monitor looks at: partitions, nodes, queues, users and applications of one instant.
//! May touch: amounts and small numbers.
//! Must not: compute.

use yarn_types::{Millis, Resource};

/// A container's number, the same in every snapshot for as long as the container lives, and never
/// given to another one while the monitor may still remember it.
pub type ContainerKey = u64;

/// One instant. All references are places in the vectors here.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Snapshot {
    /// Partitions; the first is the unlabelled one.
    pub partitions: Vec<Partition>,
    /// Nodes.
    pub nodes: Vec<Node>,
    /// Queues in the order of the tree, parents before children; the first is root.
    pub queues: Vec<Queue>,
    /// Users by leaf: a user with applications in two leaves is there twice.
    pub users: Vec<User>,
    /// Applications in the order of submission.
    pub apps: Vec<App>,
    /// The cluster's minimum allocation (`LeafQueue.getMinimumAllocation`).
    pub minimum_allocation: Resource,
}

/// A partition.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Partition {
    /// Sum of its nodes.
    pub total: Resource,
    /// Only asks for its label may use it; true for the unlabelled one.
    pub exclusive: bool,
}

/// A node.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Node {
    /// Its partition.
    pub partition: usize,
    /// Its size.
    pub total: Resource,
}

/// How a leaf orders its applications, as far as preemption cares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LeafOrder {
    /// `fifo` and its kin: priority, then submission.
    #[default]
    Fifo,
    /// `fair`: the memory that is used.
    Fair {
        /// `enable-size-based-weight`.
        size_based_weight: bool,
    },
}

/// A queue.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Queue {
    /// Its parent; none for root.
    pub parent: Option<usize>,
    /// It takes applications. A parent without children is no leaf.
    pub leaf: bool,
    /// `priority`; counts when the parent has `priority_order`.
    pub priority: i32,
    /// Its `ordering-policy` for children is `priority-utilization`.
    pub priority_order: bool,
    /// `disable_preemption`, inherited down.
    pub disabled: bool,
    /// `intra-queue-preemption.disable_preemption`, inherited down.
    pub intra_disabled: bool,
    /// `maximum-am-resource-percent` of a leaf in the default partition.
    pub max_am_percent: f32,
    /// `ordering-policy` of a leaf.
    pub order: LeafOrder,
    /// Amounts by partition; absent at the end = nothing.
    pub shares: Vec<QueueShare>,
}

/// Amounts of a queue in one partition.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct QueueShare {
    /// Effective minimum.
    pub guaranteed: Resource,
    /// Effective maximum; nothing on a shareable partition stands for the whole of it.
    pub max: Resource,
    /// What it holds, reservations included.
    pub used: Resource,
    /// Reserved.
    pub reserved: Resource,
    /// Of a leaf: what its users ask for within their limits
    /// (`getTotalPendingResourcesConsideringUserLimit`). What a parent has here does not count.
    pub pending: Resource,
    /// The same less what is reserved, never below nothing, user by user.
    pub pending_less_reserved: Resource,
    /// Containers that may be killed as soon as their place is needed (lazy preemption).
    pub killable: Resource,
}

/// A user within a leaf.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct User {
    /// Amounts by partition; absent at the end = nothing.
    pub shares: Vec<UserShare>,
}

/// Amounts of a user of a leaf in one partition.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct UserShare {
    /// What the user holds.
    pub used: Resource,
    /// The limit that holds for all users, active or not (`getResourceLimitForAllUsers`).
    pub limit: Resource,
}

/// An application.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct App {
    /// Its leaf.
    pub queue: usize,
    /// Its user within that leaf.
    pub user: usize,
    /// Its priority; larger goes first.
    pub priority: i32,
    /// It was activated; a pending one has no containers and is in no order.
    pub active: bool,
    /// Its AM: the partition and the size it asked for.
    pub am: Option<(usize, Resource)>,
    /// The AM is not there yet.
    pub waiting_for_am: bool,
    /// Amounts by partition; absent at the end = nothing.
    pub shares: Vec<AppShare>,
    /// Its containers in the order of their numbers, oldest first.
    pub containers: Vec<Container>,
}

/// Where the containers of a picture come from whose applications list none: of most applications
/// nobody looks at them.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The containers of the application at this place, oldest first.
    pub containers: &'a dyn Fn(usize) -> Vec<Container>,
    /// The applications that hold something on nodes with reservations, in order.
    pub beside_reservations: &'a [usize],
}

/// Amounts of an application in one partition.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct AppShare {
    /// What it holds.
    pub used: Resource,
    /// What it asks for, limits apart.
    pub pending: Resource,
}

/// A container, or a reservation of one.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Container {
    /// Its number for marks and actions.
    pub key: ContainerKey,
    /// Its size.
    pub size: Resource,
    /// Its node.
    pub node: usize,
    /// The partition of the label that it asked for: another one than its node's = it shares.
    pub asked: usize,
    /// Its priority; larger numbers go first.
    pub priority: i32,
    /// The AM's.
    pub am: bool,
    /// Reserved, not running.
    pub reserved: bool,
    /// May be killed as soon as its place is needed.
    pub killable: bool,
    /// It may run on that node alone: a resize, or an ask that does not relax locality.
    pub pinned: bool,
    /// When it was granted or reserved.
    pub created: Millis,
}

/// What the monitor wants done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Ask the AM to give this container back (`MARK_CONTAINER_FOR_PREEMPTION`).
    MarkPreemption(ContainerKey),
    /// Its time is up: kill it, or let it be killable where preemption is lazy
    /// (`MARK_CONTAINER_FOR_KILLABLE`).
    Kill(ContainerKey),
    /// Drop this reservation now (`KILL_RESERVED_CONTAINER`).
    DropReservation(ContainerKey),
    /// Move this reservation to another node (`CapacityScheduler.moveReservedContainer`).
    MoveReservation {
        /// The reservation.
        reservation: ContainerKey,
        /// Its new node.
        to: usize,
    },
}

/// The monitor's working table for one queue in one partition (`TempQueuePerPartition`).
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct QueueRow {
    /// Effective minimum.
    pub guaranteed: Resource,
    /// Most it may hold.
    pub max: Resource,
    /// What it holds.
    pub used: Resource,
    /// What it asks for.
    pub pending: Resource,
    /// The same less what is reserved.
    pub pending_less_reserved: Resource,
    /// What it would hold, ideally.
    pub ideal_assigned: Resource,
    /// What it has too much and may lose.
    pub preemptable_extra: Resource,
    /// What it has too much and keeps.
    pub untouchable_extra: Resource,
    /// What it should lose in all.
    pub to_be_preempted: Resource,
    /// What it should lose in this round.
    pub to_obtain: Resource,
}
