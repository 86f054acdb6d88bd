//! Attempts: the ApplicationMaster's container, its calls, its outbox, its end.
//! May touch: `Rm`, through the handlers of this folder.
//! Must not: decide whether another attempt follows (the application does).

mod end;
mod master;
mod start;
mod state;

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{Hash, Hasher},
    sync::Arc,
};

use yarn_types::{ApplicationAttemptId, ContainerId, FinalStatus, Millis, exit};

use crate::{effect::Completed, event::UpdateKind, sched::NodeIdx};

pub(crate) use master::Waiting;
pub use state::{LifeEvent, LifeState};

/// One attempt of an application.
#[derive(Clone, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Attempt {
    /// Its id.
    pub id: ApplicationAttemptId,
    /// Its state.
    pub state: LifeState,
    /// The state shown while its end is being stored.
    pub before_end: LifeState,
    /// How it ends, once it does.
    pub ending: Option<Ending>,
    /// What its ApplicationMaster may call.
    pub link: MasterLink,
    /// Its ApplicationMaster's container, once granted.
    pub am_container: Option<ContainerId>,
    /// Node of that container.
    pub am_node: Option<NodeIdx>,
    /// That container has ended.
    pub am_gone: bool,
    /// Exit status of that container; `INVALID` (-1000) while unknown.
    pub am_exit_status: i32,
    /// The launcher was told to start it.
    pub launching: bool,
    /// Its AMRMToken is accepted.
    pub token_live: bool,
    /// Where its ApplicationMaster listens; `N/A` before it registers.
    pub host: String,
    /// Its port; -1 before.
    pub rpc_port: i32,
    /// The ApplicationMaster's own tracking URL; empty when it has none.
    pub tracking_url: String,
    /// In words.
    pub diagnostics: String,
    /// Outcome in the ApplicationMaster's words.
    pub final_status: Option<FinalStatus>,
    /// 0 to 1.
    pub progress: Progress,
    /// Wall milliseconds.
    pub started_wall_ms: i64,
    /// Wall milliseconds; 0 while it lives.
    pub finished_wall_ms: i64,
    /// When it began to end.
    pub ended_at: Option<Millis>,
    /// Number of the last container granted to it.
    pub last_container: u64,
    /// Nodes for which it has an NMToken.
    pub nm_tokens: BTreeSet<NodeIdx>,
    /// Words for its next allocate.
    pub outbox: AmOutbox,
    /// Containers that are about to be taken and of which it has not been told.
    pub preempting: BTreeSet<ContainerId>,
    /// Hosts and racks that its ApplicationMaster avoids.
    pub blacklist: BTreeSet<Arc<str>>,
}

/// What an ApplicationMaster may call (`ApplicationMasterService`'s response map).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum MasterLink {
    /// It must register first.
    Expected,
    /// Registered; response id of the last answer, 0 at first.
    Registered {
        /// Response id of the last answer.
        last: i32,
        /// An allocate was answered since registration, so that it can be answered again.
        answered: bool,
    },
    /// It is over.
    Gone,
}

/// What waits for an ApplicationMaster.
#[derive(Clone, Default, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct AmOutbox {
    /// Granted, not handed out.
    pub granted: Vec<ContainerId>,
    /// Changed in size, not told.
    pub updated: BTreeMap<ContainerId, UpdateKind>,
    /// Ended, not told.
    pub finished: Vec<(NodeIdx, Completed)>,
    /// Ended and told; the next call confirms that the answer arrived.
    pub told: Vec<(NodeIdx, ContainerId)>,
}

/// How an attempt ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Ending {
    /// FINISHING, FINISHED, FAILED or KILLED.
    pub target: LifeState,
    /// In words.
    pub diagnostics: String,
    /// The ApplicationMaster's outcome, when it unregistered.
    pub status: Option<FinalStatus>,
    /// The ApplicationMaster's last tracking URL, when it unregistered.
    pub tracking_url: Option<String>,
}

/// An end as on a bad node: neither well, nor by anybody's will, nor for the container's own size
/// (`Apps.shouldCountTowardsNodeBlacklisting`).
pub(crate) fn blames_node(exit_status: i32) -> bool {
    !matches!(
        exit_status,
        0 | exit::PREEMPTED
            | exit::KILLED_BY_RESOURCEMANAGER
            | exit::KILLED_BY_APPMASTER
            | exit::KILLED_AFTER_APP_COMPLETION
            | exit::ABORTED
            | exit::DISKS_FAILED
            | exit::KILLED_EXCEEDED_VMEM
            | exit::KILLED_EXCEEDED_PMEM
    )
}

impl Ending {
    pub(crate) fn killed(words: String) -> Self {
        Self {
            target: LifeState::Killed,
            diagnostics: words,
            status: None,
            tracking_url: None,
        }
    }

    pub(crate) fn failed(words: String) -> Self {
        Self {
            target: LifeState::Failed,
            diagnostics: words,
            status: None,
            tracking_url: None,
        }
    }
}

/// Progress, 0 to 1, hashed by its bits.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Progress(pub f32);

impl Progress {
    /// Hadoop's reading of what an ApplicationMaster sends (`DefaultAMSProcessor.handleProgress`).
    pub fn filtered(value: f32) -> Self {
        Self(if value.is_nan() || value < 0.0 {
            0.0
        } else {
            value.min(1.0)
        })
    }
}

impl Hash for Progress {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl Attempt {
    /// Its failure counts against the maximum of attempts
    /// (`RMAppAttemptImpl.shouldCountTowardsMaxAttemptRetry`).
    pub fn counts_as_failure(&self) -> bool {
        !matches!(
            self.am_exit_status,
            exit::PREEMPTED | exit::ABORTED | exit::DISKS_FAILED | exit::KILLED_BY_RESOURCEMANAGER
        )
    }

    /// The ApplicationMaster's outcome, as far as it has given one.
    pub(crate) fn ending_status(&self) -> Option<FinalStatus> {
        self.final_status
            .or(self.ending.as_ref().and_then(|e| e.status))
    }

    /// Changes its state as the table says; false where the event changes nothing.
    pub(crate) fn step(&mut self, event: LifeEvent) -> bool {
        match self.state.after(event) {
            Some(next) => {
                if next == LifeState::FinalSaving {
                    self.before_end = self.state;
                }
                self.state = next;
                true
            }
            None => false,
        }
    }
}
