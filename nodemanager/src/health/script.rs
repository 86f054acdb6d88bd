//! Health scripts of the administrator: run, and read for a line that begins with ERROR.
//! May touch: the script's process, the inbox, time.
//! Must not: judge by an exit code (a script with a mistake in it makes no node unhealthy).

use std::{os::unix::fs::PermissionsExt, path::PathBuf, time::Duration};

use nm_core::{Event, Health};
use tokio::time::MissedTickBehavior;

use crate::{
    driver::{Inbox, wall_ms},
    script::{self, Ran},
};

/// `NodeHealthScriptRunner.NODE_HEALTH_SCRIPT_TIMED_OUT_MSG`.
const TIMED_OUT: &str = "Node health script timed out";

/// One script of `yarn.nodemanager.health-checker.scripts`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HealthScript {
    /// Its name in that list.
    pub name: String,
    /// `<name>.path`.
    pub path: PathBuf,
    /// `<name>.opts`.
    pub opts: Vec<String>,
    /// `<name>.interval-ms`, from start to start.
    pub interval_ms: u64,
    /// `<name>.timeout-ms`.
    pub timeout_ms: u64,
}

impl HealthScript {
    /// Whether it is there and can be run; says why not.
    pub fn is_usable(&self) -> bool {
        let (name, path) = (&self.name, self.path.display());
        match std::fs::metadata(&self.path) {
            Ok(meta) if meta.permissions().mode() & 0o111 != 0 => true,
            Ok(_) => {
                tracing::warn!(script = name, %path, "health script cannot be executed: not run");
                false
            }
            Err(error) => {
                tracing::warn!(script = name, %path, %error, "health script is not there: not run");
                false
            }
        }
    }

    /// One run of it.
    pub async fn check(&self) -> Health {
        let report = self.run().await.unwrap_or_else(|e| {
            // Hadoop sends a stack trace here.
            Some(format!("{}: {e}", self.path.display()))
        });
        if let Some(report) = &report {
            tracing::warn!(
                script = self.name,
                report,
                "health script says the node is ill"
            );
        }
        Health {
            healthy: report.is_none(),
            report: report.unwrap_or_default(),
            checked_wall_ms: wall_ms(),
        }
    }

    /// What is wrong with the node, if anything is.
    async fn run(&self) -> std::io::Result<Option<String>> {
        let text = match script::run(&self.path, &self.opts, self.timeout_ms).await? {
            Ran::TimedOut => return Ok(Some(TIMED_OUT.to_owned())),
            Ran::Failed { code, signal } => {
                tracing::warn!(
                    script = self.name,
                    ?code,
                    ?signal,
                    "health script failed, its output is not looked at"
                );
                return Ok(None);
            }
            Ran::Said(text) => text,
        };
        let says_error = text.split('\n').any(|line| line.starts_with("ERROR"));
        Ok(says_error.then_some(text))
    }
}

/// Runs the script every interval, for ever; the first time at once unless it has `run_before`.
pub async fn watch(script: HealthScript, reporter: usize, inbox: Inbox, run_before: bool) {
    let interval = Duration::from_millis(script.interval_ms);
    let first = if run_before { interval } else { Duration::ZERO };
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + first, interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let health = script.check().await;
        inbox.event(Event::Health { reporter, health });
    }
}

#[cfg(test)]
#[path = "script_test.rs"]
mod tests;
