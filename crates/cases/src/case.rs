//! A case file: its head, and the body of its kind.
//! May touch: text of case files.
//! Must not: run anything.

use std::path::Path;

use anyhow::{Context, anyhow};
use serde::{Deserialize, de::IgnoredAny};

use crate::{
    placement::PlacementBody,
    snapshot::{Snapshot, Tick},
    steps::{Cluster, Step, Stubs},
    vector::Vector,
};
use std::collections::BTreeMap;

/// Longest case file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Where a case can be run completely.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Against the core, in process.
    Inproc,
    /// Through RPC.
    Rpc,
}

/// Where a case was taken from.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Test class of Hadoop.
    pub class: String,
    /// Its methods.
    pub methods: Vec<String>,
    /// Commit of Hadoop that was read.
    pub commit: Option<String>,
}

/// A case.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// Its id, which is the file's name.
    pub id: String,
    /// Where it can be run.
    pub runs: Vec<Way>,
    /// Where it comes from.
    pub source: Source,
    /// What it does.
    pub body: Body,
}

/// What a case does.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time")]
pub enum Body {
    /// Steps against a cluster.
    Scenario(ScenarioBody),
    /// A frozen picture and what the preemption monitor marks.
    Snapshot(SnapshotBody),
    /// Placement rules.
    Placement(PlacementBody),
    /// Capacity vectors.
    Vectors(VectorBody),
}

/// A scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct ScenarioBody {
    /// Labels and nodes.
    pub cluster: Cluster,
    /// Configuration; both files mixed.
    pub conf: BTreeMap<String, String>,
    /// Injected values.
    pub stubs: Stubs,
    /// Steps in order.
    pub steps: Vec<Step>,
}

/// A preemption snapshot.
#[derive(Clone, PartialEq, Debug)]
pub struct SnapshotBody {
    /// Whether resources compare by their dominant share.
    pub dominant: bool,
    /// Configuration of the monitor and the queues.
    pub conf: BTreeMap<String, String>,
    /// The picture.
    pub snapshot: Snapshot,
    /// Rounds of the monitor.
    pub ticks: Vec<Tick>,
}

/// Capacity vectors.
#[derive(Clone, PartialEq, Debug)]
pub struct VectorBody {
    /// Names of resource types.
    pub resource_types: Vec<String>,
    /// What is parsed.
    pub vectors: Vec<Vector>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Scenario,
    PreemptSnapshot,
    Placement,
    CapacityVector,
}

#[derive(Deserialize)]
struct Head {
    kind: Kind,
}

/// Declares the file of one kind: the common head, then its own fields.
macro_rules! file {
    ($name:ident { $($(#[$attr:meta])* $field:ident: $type:ty,)* }) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code, reason = "read to be checked")]
        struct $name {
            id: String,
            group: String,
            kind: IgnoredAny,
            runs: Vec<Way>,
            source: Source,
            title: Option<String>,
            note: Option<String>,
            $($(#[$attr])* $field: $type,)*
        }
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CalculatorName {
    Default,
    Dominant,
}

file!(ScenarioFile {
    cluster: Cluster,
    conf: BTreeMap<String, String>,
    #[serde(default)]
    stubs: Stubs,
    steps: Vec<Step>,
});
file!(SnapshotFile {
    resource_calculator: CalculatorName,
    conf: BTreeMap<String, String>,
    snapshot: Snapshot,
    ticks: Vec<Tick>,
});
file!(PlacementFile {
    queues: crate::placement::Queues,
    #[serde(default)]
    partial_tree: bool,
    #[serde(default)]
    user_groups: BTreeMap<String, Vec<String>>,
    #[serde(default, rename = "override")]
    override_queue: bool,
    #[serde(default)]
    rules: Vec<crate::placement::RuleLine>,
    #[serde(default)]
    tests: Vec<crate::placement::Test>,
    #[serde(default)]
    strict: bool,
    load_error: Option<bool>,
    #[serde(default)]
    parse: Vec<crate::placement::Parse>,
});
file!(VectorFile {
    resource_types: Vec<String>,
    vectors: Vec<Vector>,
});

impl Case {
    /// Reads a file.
    ///
    /// # Errors
    /// The file and, where it is malformed, the line.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let length = std::fs::metadata(path)
            .with_context(|| format!("read {shown}"))?
            .len();
        if length > FILE_BYTES_MAX {
            return Err(anyhow!(
                "{shown} has {length} bytes, at most {FILE_BYTES_MAX} are read"
            ));
        }
        let text = std::fs::read_to_string(path).with_context(|| format!("read {shown}"))?;
        let case = Self::parse(&text).map_err(|e| anyhow!("{shown}:{e}"))?;
        let name = path.file_stem().and_then(|name| name.to_str());
        if name != Some(case.id.as_str()) {
            return Err(anyhow!("{shown}: id {} is not the file's name", case.id));
        }
        Ok(case)
    }

    /// Parses a file's text.
    ///
    /// # Errors
    /// `line: reason`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Head { kind } = typed(text)?;
        match kind {
            Kind::Scenario => {
                let file: ScenarioFile = typed(text)?;
                check_asserts(!file.steps.is_empty())?;
                let body = Body::Scenario(ScenarioBody {
                    cluster: file.cluster,
                    conf: file.conf,
                    stubs: file.stubs,
                    steps: file.steps,
                });
                Ok(Self::new(file.id, file.runs, file.source, body))
            }
            Kind::PreemptSnapshot => {
                let file: SnapshotFile = typed(text)?;
                check_asserts(!file.ticks.is_empty())?;
                let body = Body::Snapshot(SnapshotBody {
                    dominant: file.resource_calculator == CalculatorName::Dominant,
                    conf: file.conf,
                    snapshot: file.snapshot,
                    ticks: file.ticks,
                });
                Ok(Self::new(file.id, file.runs, file.source, body))
            }
            Kind::Placement => {
                let file: PlacementFile = typed(text)?;
                let asserts =
                    file.tests.len() + file.parse.len() + usize::from(file.load_error.is_some());
                check_asserts(asserts > 0)?;
                let body = Body::Placement(PlacementBody {
                    queues: file.queues,
                    partial_tree: file.partial_tree,
                    user_groups: file.user_groups,
                    override_queue: file.override_queue,
                    rules: file.rules,
                    tests: file.tests,
                    strict: file.strict,
                    load_error: file.load_error,
                    parse: file.parse,
                });
                Ok(Self::new(file.id, file.runs, file.source, body))
            }
            Kind::CapacityVector => {
                let file: VectorFile = typed(text)?;
                check_asserts(!file.vectors.is_empty())?;
                let body = Body::Vectors(VectorBody {
                    resource_types: file.resource_types,
                    vectors: file.vectors,
                });
                Ok(Self::new(file.id, file.runs, file.source, body))
            }
        }
    }

    fn new(id: String, runs: Vec<Way>, source: Source, body: Body) -> Self {
        Self {
            id,
            runs,
            source,
            body,
        }
    }
}

fn check_asserts(some: bool) -> Result<(), String> {
    if some {
        Ok(())
    } else {
        Err("1: the case asserts nothing".to_owned())
    }
}

/// Deserializes, with `line: reason` for an error.
fn typed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut options = serde_saphyr::Options::default();
    options.with_snippet = false;
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(1, |at| at.line());
        format!("{line}: {error}")
    })
}

#[cfg(test)]
#[path = "case_test.rs"]
mod tests;
