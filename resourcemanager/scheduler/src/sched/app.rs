//! Applications as the scheduler sees them.
//! May touch: its own values.
//! Must not: change an account (`commit.rs` does).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use yarn_types::{ApplicationId, Resource};

use super::{
    ask::{AskKey, Asks},
    ids::{ContainerIdx, LabelIdx, NodeIdx, QueueIdx, UserIdx},
    label::PerLabel,
    policy::AppOrder,
};

/// What a submission says to the scheduler.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Submitted {
    /// Its id, for texts.
    pub id: ApplicationId,
    /// Full path or unique last part of its queue, after placement.
    pub queue: String,
    /// Submitter.
    pub user: Arc<str>,
    /// Priority, when given; the queue's default otherwise.
    pub priority: Option<i32>,
}

/// Where an application is on its way to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) enum Turn {
    /// No attempt runs.
    None,
    /// Its attempt waits for `max-parallel-apps`.
    NotRunnable,
    /// Its attempt waits for room under the limits of ApplicationMasters.
    Pending,
    /// It may run.
    Active,
}

/// The ApplicationMaster of the current attempt.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Am {
    /// What counts against the limits of ApplicationMasters.
    pub size: Resource,
    /// Partition that it counts in.
    pub label: LabelIdx,
    /// Its container is not placed yet.
    pub waiting: bool,
}

/// A submitted application.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct App {
    pub id: ApplicationId,
    pub queue: QueueIdx,
    pub user: UserIdx,
    pub priority: i32,
    /// Number of the submission.
    pub submitted: u64,
    /// Its place among the applications of its leaf, while it has one.
    pub order: AppOrder,
    pub turn: Turn,
    pub am: Am,
    /// Held by containers, by partition.
    pub used: PerLabel,
    /// Held by reservations, by partition.
    pub reserved: PerLabel,
    /// Live containers.
    pub live: u32,
    /// First and last of them, oldest first.
    pub first: Option<ContainerIdx>,
    pub last: Option<ContainerIdx>,
    /// Reservations by key and node.
    pub reservations: BTreeMap<AskKey, BTreeMap<NodeIdx, ContainerIdx>>,
    pub asks: Asks,
    /// Hosts and racks that it avoids.
    pub blacklist: BTreeSet<Arc<str>>,
    /// Hosts that its next ApplicationMaster avoids.
    pub am_blacklist: BTreeSet<Arc<str>>,
    /// It counts among its user's demanding applications.
    pub demanding: bool,
    /// Outstanding as counted in the queues, by partition, and containers.
    pub counted: PerLabel,
    pub counted_containers: u32,
    /// Considered in a walk, or active when the cluster last changed: its headroom is computed.
    pub considered: bool,
}

impl App {
    /// Held by its reservations (`getCurrentReservation`).
    pub fn reservation(&self) -> Resource {
        self.reserved.sum()
    }

    /// Reservations under `key`.
    pub fn reserved_count(&self, key: AskKey) -> usize {
        self.reservations.get(&key).map_or(0, BTreeMap::len)
    }

    /// Whether a node is one that it avoids.
    pub fn avoids(&self, host: &Arc<str>, rack: &Arc<str>) -> bool {
        let listed = self.blacklist.contains(host) || self.blacklist.contains(rack);
        listed || (self.am.waiting && self.am_blacklist.contains(host))
    }
}
