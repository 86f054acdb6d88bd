//! Errors of isolation, and the differences that a check finds.
//! May touch: nothing.
//! Must not: act.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why isolation could not be set up, checked or taken down.
#[derive(Debug, Error)]
pub enum Error {
    /// A file or directory; `what` says what was tried.
    #[error("{path}: {what}: {source}")]
    File {
        /// What was tried.
        what: String,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// bpf(2).
    #[error("{path}: bpf {call} of the device program: {source}")]
    Bpf {
        /// Which step.
        call: &'static str,
        /// The cgroup.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The path is on no cgroup file system.
    #[error("{0} is not on a cgroup file system")]
    NotCgroup(PathBuf),
    /// The directory holds the calling process.
    #[error("{0} holds the calling process itself, refusing to kill what is in it")]
    OwnCgroup(PathBuf),
    /// The rules cannot be expressed.
    #[error(transparent)]
    Rules(#[from] crate::devices::RuleError),
    /// The plan is not possible here.
    #[error(transparent)]
    Plan(#[from] super::PlanError),
    /// A limit.
    #[error(transparent)]
    Limit(#[from] crate::limits::LimitError),
    /// What was read back is not what was written; the launch must not go on.
    #[error("read back after applying: {}", texts(.0))]
    ReadBack(Vec<Difference>),
    /// A ledger file that is not ours, or damaged.
    #[error("{path}: {reason}")]
    Ledger {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

fn texts(differences: &[Difference]) -> String {
    let texts: Vec<String> = differences.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// One way in which the kernel's state is not what was applied.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The cgroup is gone.
    #[error("{0}: the cgroup is gone")]
    NoCgroup(PathBuf),
    /// No rules at all: every device can be reached.
    #[error("{0}: no device rules, every device can be reached")]
    Open(PathBuf),
    /// An allowance is gone.
    #[error("{dir}: rule \"{rule}\" is missing")]
    Missing {
        /// Directory.
        dir: PathBuf,
        /// The rule.
        rule: String,
    },
    /// An allowance too many.
    #[error("{dir}: rule \"{rule}\" was not applied by us")]
    Extra {
        /// Directory.
        dir: PathBuf,
        /// The rule.
        rule: String,
    },
    /// A device program with other rules.
    #[error("{dir}: device program {id} has digest {tag}, the applied rules have {wanted}")]
    Program {
        /// Directory.
        dir: PathBuf,
        /// Number of the program found.
        id: u32,
        /// Its digest.
        tag: String,
        /// The digest of the applied rules.
        wanted: String,
    },
    /// A limit was changed.
    #[error("{dir}/{file} holds {held}, {wanted} was applied")]
    Limit {
        /// Directory.
        dir: PathBuf,
        /// File.
        file: String,
        /// What is there.
        held: String,
        /// What was applied.
        wanted: String,
    },
    /// It could not be checked.
    #[error("{dir}: cannot be checked: {reason}")]
    Unreadable {
        /// Directory.
        dir: PathBuf,
        /// Why.
        reason: String,
    },
}
