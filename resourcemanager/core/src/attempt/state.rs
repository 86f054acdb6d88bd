//! `LifeState`: the states of an attempt and the one table of its transitions.
//! May touch: enums.
//! Must not: have effects (the handlers in this folder do).

use yarn_types::AttemptState;

/// `RMAppAttemptState`, without NEW and SUBMITTED: the scheduler answers in the same step.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum LifeState {
    /// Waits for its ApplicationMaster's container.
    Scheduled,
    /// Its container is granted; the attempt is being stored.
    AllocatedSaving,
    /// Stored; the launcher is at work.
    Allocated,
    /// Unmanaged and being stored.
    UnmanagedSaving,
    /// The ApplicationMaster runs but has not registered.
    Launched,
    /// Registered.
    Running,
    /// Its end is being stored.
    FinalSaving,
    /// Unregistered and stored; its container is still there.
    Finishing,
    /// Ended well.
    Finished,
    /// Failed.
    Failed,
    /// Killed.
    Killed,
}

/// What can happen to an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LifeEvent {
    /// Its ApplicationMaster's container was granted.
    Granted,
    /// The record of its start lasts.
    Saved,
    /// The NodeManager took its container.
    Launched,
    /// Its ApplicationMaster registered.
    Registered,
    /// It starts to end, for whatever reason.
    End,
    /// Its end lasts; the state it was to reach.
    EndSaved(LifeState),
    /// Its container ended, or the time for that is up.
    AmGone,
}

impl LifeState {
    /// Every state.
    pub const ALL: &[Self] = &[
        Self::Scheduled,
        Self::AllocatedSaving,
        Self::Allocated,
        Self::UnmanagedSaving,
        Self::Launched,
        Self::Running,
        Self::FinalSaving,
        Self::Finishing,
        Self::Finished,
        Self::Failed,
        Self::Killed,
    ];

    /// The state after `event`; `None` where the event changes nothing (`RMAppAttemptImpl`'s table).
    pub fn after(self, event: LifeEvent) -> Option<Self> {
        use LifeEvent as E;
        use LifeState as S;
        match (self, event) {
            (S::Scheduled, E::Granted) => Some(S::AllocatedSaving),
            (S::AllocatedSaving, E::Saved) => Some(S::Allocated),
            (S::UnmanagedSaving, E::Saved) | (S::Allocated, E::Launched) => Some(S::Launched),
            // An ApplicationMaster can be faster than the launcher's answer.
            (S::Allocated | S::Launched, E::Registered) => Some(S::Running),
            (
                S::Scheduled
                | S::AllocatedSaving
                | S::Allocated
                | S::UnmanagedSaving
                | S::Launched
                | S::Running,
                E::End,
            ) => Some(S::FinalSaving),
            (
                S::FinalSaving,
                E::EndSaved(target @ (S::Finishing | S::Finished | S::Failed | S::Killed)),
            ) => Some(target),
            (S::Finishing, E::AmGone) => Some(S::Finished),
            _ => None,
        }
    }

    /// FINISHED, FAILED or KILLED.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Killed)
    }

    /// Its ApplicationMaster's container may be granted.
    pub fn awaits_container(self) -> bool {
        self == Self::Scheduled
    }

    /// The scheduler may give it containers.
    pub fn is_served(self) -> bool {
        matches!(self, Self::Running)
    }

    /// What clients see (`RMServerUtils.createApplicationAttemptState`); `None` for FINAL_SAVING,
    /// which shows the state before.
    pub fn seen(self) -> Option<AttemptState> {
        Some(match self {
            Self::Scheduled => AttemptState::Scheduled,
            Self::AllocatedSaving => AttemptState::AllocatedSaving,
            Self::Allocated => AttemptState::Allocated,
            Self::UnmanagedSaving => AttemptState::Submitted,
            Self::Launched => AttemptState::Launched,
            Self::Running => AttemptState::Running,
            Self::Finishing => AttemptState::Finishing,
            Self::Finished => AttemptState::Finished,
            Self::Failed => AttemptState::Failed,
            Self::Killed => AttemptState::Killed,
            Self::FinalSaving => return None,
        })
    }
}

#[cfg(test)]
#[path = "state_test.rs"]
mod tests;
