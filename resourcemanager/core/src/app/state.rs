//! `AppState`: the states of an application and the one table of its transitions.
//! May touch: enums.
//! Must not: have effects (the handlers in this folder do).

use yarn_types::{ApplicationState, FinalStatus};

/// `RMAppState`, without RMAppState.NEW: the core stores a submission in the step that accepts it.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum AppState {
    /// Being stored.
    NewSaving,
    /// Stored; the scheduler decides.
    Submitted,
    /// In its queue; no ApplicationMaster has registered.
    Accepted,
    /// Its ApplicationMaster has registered.
    Running,
    /// Killed by a client; its attempt is being ended.
    Killing,
    /// Its end is being stored.
    FinalSaving,
    /// Unregistered and stored; its ApplicationMaster's container is still there.
    Finishing,
    /// Ended by its ApplicationMaster.
    Finished,
    /// Refused, or every attempt failed.
    Failed,
    /// Killed.
    Killed,
}

/// What can happen to an application.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AppEvent {
    /// The submission lasts.
    Saved,
    /// The scheduler took it.
    Accepted,
    /// The scheduler refused it.
    Rejected,
    /// An ApplicationMaster registered.
    AttemptRegistered,
    /// Its ApplicationMaster unregistered.
    AttemptUnregistered,
    /// Its attempt ended well.
    AttemptFinished,
    /// Its attempt failed and another follows.
    AttemptFailedRetry,
    /// Its attempt failed and none follows.
    AttemptFailedLast,
    /// Its attempt was killed.
    AttemptKilled,
    /// A client kills it.
    Kill,
    /// Its end lasts; the state it was to reach.
    EndSaved(AppState),
}

impl AppState {
    /// Every state.
    pub const ALL: &[Self] = &[
        Self::NewSaving,
        Self::Submitted,
        Self::Accepted,
        Self::Running,
        Self::Killing,
        Self::FinalSaving,
        Self::Finishing,
        Self::Finished,
        Self::Failed,
        Self::Killed,
    ];

    /// The state after `event`; `None` where the event changes nothing (`RMAppImpl`'s table).
    pub fn after(self, event: AppEvent) -> Option<Self> {
        use AppEvent as E;
        use AppState as S;
        match (self, event) {
            (S::NewSaving, E::Saved) => Some(S::Submitted),
            (S::Submitted, E::Rejected)
            | (S::NewSaving | S::Submitted, E::Kill)
            | (S::Accepted | S::Killing, E::AttemptKilled)
            | (S::Accepted | S::Running, E::AttemptFailedLast)
            | (S::Killing, E::AttemptFailedLast | E::AttemptFailedRetry)
            | (S::Running | S::Killing, E::AttemptUnregistered) => Some(S::FinalSaving),
            (S::Accepted, E::AttemptRegistered) => Some(S::Running),
            (S::Submitted, E::Accepted) | (S::Accepted | S::Running, E::AttemptFailedRetry) => {
                Some(S::Accepted)
            }
            (S::Accepted | S::Running, E::Kill) => Some(S::Killing),
            (
                S::FinalSaving,
                E::EndSaved(target @ (S::Finishing | S::Finished | S::Failed | S::Killed)),
            ) => Some(target),
            (S::Finishing, E::AttemptFinished) => Some(S::Finished),
            _ => None,
        }
    }

    /// FINISHED, FAILED or KILLED: nothing of it runs any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Killed)
    }

    /// Its end lasts (`RMAppImpl.isAppFinalStateStored`).
    pub fn is_end_stored(self) -> bool {
        self.is_final() || self == Self::Finishing
    }

    /// What clients see, where that does not depend on an earlier state
    /// (`RMServerUtils.createApplicationState`); `None` for KILLING and FINAL_SAVING.
    pub fn seen(self) -> Option<ApplicationState> {
        Some(match self {
            Self::NewSaving => ApplicationState::NewSaving,
            Self::Submitted => ApplicationState::Submitted,
            Self::Accepted => ApplicationState::Accepted,
            Self::Running => ApplicationState::Running,
            Self::Finishing | Self::Finished => ApplicationState::Finished,
            Self::Failed => ApplicationState::Failed,
            Self::Killed => ApplicationState::Killed,
            Self::Killing | Self::FinalSaving => return None,
        })
    }

    /// Outcome where no ApplicationMaster gave one (`RMAppImpl.createFinalApplicationStatus`).
    pub fn outcome(self) -> FinalStatus {
        match self {
            Self::Finishing | Self::Finished | Self::Failed => FinalStatus::Failed,
            Self::Killed => FinalStatus::Killed,
            _ => FinalStatus::Undefined,
        }
    }
}

#[cfg(test)]
#[path = "state_test.rs"]
mod tests;
