//! Reads the ends of a container's error logs, for its diagnostics.
//! May touch: the container's log directory, read only.
//! Must not: follow a link (the account owns the directory).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use nm_core::launch::PRELAUNCH_ERR;
use nm_core::launch::diagnostics::{Tail, Tails};

use super::safe_fs::Dir;

/// Ends of prelaunch.err and of the latest file that matches `pattern`
/// (`yarn.nodemanager.container.stderr.pattern`, default `{*stderr*,*STDERR*}`), `bytes` each.
/// What cannot be read is left out. Blocking.
pub fn read_tails(
    log_root: &Path,
    app_id: &str,
    container_id: &str,
    bytes: u64,
    pattern: &str,
) -> Tails {
    let mut tails = Tails {
        bytes,
        ..Tails::default()
    };
    let rel = Path::new(app_id).join(container_id);
    let Ok(dir) = Dir::open(log_root).and_then(|d| d.descend(&rel)) else {
        return tails;
    };
    let read = |name: &str| -> Option<Tail> {
        let text = tail(dir.open_file(name).ok()?, bytes).ok()?;
        Some(Tail {
            name: name.to_owned(),
            text,
        })
    };
    tails.prelaunch = read(PRELAUNCH_ERR);
    let mut latest: Option<(SystemTime, String)> = None;
    let entries = std::fs::read_dir(dir.fd_path())
        .into_iter()
        .flatten()
        .flatten();
    for entry in entries {
        let (Ok(name), Ok(meta)) = (entry.file_name().into_string(), entry.metadata()) else {
            continue;
        };
        if !meta.is_file() || !matches(pattern, &name) {
            continue;
        }
        let changed = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        tails.stderr_names.push(name.clone());
        if latest.as_ref().is_none_or(|(at, _)| changed > *at) {
            latest = Some((changed, name));
        }
    }
    tails.stderr_names.sort();
    tails.stderr = latest.and_then(|(_, name)| read(&name));
    tails
}

fn tail(mut file: File, bytes: u64) -> std::io::Result<String> {
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(bytes)))?;
    let mut kept = Vec::new();
    file.take(bytes).read_to_end(&mut kept)?;
    Ok(String::from_utf8_lossy(&kept).into_owned())
}

/// A file name against a glob of Hadoop's: `*`, `?` and one level of `{a,b}`.
pub fn matches(pattern: &str, name: &str) -> bool {
    if let Some((before, rest)) = pattern.split_once('{')
        && let Some((choices, after)) = rest.split_once('}')
    {
        return choices
            .split(',')
            .any(|choice| matches(&format!("{before}{choice}{after}"), name));
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    // Greedy with one step back to the last star: linear in practice, quadratic at worst.
    let (mut p, mut n) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                back = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || name.get(n) == Some(c) => {
                p += 1;
                n += 1;
            }
            _ => match back {
                Some((star, at)) => {
                    back = Some((star, at + 1));
                    p = star + 1;
                    n = at + 1;
                }
                None => return false,
            },
        }
    }
    pattern
        .get(p..)
        .is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

#[cfg(test)]
#[path = "tails_test.rs"]
mod tests;
