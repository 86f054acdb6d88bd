//! `Outside`: carries out the core's effects: tokens, launches, tables, log lines.
//! May touch: the shell's parts, each by its own door.
//! Must not: block, or know why an effect was made.

use std::sync::Arc;

use rm_core::{Action, effect::Note};
use yarn_types::ResourceTypes;

use crate::{
    auth::Auth,
    driver::Hands,
    launcher::{Launch, Launcher},
    rpc::Replays,
    spellings::Spellings,
    submissions::Submissions,
};

/// The shell as the driver sees it.
pub struct Outside {
    /// Tokens.
    pub auth: Arc<Auth>,
    /// Launch contexts.
    pub submissions: Arc<Submissions>,
    /// Last answers.
    pub replays: Arc<Replays>,
    /// Names as applications spell them.
    pub spellings: Arc<Spellings>,
    /// Starts and stops.
    pub launcher: Launcher,
    /// For log lines.
    pub types: ResourceTypes,
}

impl Hands for Outside {
    fn act(&mut self, action: Action) {
        match action {
            Action::AttemptStarted { attempt, unmanaged } => {
                tracing::info!(%attempt, unmanaged, "attempt started");
                self.auth.attempt_started(attempt);
            }
            Action::LaunchAm {
                attempt,
                user,
                grant,
                submitted_wall_ms,
            } => self.launcher.launch(Launch {
                attempt,
                user,
                grant,
                submitted_wall_ms,
            }),
            Action::StopAm {
                attempt,
                container,
                node,
            } => self.launcher.stop(attempt, container, node),
            Action::AttemptEnded { attempt } => {
                tracing::info!(%attempt, "attempt ended");
                self.auth.attempt_ended(attempt);
                self.replays.forget_attempt(attempt);
            }
            Action::AppEnded { app } => {
                tracing::info!(%app, "application ended");
                self.submissions.remove(app);
            }
            // A client may have sent a context again after the end.
            Action::AppForgotten { app } => {
                self.submissions.remove(app);
                self.spellings.forget(app);
            }
            Action::Note(note) => self.log(&note),
            // The driver keeps these to itself.
            Action::Reply { .. } | Action::Store { .. } => {}
        }
    }
}

impl Outside {
    fn log(&self, note: &Note) {
        match note {
            Note::Granted {
                container,
                node,
                resource,
                waited_ms,
            } => {
                let resource = self.types.show(*resource);
                tracing::info!(%container, %node, %resource, waited_ms, "container granted");
            }
            Note::Node {
                node,
                state,
                reason,
            } => tracing::info!(%node, %state, reason, "node changed state"),
            Note::Text(text) => tracing::info!("{text}"),
        }
    }
}
