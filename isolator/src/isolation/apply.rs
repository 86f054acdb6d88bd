//! Does what `Plan` ordered, reads it back, restores it, takes it down again.
//! May touch: cgroups named in the plan, the ledger directory.
//! Must not: decide; kill or remove anything that no ledger entry of ours names.

use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::ledger::{self, Record};
use super::{Difference, Error, Op, Plan};
use crate::cgroup::dir::{self, RemovalPatience};
use crate::cgroup::mounts::Mode;
use crate::devices::{RuleSet, v1, v2};
use crate::limits::{KernelLimits, LimitSpec, Limits};

/// The isolation of one container, as it stands in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied(Record);

impl Applied {
    /// Container id.
    pub fn container(&self) -> &str {
        &self.0.container
    }

    /// The container's own cgroup directories.
    pub fn cgroups(&self) -> Vec<&Path> {
        let own = |op: &'_ Op| matches!(op, Op::Cgroup { .. });
        self.0.ops.iter().filter(|op| own(op)).map(dir_of).collect()
    }

    /// `cgroup.procs` files that the container's first process joins before it becomes the
    /// account ([`crate::LaunchSpec::cgroup_procs`]).
    pub fn procs_files(&self) -> Vec<PathBuf> {
        let procs = |dir: &Path| dir.join("cgroup.procs");
        self.cgroups().into_iter().map(procs).collect()
    }

    /// The device rules, with directory and mechanism.
    pub fn devices(&self) -> Option<(&Path, Mode, &RuleSet)> {
        self.0.ops.iter().find_map(|op| match op {
            Op::Devices { dir, mode, rules } => Some((dir.as_path(), *mode, rules)),
            _ => None,
        })
    }

    /// Nodes that the container lacks, with the reason.
    pub fn missing(&self) -> &[String] {
        &self.0.missing
    }

    /// Processes that the kernel killed for want of memory; `None` without a memory limit.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn oom_kills(&self) -> Result<Option<u64>, Error> {
        let memory = self.0.ops.iter().find_map(|op| match op {
            Op::Limit { dir, mode, limit } if limit.controller() == "memory" => Some((dir, *mode)),
            _ => None,
        });
        let Some((dir, mode)) = memory else {
            return Ok(None);
        };
        Ok(Some(KernelLimits::new(dir, mode).oom_kills()?))
    }
}

fn dir_of(op: &Op) -> &Path {
    match op {
        Op::Parent { dir }
        | Op::Delegate { dir, .. }
        | Op::Cgroup { dir }
        | Op::Devices { dir, .. }
        | Op::Limit { dir, .. } => dir,
    }
}

/// What became of one ledger entry at recovery.
#[derive(Debug)]
pub struct Recovered {
    /// Container id.
    pub container: String,
    /// Undone, or why not; a damaged entry stays for the administrator.
    pub result: Result<(), Error>,
}

/// The isolation of a node: where its ledger is and how patient it is.
#[derive(Debug, Clone)]
pub struct Isolation {
    ledger: PathBuf,
    patience: RemovalPatience,
}

impl Isolation {
    /// Keeps the ledger in the directory `ledger`, made with mode 0700 where it is not there.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn new(ledger: &Path, patience: RemovalPatience) -> Result<Self, Error> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(ledger)
            .map_err(|source| Error::File {
                what: "making the ledger directory".to_owned(),
                path: ledger.to_owned(),
                source,
            })?;
        Ok(Self {
            ledger: ledger.to_owned(),
            patience,
        })
    }

    /// Carries out `plan` and reads everything back. On any failure or difference all of it is
    /// undone, so that nothing can be launched half isolated.
    ///
    /// # Errors
    /// [`Error`]; [`Error::ReadBack`] names each difference.
    pub fn apply(&self, plan: &Plan) -> Result<Applied, Error> {
        let mut applied = Applied(Record {
            container: plan.container.clone(),
            ops: plan.ops.clone(),
            attached: None,
            missing: plan.missing.clone(),
        });
        ledger::write(&self.ledger, &applied.0)?;
        match self.carry_out(&mut applied) {
            Ok(()) => Ok(applied),
            Err(e) => {
                // The first failure is the one to report; what stays is in the ledger.
                let _ = self.undo(&applied);
                Err(e)
            }
        }
    }

    fn carry_out(&self, applied: &mut Applied) -> Result<(), Error> {
        for op in &applied.0.ops {
            if let Some(attached) = self.act(op)? {
                applied.0.attached = Some(attached);
            }
        }
        if applied.0.attached.is_some() {
            ledger::write(&self.ledger, &applied.0)?;
        }
        let differences = self.verify(applied);
        if differences.is_empty() {
            Ok(())
        } else {
            Err(Error::ReadBack(differences))
        }
    }

    fn act(&self, op: &Op) -> Result<Option<v2::Attached>, Error> {
        match op {
            Op::Parent { dir } => dir::make(dir)?,
            Op::Delegate { dir, controllers } => delegate(dir, controllers)?,
            Op::Cgroup { dir } => dir::make_fresh(dir, self.patience)?,
            Op::Devices { dir, mode, rules } => return set_devices(dir, *mode, rules),
            Op::Limit { dir, mode, limit } => KernelLimits::new(dir, *mode).set(limit)?,
        }
        Ok(None)
    }

    /// Compares the kernel's state with what was applied. Empty: all is as it was.
    pub fn verify(&self, applied: &Applied) -> Vec<Difference> {
        let check = |op: &Op| match op {
            Op::Parent { .. } | Op::Delegate { .. } => vec![],
            Op::Cgroup { dir } if dir.is_dir() => vec![],
            Op::Cgroup { dir } => vec![Difference::NoCgroup(dir.clone())],
            Op::Devices { dir, mode, rules } => {
                verify_devices(dir, *mode, rules, applied.0.attached.as_ref())
            }
            Op::Limit { dir, mode, limit } => {
                match KernelLimits::new(dir, *mode).differences(limit) {
                    Ok(found) => found
                        .into_iter()
                        .map(|(file, held, wanted)| Difference::Limit {
                            dir: dir.clone(),
                            file,
                            held,
                            wanted,
                        })
                        .collect(),
                    Err(e) => vec![Difference::Unreadable {
                        dir: dir.clone(),
                        reason: e.to_string(),
                    }],
                }
            }
        };
        applied.0.ops.iter().flat_map(check).collect()
    }

    /// Sets device rules and limits again on the running container, and reads them back. The
    /// cgroups themselves are not made again: the container's processes would not be in them.
    ///
    /// # Errors
    /// [`Error`]; the container is not isolated then and must be ended.
    pub fn restore(&self, applied: &mut Applied) -> Result<(), Error> {
        let again = |op: &&Op| matches!(op, Op::Devices { .. } | Op::Limit { .. });
        let ops: Vec<Op> = applied.0.ops.iter().filter(again).cloned().collect();
        for op in &ops {
            if let Some(attached) = self.act(op)? {
                applied.0.attached = Some(attached);
                ledger::write(&self.ledger, &applied.0)?;
            }
        }
        let differences = self.verify(applied);
        if differences.is_empty() {
            Ok(())
        } else {
            Err(Error::ReadBack(differences))
        }
    }

    /// Sets other limits on the running container, and reads them back. Controllers that had no
    /// limit get none: the container's processes are not in their cgroups.
    ///
    /// # Errors
    /// [`Error`]; the limits are as they were then, as far as the kernel lets them.
    pub fn resize(&self, applied: &mut Applied, limits: &LimitSpec) -> Result<(), Error> {
        let before = applied.clone();
        for wanted in limits.each() {
            for op in &mut applied.0.ops {
                if let Op::Limit { limit, .. } = op
                    && limit.controller() == wanted.controller()
                {
                    *limit = wanted;
                }
            }
        }
        ledger::write(&self.ledger, &applied.0)?;
        let done = self.set_limits(applied);
        if done.is_err() {
            *applied = before;
            // The first failure is the one to report; a limit that stays is found by `verify`.
            let _ = self.set_limits(applied);
            ledger::write(&self.ledger, &applied.0)?;
        }
        done
    }

    fn set_limits(&self, applied: &Applied) -> Result<(), Error> {
        let limits = applied.0.ops.iter();
        for op in limits.filter(|op| matches!(op, Op::Limit { .. })) {
            self.act(op)?;
        }
        let differences = self.verify(applied);
        if differences.is_empty() {
            Ok(())
        } else {
            Err(Error::ReadBack(differences))
        }
    }

    /// Kills what still runs in the container's cgroups and removes them; the device rules hold
    /// until the last process is gone and vanish with the cgroup. Then the ledger forgets it.
    ///
    /// # Errors
    /// The first [`Error`]; the entry stays in the ledger then, and undoing again is possible.
    pub fn undo(&self, applied: &Applied) -> Result<(), Error> {
        let mut first = Ok(());
        for cgroup in applied.cgroups() {
            first = first.and(dir::remove(cgroup, self.patience));
        }
        first?;
        ledger::forget(&self.ledger, &applied.0.container)
    }

    /// What the ledger holds of `container`, for a NodeManager that found it running after a
    /// restart. [`Isolation::verify`] tells whether it still stands.
    ///
    /// # Errors
    /// [`Error::File`] when there is no entry, [`Error::Ledger`] when it is damaged.
    pub fn load(&self, container: &str) -> Result<Applied, Error> {
        ledger::read(&ledger::path(&self.ledger, container)).map(Applied)
    }

    /// Undoes every entry of the ledger whose container is not in `keep`: what a dead
    /// NodeManager left.
    ///
    /// # Errors
    /// [`Error::File`] when the ledger cannot be listed; failures of entries are in the result.
    pub fn recover(&self, keep: &BTreeSet<String>) -> Result<Vec<Recovered>, Error> {
        let mut done = Vec::new();
        for container in ledger::containers(&self.ledger)? {
            if keep.contains(&container) {
                continue;
            }
            let result = self
                .load(&container)
                .and_then(|applied| self.undo(&applied));
            done.push(Recovered { container, result });
        }
        Ok(done)
    }
}

/// Hands controllers down, where they are not handed down already.
fn delegate(dir: &Path, controllers: &[String]) -> Result<(), Error> {
    let path = dir.join("cgroup.subtree_control");
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    let lacking: Vec<String> = controllers
        .iter()
        .filter(|c| !held.split_whitespace().any(|h| h == c.as_str()))
        .map(|c| format!("+{c}"))
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let text = lacking.join(" ");
    std::fs::write(&path, &text).map_err(|source| Error::File {
        what: format!("writing {text:?}"),
        path,
        source,
    })
}

/// Sets the device rules of one cgroup by the mechanism of `mode`.
///
/// # Errors
/// [`Error`].
pub fn set_devices(dir: &Path, mode: Mode, rules: &RuleSet) -> Result<Option<v2::Attached>, Error> {
    match mode {
        Mode::V1 => v1::apply(dir, rules).map(|()| None),
        Mode::V2 => v2::apply(dir, rules).map(Some),
    }
}

/// Reads the device rules of one cgroup back. Without `attached` the program of a v2 cgroup is
/// compared with a freshly loaded one.
pub fn verify_devices(
    dir: &Path,
    mode: Mode,
    rules: &RuleSet,
    attached: Option<&v2::Attached>,
) -> Vec<Difference> {
    let wanted = match (mode, attached) {
        (Mode::V1, _) => return v1::verify(dir, rules),
        (Mode::V2, Some(attached)) => Ok(attached.clone()),
        (Mode::V2, None) => v2::expected(dir, rules),
    };
    match wanted {
        Ok(wanted) => v2::verify(dir, &wanted),
        Err(e) => vec![Difference::Unreadable {
            dir: dir.to_owned(),
            reason: e.to_string(),
        }],
    }
}
