//! The memory rules over a container's process tree; pure.
//! May touch: process records it is given.
//! Must not: read `/proc` or clocks.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::MonitorConf;

/// `ContainerExitStatus.KILLED_EXCEEDED_VMEM`.
pub const KILLED_EXCEEDED_VMEM: i32 = -103;
/// `ContainerExitStatus.KILLED_EXCEEDED_PMEM`.
pub const KILLED_EXCEEDED_PMEM: i32 = -104;
/// Clock ticks a second (`USER_HZ`, 100 on every Linux this runs on).
const TICKS_PER_S: u64 = 100;

/// One process, as `/proc/<pid>/stat` tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: i32,
    /// Parent's process id.
    pub ppid: i32,
    /// Process group.
    pub pgrp: i32,
    /// Session.
    pub session: i32,
    /// Name in parentheses, with them.
    pub name: String,
    /// User time, ticks.
    pub utime: u64,
    /// System time, ticks.
    pub stime: u64,
    /// Start time, ticks after boot.
    pub start: u64,
    /// Virtual memory, bytes.
    pub vmem: u64,
    /// Resident memory, pages.
    pub rss_pages: u64,
}

/// Limits of one container, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Physical memory: its allocation.
    pub pmem: u64,
    /// Virtual memory: allocation times `yarn.nodemanager.vmem-pmem-ratio`.
    pub vmem: u64,
}

/// `(long) (pmem * ratio)` with Java's float ratio.
pub fn vmem_limit(pmem: u64, ratio: f32) -> u64 {
    let product = pmem as f32 * ratio;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "in range by the check, and a limit's fraction of a byte is nothing"
    )]
    if product > 0.0 && product < 9.0e18 {
        product as u64
    } else {
        u64::MAX
    }
}

/// What a tree uses now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sample {
    /// Physical memory, bytes.
    pub pmem: u64,
    /// Virtual memory, bytes.
    pub vmem: u64,
    /// Physical memory of processes seen at an earlier poll.
    pub pmem_aged: u64,
    /// Virtual memory of processes seen at an earlier poll.
    pub vmem_aged: u64,
    /// CPU since the last poll; 100 is one processor.
    pub cpu_percent: f32,
    /// CPU since the start, ms.
    pub cpu_ms: u64,
}

/// A container over its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// Which.
    pub container_id: String,
    /// [`KILLED_EXCEEDED_PMEM`] or [`KILLED_EXCEEDED_VMEM`].
    pub exit_status: i32,
    /// Hadoop's sentence and the dump of the tree.
    pub diagnostics: String,
}

/// Remembers a tree from poll to poll.
#[derive(Debug, Clone)]
pub struct Tracker {
    container_id: String,
    pid: i32,
    launcher: i32,
    page_bytes: u64,
    /// Members at the last poll by (pid, start), each with its age in polls and its CPU ticks.
    ages: BTreeMap<(i32, u64), (u32, u64)>,
    members: Vec<Process>,
    ticks_total: u64,
    last_poll_ms: Option<u64>,
}

impl Tracker {
    /// A container whose main process is `pid`, below the launcher `launcher`.
    pub fn new(container_id: String, pid: i32, launcher: i32) -> Self {
        Self {
            container_id,
            pid,
            launcher,
            page_bytes: page_bytes(),
            ages: BTreeMap::new(),
            members: Vec::new(),
            ticks_total: 0,
            last_poll_ms: None,
        }
    }

    /// Takes the tree out of all processes. `None` at the first poll, where stock has no CPU
    /// figure yet and looks no further, and when the tree is gone.
    pub fn update(&mut self, now_ms: u64, all: &BTreeMap<i32, Process>) -> Option<Sample> {
        self.members = members(all, self.launcher, self.pid);
        let mut ages = BTreeMap::new();
        let mut new_ticks = 0u64;
        for p in &self.members {
            let ticks = p.utime.saturating_add(p.stime);
            let (age, before) = self
                .ages
                .get(&(p.pid, p.start))
                .map_or((0, 0), |(age, ticks)| (*age, *ticks));
            new_ticks = new_ticks.saturating_add(ticks.saturating_sub(before));
            ages.insert((p.pid, p.start), (age + 1, ticks));
        }
        self.ages = ages;
        self.ticks_total = self.ticks_total.saturating_add(new_ticks);
        let before_ms = self.last_poll_ms.replace(now_ms)?;
        if self.members.is_empty() {
            return None;
        }
        Some(self.sample(new_ticks, now_ms.saturating_sub(before_ms)))
    }

    fn sample(&self, new_ticks: u64, elapsed_ms: u64) -> Sample {
        let mut sample = Sample {
            cpu_ms: self.ticks_total * 1000 / TICKS_PER_S,
            ..Sample::default()
        };
        for p in &self.members {
            let pmem = p.rss_pages.saturating_mul(self.page_bytes);
            sample.pmem = sample.pmem.saturating_add(pmem);
            sample.vmem = sample.vmem.saturating_add(p.vmem);
            // Processes begin with age 1: only those of an earlier poll are older.
            if self
                .ages
                .get(&(p.pid, p.start))
                .is_some_and(|(age, _)| *age > 1)
            {
                sample.pmem_aged = sample.pmem_aged.saturating_add(pmem);
                sample.vmem_aged = sample.vmem_aged.saturating_add(p.vmem);
            }
        }
        if elapsed_ms > 0 {
            let busy_ms = new_ticks * 1000 / TICKS_PER_S;
            sample.cpu_percent = busy_ms as f32 * 100.0 / elapsed_ms as f32;
        }
        sample
    }

    /// Pid of the container's main process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// `ProcfsBasedProcessTree.getProcessTreeDump`.
    fn dump(&self, command_line: &dyn Fn(i32) -> String) -> String {
        let mut out = String::from(
            "\t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) SYSTEM_TIME(MILLIS) \
             VMEM_USAGE(BYTES) RSSMEM_USAGE(PAGES) FULL_CMD_LINE\n",
        );
        for p in &self.members {
            let _ = writeln!(
                out,
                "\t|- {} {} {} {} {} {} {} {} {} {}",
                p.pid,
                p.ppid,
                p.pgrp,
                p.session,
                p.name,
                p.utime,
                p.stime,
                p.vmem,
                p.rss_pages,
                command_line(p.pid)
            );
        }
        out
    }
}

fn page_bytes() -> u64 {
    nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE)
        .ok()
        .flatten()
        .and_then(|n| u64::try_from(n).ok())
        .unwrap_or(4096)
}

/// The main process and all descendants of the launcher: what a double fork has handed to the
/// launcher belongs to the container as well. By pid.
fn members(all: &BTreeMap<i32, Process>, launcher: i32, main: i32) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for p in all.values() {
        children.entry(p.ppid).or_default().push(p.pid);
    }
    let mut found = BTreeMap::new();
    let mut next = children.get(&launcher).cloned().unwrap_or_default();
    next.push(main);
    while let Some(pid) = next.pop() {
        if let Some(p) = all.get(&pid)
            && found.insert(pid, p.clone()).is_none()
        {
            next.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found.into_values().collect()
}

/// Whether a tree is over its limits (`ContainersMonitorImpl.checkLimit`): virtual memory first;
/// over twice the limit at once, over the limit when processes older than one poll alone are.
/// A fork that copies its parent for a moment is forgiven that way.
pub fn judge(
    tracker: &Tracker,
    sample: &Sample,
    limits: &Limits,
    conf: &MonitorConf,
    command_line: &dyn Fn(i32) -> String,
) -> Option<Over> {
    let is_over = |now: u64, aged: u64, limit: u64| now > limit.saturating_mul(2) || aged > limit;
    let (kind, exit_status, delta) =
        if conf.check_vmem && is_over(sample.vmem, sample.vmem_aged, limits.vmem) {
            (
                "VIRTUAL",
                KILLED_EXCEEDED_VMEM,
                sample.vmem.saturating_sub(limits.vmem),
            )
        } else if conf.check_pmem && is_over(sample.pmem, sample.pmem_aged, limits.pmem) {
            (
                "PHYSICAL",
                KILLED_EXCEEDED_PMEM,
                sample.pmem.saturating_sub(limits.pmem),
            )
        } else {
            return None;
        };
    let id = &tracker.container_id;
    let diagnostics = format!(
        "Container [pid={},containerID={id}] is running {delta}B beyond the '{kind}' memory limit. \
         Current usage: {}B of {}B physical memory used; {}B of {}B virtual memory used. \
         Killing container.\nDump of the process-tree for {id} :\n{}",
        tracker.pid,
        binary_prefix(sample.pmem),
        binary_prefix(limits.pmem),
        binary_prefix(sample.vmem),
        binary_prefix(limits.vmem),
        tracker.dump(command_line),
    );
    Some(Over {
        container_id: id.clone(),
        exit_status,
        diagnostics,
    })
}

/// Hadoop's sentence for a container that the kernel killed at its limit: what it used is the
/// limit, and its processes are gone.
pub fn beyond_memory(container_id: &str, pid: i32, pmem: u64, vmem: u64) -> String {
    let (pmem, vmem) = (binary_prefix(pmem), binary_prefix(vmem));
    format!(
        "Container [pid={pid},containerID={container_id}] is running 0B beyond the 'PHYSICAL' \
         memory limit. Current usage: {pmem}B of {pmem}B physical memory used; 0B of {vmem}B \
         virtual memory used. Killing container.\nThe kernel ended it at the memory limit of its \
         cgroup.\n"
    )
}

/// `TraditionalBinaryPrefix.long2String(n, "", 1)`: `512`, `1 K`, `1.5 G`.
pub fn binary_prefix(n: u64) -> String {
    const PREFIXES: [(u32, char); 6] = [
        (10, 'K'),
        (20, 'M'),
        (30, 'G'),
        (40, 'T'),
        (50, 'P'),
        (60, 'E'),
    ];
    let Some(mut at) = PREFIXES.iter().rposition(|(shift, _)| n >> shift > 0) else {
        return n.to_string();
    };
    loop {
        let Some((shift, letter)) = PREFIXES.get(at) else {
            return n.to_string();
        };
        let unit = 1u128 << shift;
        if u128::from(n) % unit == 0 {
            return format!("{} {letter}", n >> shift);
        }
        // One decimal, halves up, in integers: as Java's formatter does.
        let tenths = (u128::from(n) * 20 + unit) / (unit * 2);
        if tenths >= 10_240 && at + 1 < PREFIXES.len() {
            at += 1;
            continue;
        }
        return format!("{}.{} {letter}", tenths / 10, tenths % 10);
    }
}

#[cfg(test)]
#[path = "tree_test.rs"]
mod tests;
