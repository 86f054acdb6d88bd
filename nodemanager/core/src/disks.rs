//! Which local and log directories can be used, from what was measured of them.
//! May touch: figures and paths.
//! Must not: look at a file system (the shell measures).

use std::path::{Path, PathBuf};

/// Limits of `yarn.nodemanager.disk-health-checker.*`, with Hadoop's defaults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiskRules {
    /// `enable`: without it the disks never make the node unhealthy.
    pub enabled: bool,
    /// `max-disk-utilization-per-disk-percentage`, 90: beyond it a directory goes out of use.
    pub used_percent_max: f32,
    /// `disk-utilization-watermark-low-per-disk-percentage`: up to it one comes back.
    pub used_percent_back: f32,
    /// `min-free-space-per-disk-mb`, 0: below it a directory goes out of use.
    pub free_mb_min: u64,
    /// `min-free-space-per-disk-watermark-high-mb`: from it on one comes back.
    pub free_mb_back: u64,
    /// `min-healthy-disks`, 0.25: the least fraction of usable directories of each kind.
    pub healthy_fraction_min: f32,
}

impl Default for DiskRules {
    fn default() -> Self {
        Self {
            enabled: true,
            used_percent_max: 90.0,
            used_percent_back: 90.0,
            free_mb_min: 0,
            free_mb_back: 0,
            healthy_fraction_min: 0.25,
        }
    }
}

/// Bytes of one file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Size.
    pub total: u64,
    /// Bytes that an unprivileged writer can still write.
    pub usable: u64,
}

/// What is wrong with a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be used at all.
    Error(String),
    /// It is too full to write to; what is there can be read.
    Full(String),
}

/// One directory as the shell found it.
pub type Look = (PathBuf, Result<Space, Fault>);

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

/// Why a directory with this much space is too full, if it is; `was_good` says which of the two
/// limits holds (`DirectoryCollection.validateUsageOverPercentageLimit` and
/// `validateDiskFreeSpaceUnderLimit`).
pub fn judge(space: Space, rules: &DiskRules, was_good: bool) -> Option<Fault> {
    let (percent, free_mb) = if was_good {
        (rules.used_percent_max, rules.free_mb_min)
    } else {
        (rules.used_percent_back, rules.free_mb_back)
    };
    // Percent of 0..100 for which f32 is exact enough; Hadoop uses float as well.
    let used_percent = if space.total == 0 {
        0.0
    } else {
        100.0 - 100.0 * (space.usable as f32 / space.total as f32)
    };
    if used_percent > percent || used_percent >= 100.0 {
        return Some(Fault::Full(format!(
            "used space above threshold of {percent:?}%"
        )));
    }
    if space.usable >> 20 < free_mb {
        return Some(Fault::Full(format!(
            "free space below limit of {free_mb}MB"
        )));
    }
    None
}

impl DiskReport {
    /// The judgement over new looks. A directory that was bad before comes back by the other
    /// limits, so that it does not come and go.
    #[must_use]
    pub fn next(&self, local: Vec<Look>, log: Vec<Look>, rules: &DiskRules) -> Self {
        Self {
            local: self.local.next(local, rules),
            log: self.log.next(log, rules),
        }
    }

    /// Whether the node may run containers (`LocalDirsHandlerService.areDisksHealthy`).
    pub fn healthy(&self, rules: &DiskRules) -> bool {
        !rules.enabled || self.local.enough(rules) && self.log.enough(rules)
    }

    /// The node's health report (`getDisksHealthReport`), empty when all directories are usable.
    pub fn text(&self, rules: &DiskRules) -> String {
        if !rules.enabled {
            return String::new();
        }
        let mut text = self.local.errors("local-dirs");
        let full = self.local.full("local-dirs");
        if !full.is_empty() {
            text.push_str(&full);
            text.push_str("; ");
        }
        text.push_str(&self.log.errors("log-dirs"));
        text.push_str(&self.log.full("log-dirs"));
        text
    }
}

impl Report {
    fn next(&self, looks: Vec<Look>, rules: &DiskRules) -> Self {
        let mut report = Self::default();
        for (path, found) in looks {
            let was_good = !self.bad.iter().any(|(bad, _)| *bad == path);
            let judged = found.and_then(|space| match judge(space, rules, was_good) {
                None => Ok(space.usable),
                Some(fault) => Err(fault),
            });
            match judged {
                Ok(usable) => report.good.push((path, usable)),
                Err(fault) => report.bad.push((path, fault)),
            }
        }
        report
    }

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
    fn enough(&self, rules: &DiskRules) -> bool {
        self.good.len() as f32 / self.total() as f32 >= rules.healthy_fraction_min
    }

    fn errors(&self, kind: &str) -> String {
        self.list(&format!("{kind} have errors: "), |fault| match fault {
            Fault::Error(why) => Some(why),
            Fault::Full(_) => None,
        })
    }

    fn full(&self, kind: &str) -> String {
        let what = format!(
            "{kind} usable space is below configured utilization percentage/no more usable space"
        );
        self.list(&what, |fault| match fault {
            Fault::Full(why) => Some(why),
            Fault::Error(_) => None,
        })
    }

    /// `1/2 <what> [ /a : why ] `, Hadoop's blanks included; empty when there is none.
    fn list(&self, what: &str, why: impl Fn(&Fault) -> Option<&String>) -> String {
        let lines: Vec<String> = self
            .bad
            .iter()
            .filter_map(|(path, fault)| Some(format!("{} : {}", path.display(), why(fault)?)))
            .collect();
        if lines.is_empty() {
            return String::new();
        }
        let (n, total) = (lines.len(), self.total());
        format!("{n}/{total} {what} [ {} ] ", lines.join(" , "))
    }
}

#[cfg(test)]
#[path = "disks_test.rs"]
mod tests;
