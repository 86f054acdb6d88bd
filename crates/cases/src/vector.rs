//! Cases of kind capacity-vector: what a capacity setting means.
//! May touch: `capacity_scheduler::conf`.
//! Must not: know the scheduler.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One setting.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// Text of the setting.
    pub input: String,
    /// The queue that it stands at.
    pub queue: String,
    /// Type and value by resource.
    pub expect: BTreeMap<String, (VectorType, f64)>,
}

/// Type of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorType {
    /// Percent of the parent.
    #[serde(alias = "PERCENTAGE")]
    Percentage,
    /// An amount.
    #[serde(alias = "ABSOLUTE")]
    Absolute,
    /// A share of what is left.
    #[serde(alias = "WEIGHT")]
    Weight,
}
