//! `Faults`: what goes wrong in the faulty part of a run.
//! May touch: flags.
//! Must not: act (the world does).

/// Kinds of faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faults {
    /// Messages are lost, repeated and late.
    pub network: bool,
    /// Nodes die with all they run, and come back.
    pub nodes: bool,
    /// ApplicationMasters die.
    pub masters: bool,
    /// The RM is stopped for a while and goes on.
    pub pauses: bool,
    /// The store is slow.
    pub store: bool,
    /// Cards fail and come back, containers are given back (where nodes have GPUs).
    pub gpus: bool,
    /// The administrator refreshes queues, moves labels and applications (where there is a town).
    pub admin: bool,
}

impl Faults {
    /// Everything.
    pub const ALL: Self = Self {
        network: true,
        nodes: true,
        masters: true,
        pauses: true,
        store: true,
        gpus: true,
        admin: true,
    };
    /// Nothing.
    pub const NONE: Self = Self {
        network: false,
        nodes: false,
        masters: false,
        pauses: false,
        store: false,
        gpus: false,
        admin: false,
    };
}
