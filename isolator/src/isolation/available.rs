//! Whether this machine can isolate GPUs at all, tried out and not guessed.
//! May touch: our own top cgroup, a device program that is loaded and dropped.
//! Must not: leave anything behind but the empty top cgroup.

use std::path::PathBuf;

use thiserror::Error;

use super::plan::no_devices;
use super::{Facts, Isolation, Plan, Spec};
use crate::cgroup::mounts::Mode;
use crate::limits::LimitSpec;

/// Why GPUs cannot be isolated here, and what helps. The text is for log and REST.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("unavailable ({reason}, {fix})")]
pub struct Unavailable {
    /// What is missing.
    pub reason: String,
    /// What helps.
    pub fix: String,
}

/// Isolates a container that never runs (no GPU, no limits) and takes it down again.
///
/// # Errors
/// [`Unavailable`].
pub fn available(
    mode: Mode,
    hierarchy: &str,
    facts: &Facts,
    isolation: &Isolation,
) -> Result<(), Unavailable> {
    if facts.mounts.devices(mode).is_none() {
        let text = no_devices(mode, &facts.mounts);
        let (reason, fix) = text
            .split_once("; ")
            .unwrap_or((text, "see the documentation"));
        return Err(Unavailable {
            reason: reason.to_owned(),
            fix: fix.to_owned(),
        });
    }
    let spec = Spec {
        // With the pid: two NodeManagers on one machine must not meet.
        container: format!("probe_{}", std::process::id()),
        hierarchy: hierarchy.to_owned(),
        mode,
        gpu_minors: vec![],
        simulated_gpus: false,
        nodes: Vec::<PathBuf>::new(),
        limits: LimitSpec::default(),
    };
    let tried = Plan::new(&spec, facts)
        .map_err(super::Error::from)
        .and_then(|plan| isolation.apply(&plan))
        .and_then(|applied| isolation.undo(&applied));
    tried.map_err(|e| Unavailable {
        reason: e.to_string(),
        fix: if nix::unistd::Uid::effective().is_root() {
            "run isolator/scripts/check-node".to_owned()
        } else {
            "start the NodeManager as root".to_owned()
        },
    })
}
