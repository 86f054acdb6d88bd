//! Planted bugs: each is put back, and towns are run until a law breaks that holds without it.
//! May touch: runs.
//! Must not: count a law that breaks without the bug, too.

use crate::{Failure, Mutant, Options, run};

/// A planted bug must be found in fewer seeds than this.
pub const PLANTED_SEEDS_MAX: u64 = 50;

/// A bug that can be put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planted {
    /// In the driver, the store or the journal.
    Shell(Mutant),
    /// In the core or the scheduler.
    Core(rm_core::mutant::Mutant),
}

/// How a planted bug was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Seeds that were run, the last found it.
    pub seeds: u64,
    /// The law that it breaks there.
    pub failure: Failure,
}

impl Planted {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let core = rm_core::mutant::Mutant::ALL.into_iter().map(Self::Core);
        core.chain(Mutant::ALL.into_iter().map(Self::Shell))
    }

    /// Its name.
    pub fn name(self) -> String {
        match self {
            Self::Shell(mutant) => format!("{mutant:?}"),
            Self::Core(mutant) => format!("{mutant:?}"),
        }
    }

    /// Runs the towns of the seeds from `first` until one breaks a law because of the bug.
    pub fn hunt(self, first: u64) -> Option<Found> {
        (1..PLANTED_SEEDS_MAX).find_map(|seeds| {
            let seed = first.wrapping_add(seeds - 1);
            let sound = Options::town(seed);
            let mut planted = sound;
            match self {
                Self::Shell(mutant) => planted.mutant = Some(mutant),
                Self::Core(mutant) => planted.core_mutant = Some(mutant),
            }
            let failure = run(seed, &planted).err()?;
            run(seed, &sound).ok()?;
            Some(Found { seeds, failure })
        })
    }
}
