//! Clusters from seeds: faults first, then everything must heal; and bugs put back are found.
//! May touch: `sim`.
//! Must not: sleep.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test"
)]

use sim::{Faults, Mutant, Options, run};

/// Seeds that every change must pass; `HEDDLE_SIM_SEEDS` asks for more.
const SEEDS: u64 = 40;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn every_seed_heals() {
    let (mut succeeded, mut disturbed, mut deaths) = (0, 0, 0);
    for seed in 0..number("HEDDLE_SIM_SEEDS").unwrap_or(SEEDS) {
        let report = run(seed, &Options::default()).unwrap_or_else(|failure| panic!("{failure}"));
        succeeded += report.succeeded;
        disturbed += report.disturbed;
        deaths += report.deaths;
    }
    assert!(
        succeeded > 100 && disturbed > 1000 && deaths > 100,
        "{succeeded} {disturbed} {deaths}"
    );
}

fn with_gpus() -> Options {
    Options {
        gpus: 4,
        ..Options::default()
    }
}

/// The laws of device ledgers; `HEDDLE_SIM_SEEDS=1000 cargo test --release -p sim every_gpu_seed`.
#[test]
fn every_gpu_seed_heals_and_keeps_the_ledgers_laws() {
    let mut granted = 0;
    for seed in 0..number("HEDDLE_SIM_SEEDS").unwrap_or(SEEDS) {
        let report = run(seed, &with_gpus()).unwrap_or_else(|failure| panic!("{failure} (GPUs)"));
        granted += report.granted;
    }
    assert!(granted > 1000, "{granted}");
}

/// `HEDDLE_SIM_SEED=N cargo test -p sim one_gpu_seed -- --nocapture`
#[test]
fn one_gpu_seed() {
    let seed = number("HEDDLE_SIM_SEED").unwrap_or(1);
    let report = run(seed, &with_gpus()).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{report:?}");
}

/// `HEDDLE_SIM_SEED=N cargo test -p sim one_seed -- --nocapture`
#[test]
fn one_seed() {
    let seed = number("HEDDLE_SIM_SEED").unwrap_or(1);
    let report = run(seed, &Options::default()).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{report:?}");
}

#[test]
fn without_faults_everything_succeeds() {
    let options = Options {
        faults: Faults::NONE,
        ..Options::default()
    };
    for seed in 0..20 {
        let report = run(seed, &options).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!((report.succeeded, report.failed), (options.apps, 0));
    }
}

#[test]
fn a_seed_gives_the_same_run_every_time() {
    for seed in 0..5 {
        assert_eq!(
            run(seed, &Options::default()),
            run(seed, &Options::default())
        );
    }
}

/// Towns; `scripts/simulate` runs many more.
#[test]
fn every_town_heals_and_its_journal_replays() {
    let mut all = sim::Report::default();
    for seed in 0..number("HEDDLE_SIM_SEEDS").unwrap_or(SEEDS / 4) {
        let report = run(seed, &Options::town(seed)).unwrap_or_else(|failure| panic!("{failure}"));
        all.granted += report.granted;
        all.preempted += report.preempted;
        all.restarts += report.restarts;
        all.refreshed += report.refreshed;
        all.refused += report.refused;
    }
    println!("{all:?}");
    assert!(
        all.granted > 1_000 && all.restarts > 15 && all.refreshed > 60 && all.refused > 15,
        "{all:?}"
    );
}

/// Seeds that found something: a killed application whose attempt was failing left its containers
/// behind (136, 311).
#[test]
fn seeds_that_found_something_stay_green() {
    for seed in [136, 262, 311] {
        run(seed, &Options::town(seed)).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// Bugs put back, with the number of seeds within which they must be found; `scripts/simulate
/// --planted` hunts all of them in towns.
#[test]
fn bugs_put_back_are_found() {
    use rm_core::mutant::Mutant as Core;
    let base = Options {
        healing_ms: 300_000,
        ..Options::default()
    };
    let shell = |mutant| Options {
        mutant: Some(mutant),
        ..base
    };
    let core = |mutant| Options {
        core_mutant: Some(mutant),
        ..base
    };
    let freed_early = Options {
        gpus: 4,
        ..core(Core::FreeAtRelease)
    };
    for (options, within) in [
        (freed_early, 5),
        (shell(Mutant::ReplyBeforeStore), 1),
        (shell(Mutant::ForgetLastAnswer), 5),
        (shell(Mutant::StoreForgets), 1),
        (core(Core::SkipAncestor), 1),
        (core(Core::DoubleRelease), 1),
        (core(Core::GrantAgain), 10),
        (core(Core::ForgetEnd), 1),
    ] {
        let found = (0..within).any(|seed| run(seed, &options).is_err());
        assert!(found, "{options:?} was not found within {within} seeds");
    }
}
