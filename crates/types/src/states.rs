//! The states that clients, AMs and nodes see, with Hadoop's spelling.
//! May touch: enums and their names.
//! Must not: hold transitions (each core owns its own).

use std::fmt;

macro_rules! states {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
        )]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            /// Every value, in Hadoop's order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Hadoop's spelling.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value that Hadoop spells `text`.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|s| s.as_str() == text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

states! {
    /// `YarnApplicationState`: an application as clients see it.
    ApplicationState {
        /// Known, nothing done yet.
        New = "NEW",
        /// Being stored.
        NewSaving = "NEW_SAVING",
        /// Stored, not yet in its queue.
        Submitted = "SUBMITTED",
        /// In its queue; the ApplicationMaster has not registered.
        Accepted = "ACCEPTED",
        /// The ApplicationMaster has registered.
        Running = "RUNNING",
        /// Ended by its ApplicationMaster.
        Finished = "FINISHED",
        /// Every attempt failed, or it was refused.
        Failed = "FAILED",
        /// Killed by a user.
        Killed = "KILLED",
    }
}

impl ApplicationState {
    /// FINISHED, FAILED or KILLED.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Killed)
    }
}

states! {
    /// `FinalApplicationStatus`: what the ApplicationMaster said of the outcome.
    FinalStatus {
        /// Not ended.
        Undefined = "UNDEFINED",
        /// Ended well.
        Succeeded = "SUCCEEDED",
        /// Ended badly.
        Failed = "FAILED",
        /// Killed.
        Killed = "KILLED",
        /// A service ended by its own decision.
        Ended = "ENDED",
    }
}

states! {
    /// `YarnApplicationAttemptState`: an attempt as clients see it.
    AttemptState {
        /// Made.
        New = "NEW",
        /// Handed to the scheduler.
        Submitted = "SUBMITTED",
        /// Waiting for its ApplicationMaster's container.
        Scheduled = "SCHEDULED",
        /// Container granted, being stored.
        AllocatedSaving = "ALLOCATED_SAVING",
        /// Container granted.
        Allocated = "ALLOCATED",
        /// ApplicationMaster started, not registered.
        Launched = "LAUNCHED",
        /// Failed.
        Failed = "FAILED",
        /// Registered.
        Running = "RUNNING",
        /// Unregistered; its container is still there.
        Finishing = "FINISHING",
        /// Ended well.
        Finished = "FINISHED",
        /// Killed.
        Killed = "KILLED",
    }
}

states! {
    /// `ContainerState` of a container report and of a node's status.
    ContainerState {
        /// Not started on its node.
        New = "NEW",
        /// Started.
        Running = "RUNNING",
        /// Ended.
        Complete = "COMPLETE",
    }
}

states! {
    /// `NodeState`.
    NodeState {
        /// Registering.
        New = "NEW",
        /// In use.
        Running = "RUNNING",
        /// Says it is not healthy; gets no new containers.
        Unhealthy = "UNHEALTHY",
        /// Excluded by the administrator.
        Decommissioned = "DECOMMISSIONED",
        /// Silent for longer than the expiry interval.
        Lost = "LOST",
        /// Came back with another history.
        Rebooted = "REBOOTED",
        /// Being drained.
        Decommissioning = "DECOMMISSIONING",
        /// Said goodbye.
        Shutdown = "SHUTDOWN",
    }
}

states! {
    /// `QueueState`.
    QueueState {
        /// Takes applications.
        Running = "RUNNING",
        /// Takes none and has none.
        Stopped = "STOPPED",
        /// Takes none; some are still there.
        Draining = "DRAINING",
    }
}

states! {
    /// `LocalResourceVisibility`.
    Visibility {
        /// Shared by all users of the node.
        Public = "PUBLIC",
        /// Shared by one user's applications.
        Private = "PRIVATE",
        /// Of one application.
        Application = "APPLICATION",
    }
}
