//! Carries out effects: hands work to tasks, answers calls.
//! May touch: the runner, the tracker's queue, waiting calls.
//! Must not: wait for any of it.

use std::sync::Arc;

use nm_core::{Action, Effect, ToRm};
use tokio::sync::mpsc::UnboundedSender;

use super::{Answer, Launches};
use crate::runner::Runner;

/// By whom effects are carried out.
#[derive(Debug)]
pub struct Hands {
    /// Containers and directories.
    pub runner: Arc<Runner>,
    /// The link to the ResourceManager.
    pub tracker: UnboundedSender<ToRm>,
    /// Told once, at the end: exit code and reason.
    pub exit: UnboundedSender<(i32, String)>,
}

impl Hands {
    /// Carries out `effects`; `call` is the call they may answer, with its launch contexts.
    pub(super) fn carry_out(&self, effects: Vec<Effect>, call: Option<(Launches, Answer)>) {
        let (mut launches, mut answer) =
            call.map_or((Launches::new(), None), |(l, a)| (l, Some(a)));
        for Effect { action, .. } in effects {
            match action {
                Action::Reply { reply, .. } => {
                    if let Some(answer) = answer.take() {
                        answer(reply);
                    }
                }
                // The tracker ends only with the process.
                Action::Tell(what) => drop(self.tracker.send(what)),
                Action::Localize { container, .. } => {
                    if let Some(launch) = launches.remove(&container) {
                        self.runner.localize(container, launch);
                    }
                }
                Action::CancelLocalization { container } => {
                    self.runner.cancel_localization(container);
                }
                Action::Launch { container, gpus } => self.runner.launch(container, gpus),
                Action::Signal { container, signal } => self.runner.signal(container, signal),
                Action::Resize {
                    container,
                    resource,
                } => self.runner.resize(container, resource),
                Action::Teardown { container } => self.runner.tear_down(container),
                Action::Forget { container } => self.runner.forget(container),
                Action::CleanApp { app, user } => self.runner.clean_app(app, &user),
                Action::DeleteLogs { app } => self.runner.delete_logs(app),
                Action::Exit { code, reason } => {
                    let _ = self.exit.send((code, reason));
                }
            }
        }
    }
}
