//! Shares of the cluster: what every queue is guaranteed and may use, by partition.
//! May touch: the configuration, totals of partitions.
//! Must not: know what is used.

mod legacy;
mod mixed;
mod round;

use yarn_types::{Resource, ResourceTypes};

use crate::{
    conf::{LabelConf, QueueConf},
    num::Calculator,
};

/// What one queue is worth in one partition (`QueueCapacities`, `QueueResourceQuotas`).
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Shares {
    /// Guaranteed share of the parent, 0 to 1.
    pub capacity: f32,
    /// Guaranteed share of the partition.
    pub abs_capacity: f32,
    /// Maximum share of the parent.
    pub max_capacity: f32,
    /// Maximum share of the partition.
    pub abs_max_capacity: f32,
    /// Weight as configured, 1 for a created queue without one; -1 for none.
    pub weight: f32,
    /// Weight among its siblings' sum.
    pub normalized_weight: f32,
    /// Guaranteed amount.
    pub effective_min: Resource,
    /// Most it may hold.
    pub effective_max: Resource,
    /// Amount written as `capacity`; zero for none.
    pub configured_min: Resource,
    /// Amount written as `maximum-capacity`; zero for none.
    pub configured_max: Resource,
}

impl Shares {
    /// Of a partition that the queue has nothing of.
    const NONE: Self = Self {
        capacity: 0.0,
        abs_capacity: 0.0,
        max_capacity: 0.0,
        abs_max_capacity: 0.0,
        weight: -1.0,
        normalized_weight: 0.0,
        effective_min: Resource::ZERO,
        effective_max: Resource::ZERO,
        configured_min: Resource::ZERO,
        configured_max: Resource::ZERO,
    };
}

/// One queue of a tree whose shares are computed.
#[derive(Clone, Copy, Debug)]
pub struct QueueCaps<'a> {
    /// Its settings.
    pub conf: &'a QueueConf,
    /// Index of its parent in the same slice, which is before it; `None` for root.
    pub parent: Option<usize>,
    /// It was made for an application.
    pub dynamic: bool,
    /// Its shares before, by partition; empty for a new queue. Hadoop keeps a queue's normalized
    /// weight when its capacity turns from a weight to a percentage.
    pub prior: &'a [Shares],
}

/// The partitions, the default one first.
#[derive(Clone, Copy, Debug)]
pub struct Partitions<'a> {
    /// Names; empty for the default partition.
    pub names: &'a [&'a str],
    /// What their nodes have, in the same order.
    pub totals: &'a [Resource],
}

impl Partitions<'_> {
    fn total(&self, label: usize) -> Resource {
        self.totals.get(label).copied().unwrap_or(Resource::ZERO)
    }

    fn cluster(&self) -> Resource {
        let totals = self.totals.iter().copied();
        totals.fold(Resource::ZERO, Resource::plus)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| *n == name)
    }
}

/// What may be wrong with the shares without being an error
/// (`QueueUpdateWarning.QueueUpdateWarningType`).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum WarningKind {
    /// Children leave something of their parent unused.
    BranchUnderutilized,
    /// More is asked than the parent has left.
    QueueOverutilized,
    /// A queue is guaranteed nothing of some resource.
    QueueZeroResource,
    /// Children's amounts are more than their parent's and were scaled down.
    BranchDownscaled,
    /// A guarantee above its maximum was cut.
    QueueExceedsMaxResource,
    /// A maximum above the parent's was cut.
    QueueMaxResourceExceedsParent,
}

impl WarningKind {
    /// Hadoop's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BranchUnderutilized => "BRANCH_UNDERUTILIZED",
            Self::QueueOverutilized => "QUEUE_OVERUTILIZED",
            Self::QueueZeroResource => "QUEUE_ZERO_RESOURCE",
            Self::BranchDownscaled => "BRANCH_DOWNSCALED",
            Self::QueueExceedsMaxResource => "QUEUE_EXCEEDS_MAX_RESOURCE",
            Self::QueueMaxResourceExceedsParent => "QUEUE_MAX_RESOURCE_EXCEEDS_PARENT",
        }
    }
}

/// A warning about a queue.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct Warning {
    /// What.
    pub kind: WarningKind,
    /// Index of the queue.
    pub queue: usize,
}

/// Shares of all queues.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// By queue, then by partition, in the orders given.
    pub shares: Vec<Vec<Shares>>,
    /// What may be wrong; never any in legacy mode.
    pub warnings: Vec<Warning>,
}

/// Computes the shares of all queues; `queues` has parents before their children.
///
/// `legacy` is `legacy-queue-mode.enabled`: shares go down from parents to children in one figure
/// (`AbstractParentQueue.updateClusterResource`); without it each resource goes by itself, amounts
/// first, then percentages, then weights (`CapacitySchedulerQueueCapacityHandler`).
pub fn compute(
    queues: &[QueueCaps<'_>],
    legacy: bool,
    partitions: Partitions<'_>,
    calculator: Calculator,
    types: &ResourceTypes,
) -> Outcome {
    let mut tree = CapTree::new(queues, partitions, calculator, types);
    if legacy {
        legacy::compute(&mut tree);
    } else {
        mixed::compute(&mut tree);
    }
    Outcome {
        shares: tree.shares,
        warnings: tree.warnings,
    }
}

/// The tree in the making.
struct CapTree<'a> {
    queues: &'a [QueueCaps<'a>],
    /// Settings by queue and partition, where the queue has any.
    confs: Vec<Vec<Option<&'a LabelConf>>>,
    children: Vec<Vec<usize>>,
    partitions: Partitions<'a>,
    calculator: Calculator,
    types: &'a ResourceTypes,
    shares: Vec<Vec<Shares>>,
    warnings: Vec<Warning>,
}

impl<'a> CapTree<'a> {
    fn new(
        queues: &'a [QueueCaps<'a>],
        partitions: Partitions<'a>,
        calculator: Calculator,
        types: &'a ResourceTypes,
    ) -> Self {
        let count = partitions.names.len().max(1);
        let mut children = vec![Vec::new(); queues.len()];
        let mut confs = Vec::with_capacity(queues.len());
        let mut shares = Vec::with_capacity(queues.len());
        for (at, queue) in queues.iter().enumerate() {
            if let Some(parent) = queue.parent.filter(|p| *p < at) {
                children[parent].push(at);
            }
            let mut by_label = vec![None; count];
            let mut own = vec![Shares::NONE; count];
            for conf in &queue.conf.labels {
                let Some(label) = partitions.find(&conf.label) else {
                    continue;
                };
                by_label[label] = Some(conf);
                own[label] = configured(conf, queue.prior.get(label));
            }
            confs.push(by_label);
            shares.push(own);
        }
        Self {
            queues,
            confs,
            children,
            partitions,
            calculator,
            types,
            shares,
            warnings: Vec::new(),
        }
    }

    /// Partitions that a queue has settings for.
    fn configured(&self, queue: usize) -> Vec<usize> {
        let labels = self.confs[queue].iter().enumerate();
        labels
            .filter(|(_, c)| c.is_some())
            .map(|(l, _)| l)
            .collect()
    }
}

fn configured(conf: &LabelConf, prior: Option<&Shares>) -> Shares {
    Shares {
        capacity: conf.capacity,
        max_capacity: conf.max_capacity,
        weight: conf.weight,
        normalized_weight: prior.map_or(0.0, |p| p.normalized_weight),
        configured_min: conf.min_resource,
        configured_max: conf.max_resource,
        ..Shares::NONE
    }
}

#[cfg(test)]
#[path = "capacity_test.rs"]
mod tests;
