//! What the scheduler needs of the configuration, parsed once and validated with Hadoop's texts.
//! May touch: `yarn_types::Lookup`.
//! Must not: read files, or ignore a setting whose behaviour is not built (it is refused by name).

mod queues;
mod refused;

use std::fmt;

use yarn_types::{Lookup, ResourceTypes};

pub use crate::num::Calculator;
pub use queues::{PREFIX, QueueConf, QueuesConf};

/// A setting that cannot be used; the shell adds file and line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfProblem {
    /// The key.
    pub key: String,
    /// Its value, when it has one.
    pub value: Option<String>,
    /// Why, and what would be right.
    pub reason: String,
}

impl ConfProblem {
    /// A problem of `key`.
    pub fn new(key: impl Into<String>, value: Option<String>, reason: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for ConfProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}: {}", self.key, self.reason),
            None => write!(f, "{}: {}", self.key, self.reason),
        }
    }
}

/// Everything the scheduler is built from.
#[derive(Clone, PartialEq, Debug)]
pub struct SchedConf {
    /// Lanes with the cluster's minimum and maximum allocation.
    pub types: ResourceTypes,
    /// How resources compare.
    pub calculator: Calculator,
    /// The queues.
    pub queues: QueuesConf,
    /// `yarn.resourcemanager.nodemanagers.heartbeat-interval-ms`: the unit of locality waits.
    pub heartbeat_ms: u64,
    /// `yarn.cluster.max-application-priority`.
    pub max_application_priority: i32,
}

impl SchedConf {
    /// Reads the keys of capacity-scheduler.xml and the scheduler's keys of yarn-site.xml.
    ///
    /// # Errors
    /// Every key that cannot be used.
    pub fn from_lookup(
        conf: &dyn Lookup,
        types: ResourceTypes,
        calculator: Calculator,
    ) -> Result<Self, Vec<ConfProblem>> {
        let mut problems = Vec::new();
        let mut integer = |key: &str, default: i64| match conf.get(key) {
            None => default,
            Some(text) => text.trim().parse().unwrap_or_else(|_| {
                problems.push(ConfProblem::new(
                    key,
                    Some(text.clone()),
                    "is not a whole number",
                ));
                default
            }),
        };
        let heartbeat = integer(
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms",
            1000,
        );
        let priority = integer("yarn.cluster.max-application-priority", 0);
        let queues = QueuesConf::from_lookup(conf);
        match queues {
            Ok(queues) if problems.is_empty() => Ok(Self {
                types,
                calculator,
                queues,
                heartbeat_ms: u64::try_from(heartbeat).unwrap_or(1000).max(1),
                max_application_priority: i32::try_from(priority).unwrap_or(0).max(0),
            }),
            Ok(_) => Err(problems),
            Err(more) => {
                problems.extend(more);
                Err(problems)
            }
        }
    }
}
