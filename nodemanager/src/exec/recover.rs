//! Ends what a predecessor left: its processes, private files and caches.
//! May touch: local directories, processes that carry a container id.
//! Must not: kill a process by its pid alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use isolator::apply::proc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use yarn_types::ApplicationId;

use super::deletion::{Deleter, Deletion};
use super::dirs::{FILECACHE, NM_PRIVATE, USERCACHE};
use super::launch::PID_FILE_ENV;

/// How long killed processes are waited for.
const GONE_WAIT: Duration = Duration::from_secs(5);

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Predecessor {
    /// Containers with a pid file.
    pub containers: BTreeSet<String>,
    /// Processes killed.
    pub killed: Vec<i32>,
    /// Killed processes that were still there after five seconds.
    pub left: Vec<i32>,
}

/// A pid file: the pid and the start time (ticks after boot) that make it one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PidRecord {
    pid: i32,
    start: u64,
}

/// Kills the processes of every container whose pid file lies in `nmPrivate`. A process is one
/// of them if its pid and start time are those of the file, or if its environment has the
/// container's id and names these directories: double-forked children have both, a recycled pid or
/// a container of another node on this machine has not. Blocking.
pub fn kill_predecessor(local_dirs: &[PathBuf]) -> Predecessor {
    let mut found = Predecessor::default();
    let mut records = Vec::new();
    for dir in local_dirs {
        for (container_id, record) in pid_files(&dir.join(NM_PRIVATE)) {
            found.containers.insert(container_id);
            records.extend(record);
        }
    }
    if found.containers.is_empty() {
        return found;
    }
    let until = Instant::now() + GONE_WAIT;
    loop {
        let alive = processes_of(local_dirs, &found.containers, &records);
        if alive.is_empty() {
            found.left.clear();
            return found;
        }
        for pid in &alive {
            if kill(Pid::from_raw(*pid), Signal::SIGKILL).is_ok() && !found.killed.contains(pid) {
                found.killed.push(*pid);
            }
        }
        if Instant::now() > until {
            found.left = alive;
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Living processes of the containers, without this one.
fn processes_of(
    local_dirs: &[PathBuf],
    containers: &BTreeSet<String>,
    records: &[PidRecord],
) -> Vec<i32> {
    let own = nix::unistd::getpid().as_raw();
    proc::all()
        .into_iter()
        .filter(|(pid, stat)| *pid != own && stat.state != 'Z')
        .filter(|(pid, stat)| {
            records.contains(&PidRecord {
                pid: *pid,
                start: stat.start_ticks,
            }) || container_of(*pid, local_dirs).is_some_and(|id| containers.contains(&id))
        })
        .map(|(pid, _)| pid)
        .collect()
}

/// `CONTAINER_ID` in the environment of a process that works in one of `local_dirs`.
fn container_of(pid: i32, local_dirs: &[PathBuf]) -> Option<String> {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = |name: &str| {
        let mut variables = environ.split(|b| *b == 0);
        let found = variables.find_map(|v| v.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        found.map(|value| String::from_utf8_lossy(value).into_owned())
    };
    let mut places = [value("LOCAL_DIRS"), value(PID_FILE_ENV)]
        .into_iter()
        .flatten();
    let is_ours = |text: String| {
        let mut paths = text.split(',').map(Path::new);
        paths.any(|path| local_dirs.iter().any(|dir| path.starts_with(dir)))
    };
    places.any(is_ours).then(|| value("CONTAINER_ID"))?
}

/// Container ids of `nmPrivate/<app>/<container>/<container>.pid`, with what the file says.
fn pid_files(nm_private: &Path) -> Vec<(String, Option<PidRecord>)> {
    let children = |dir: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(dir)
            .map(|d| d.flatten().map(|e| e.path()).collect())
            .unwrap_or_default()
    };
    let mut found = Vec::new();
    for container in children(nm_private).iter().flat_map(|app| children(app)) {
        let Some(id) = container.file_name().and_then(OsStr::to_str) else {
            continue;
        };
        let number = |suffix: &str| {
            let text = std::fs::read_to_string(container.join(format!("{id}.{suffix}"))).ok()?;
            text.trim().parse::<u64>().ok()
        };
        let record = number("pid").and_then(|pid| {
            let pid = i32::try_from(pid).ok()?;
            Some(PidRecord {
                pid,
                start: number("pid.start")?,
            })
        });
        found.push((id.to_owned(), record));
    }
    found
}

/// Moves `nmPrivate`, `usercache` and `filecache` of every local directory aside and deletes them
/// in the background, also what an earlier start did not finish deleting (a NodeManager without
/// recovery begins with empty caches, `ResourceLocalizationService.cleanUpLocalDirs`).
pub fn clear_local_dirs(local_dirs: &[PathBuf], wall_ms: i64, deleter: &Deleter) {
    for dir in local_dirs {
        for name in [NM_PRIVATE, USERCACHE, FILECACHE] {
            let aside = dir.join(format!("{name}_DEL_{wall_ms}"));
            match std::fs::rename(dir.join(name), &aside) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    let path = dir.join(name);
                    tracing::warn!(path = %path.display(), error = %e, "cannot be moved aside");
                }
                _ => {}
            }
        }
        let Ok(entries) = std::fs::read_dir(dir) else {
            continue;
        };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().contains("_DEL_") {
                deleter.delete(Deletion {
                    root: dir.clone(),
                    rel: entry.file_name().into(),
                });
            }
        }
    }
}

/// Entries looked at below one application's log directory.
const LOG_ENTRIES_MAX: usize = 10_000;

/// Applications whose logs lie in `log_dirs`, each with the milliseconds since the last of its
/// files was written. Blocking.
pub fn left_logs(log_dirs: &[PathBuf]) -> Vec<(ApplicationId, u64)> {
    let mut ages: BTreeMap<ApplicationId, u64> = BTreeMap::new();
    for entry in log_dirs.iter().flat_map(|dir| entries(dir)) {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name();
        let Some(app) = name.to_str().and_then(|n| n.parse::<ApplicationId>().ok()) else {
            continue;
        };
        let containers = entries(&entry.path());
        let files = containers.iter().flat_map(|c| entries(&c.path()));
        let all = std::iter::once(&entry).chain(&containers).map(age_ms);
        let youngest = all.chain(files.map(|f| age_ms(&f))).take(LOG_ENTRIES_MAX);
        let age = youngest.min().unwrap_or(0);
        ages.entry(app)
            .and_modify(|known| *known = age.min(*known))
            .or_insert(age);
    }
    ages.into_iter().collect()
}

/// What lies in a directory; nothing where it is none, a link to one included.
fn entries(dir: &Path) -> Vec<std::fs::DirEntry> {
    let is_dir = std::fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir());
    let listed = is_dir.then(|| std::fs::read_dir(dir).ok()).flatten();
    listed.into_iter().flatten().flatten().collect()
}

fn age_ms(entry: &std::fs::DirEntry) -> u64 {
    let written = entry.metadata().and_then(|meta| meta.modified());
    let age = written.ok().and_then(|at| at.elapsed().ok());
    age.map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
#[path = "recover_test.rs"]
mod tests;
