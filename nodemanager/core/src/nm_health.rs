//! The node's health from the reports of its checkers, and how long logs stay.
//! May touch: `Nm`.
//! Must not: look at a disk or a file.

use yarn_types::{ApplicationId, Millis};

use crate::{
    effect::Action,
    event::Health,
    nm::{Ctx, Nm},
};

impl Nm {
    /// Healthy as long as every checker says so (`NodeHealthCheckerServiceImpl`).
    pub(crate) fn on_health(&mut self, reporter: usize, health: Health, ctx: &mut Ctx<'_>) {
        self.reports.insert(reporter, health);
        let reports = self.reports.values();
        let texts: Vec<&str> = reports.clone().map(|r| r.report.as_str()).collect();
        let healthy = reports.clone().all(|r| r.healthy);
        // The ResourceManager stops placing here, or may place again: that does not wait.
        ctx.urgent |= self.health.healthy != healthy;
        self.health = Health {
            healthy,
            report: join_reports(&texts),
            checked_wall_ms: reports.map(|r| r.checked_wall_ms).max().unwrap_or(0),
        };
    }

    /// Logs of an earlier NodeManager stay as long as if that one had gone on.
    pub(crate) fn on_left_logs(&mut self, apps: &[(ApplicationId, u64)], now: Millis) {
        for (app, age_ms) in apps {
            if !self.apps.contains_key(app) {
                let rest = self.conf.log_retain_ms.saturating_sub(*age_ms);
                self.log_deletes.entry(*app).or_insert(now.plus(rest));
            }
        }
    }

    pub(crate) fn delete_due_logs(&mut self, ctx: &mut Ctx<'_>) {
        let due = self.log_deletes.iter().filter(|(_, at)| **at <= ctx.now);
        let due: Vec<ApplicationId> = due.map(|(app, _)| *app).collect();
        for app in due {
            self.log_deletes.remove(&app);
            ctx.emit(Action::DeleteLogs { app });
        }
    }
}

/// Hadoop's `;` between the reports that say something.
fn join_reports(texts: &[&str]) -> String {
    let said: Vec<&str> = texts.iter().copied().filter(|t| !t.is_empty()).collect();
    said.join(";")
}

#[cfg(test)]
#[path = "nm_health_test.rs"]
mod tests;
