//! What one queue is configured to be (`CapacitySchedulerConfiguration`, `AbstractCSQueue`).
//! May touch: `Resource`, access lists.
//! Must not: know the cluster: shares of it are made by `capacity`.

use yarn_types::{LANES, Resource};

use crate::acl::AccessList;

/// How a lane of a capacity is written (`QueueCapacityVector.QueueCapacityType`).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum CapacityKind {
    /// Percent of the parent.
    Percent,
    /// An amount.
    Absolute,
    /// A part of what the other kinds leave, by weight among siblings.
    Weight,
}

/// One lane of a capacity.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct LaneCapacity {
    /// How it is written.
    pub kind: CapacityKind,
    /// Percent (0 to 100), weight, or an amount in the lane's own units (milli-GPU for GPUs).
    pub value: f64,
}

/// A capacity lane by lane (`QueueCapacityVector`).
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct CapacityVector {
    /// The lanes; those that were not written are `Absolute` 0 in a bracketed value.
    pub lanes: [LaneCapacity; LANES],
    /// Nothing was configured, or the text cannot be used (`isEmpty`).
    pub is_empty: bool,
    /// The single kind it was written in without brackets: `40`, `3w`.
    pub uniform: Option<CapacityKind>,
}

impl CapacityVector {
    /// Nothing configured.
    pub const EMPTY: Self = Self {
        lanes: [LaneCapacity {
            kind: CapacityKind::Absolute,
            value: 0.0,
        }; LANES],
        is_empty: true,
        uniform: None,
    };

    /// `value` of `kind` in every lane.
    pub fn uniform(kind: CapacityKind, value: f64) -> Self {
        Self {
            lanes: [LaneCapacity { kind, value }; LANES],
            is_empty: false,
            uniform: Some(kind),
        }
    }
}

/// A queue's settings for one partition; the first of a queue is that of the default partition.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct LabelConf {
    /// Name of the label; empty for the default partition.
    pub label: String,
    /// `capacity` as a share of the parent, 0 to 1; 0 when it is a weight or an amount.
    pub capacity: f32,
    /// `maximum-capacity` as a share of the parent, 0 to 1; 1 when it is an amount.
    pub max_capacity: f32,
    /// `capacity` as a weight; -1 when it is none.
    pub weight: f32,
    /// `capacity` is written in brackets with amounts (`CapacityConfigType.ABSOLUTE_RESOURCE`).
    pub is_absolute: bool,
    /// `capacity` as amounts; zero when it is a share or a weight.
    pub min_resource: Resource,
    /// `maximum-capacity` as amounts, its parent's when it has none; zero for no such limit.
    pub max_resource: Resource,
    /// `capacity` for mixed mode (`legacy-queue-mode.enabled=false`).
    pub vector: CapacityVector,
    /// `maximum-capacity` for mixed mode; empty for the parent's.
    pub max_vector: CapacityVector,
    /// `maximum-am-resource-percent` as a share, 0 to 1 (or above).
    pub am_percent: f32,
    /// `minimum-user-limit-percent`, 0 to 100.
    pub user_limit_percent: f32,
}

/// The labels that a queue may use (`accessible-node-labels`).
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum AccessibleLabels {
    /// `*`: any.
    Any,
    /// These, in ascending order; the default partition needs no name.
    Of(Vec<String>),
}

impl AccessibleLabels {
    /// Whether `label` (empty for the default partition) is one of them.
    pub fn contains(&self, label: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Of(labels) => label.is_empty() || labels.iter().any(|l| l == label),
        }
    }
}

/// `state` as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum ConfiguredState {
    /// `RUNNING`.
    Running,
    /// `STOPPED`.
    Stopped,
}

/// `ordering-policy` of a leaf: which application comes first.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum LeafOrder {
    /// Priority, then order of submission (`FifoOrderingPolicy`).
    Fifo,
    /// The one that holds least first (`FairOrderingPolicy`).
    Fair {
        /// `ordering-policy.fair.enable-size-based-weight`: divided by the logarithm of its demand.
        size_based_weight: bool,
    },
    /// As fifo, each enforced partition with a list of its own
    /// (`FifoOrderingPolicyWithExclusivePartitions`).
    FifoWithPartitions {
        /// `ordering-policy.exclusive-enforced-partitions`.
        enforced: Vec<String>,
    },
    /// Recovered applications first, then as fifo (`FifoOrderingPolicyForPendingApps`).
    FifoForPendingApps,
}

/// `ordering-policy` of a parent: which child comes first (`PriorityUtilizationQueueOrderingPolicy`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum ParentOrder {
    /// The one that uses least of its guarantee.
    Utilization,
    /// Priority too, among those on the same side of their guarantee.
    PriorityUtilization,
}

/// `auto-queue-creation-v2.*` of a parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct AutoCreate {
    /// `auto-queue-creation-v2.enabled`.
    pub enabled: bool,
    /// `auto-queue-creation-v2.max-queues`: most created children.
    pub max_queues: u32,
    /// `auto-queue-creation-v2.maximum-queue-depth`, else the cluster's: levels below the last
    /// static parent.
    pub max_depth: u32,
    /// `auto-queue-creation-v2.queue-auto-removal.enable`: of this queue, when it was created.
    pub auto_removal: bool,
}

/// Lifetimes of a queue's applications, in seconds (`QueueAppLifetimeAndLimitSettings`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Lifetimes {
    /// `maximum-application-lifetime`, inherited; -1 for none.
    pub max_s: i64,
    /// `default-application-lifetime`, inherited, the maximum where none is set; -1 for none.
    pub default_s: i64,
    /// The default was configured, here or above.
    pub default_configured: bool,
}

/// One queue as configured, inheritance done.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct QueueConf {
    /// Last part of the path.
    pub name: String,
    /// Full path, from `root`.
    pub path: String,
    /// Index of the parent in [`super::QueuesConf::queues`]; `None` for root. Of a queue made by
    /// [`super::QueuesConf::dynamic_queue`] always `None`.
    pub parent: Option<usize>,
    /// Has child queues, or may get some.
    pub is_parent: bool,
    /// Capacities and limits by partition: the default one first, then by name.
    pub labels: Vec<LabelConf>,
    /// `accessible-node-labels`, inherited.
    pub accessible: AccessibleLabels,
    /// `default-node-label-expression`, inherited while it is accessible.
    pub default_label: Option<String>,
    /// `user-limit-factor`; -1 for none.
    pub user_limit_factor: f32,
    /// `user-settings.<user>.weight`, with those of the queues above, by user.
    pub user_weights: Vec<(String, f32)>,
    /// `maximum-applications`, when set.
    pub maximum_applications: Option<u32>,
    /// `max-parallel-apps`, else the cluster's; `i32::MAX` is no limit.
    pub max_parallel_apps: i32,
    /// `state`, when set.
    pub state: Option<ConfiguredState>,
    /// `ordering-policy` of a leaf.
    pub leaf_order: LeafOrder,
    /// `ordering-policy` of a parent, inherited.
    pub parent_order: ParentOrder,
    /// `priority` among its siblings.
    pub priority: i32,
    /// `default-application-priority`.
    pub default_application_priority: i32,
    /// Lifetimes of its applications.
    pub lifetimes: Lifetimes,
    /// `maximum-allocation` and its older spellings, or the parent's where nothing is set here and
    /// the parent has one; `None` is the cluster's. In lane amounts, at most the cluster's.
    pub maximum_allocation: Option<Resource>,
    /// `disable_preemption`, when set here.
    pub disable_preemption: Option<bool>,
    /// `intra-queue-preemption.disable_preemption`, when set here.
    pub disable_intra_preemption: Option<bool>,
    /// Class of the policy that `multi-node-sorting.policy` of the queue or the cluster names.
    pub multi_node_policy: Option<String>,
    /// `acl_submit_applications`.
    pub acl_submit: AccessList,
    /// `acl_administer_queue`.
    pub acl_administer: AccessList,
    /// `acl_application_max_priority`, raw; `*` when not set.
    pub acl_priority: String,
    /// `auto-queue-creation-v2.*`.
    pub auto_create: AutoCreate,
    /// `allow-zero-capacity-sum`.
    pub allow_zero_sum: bool,
    /// `reservations-continue-look-all-nodes` of the cluster, as Hadoop keeps it per queue.
    pub continue_looking: bool,
    /// Own figures in the order of the caller's label table; filled by [`Self::intern`].
    pub(super) by_label: Vec<LabelLimits>,
}

/// The figures of one label that limits read.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct LabelLimits {
    am_percent: f32,
    user_limit_percent: f32,
}

impl QueueConf {
    /// The settings for `label`, empty for the default partition.
    pub fn label(&self, label: &str) -> Option<&LabelConf> {
        self.labels.iter().find(|l| l.label == label)
    }

    /// The settings for the default partition.
    pub fn default_partition(&self) -> &LabelConf {
        &self.labels[0]
    }

    /// Lays the figures out in the order of `table` (index 0 is the default partition), for
    /// [`Self::am_percent`] and [`Self::user_limit_percent`].
    pub fn intern(&mut self, table: &[&str]) {
        let limits = |name: &&str| {
            let own = self.label(name).unwrap_or(self.default_partition());
            LabelLimits {
                am_percent: own.am_percent,
                user_limit_percent: own.user_limit_percent,
            }
        };
        self.by_label = table.iter().map(limits).collect();
    }

    fn limits(&self, label: usize) -> LabelLimits {
        let own = self.by_label.get(label).copied();
        own.unwrap_or_else(|| {
            let default = self.default_partition();
            LabelLimits {
                am_percent: default.am_percent,
                user_limit_percent: default.user_limit_percent,
            }
        })
    }

    /// `maximum-am-resource-percent` in the partition with index `label` of the interned table, as
    /// a share; the queue's where the label has none.
    pub fn am_percent(&self, label: usize) -> f32 {
        self.limits(label).am_percent
    }

    /// `minimum-user-limit-percent` likewise, 0 to 100.
    pub fn user_limit_percent(&self, label: usize) -> f32 {
        self.limits(label).user_limit_percent
    }

    /// The weight of `user`, 1 when none is set.
    pub fn user_weight(&self, user: &str) -> f32 {
        let found = self
            .user_weights
            .binary_search_by(|(name, _)| name.as_str().cmp(user));
        found.map_or(1.0, |at| self.user_weights[at].1)
    }

    /// Whether its applications may ask for `label` (empty for the default partition).
    pub fn may_access(&self, label: &str) -> bool {
        self.accessible.contains(label)
    }
}
