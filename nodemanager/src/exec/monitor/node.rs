//! What the whole machine uses, for heartbeats.
//! May touch: `/proc/meminfo` and `/proc/stat`, read only.
//! Must not: know containers.

use std::path::Path;

/// Counters of one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeUsage {
    /// Physical memory in use, MiB.
    pub pmem_mb: i32,
    /// Physical memory and swap in use, MiB.
    pub vmem_mb: i32,
    /// CPU ticks spent working since boot, all processors.
    pub busy_ticks: u64,
    /// CPU ticks since boot, all processors.
    pub total_ticks: u64,
}

impl NodeUsage {
    /// Part of the machine's CPU used since `before`, 0 to 1 (`NodeResourceMonitorImpl`).
    pub fn cpu_since(&self, before: &Self) -> f32 {
        let total = self.total_ticks.saturating_sub(before.total_ticks);
        let busy = self.busy_ticks.saturating_sub(before.busy_ticks);
        if total == 0 {
            0.0
        } else {
            busy as f32 / total as f32
        }
    }
}

/// Reads the counters; what cannot be read is 0.
pub fn node_usage(proc_root: &Path) -> NodeUsage {
    let meminfo = std::fs::read_to_string(proc_root.join("meminfo")).unwrap_or_default();
    let stat = std::fs::read_to_string(proc_root.join("stat")).unwrap_or_default();
    parse(&meminfo, &stat)
}

/// The pure half of [`node_usage`].
pub fn parse(meminfo: &str, stat: &str) -> NodeUsage {
    let kb = |name: &str| {
        meminfo
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let mb = |kb: u64| i32::try_from(kb >> 10).unwrap_or(i32::MAX);
    let pmem = kb("MemTotal").saturating_sub(kb("MemAvailable"));
    let swap = kb("SwapTotal").saturating_sub(kb("SwapFree"));
    // user nice system idle iowait irq softirq steal; guest time is in user already.
    let ticks: Vec<u64> = stat
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))
        .map(|rest| {
            rest.split_whitespace()
                .take(8)
                .filter_map(|n| n.parse().ok())
                .collect()
        })
        .unwrap_or_default();
    let total: u64 = ticks.iter().sum();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    NodeUsage {
        pmem_mb: mb(pmem),
        vmem_mb: mb(pmem.saturating_add(swap)),
        busy_ticks: total.saturating_sub(idle),
        total_ticks: total,
    }
}
