//! One-process cluster: the RM core with model nodes and masters, faults from one seed, then healing.
//! May touch: `rm-core`, `testkit`.
//! Must not: have any source of chance but the seed; see `crates/sim/README.md`.

mod faults;
mod master;
mod node;
mod planted;
mod rng;
mod world;

pub use faults::Faults;
pub use planted::{Found, PLANTED_SEEDS_MAX, Planted};
pub use rng::Rng;

use std::{collections::BTreeMap, fmt};

/// What a run is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Nodes.
    pub nodes: usize,
    /// GPUs of each node; with any, three of four applications ask for some.
    pub gpus: u32,
    /// Several queues, node labels, preemption, an administrator, restarts from the journal; else
    /// one queue.
    pub town: bool,
    /// Containers are placed by heartbeats, as Hadoop does, not as soon as something changes.
    pub heartbeat_paced: bool,
    /// What the preemption monitor does.
    pub preemption: Preemption,
    /// Applications, submitted over the first half of the faulty time.
    pub apps: usize,
    /// Milliseconds with faults.
    pub faulty_ms: u64,
    /// Milliseconds without faults, within which everything must have healed.
    pub healing_ms: u64,
    /// Which faults.
    pub faults: Faults,
    /// A bug of the driver or the store put back on purpose, to prove that it is found.
    pub mutant: Option<Mutant>,
    /// The same with a bug of the core.
    pub core_mutant: Option<rm_core::mutant::Mutant>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nodes: 4,
            gpus: 0,
            town: false,
            heartbeat_paced: false,
            preemption: Preemption::Off,
            apps: 6,
            faulty_ms: 120_000,
            healing_ms: 1_200_000,
            faults: Faults::ALL,
            mutant: None,
            core_mutant: None,
        }
    }
}

/// What the preemption monitor of a town does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preemption {
    /// It is off.
    Off,
    /// Queues get their guarantees back.
    BetweenQueues,
    /// And applications of higher priority, or of users below their limit, what is theirs.
    WithinQueuesToo,
    /// As that; what is to go goes when its place is needed.
    Lazy,
}

/// Bugs of the shell that a run must find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// Answers do not wait for the store.
    ReplyBeforeStore,
    /// A repeated allocate is answered afresh instead of with the last answer's bytes.
    ForgetLastAnswer,
    /// A store that loses every eighth record's completion.
    StoreForgets,
    /// The journal leaves out what the store said.
    JournalLeavesOut,
    /// The journal has each event at the time of the one before.
    JournalIsLate,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::ReplyBeforeStore,
        Self::ForgetLastAnswer,
        Self::StoreForgets,
        Self::JournalLeavesOut,
        Self::JournalIsLate,
    ];
}

/// What a run came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Events applied.
    pub events: u64,
    /// Containers granted.
    pub granted: usize,
    /// Applications that ended well.
    pub succeeded: usize,
    /// Applications that failed or were killed.
    pub failed: usize,
    /// Messages that were lost, repeated or late.
    pub disturbed: usize,
    /// Nodes and masters that died.
    pub deaths: usize,
    /// Restarts from a snapshot.
    pub restarts: usize,
    /// Refreshes of the queues that were done.
    pub refreshed: usize,
    /// Refreshes that were refused.
    pub refused: usize,
    /// Containers that were preempted.
    pub preempted: u64,
    /// What else happened, by name.
    pub deeds: BTreeMap<&'static str, u64>,
    /// The core's digest at the end.
    pub digest: u64,
}

impl Report {
    /// Counts something that happened so many times.
    pub(crate) fn count(&mut self, what: &'static str, times: u64) {
        *self.deeds.entry(what).or_default() += times;
    }
}

/// A broken law.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// Milliseconds into the run.
    pub at_ms: u64,
    /// What does not hold.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {} at {} ms", self.seed, self.what, self.at_ms)
    }
}

impl std::error::Error for Failure {}

impl Options {
    /// The town of a seed: pacing, preemption and GPUs differ from seed to seed.
    pub fn town(seed: u64) -> Self {
        Self {
            town: true,
            nodes: 4 + usize::try_from(seed / 8 % 3).unwrap_or(0),
            apps: 12,
            heartbeat_paced: seed % 2 == 1,
            gpus: if seed / 2 % 2 == 1 { 4 } else { 0 },
            preemption: match seed / 4 % 8 {
                0 | 1 => Preemption::WithinQueuesToo,
                2 | 3 => Preemption::Lazy,
                7 => Preemption::Off,
                _ => Preemption::BetweenQueues,
            },
            ..Self::default()
        }
    }
}

/// Runs one cluster from one seed.
///
/// # Errors
/// The first law that does not hold.
pub fn run(seed: u64, options: &Options) -> Result<Report, Failure> {
    run_with_journal(seed, options).0
}

/// As [`run`], with the journal of the core up to the end or the broken law.
pub fn run_with_journal(seed: u64, options: &Options) -> (Result<Report, Failure>, Vec<u8>) {
    world::World::new(seed, *options).run()
}
