//! Cases of kind capacity-vector: what a capacity setting means.
//! May touch: `capacity_scheduler::conf`.
//! Must not: know the scheduler.

use std::collections::BTreeMap;

use capacity_scheduler::conf::{CapacityKind, parse_vector};
use serde::Deserialize;
use yarn_types::{ResourceType, ResourceTypes};

use crate::{case::VectorBody, report::Failure, value::Tolerance};

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

impl From<CapacityKind> for VectorType {
    fn from(kind: CapacityKind) -> Self {
        match kind {
            CapacityKind::Percent => Self::Percentage,
            CapacityKind::Absolute => Self::Absolute,
            CapacityKind::Weight => Self::Weight,
        }
    }
}

/// Runs a case of this kind.
pub fn run(body: &VectorBody) -> Vec<Failure> {
    let types = match types(&body.resource_types) {
        Ok(types) => types,
        Err(text) => return vec![Failure::new("resource_types", "lanes", text)],
    };
    let vectors = body.vectors.iter().enumerate();
    vectors
        .filter_map(|(i, vector)| {
            let got = read(vector, &types);
            let same = match &got {
                Ok(got) => same(&vector.expect, got),
                Err(_) => false,
            };
            let step = format!("vector {} ({:?})", i + 1, vector.input);
            let shown = format!("{:?}", vector.expect);
            (!same).then(|| Failure::new(step, shown, format!("{got:?}")))
        })
        .collect()
}

type Entries = BTreeMap<String, (VectorType, f64)>;

/// Entries by resource; none for an empty vector.
fn read(vector: &Vector, types: &ResourceTypes) -> Result<Entries, String> {
    let parsed = parse_vector(Some(&vector.input), vector.queue == "root", types)?;
    if parsed.is_empty {
        return Ok(Entries::new());
    }
    let lanes = types.iter().enumerate().map(|(lane, t)| {
        let entry = parsed.lanes[lane];
        let scale = match entry.kind {
            CapacityKind::Absolute => types.scale(lane),
            _ => 1,
        };
        let name = if lane == 0 { "memory" } else { t.name.as_str() };
        (
            name.to_owned(),
            (entry.kind.into(), entry.value / scale as f64),
        )
    });
    Ok(lanes.collect())
}

fn same(expected: &Entries, got: &Entries) -> bool {
    if expected.is_empty() {
        return got.is_empty();
    }
    let tolerance = Tolerance::default();
    expected.iter().all(|(name, (kind, value))| {
        got.get(name)
            .is_some_and(|(k, v)| k == kind && tolerance.same(*value, *v))
    })
}

fn types(names: &[String]) -> Result<ResourceTypes, String> {
    let lane = |name: &String| ResourceType {
        name: if name == "memory" {
            "memory-mb".to_owned()
        } else {
            name.clone()
        },
        units: if name == "memory" {
            "Mi".to_owned()
        } else {
            String::new()
        },
        minimum_allocation: 0,
        maximum_allocation: i64::MAX,
    };
    ResourceTypes::new(names.iter().map(lane).collect())
}
