//! Reads processes out of `/proc`.
//! May touch: `/proc`, read only.
//! Must not: decide anything.

use std::collections::BTreeMap;
use std::path::Path;

use super::tree::Process;

/// Longest command line kept, in bytes (stock keeps its first line).
const COMMAND_LINE_BYTES_MAX: usize = 16 * 1024;

/// Parses `/proc/<pid>/stat`; the name may hold spaces and parentheses.
pub fn parse_stat(line: &str) -> Option<Process> {
    let open = line.find('(')?;
    let close = line.rfind(')')?;
    let fields: Vec<&str> = line.get(close + 1..)?.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let signed = |index: usize| fields.get(index)?.parse::<i32>().ok();
    Some(Process {
        pid: line.get(..open)?.trim().parse().ok()?,
        name: line.get(open..=close)?.to_owned(),
        ppid: signed(1)?,
        pgrp: signed(2)?,
        session: signed(3)?,
        utime: number(11)?,
        stime: number(12)?,
        start: number(19)?,
        vmem: number(20)?,
        // Negative for a moment in some kernels; that is nothing.
        rss_pages: fields
            .get(21)?
            .parse::<i64>()
            .ok()
            .and_then(|n| u64::try_from(n).ok())?,
    })
}

/// All processes; those that end meanwhile are left out.
pub fn read_all(proc_root: &Path) -> BTreeMap<i32, Process> {
    let Ok(dir) = std::fs::read_dir(proc_root) else {
        return BTreeMap::new();
    };
    dir.flatten()
        .filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .iter()
                .all(u8::is_ascii_digit)
        })
        .filter_map(|entry| {
            let bytes = std::fs::read(entry.path().join("stat")).ok()?;
            parse_stat(&String::from_utf8_lossy(&bytes))
        })
        .map(|p| (p.pid, p))
        .collect()
}

/// Command line with spaces between arguments, `N/A` where there is none.
pub fn command_line(proc_root: &Path, pid: i32) -> String {
    let bytes = std::fs::read(proc_root.join(pid.to_string()).join("cmdline")).unwrap_or_default();
    let bytes = bytes.get(..COMMAND_LINE_BYTES_MAX).unwrap_or(&bytes);
    let text = String::from_utf8_lossy(bytes).replace('\0', " ");
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() {
        "N/A".to_owned()
    } else {
        line.to_owned()
    }
}
