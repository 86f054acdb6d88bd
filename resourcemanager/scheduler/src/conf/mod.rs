//! What the scheduler needs of the configuration, parsed once and validated with Hadoop's texts.
//! May touch: `yarn_types::Lookup`.
//! Must not: read files, or take a setting whose behaviour is not built (it is refused by name).

mod cluster;
mod problem;
mod types;

use std::collections::BTreeMap;

use yarn_types::ResourceTypes;

pub use crate::num::Calculator;
pub use cluster::{
    ClusterConf, IntraOrder, IntraPreemption, MultiNodePolicy, Pacing, PreemptionConf,
};
pub use problem::ConfProblem;
pub use types::{
    AccessibleLabels, AutoCreate, CapacityKind, CapacityVector, ConfiguredState, LabelConf,
    LaneCapacity, LeafOrder, Lifetimes, ParentOrder, QueueConf,
};

/// Prefix of the scheduler's keys.
pub const PREFIX: &str = "yarn.scheduler.capacity.";

/// The parsed hierarchy; parents come before children.
#[derive(Clone, PartialEq, Debug)]
pub struct QueuesConf {
    /// Queues in tree order (depth first, siblings as written), root first.
    pub queues: Vec<QueueConf>,
    /// `maximum-applications` of the system.
    pub maximum_applications: u32,
    /// `global-queue-max-application`: of each queue that has no own.
    pub global_maximum_applications: Option<u32>,
    /// Keys of the scheduler that are no queue's.
    pub cluster: ClusterConf,
    /// What is written but changes nothing.
    pub remarks: Vec<ConfProblem>,
    /// Every `yarn.scheduler.capacity.*` entry: created queues take their settings from it.
    pub raw: BTreeMap<String, String>,
}

/// Everything the scheduler is built from.
#[derive(Clone, PartialEq, Debug)]
pub struct SchedConf {
    /// Lanes with the cluster's minimum and maximum allocation.
    pub types: ResourceTypes,
    /// How resources compare.
    pub calculator: Calculator,
    /// The queues, and the scheduler's other keys.
    pub queues: QueuesConf,
    /// `yarn.resourcemanager.nodemanagers.heartbeat-interval-ms`: the unit of locality waits.
    pub heartbeat_ms: u64,
    /// `yarn.cluster.max-application-priority`.
    pub max_application_priority: i32,
    /// `yarn.node-labels.enabled`.
    pub labels_enabled: bool,
}
