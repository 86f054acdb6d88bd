//! Orders the actions that isolate one container; pure.
//! May touch: the specification and the facts it is given (`Facts::read` looks at the machine).
//! Must not: act.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cgroup::Mounts;
use crate::cgroup::mounts::Mode;
use crate::devices::majors::{Majors, Node, resolve};
use crate::devices::{RuleError, RuleSet, list};
use crate::limits::{CONTROLLERS, Limit, LimitSpec};

/// What one container is to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Container id, the name of its cgroups.
    pub container: String,
    /// Our own top cgroup (`yarn.nodemanager.linux-container-executor.cgroups.hierarchy`).
    pub hierarchy: String,
    /// Where device rules are set, and which version limits prefer.
    pub mode: Mode,
    /// Minor numbers of the granted cards, at most 253.
    pub gpu_minors: Vec<u32>,
    /// The cards are simulated: `nvidia-uvm` is 511:0.
    pub simulated_gpus: bool,
    /// The administrator's further device nodes.
    pub nodes: Vec<PathBuf>,
    /// Memory, cpu and pids.
    pub limits: LimitSpec,
}

/// What the machine says at this launch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Cgroup mounts.
    pub mounts: Mounts,
    /// Dynamic majors.
    pub majors: Majors,
    /// The administrator's nodes with their numbers, or why there are none.
    pub nodes: Vec<(String, Result<Node, String>)>,
}

impl Facts {
    /// Looks at the machine; majors and nodes can change between two launches.
    pub fn read(nodes: &[PathBuf]) -> Self {
        Self {
            mounts: Mounts::read(),
            majors: Majors::read(),
            nodes: nodes
                .iter()
                .map(|path| (path.display().to_string(), resolve(path)))
                .collect(),
        }
    }
}

/// One action on the kernel, written to the ledger before it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Op {
    /// Make a cgroup shared by all containers; it stays.
    Parent {
        /// Directory.
        dir: PathBuf,
    },
    /// Hand controllers down to the children of a cgroup v2 directory.
    Delegate {
        /// Directory.
        dir: PathBuf,
        /// Controllers.
        controllers: Vec<String>,
    },
    /// Make the container's own cgroup, afresh.
    Cgroup {
        /// Directory.
        dir: PathBuf,
    },
    /// Set the device rules of the container's cgroup.
    Devices {
        /// Directory.
        dir: PathBuf,
        /// By which mechanism.
        mode: Mode,
        /// The rules.
        rules: RuleSet,
    },
    /// Set one limit.
    Limit {
        /// Directory.
        dir: PathBuf,
        /// Version of the files.
        mode: Mode,
        /// The limit.
        limit: Limit,
    },
}

/// Why a specification cannot be planned.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// A name that would leave our hierarchy.
    #[error("{field} {value:?} is no cgroup name: letters, digits, '.', '_' and '-' make one")]
    Name {
        /// Field.
        field: &'static str,
        /// Value.
        value: String,
    },
    /// No hierarchy for the device rules.
    #[error("cgroup {mode:?} device rules: {reason}")]
    NoDevices {
        /// Asked version.
        mode: Mode,
        /// What is missing and what helps.
        reason: &'static str,
    },
    /// No controller for a limit that is asked.
    #[error(
        "the {0} limit is asked, but the {0} controller is mounted neither as cgroup v1 nor offered by cgroup2"
    )]
    NoController(&'static str),
    /// A minor number that is no card.
    #[error("GPU minor number {0}, at most {max} is a card", max = list::GPU_MINOR_MAX)]
    Minor(u32),
    /// The rules.
    #[error(transparent)]
    Rules(#[from] RuleError),
}

/// Why there is no place for device rules, and what helps.
pub(crate) fn no_devices(mode: Mode, mounts: &Mounts) -> &'static str {
    match (mode, mounts.v2.is_some()) {
        (Mode::V1, true) => {
            "the v1 devices controller is not mounted; set yarn.nodemanager.linux-container-executor.cgroups.v2.enabled to true"
        }
        (Mode::V1, false) => {
            "the v1 devices controller is not mounted; mount it: mount -t cgroup -o devices devices /sys/fs/cgroup/devices"
        }
        (Mode::V2, _) => {
            "cgroup2 is not mounted; mount it: mount -t cgroup2 none /sys/fs/cgroup/unified"
        }
    }
}

/// The ordered actions, and what the container will lack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Container id.
    pub container: String,
    /// Actions, in order.
    pub ops: Vec<Op>,
    /// Nodes that were to be open but are missing or refused, with the reason; they belong into
    /// the container's diagnostics.
    pub missing: Vec<String>,
}

fn name<'a>(field: &'static str, value: &'a str) -> Result<&'a str, PlanError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let good = !value.is_empty() && value.len() <= 200 && value.chars().all(plain);
    if good && !value.starts_with('.') {
        return Ok(value);
    }
    Err(PlanError::Name {
        field,
        value: value.chars().take(200).collect(),
    })
}

/// The device rules of `spec` on this machine, and what is missing.
///
/// # Errors
/// [`PlanError::Minor`], [`PlanError::Rules`].
pub fn device_rules(spec: &Spec, facts: &Facts) -> Result<(RuleSet, Vec<String>), PlanError> {
    if let Some(bad) = spec.gpu_minors.iter().find(|m| **m > list::GPU_MINOR_MAX) {
        return Err(PlanError::Minor(*bad));
    }
    let mut rules = list::base();
    let (gpu, mut missing) = list::gpus(&spec.gpu_minors, spec.simulated_gpus, &facts.majors);
    rules.extend(gpu);
    let (further, lacking) = list::further(&facts.nodes, &facts.majors);
    rules.extend(further);
    missing.extend(lacking);
    Ok((RuleSet::new(rules)?, missing))
}

impl Plan {
    /// Parents first, then the container's cgroups, then device rules (before anything can run
    /// or make children there), then limits.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn new(spec: &Spec, facts: &Facts) -> Result<Self, PlanError> {
        let container = name("container", &spec.container)?;
        let levels: Vec<&str> = spec
            .hierarchy
            .split('/')
            .filter(|l| !l.is_empty())
            .collect();
        for level in &levels {
            name("hierarchy", level)?;
        }
        if levels.is_empty() {
            name("hierarchy", "")?;
        }
        let mounts = &facts.mounts;
        let devices = mounts.devices(spec.mode).ok_or(PlanError::NoDevices {
            mode: spec.mode,
            reason: no_devices(spec.mode, mounts),
        })?;
        let mut places: Vec<(Mode, &Path)> = vec![(spec.mode, devices)];
        let mut limits = Vec::new();
        for limit in spec.limits.each() {
            let controller = limit.controller();
            let place = mounts
                .controller(controller, spec.mode)
                .ok_or(PlanError::NoController(controller))?;
            if !places.contains(&place) {
                places.push(place);
            }
            limits.push((place, limit));
        }
        let delegated: Vec<String> = CONTROLLERS
            .iter()
            .filter(|c| {
                limits
                    .iter()
                    .any(|((mode, _), l)| *mode == Mode::V2 && l.controller() == **c)
            })
            .map(|c| (*c).to_owned())
            .collect();
        let mut ops = Vec::new();
        for (mode, mount) in &places {
            let delegated: &[String] = if *mode == Mode::V2 { &delegated } else { &[] };
            ops.extend(parents(mount, &levels, delegated));
        }
        let home = |mount: &Path| {
            levels
                .iter()
                .fold(mount.to_owned(), |p, l| p.join(l))
                .join(container)
        };
        ops.extend(
            places
                .iter()
                .map(|(_, mount)| Op::Cgroup { dir: home(mount) }),
        );
        let (rules, missing) = device_rules(spec, facts)?;
        ops.push(Op::Devices {
            dir: home(devices),
            mode: spec.mode,
            rules,
        });
        ops.extend(limits.into_iter().map(|((mode, mount), limit)| Op::Limit {
            dir: home(mount),
            mode,
            limit,
        }));
        Ok(Self {
            container: container.to_owned(),
            ops,
            missing,
        })
    }
}

/// The cgroups above a container's on one mount; v2 controllers are handed down level by level.
fn parents(mount: &Path, levels: &[&str], delegated: &[String]) -> Vec<Op> {
    let delegate = |dir: &Path| {
        (!delegated.is_empty()).then(|| Op::Delegate {
            dir: dir.to_owned(),
            controllers: delegated.to_vec(),
        })
    };
    let mut dir = mount.to_owned();
    let mut ops: Vec<Op> = delegate(&dir).into_iter().collect();
    for level in levels {
        dir.push(level);
        ops.push(Op::Parent { dir: dir.clone() });
        ops.extend(delegate(&dir));
    }
    ops
}

#[cfg(test)]
#[path = "plan_test.rs"]
mod tests;
