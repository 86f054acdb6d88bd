//! Cases of kind preempt-snapshot: a frozen picture of queues and applications.
//! May touch: text of case files.
//! Must not: run the monitor.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::value::Res;

/// The picture.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Partitions with their totals.
    pub partitions: Vec<Partition>,
    /// Nodes.
    #[serde(default)]
    pub nodes: Vec<SnapshotNode>,
    /// Queues, parents before children.
    pub queues: Vec<SnapshotQueue>,
    /// Applications in the order of submission.
    pub apps: Vec<SnapshotApp>,
}

/// A partition.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Name; `default` is the unlabelled one.
    pub name: String,
    /// Sum of its nodes.
    pub total: Res,
    /// Whether only asks for it may use it.
    pub exclusive: bool,
}

/// A node.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotNode {
    /// Name.
    pub name: String,
    /// Its partition.
    pub partition: String,
    /// Total, where it matters.
    pub total: Option<Res>,
}

/// A queue.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotQueue {
    /// Full path.
    pub path: String,
    /// Whether it takes applications.
    pub leaf: bool,
    /// Amounts by partition.
    pub partitions: BTreeMap<String, Amounts>,
    /// Priority.
    #[serde(default)]
    pub priority: i32,
    /// Limit of every user.
    pub user_limit: Option<Res>,
    /// Share that AMs may use.
    #[serde(default)]
    pub max_am_resource_percent: f32,
}

/// Amounts of a queue in one partition.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amounts {
    /// What it is entitled to.
    pub guaranteed: Res,
    /// What it may hold.
    pub max: Res,
    /// What it holds.
    pub used: Res,
    /// What it asks for.
    pub pending: Res,
    /// What it has reserved.
    pub reserved: Option<Res>,
}

/// An application.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotApp {
    /// Name.
    pub id: String,
    /// Its leaf.
    pub queue: String,
    /// Its user.
    pub user: Option<String>,
    /// Its priority.
    #[serde(default)]
    pub priority: i32,
    /// What it asks for, by partition.
    #[serde(default)]
    pub pending: BTreeMap<String, Res>,
    /// Its containers, oldest first.
    pub containers: Vec<SnapshotContainers>,
}

/// Like containers.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotContainers {
    /// How many.
    pub count: u32,
    /// Size of each.
    pub size: Res,
    /// Where.
    pub node: Option<String>,
    /// Label that they asked for.
    pub label: Option<String>,
    /// The AM's.
    #[serde(default)]
    pub am: bool,
    /// Reservations.
    #[serde(default)]
    pub reserved: bool,
    /// Container priority.
    pub priority: Option<i32>,
}

/// One round of the monitor.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tick {
    /// The clock.
    pub at_ms: u64,
    /// Another picture from now on.
    pub replace_snapshot: Option<Replacement>,
    /// Whether the monitor forgets its marks first.
    #[serde(default)]
    pub fresh_policy: bool,
    /// What it must have done.
    pub expect: TickExpect,
}

/// What changes in the picture.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Replacement {
    /// Queues.
    pub queues: Option<Vec<SnapshotQueue>>,
    /// Applications.
    pub apps: Option<Vec<SnapshotApp>>,
    /// Partitions.
    pub partitions: Option<Vec<Partition>>,
    /// Nodes.
    pub nodes: Option<Vec<SnapshotNode>>,
}

/// What is expected of a round; what is not listed is not compared.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TickExpect {
    /// Containers newly marked, by application.
    pub marked: BTreeMap<String, i64>,
    /// Containers to be killed, by application.
    pub killed: BTreeMap<String, i64>,
    /// Newly marked over all.
    pub total_marked: Option<i64>,
    /// Marks and kills over all.
    pub total_events: Option<i64>,
    /// Sum over all rounds so far: over all, or by application.
    pub marked_total_so_far: Option<SoFar>,
    /// Newly marked, by application and node.
    pub marked_on_node: BTreeMap<String, BTreeMap<String, i64>>,
    /// Working table of the monitor by queue.
    pub queues: BTreeMap<String, QueueTable>,
}

/// Sum of marks over the rounds so far.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum SoFar {
    /// Over all applications.
    Total(i64),
    /// By application.
    ByApp(BTreeMap<String, i64>),
}

/// Values of the working table.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueTable {
    /// What it would have, ideally.
    pub ideal_assigned: Option<Table>,
    /// What may be taken from it.
    pub preemptable_extra: Option<Table>,
    /// What it has too much that may not be taken.
    pub untouchable_extra: Option<Table>,
}

/// A value of the default partition, or by partition.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Table {
    /// Memory in the default partition.
    Memory(i64),
    /// By resource in the default partition, or by partition.
    Map(BTreeMap<String, Res>),
}
