//! Which local and log directories can be used, and which of them a container gets.
//! May touch: the configured directories, their file systems' usage.
//! Must not: create the layout inside them (`dirs` does).

use std::path::{Path, PathBuf};

/// Limits of `yarn.nodemanager.disk-health-checker.*`, with Hadoop's defaults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiskRules {
    /// `max-disk-utilization-per-disk-percentage`, 90.
    pub used_percent_max: f32,
    /// `min-free-space-per-disk-mb`, 0.
    pub free_mb_min: u64,
    /// `min-healthy-disks`, 0.25: the least fraction of usable directories of each kind.
    pub healthy_fraction_min: f32,
}

impl Default for DiskRules {
    fn default() -> Self {
        Self {
            used_percent_max: 90.0,
            free_mb_min: 0,
            healthy_fraction_min: 0.25,
        }
    }
}

/// Bytes of one file system, as an unprivileged writer sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes in use.
    pub used: u64,
    /// Bytes that can still be written.
    pub free: u64,
}

/// What is wrong with a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be used at all.
    Error(String),
    /// It is too full to write to; what is there can be read.
    Full(String),
}

/// Judgement over one kind of directories (`local-dirs` or `log-dirs`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Usable directories, each with its free bytes, in configured order.
    pub good: Vec<(PathBuf, u64)>,
    /// The others and why.
    pub bad: Vec<(PathBuf, Fault)>,
}

/// Both kinds together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskReport {
    /// `yarn.nodemanager.local-dirs`.
    pub local: Report,
    /// `yarn.nodemanager.log-dirs`.
    pub log: Report,
}

/// Whether a usage is within the rules (`DirectoryCollection.isDiskUsageOverPercentageLimit`).
pub fn judge(usage: Usage, rules: &DiskRules) -> Option<Fault> {
    let total = usage.used.saturating_add(usage.free);
    // Percent of 0..100 for which f32 is exact enough; Hadoop uses float as well.
    let used_percent = if total == 0 {
        0.0
    } else {
        usage.used as f32 / total as f32 * 100.0
    };
    if used_percent > rules.used_percent_max || used_percent >= 100.0 {
        let limit = rules.used_percent_max;
        return Some(Fault::Full(format!(
            "used space above threshold of {limit:?}%"
        )));
    }
    if usage.free / (1 << 20) < rules.free_mb_min {
        return Some(Fault::Full(format!(
            "free space below limit of {}MB",
            rules.free_mb_min
        )));
    }
    None
}

/// Looks at the directories. Blocking.
pub fn check(local_dirs: &[PathBuf], log_dirs: &[PathBuf], rules: &DiskRules) -> DiskReport {
    DiskReport {
        local: check_kind(local_dirs, rules),
        log: check_kind(log_dirs, rules),
    }
}

fn check_kind(dirs: &[PathBuf], rules: &DiskRules) -> Report {
    let mut report = Report::default();
    for dir in dirs {
        match probe(dir) {
            Err(fault) => report.bad.push((dir.clone(), fault)),
            Ok(usage) => match judge(usage, rules) {
                Some(fault) => report.bad.push((dir.clone(), fault)),
                None => report.good.push((dir.clone(), usage.free)),
            },
        }
    }
    report
}

/// Usage of the directory's file system, after a write to it has succeeded.
fn probe(dir: &Path) -> Result<Usage, Fault> {
    let text = |what: &str, e: &dyn std::fmt::Display| {
        Fault::Error(format!("{what}: {}: {e}", dir.display()))
    };
    let meta = std::fs::metadata(dir).map_err(|e| text("Directory does not exist", &e))?;
    if !meta.is_dir() {
        return Err(Fault::Error(format!("Not a directory: {}", dir.display())));
    }
    std::fs::read_dir(dir).map_err(|e| text("Directory is not readable", &e))?;
    // Permission bits do not tell of a read-only or failing disk; creating something does.
    let trial = dir.join(format!(".disk-check-{}", std::process::id()));
    std::fs::create_dir(&trial)
        .and_then(|()| std::fs::remove_dir(&trial))
        .map_err(|e| text("Directory is not writable", &e))?;
    let vfs = nix::sys::statvfs::statvfs(dir).map_err(|e| text("Cannot stat file system", &e))?;
    let bytes = |blocks: u64| blocks.saturating_mul(vfs.fragment_size());
    Ok(Usage {
        used: bytes(vfs.blocks().saturating_sub(vfs.blocks_free())),
        free: bytes(vfs.blocks_available()),
    })
}

impl Report {
    /// Number of configured directories.
    pub fn total(&self) -> usize {
        self.good.len() + self.bad.len()
    }

    /// Paths of the usable directories.
    pub fn good_paths(&self) -> Vec<PathBuf> {
        self.good.iter().map(|(path, _)| path.clone()).collect()
    }

    /// Picks a usable directory; over many picks each gets a share by its free bytes, as
    /// `LocalDirAllocator` does by chance. `turn` is any number that changes from pick to pick.
    pub fn pick(&self, turn: u64) -> Option<&Path> {
        // Free space counts in MiB + 1, so that a nearly full directory still has a chance.
        let weight = |free: u64| (free >> 20).saturating_add(1);
        let total: u64 = self.good.iter().map(|(_, free)| weight(*free)).sum();
        if total == 0 {
            return None;
        }
        // Multiplying by an odd constant spreads consecutive turns over the whole range.
        let mut at = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) % total;
        for (path, free) in &self.good {
            match at.checked_sub(weight(*free)) {
                Some(rest) => at = rest,
                None => return Some(path),
            }
        }
        None
    }

    /// Whether enough directories are usable.
    fn healthy(&self, rules: &DiskRules) -> bool {
        let least = rules.healthy_fraction_min;
        !self.good.is_empty() && self.good.len() as f32 / self.total() as f32 >= least
    }

    fn text(&self, kind: &str) -> Vec<String> {
        let list = |full: bool| -> Vec<String> {
            self.bad
                .iter()
                .filter_map(|(path, fault)| match fault {
                    Fault::Full(why) if full => Some(format!("{} : {why}", path.display())),
                    Fault::Error(why) if !full => Some(format!("{} : {why}", path.display())),
                    _ => None,
                })
                .collect()
        };
        let total = self.total();
        let mut parts = Vec::new();
        let (errors, full) = (list(false), list(true));
        if !errors.is_empty() {
            let (n, all) = (errors.len(), errors.join("; "));
            parts.push(format!("{n}/{total} {kind} have errors: [ {all} ] "));
        }
        if !full.is_empty() {
            let (n, all) = (full.len(), full.join("; "));
            parts.push(format!(
                "{n}/{total} {kind} usable space is below configured utilization \
                 percentage/no more usable space [ {all} ] "
            ));
        }
        parts
    }
}

impl DiskReport {
    /// Whether the node may run containers (`LocalDirsHandlerService.areDisksHealthy`).
    pub fn healthy(&self, rules: &DiskRules) -> bool {
        self.local.healthy(rules) && self.log.healthy(rules)
    }

    /// The node's health report, empty when all directories are usable.
    pub fn text(&self) -> String {
        let mut parts = self.local.text("local-dirs");
        parts.extend(self.log.text("log-dirs"));
        parts.join("; ")
    }
}

#[cfg(test)]
#[path = "disks_test.rs"]
mod tests;
