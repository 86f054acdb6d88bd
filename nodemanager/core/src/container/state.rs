//! The container's states and the one table of their transitions (ContainerImpl).
//! May touch: enums.
//! Must not: have effects (`container` does).

/// `ContainerState` of the NodeManager.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// Accepted.
    New,
    /// Its resources are being brought.
    Localizing,
    /// A resource could not be brought.
    LocalizationFailed,
    /// Its process is being started.
    Scheduled,
    /// Its process runs.
    Running,
    /// Its process is to end.
    Killing,
    /// Ended on request; being torn down.
    CleanedUpAfterKill,
    /// Ended with code 0; being torn down.
    ExitedWithSuccess,
    /// Ended with another code; being torn down.
    ExitedWithFailure,
    /// Over.
    Done,
}

/// What can happen to a container.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Input {
    /// Its application takes it.
    Init,
    /// Its resources are there.
    Localized,
    /// A resource could not be brought.
    LocalizationFailed,
    /// Its process runs.
    Launched,
    /// Ended with code 0.
    ExitedWell,
    /// Ended with another code.
    ExitedBadly,
    /// Ended by SIGTERM or SIGKILL (codes 143 and 137).
    ExitedBySignal,
    /// Somebody wants it to end.
    Kill,
    /// Nothing of it is left.
    TornDown,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 10] = [
        Self::New,
        Self::Localizing,
        Self::LocalizationFailed,
        Self::Scheduled,
        Self::Running,
        Self::Killing,
        Self::CleanedUpAfterKill,
        Self::ExitedWithSuccess,
        Self::ExitedWithFailure,
        Self::Done,
    ];

    /// Hadoop's spelling (REST `state`).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::Localizing => "LOCALIZING",
            Self::LocalizationFailed => "LOCALIZATION_FAILED",
            Self::Scheduled => "SCHEDULED",
            Self::Running => "RUNNING",
            Self::Killing => "KILLING",
            Self::CleanedUpAfterKill => "CONTAINER_CLEANEDUP_AFTER_KILL",
            Self::ExitedWithSuccess => "EXITED_WITH_SUCCESS",
            Self::ExitedWithFailure => "EXITED_WITH_FAILURE",
            Self::Done => "DONE",
        }
    }

    /// Its process is over (or never was) and `Teardown` is on its way.
    pub fn is_tearing_down(self) -> bool {
        matches!(
            self,
            Self::LocalizationFailed
                | Self::CleanedUpAfterKill
                | Self::ExitedWithSuccess
                | Self::ExitedWithFailure
        )
    }

    /// The state after `input`; `None` where the input means nothing any more.
    pub fn next(self, input: Input) -> Option<Self> {
        use Input as I;
        use State as S;
        Some(match (self, input) {
            (S::New, I::Init) => S::Localizing,
            (S::Localizing, I::Localized) => S::Scheduled,
            (S::Localizing, I::LocalizationFailed) => S::LocalizationFailed,
            (S::Localizing, I::Kill) | (S::Killing, I::ExitedBySignal) => S::CleanedUpAfterKill,
            (S::Scheduled, I::Launched) => S::Running,
            (S::Scheduled | S::Running, I::Kill) | (S::Killing, I::Launched) => S::Killing,
            (S::Scheduled | S::Running | S::Killing, I::ExitedWell) => S::ExitedWithSuccess,
            (S::Scheduled | S::Running | S::Killing, I::ExitedBadly)
            | (S::Scheduled | S::Running, I::ExitedBySignal) => S::ExitedWithFailure,
            (S::New, I::Kill)
            | (
                S::LocalizationFailed
                | S::CleanedUpAfterKill
                | S::ExitedWithSuccess
                | S::ExitedWithFailure,
                I::TornDown,
            ) => S::Done,
            _ => return None,
        })
    }
}

#[cfg(test)]
#[path = "state_test.rs"]
mod tests;
