//! Shares of the cluster: what every queue is guaranteed and may use, by partition.
//! May touch: the configuration, totals of partitions.
//! Must not: know what is used.

use yarn_types::Resource;

/// What one queue is worth in one partition (`QueueCapacities`, `QueueResourceQuotas`).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Shares {
    /// Guaranteed share of the parent, 0 to 1.
    pub capacity: f32,
    /// Guaranteed share of the partition.
    pub abs_capacity: f32,
    /// Maximum share of the parent.
    pub max_capacity: f32,
    /// Maximum share of the partition.
    pub abs_max_capacity: f32,
    /// Weight as configured; -1 for none.
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
