//! What the scheduler needs of the configuration, parsed once and validated with Hadoop's texts.
//! May touch: `yarn_types::Lookup`.
//! Must not: read files, or take a setting whose behaviour is not built (it is refused by name).

mod check;
mod cluster;
mod cluster_read;
mod labels;
mod load;
mod multi_node;
mod number;
mod problem;
mod queue;
mod read;
mod refused;
mod template;
mod types;
mod unknown;
mod vector;

use std::collections::BTreeMap;

use yarn_types::{Lookup, ResourceTypes};

pub use crate::num::Calculator;
use crate::placement::{RawRules, WorkflowPriorities};
pub use cluster::{
    ClusterConf, IntraOrder, IntraPreemption, MultiNodePolicy, Pacing, PreemptionConf,
};
pub use load::{LoadContext, Standing};
pub use problem::ConfProblem;
pub use template::Templates;
pub use types::{
    AccessibleLabels, AutoCreate, CapacityKind, CapacityVector, ConfiguredState, LabelConf,
    LaneCapacity, LeafOrder, Lifetimes, ParentOrder, QueueConf,
};
pub use vector::parse_vector;

/// Prefix of the scheduler's keys.
pub const PREFIX: &str = "yarn.scheduler.capacity.";

/// The parsed hierarchy; parents come before children.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
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
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
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
    /// Placement rules as written; the text of their file is the shell's to add.
    pub rules: RawRules,
    /// Priorities by workflow.
    pub workflow: WorkflowPriorities,
}

impl SchedConf {
    /// Reads the keys of capacity-scheduler.xml and the scheduler's keys of yarn-site.xml, at start.
    ///
    /// # Errors
    /// Every key that cannot be used.
    pub fn from_lookup(
        conf: &dyn Lookup,
        types: ResourceTypes,
        calculator: Calculator,
    ) -> Result<Self, Vec<ConfProblem>> {
        Self::from_lookup_over(conf, types, calculator, &Standing::default())
    }

    /// As [`Self::from_lookup`], for a scheduler that runs.
    ///
    /// # Errors
    /// Every key that cannot be used.
    pub fn from_lookup_over(
        conf: &dyn Lookup,
        types: ResourceTypes,
        calculator: Calculator,
        standing: &Standing,
    ) -> Result<Self, Vec<ConfProblem>> {
        const HEARTBEAT: &str = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms";
        let context = LoadContext {
            types: &types,
            calculator,
            cluster: standing.cluster,
            created_parents: &standing.created_parents,
        };
        let heartbeat = conf.get(HEARTBEAT);
        let heartbeat_ms = heartbeat.as_deref().map_or(Ok(1000), number::long);
        let queues = QueuesConf::load(conf, &context);
        let (queues, heartbeat_ms) = match (queues, heartbeat_ms) {
            (Ok(queues), Ok(heartbeat_ms)) => (queues, heartbeat_ms),
            (queues, heartbeat_ms) => {
                let mut problems = queues.err().unwrap_or_default();
                let wrong = heartbeat_ms.err();
                problems.extend(wrong.map(|r| ConfProblem::new(HEARTBEAT, heartbeat, r)));
                return Err(problems);
            }
        };
        let labels = conf.get("yarn.node-labels.enabled");
        let workflow = WorkflowPriorities::parse(conf).map_err(|problem| {
            let value = conf.get(problem.key);
            vec![ConfProblem::new(problem.key, value, problem.message)]
        })?;
        Ok(Self {
            max_application_priority: queues.cluster.max_application_priority.max(0),
            labels_enabled: labels.as_deref().and_then(number::boolean) == Some(true),
            heartbeat_ms: u64::try_from(heartbeat_ms).unwrap_or(0).max(1),
            types,
            calculator,
            queues,
            rules: RawRules::read(conf),
            workflow,
        })
    }
}
