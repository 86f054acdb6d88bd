//! Applications: submission, acceptance, retries, kill, end.
//! May touch: `Rm`, through the handlers of this folder.
//! Must not: hold launch contexts or credentials (the shell keeps those by id).

mod change;
mod client;
mod end;
mod placement;
mod state;
mod text;

use std::{collections::BTreeSet, sync::Arc};

use yarn_types::{ApplicationState, Millis, Resource};

use crate::{attempt::Attempt, event::Submission, sched::NodeIdx};

pub use state::{AppEvent, AppState};

/// An application, kept until it is forgotten.
#[derive(Clone, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct App {
    /// What was submitted; `am_resource` is normalised.
    pub submission: Submission,
    /// Its state.
    pub state: AppState,
    /// The state that clients see while it is KILLING or FINAL_SAVING.
    pub seen_before: ApplicationState,
    /// Where FINAL_SAVING leads.
    pub target: AppState,
    /// Its end in words; empty while it lives.
    pub diagnostics: String,
    /// Its end in words, once it lasts.
    pub end_diagnostics: String,
    /// Attempts; number 1 comes first, the last one is current.
    pub attempts: Vec<Attempt>,
    /// Most attempts.
    pub max_attempts: u32,
    /// Wall milliseconds at which it must have ended, when there is such a time.
    pub expires_wall_ms: Option<i64>,
    /// The scheduler has it.
    pub scheduled: bool,
    /// Full path of its queue; as the client wrote it until it was accepted.
    pub queue: String,
    /// A placement rule chose its queue.
    pub placed: bool,
    /// Its priority.
    pub priority: i32,
    /// Record of its submission.
    pub saved_seq: u64,
    /// Record of its end; 0 before.
    pub end_seq: u64,
    /// When it was submitted.
    pub submitted_at: Millis,
    /// Wall milliseconds of that.
    pub submitted_wall_ms: i64,
    /// Wall milliseconds of the first ApplicationMaster's launch; 0 before.
    pub launched_wall_ms: i64,
    /// Wall milliseconds of its end; 0 before.
    pub finished_wall_ms: i64,
    /// Amount × milliseconds of ended containers.
    pub resource_millis: Resource,
    /// Nodes that may have directories or containers of it.
    pub ran_nodes: BTreeSet<NodeIdx>,
    /// Containers taken from it by preemption, ApplicationMasters' not counted.
    pub preempted_containers: u32,
    /// ApplicationMasters taken from it by preemption.
    pub preempted_masters: u32,
    /// Sizes of all that preemption took.
    pub preempted: Resource,
    /// Amount × milliseconds of what preemption took.
    pub preempted_millis: Resource,
    /// Hosts that failed an ApplicationMaster of it (`SimpleBlacklistManager`).
    pub am_failed_hosts: BTreeSet<Arc<str>>,
    /// Nodes whose change it has not been told of.
    pub node_updates: BTreeSet<NodeIdx>,
}

impl App {
    /// The current attempt.
    pub fn current(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// Its ApplicationMaster has unregistered, and that is being stored.
    pub(crate) fn unregistering(&self) -> bool {
        self.state == AppState::FinalSaving
            && matches!(self.target, AppState::Finishing | AppState::Finished)
    }

    /// What clients see.
    pub fn seen_state(&self) -> ApplicationState {
        self.state.seen().unwrap_or(self.seen_before)
    }

    /// Changes its state as the table says; false where the event changes nothing.
    pub(crate) fn step(&mut self, event: AppEvent) -> bool {
        let seen = self.seen_state();
        match self.state.after(event) {
            Some(next) => {
                self.state = next;
                self.seen_before = seen;
                true
            }
            None => false,
        }
    }
}
