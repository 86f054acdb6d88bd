//! One cgroup directory: made, emptied of processes and children, removed.
//! May touch: the directory it is given and what is below, processes inside.
//! Must not: touch a directory that is not a cgroup, or kill its own process.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::statfs::{CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, statfs};
use nix::unistd::Pid;

use super::mounts::Mode;
use crate::isolation::Error;

/// How long and how often a removal is tried (Hadoop's
/// `yarn.nodemanager.linux-container-executor.cgroups.delete-timeout-ms` and `.delete-delay-ms`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovalPatience {
    /// Given up after this many milliseconds.
    pub timeout_ms: u64,
    /// Pause between two attempts, in milliseconds.
    pub delay_ms: u64,
}

impl Default for RemovalPatience {
    fn default() -> Self {
        Self {
            timeout_ms: 1000,
            delay_ms: 20,
        }
    }
}

fn at(path: &Path, what: &str) -> impl FnOnce(io::Error) -> Error {
    let (path, what) = (path.to_owned(), what.to_owned());
    move |source| Error::File { what, path, source }
}

/// The cgroup version of the file system at `dir`, or at its nearest parent that exists.
pub fn mode_of(dir: &Path) -> Option<Mode> {
    let existing = dir.ancestors().find(|p| p.exists())?;
    match statfs(existing).ok()?.filesystem_type() {
        CGROUP_SUPER_MAGIC => Some(Mode::V1),
        CGROUP2_SUPER_MAGIC => Some(Mode::V2),
        _ => None,
    }
}

/// Makes `dir` and its parents where they do not exist.
///
/// # Errors
/// [`Error::NotCgroup`] when there is no cgroup file system there, [`Error::File`].
pub fn make(dir: &Path) -> Result<(), Error> {
    if mode_of(dir).is_none() {
        return Err(Error::NotCgroup(dir.to_owned()));
    }
    std::fs::create_dir_all(dir).map_err(at(dir, "making the cgroup"))
}

/// Makes `dir` afresh: what an earlier container of this name left there is killed and removed,
/// so that neither its processes nor its rules are inherited.
///
/// # Errors
/// As [`make`] and [`remove`].
pub fn make_fresh(dir: &Path, patience: RemovalPatience) -> Result<(), Error> {
    if dir.exists() {
        remove(dir, patience)?;
    }
    make(dir)
}

/// Processes in `dir` itself.
///
/// # Errors
/// What the file system answers.
pub fn pids(dir: &Path) -> io::Result<Vec<i32>> {
    let text = std::fs::read_to_string(dir.join("cgroup.procs"))?;
    Ok(text.lines().filter_map(|l| l.trim().parse().ok()).collect())
}

/// Child cgroups of `dir`, none where it is gone.
fn children(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return vec![];
    };
    entries
        .flatten()
        .filter(|e| e.file_type().is_ok_and(|t| t.is_dir()))
        .map(|e| e.path())
        .collect()
}

/// `dir` and all cgroups below it, the deepest first.
fn tree(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![dir.to_owned()];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        found.extend(children(parent));
        next += 1;
    }
    found.reverse();
    found
}

/// Sends SIGKILL to every process in `dir` and below.
///
/// # Errors
/// [`Error::OwnCgroup`] when the caller itself is inside; nothing is killed then.
fn kill_tree(dirs: &[PathBuf]) -> Result<(), Error> {
    let own = nix::unistd::getpid().as_raw();
    let found: Vec<(&PathBuf, Vec<i32>)> = dirs
        .iter()
        .map(|dir| (dir, pids(dir).unwrap_or_default()))
        .collect();
    if let Some((dir, _)) = found.iter().find(|(_, pids)| pids.contains(&own)) {
        return Err(Error::OwnCgroup((*dir).clone()));
    }
    for (dir, pids) in &found {
        // cgroup.kill (v2, Linux 5.14) also gets those that fork at this moment.
        if pids.is_empty() || std::fs::write(dir.join("cgroup.kill"), "1").is_ok() {
            continue;
        }
        for pid in pids.iter().filter(|pid| **pid > 1) {
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
    }
    Ok(())
}

/// Kills what is left in `dir`, then removes it and its children. The kernel answers EBUSY until
/// the last process is reaped, so it is tried again until the patience ends. A directory that is
/// not there is a success.
///
/// # Errors
/// [`Error::NotCgroup`], [`Error::OwnCgroup`], [`Error::File`] with the last answer.
pub fn remove(dir: &Path, patience: RemovalPatience) -> Result<(), Error> {
    if !dir.exists() {
        return Ok(());
    }
    if mode_of(dir).is_none() {
        return Err(Error::NotCgroup(dir.to_owned()));
    }
    let end = Instant::now() + Duration::from_millis(patience.timeout_ms);
    loop {
        let dirs = tree(dir);
        kill_tree(&dirs)?;
        let mut last = None;
        for dir in &dirs {
            match std::fs::remove_dir(dir) {
                Ok(()) => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => last = Some((dir.clone(), e)),
            }
        }
        let Some((left, source)) = last else {
            return Ok(());
        };
        let busy = source.raw_os_error() == Some(libc::EBUSY);
        if !busy || Instant::now() >= end {
            return Err(at(&left, "removing the cgroup")(source));
        }
        std::thread::sleep(Duration::from_millis(patience.delay_ms));
    }
}
