//! What `container-launch` is told: one length-prefixed JSON record on its standard input.
//! May touch: bytes handed in by the caller.
//! Must not: open files or start processes.

use std::io::{Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Longest accepted specification, in bytes.
pub const SPEC_BYTES_MAX: u32 = 1 << 20;

/// Numeric identity a process is started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountIds {
    /// User id; never 0.
    pub uid: u32,
    /// Primary group id; never 0.
    pub gid: u32,
    /// Supplementary group ids; group 0 is never among them.
    pub groups: Vec<u32>,
}

/// One process to start. It holds no secrets, but still never travels in argv.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchSpec {
    /// Program (an absolute path) and its arguments.
    pub argv: Vec<String>,
    /// The whole environment of the process; nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Directory the process starts in, absolute.
    pub work_dir: PathBuf,
    /// Account to become; `None` keeps the launcher's own, which must not be root.
    pub account: Option<AccountIds>,
    /// File mode creation mask.
    pub umask: u32,
    /// Scheduling priority (`nice`), if it is to change.
    pub nice: Option<i32>,
    /// `cgroup.procs` files joined before the account changes.
    pub cgroup_procs: Vec<PathBuf>,
    /// Receives the pid of the session leader, by write-aside and rename.
    pub pid_file: Option<PathBuf>,
    /// Receives the exit code (128+n after signal n), by write-aside and rename.
    pub exit_code_file: Option<PathBuf>,
    /// `true`: stay as subreaper, print `pid N`, and kill what is left when the main process
    /// ends. `false`: become the program itself, with the launcher's standard streams.
    pub supervise: bool,
}

/// Why a specification was not accepted.
#[derive(Debug, Error)]
pub enum SpecError {
    /// The stream ended or failed.
    #[error("launch specification: {0}")]
    Io(#[from] std::io::Error),
    /// The length prefix is over [`SPEC_BYTES_MAX`].
    #[error("launch specification of {0} bytes, at most {SPEC_BYTES_MAX} are accepted")]
    TooLong(u64),
    /// Not the JSON of a [`LaunchSpec`].
    #[error("launch specification is not valid: {0}")]
    Json(#[from] serde_json::Error),
}

/// Encodes `spec` as four length bytes (big endian) and JSON.
///
/// # Errors
/// [`SpecError::Json`] when a path is not UTF-8, [`SpecError::TooLong`] above the cap.
pub fn encode(spec: &LaunchSpec) -> Result<Vec<u8>, SpecError> {
    let json = serde_json::to_vec(spec)?;
    let len = u32::try_from(json.len())
        .ok()
        .filter(|n| *n <= SPEC_BYTES_MAX)
        .ok_or(SpecError::TooLong(json.len() as u64))?;
    let mut frame = Vec::with_capacity(json.len() + 4);
    frame.write_all(&len.to_be_bytes())?;
    frame.write_all(&json)?;
    Ok(frame)
}

/// Reads exactly one specification and not a byte more, so that what follows on the stream
/// stays for the started program.
///
/// # Errors
/// Any [`SpecError`].
pub fn read(from: &mut impl Read) -> Result<LaunchSpec, SpecError> {
    let mut len = [0u8; 4];
    from.read_exact(&mut len)?;
    let len = u32::from_be_bytes(len);
    if len > SPEC_BYTES_MAX {
        return Err(SpecError::TooLong(u64::from(len)));
    }
    let mut json = vec![0u8; len as usize];
    from.read_exact(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

#[cfg(test)]
#[path = "spec_test.rs"]
mod tests;
