//! Looks at the disks and says how the node is.
//! May touch: `exec::disks`, the runner's directories, the inbox, time.
//! Must not: judge (`nm_core::disks` does).

mod script;

use std::{path::PathBuf, sync::Arc, time::Duration};

use nm_core::{
    Event, Health,
    disks::{DiskReport, DiskRules, Fault},
};
use tokio::time::MissedTickBehavior;

pub use script::{HealthScript, watch as watch_script};

use crate::{
    driver::{Inbox, wall_ms},
    exec::{dirs, disks},
    runner::Runner,
};

/// Number of the disks among the reporters of health; scripts follow.
pub const DISKS: usize = 0;

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
    /// One look, judged after the one before. Directories in use have their layout from then on.
    /// Blocking.
    pub fn check(&self, before: &DiskReport) -> DiskReport {
        let (local, log) = (disks::look(&self.local_dirs), disks::look(&self.log_dirs));
        let mut report = before.next(local, log, &self.rules);
        let good = std::mem::take(&mut report.local.good);
        for (dir, usable) in good {
            match dirs::init_local_dir(&dir) {
                Ok(()) => report.local.good.push((dir, usable)),
                Err(e) => report.local.bad.push((dir, Fault::Error(e.to_string()))),
            }
        }
        report
    }

    /// The report as the ResourceManager is told.
    pub fn health(&self, report: &DiskReport) -> Health {
        Health {
            healthy: report.healthy(&self.rules),
            report: report.text(&self.rules),
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
        let (look, before) = (disks.clone(), runner.disks());
        let Ok(report) = tokio::task::spawn_blocking(move || look.check(&before)).await else {
            continue;
        };
        let health = disks.health(&report);
        if health.report != runner.disks().text(&disks.rules) {
            tracing::warn!(healthy = health.healthy, report = health.report, "disks");
        }
        runner.set_disks(report);
        inbox.event(Event::Health {
            reporter: DISKS,
            health,
        });
    }
}
