//! `HeldState`: the states of a live container and the one table of its transitions.
//! May touch: enums.
//! Must not: keep ended containers (they live on only as statuses for their ApplicationMaster).

/// `RMContainerState` of a container that counts against its node, queue and user.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum HeldState {
    /// Granted; nobody has been told.
    Allocated,
    /// Its ApplicationMaster (or, for that one's own container, the launcher) has been told.
    Acquired,
    /// Its node says it runs.
    Running,
}

/// What can happen to a live container without ending it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HeldEvent {
    /// Told.
    Acquired,
    /// Its node says it runs.
    Launched,
}

/// Why a container ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EndCause {
    /// Its node says so.
    Finished,
    /// Its ApplicationMaster gave it back.
    Released,
    /// Told, but not started in time.
    Expired,
    /// Its attempt ended.
    AttemptEnded,
    /// Its node is gone, or has lost it.
    NodeLost,
    /// A device of it cannot be used any more.
    DeviceLost,
    /// Its node offers less than is held.
    Preempted,
}

impl HeldState {
    /// Every state.
    pub const ALL: &[Self] = &[Self::Allocated, Self::Acquired, Self::Running];

    /// The state after `event`; `None` where the event changes nothing (`RMContainerImpl`'s table).
    pub fn after(self, event: HeldEvent) -> Option<Self> {
        match (self, event) {
            (Self::Allocated, HeldEvent::Acquired) => Some(Self::Acquired),
            // A node may report a container before the answer that grants it was handed out
            // (work-preserving re-registration); it runs, whatever the AM was told.
            (Self::Allocated | Self::Acquired, HeldEvent::Launched) => Some(Self::Running),
            _ => None,
        }
    }
}

impl EndCause {
    /// Hadoop's words where the node has none (`SchedulerUtils`); `None` for [`Self::Finished`].
    pub fn text(self) -> Option<&'static str> {
        match self {
            // These ends have words of their own.
            Self::Finished | Self::DeviceLost => None,
            Self::Released => Some("Container released by application"),
            Self::Expired => Some("Container expired since it was unused"),
            Self::AttemptEnded => Some("Container of a completed application"),
            Self::Preempted => Some("Container preempted by scheduler"),
            Self::NodeLost => Some("Container released on a *lost* node"),
        }
    }
}

#[cfg(test)]
#[path = "state_test.rs"]
mod tests;
