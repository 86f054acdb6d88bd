//! The few facts of `/proc` that launching and reaping need.
//! May touch: `/proc`, read only.
//! Must not: signal or start anything.

use std::collections::BTreeMap;

/// Parent pid and start time of one process, from `/proc/<pid>/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcStat {
    /// Parent process id.
    pub ppid: i32,
    /// Session id.
    pub session: i32,
    /// State letter, `Z` for a zombie.
    pub state: char,
    /// Start time in clock ticks after boot (field 22); with the pid it names one process.
    pub start_ticks: u64,
}

/// Parses one stat line. The name in parentheses may hold spaces and parentheses itself.
pub fn parse_stat(line: &str) -> Option<ProcStat> {
    let rest = line.get(line.rfind(')')? + 1..)?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(ProcStat {
        state: fields.first()?.chars().next()?,
        ppid: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
    })
}

/// The stat of `pid`, `None` when it is gone.
pub fn stat(pid: i32) -> Option<ProcStat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// All processes that can be seen.
pub fn all() -> BTreeMap<i32, ProcStat> {
    let Ok(dir) = std::fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    dir.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| Some((pid, stat(pid)?)))
        .collect()
}

/// Pids of all living descendants of `root`, without `root` itself and without zombies.
pub fn descendants(root: i32, all: &BTreeMap<i32, ProcStat>) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (pid, stat) in all {
        children.entry(stat.ppid).or_default().push(*pid);
    }
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(pid) = next.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            next.push(child);
            if all.get(&child).is_some_and(|s| s.state != 'Z') {
                found.push(child);
            }
        }
    }
    found
}

#[cfg(test)]
#[path = "proc_test.rs"]
mod tests;
