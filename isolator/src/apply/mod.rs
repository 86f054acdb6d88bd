//! Does what `plan` ordered: account change, session, supervision, reaping.
//! May touch: the own process and its children, `/proc`, pid and exit-code files.
//! Must not: decide what to do; `plan` has decided.

pub mod proc;
pub mod process;

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a launch failed.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The specification was not readable.
    #[error(transparent)]
    Spec(#[from] crate::spec::SpecError),
    /// The specification was refused.
    #[error(transparent)]
    Plan(#[from] crate::plan::PlanError),
    /// The program could not be started; the step is in the text.
    #[error("cannot start {program}: {source}")]
    Start {
        /// `argv[0]`.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A pid or exit-code file could not be written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A system call on the own process failed.
    #[error("{call}: {source}")]
    Call {
        /// The call.
        call: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Writes `text` to `path` so that a reader sees the old file, no file or all of `text`.
///
/// # Errors
/// What the file system answers.
pub fn write_whole(path: &Path, text: &str) -> Result<(), ApplyError> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".tmp");
    let aside = PathBuf::from(aside);
    std::fs::write(&aside, text)
        .and_then(|()| std::fs::rename(&aside, path))
        .map_err(|source| ApplyError::File {
            path: path.to_owned(),
            source,
        })
}
