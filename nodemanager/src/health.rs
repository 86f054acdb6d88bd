//! Looks at the disks and says when the node's health changes.
//! May touch: `exec::disks`, the runner's directories, the inbox, time.
//! Must not: judge containers.

use std::{path::PathBuf, sync::Arc, time::Duration};

use nm_core::{Event, Health};
use tokio::time::MissedTickBehavior;

use crate::{
    driver::{Inbox, wall_ms},
    exec::disks::{self, DiskReport, DiskRules},
    runner::Runner,
};

/// Directories to look at and how.
#[derive(Clone, Debug)]
pub struct Disks {
    /// `yarn.nodemanager.local-dirs`.
    pub local_dirs: Vec<PathBuf>,
    /// `yarn.nodemanager.log-dirs`.
    pub log_dirs: Vec<PathBuf>,
    /// Limits.
    pub rules: DiskRules,
}

impl Disks {
    /// One look. Blocking.
    pub fn check(&self) -> DiskReport {
        disks::check(&self.local_dirs, &self.log_dirs, &self.rules)
    }

    /// The report as the ResourceManager is told.
    pub fn health(&self, report: &DiskReport) -> Health {
        Health {
            healthy: report.healthy(&self.rules),
            report: report.text(),
            checked_wall_ms: wall_ms(),
        }
    }
}

/// Looks every `interval_ms`, for ever.
pub async fn watch(disks: Disks, runner: Arc<Runner>, inbox: Inbox, interval_ms: u64) {
    let interval = Duration::from_millis(interval_ms);
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + interval, interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let look = disks.clone();
        let Ok(report) = tokio::task::spawn_blocking(move || look.check()).await else {
            continue;
        };
        let health = disks.health(&report);
        if !health.report.is_empty() {
            tracing::warn!(healthy = health.healthy, report = health.report, "disks");
        }
        runner.set_disks(report);
        inbox.event(Event::Health(health));
    }
}
