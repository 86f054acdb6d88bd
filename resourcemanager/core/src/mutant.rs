//! `Mutant`: bugs that a simulation plants in the core to prove that it would find them.
//! May touch: a switch; compiled only with the feature `mutants`.
//! Must not: be on in a daemon.

use crate::rm::Rm;

/// A bug put back on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A grant is not counted in the root queue.
    SkipAncestor,
    /// A release is taken out of the accounts twice.
    DoubleRelease,
    /// A reservation that is given up stays in its queue's accounts.
    KeepReservation,
    /// A container's use stays in its old partition when its node changes it.
    StayInPartition,
    /// What was granted since the master's last answer is granted again.
    GrantAgain,
    /// The end of a container is not told to its master.
    ForgetEnd,
    /// Queues may hold all of a partition, whatever their maximum.
    NoMaximum,
    /// A user may hold all of a leaf's maximum, whatever its user-limit-factor.
    NoUserFactor,
    /// An exclusive partition that idles serves everybody.
    NoExclusion,
    /// The preemption monitor takes queues for ones that may lose containers.
    TakeFromDisabled,
    /// The preemption monitor sees no guarantees.
    NoGuarantee,
    /// A refresh is laid over the queues before it is found good.
    MergeFirst,
    /// A DECOMMISSIONING node offers what it did before.
    OfferWhileGoing,
    /// An application lives on when its lifetime is over.
    ForgetLifetime,
    /// A device is free when its container ends for the RM, not when its node says so.
    FreeAtRelease,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::SkipAncestor,
        Self::DoubleRelease,
        Self::KeepReservation,
        Self::StayInPartition,
        Self::GrantAgain,
        Self::ForgetEnd,
        Self::NoMaximum,
        Self::NoUserFactor,
        Self::NoExclusion,
        Self::TakeFromDisabled,
        Self::NoGuarantee,
        Self::MergeFirst,
        Self::OfferWhileGoing,
        Self::ForgetLifetime,
        Self::FreeAtRelease,
    ];

    /// The scheduler's own bug that this is, if any.
    fn in_scheduler(self) -> Option<crate::sched::Mutant> {
        use crate::sched::Mutant as S;
        match self {
            Self::SkipAncestor => Some(S::SkipAncestor),
            Self::DoubleRelease => Some(S::DoubleRelease),
            Self::KeepReservation => Some(S::KeepReservation),
            Self::StayInPartition => Some(S::StayInPartition),
            Self::NoMaximum => Some(S::NoMaximum),
            Self::NoUserFactor => Some(S::NoUserFactor),
            Self::NoExclusion => Some(S::NoExclusion),
            Self::TakeFromDisabled => Some(S::TakeFromDisabled),
            Self::NoGuarantee => Some(S::NoGuarantee),
            Self::MergeFirst => Some(S::MergeFirst),
            Self::GrantAgain
            | Self::ForgetEnd
            | Self::OfferWhileGoing
            | Self::ForgetLifetime
            | Self::FreeAtRelease => None,
        }
    }
}

impl Rm {
    /// Plants a bug.
    pub fn plant(&mut self, mutant: Mutant) {
        self.mutant = Some(mutant);
        self.sched.mutant = mutant.in_scheduler();
    }
}
