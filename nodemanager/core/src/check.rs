//! Invariants of the NodeManager, as code.
//! May touch: `Nm`, reading.
//! Must not: repair anything.

use crate::{app::AppState, link::LinkState, nm::Nm};

impl Nm {
    /// The invariants that do not hold, each as a sentence; run after every event in tests.
    pub fn check(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (id, c) in &self.containers {
            let app = self.apps.get(&id.app());
            if app.is_none() && !c.is_done() {
                broken.push(format!("{id} lives without its application"));
            }
            if app.is_some_and(|a| a.state() == AppState::ResourcesCleaningUp) && !c.is_done() {
                broken.push(format!("{id} lives while its directories are deleted"));
            }
            if c.is_done()
                && c.report().exit_code == yarn_types::exit::INVALID
                && c.report().diagnostics.is_empty()
            {
                broken.push(format!("{id} ended without a reason"));
            }
            if c.kill_at.is_some() && !c.has_process() {
                broken.push(format!("{id} waits for SIGKILL without a process"));
            }
            if self.outbox.contains(*id) && !c.is_done() {
                broken.push(format!("{id} is reported complete and is not"));
            }
        }
        for (report, holder) in self.gpus.iter().flat_map(crate::gpu::Gpus::devices) {
            let uuid = &report.device.uuid;
            let Some(holder) = holder else { continue };
            match self.containers.get(&holder) {
                Some(c) if c.is_done() => broken.push(format!("{holder} is over and has {uuid}")),
                Some(c) if c.gpus.contains(uuid) => {}
                Some(_) => broken.push(format!("{holder} has {uuid} and does not know")),
                None => broken.push(format!("{uuid} is held by {holder}, which is not known")),
            }
        }
        let registered = self.link.state() == LinkState::Registered;
        if registered != self.link.rm_identifier().is_some() {
            broken.push("registered and rm_identifier disagree".to_owned());
        }
        if registered && !self.link.in_flight() && self.link.next_wake().is_none() {
            broken.push("registered without a next heartbeat".to_owned());
        }
        broken
    }
}
