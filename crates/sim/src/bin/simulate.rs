//! `simulate`: whole clusters from seeds, as many at once as there are processors; see --help.
//! May touch: the clock (for progress and the time limit), standard output, the journal it is asked for.
//! Must not: have a say in what a seed does.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool talks to its user"
)]

use std::{
    collections::BTreeMap,
    fs,
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use sim::{Failure, Options, PLANTED_SEEDS_MAX, Planted, Report, run, run_with_journal};

const USAGE: &str = "\
usage: simulate [--seeds N] [--from SEED | --fresh] [--seconds S]
       simulate --seed SEED [--journal FILE]
       simulate --planted [--from SEED | --fresh]

Runs whole clusters on the real core of the ResourceManager, each from one integer: queues, labels,
reservations, preemption, refreshes, lost nodes and messages, dying masters, restarts from the
journal. After every event every law is checked. At the end it says what happened and in how many
seeds.

  --seeds N       so many seeds (1000)
  --from SEED     the first (0)
  --fresh         the first is taken from the clock
  --seconds S     begin no seed after this time
  --seed SEED     one seed; prints what came of it
  --journal FILE  writes its journal, for `cargo xtask replay`
  --planted       puts one bug after the other back and says in how many seeds it is found
exit: 0 every law held (--planted: every bug was found in fewer than 50 seeds), 1 one did not,
2 wrong use";

/// Progress is told this often.
const PROGRESS: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Arguments {
    seeds: Option<u64>,
    from: Option<u64>,
    fresh: bool,
    planted: bool,
    seconds: Option<u64>,
    seed: Option<u64>,
    journal: Option<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut all = Arguments::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--fresh" {
            all.fresh = true;
            continue;
        }
        if word == "--planted" {
            all.planted = true;
            continue;
        }
        let value = words
            .next()
            .ok_or(format!("{word} has no value, or is no option"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{word} is {value}, expected a number"))
        };
        match word.as_str() {
            "--seeds" => all.seeds = Some(number()?),
            "--from" => all.from = Some(number()?),
            "--seconds" => all.seconds = Some(number()?),
            "--seed" => all.seed = Some(number()?),
            "--journal" => all.journal = Some(value),
            _ => return Err(format!("{word} is no option")),
        }
    }
    if all.journal.is_some() && all.seed.is_none() {
        return Err("--journal needs --seed".to_owned());
    }
    Ok(all)
}

fn main() -> ExitCode {
    if std::env::args().any(|word| word == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match arguments() {
        Ok(Arguments {
            seed: Some(seed),
            journal,
            ..
        }) => one(seed, journal.as_deref()),
        Ok(arguments) if arguments.planted => planted(first_seed(&arguments)),
        Ok(arguments) => many(&arguments),
        Err(e) => {
            eprintln!("simulate: {e}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn one(seed: u64, journal: Option<&str>) -> ExitCode {
    let (done, bytes) = run_with_journal(seed, &Options::town(seed));
    if let Some(path) = journal
        && let Err(e) = fs::write(path, bytes)
    {
        eprintln!("simulate: {path}: {e}");
        return ExitCode::from(2);
    }
    match done {
        Ok(report) => {
            println!("{report:?}");
            println!("digest: {:016x}", report.digest);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// What all seeds came to.
#[derive(Default)]
struct Total {
    seeds: u64,
    report: Report,
    failures: Vec<Failure>,
    /// Seeds in which something happened, by name.
    seen_in: BTreeMap<&'static str, u64>,
}

impl Total {
    fn add(&mut self, report: &Report) {
        self.seeds += 1;
        let sum = &mut self.report;
        sum.events += report.events;
        sum.granted += report.granted;
        sum.preempted += report.preempted;
        sum.refreshed += report.refreshed;
        sum.refused += report.refused;
        sum.restarts += report.restarts;
        sum.deaths += report.deaths;
        sum.disturbed += report.disturbed;
        for (what, times) in &report.deeds {
            *sum.deeds.entry(what).or_default() += times;
            *self.seen_in.entry(what).or_default() += u64::from(*times > 0);
        }
    }

    fn tell(&self, first: u64, began: Instant) {
        let r = &self.report;
        println!(
            "{} seeds from {first} in {} s, {} failed: {} events, {} granted, {} preempted, \
             {} refreshes ({} refused), {} restarts, {} deaths, {} messages disturbed",
            self.seeds,
            began.elapsed().as_secs(),
            self.failures.len(),
            r.events,
            r.granted,
            r.preempted,
            r.refreshed + r.refused,
            r.refused,
            r.restarts,
            r.deaths,
            r.disturbed
        );
    }

    /// How often each thing happened, and in how many seeds.
    fn tell_deeds(&self) {
        for (what, times) in &self.report.deeds {
            let seeds = self.seen_in.get(what).copied().unwrap_or(0);
            println!("  {what}: {times} in {seeds} seeds");
        }
    }
}

fn first_seed(arguments: &Arguments) -> u64 {
    let clock = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    match arguments.from {
        _ if arguments.fresh => clock.wrapping_mul(1_000_003),
        from => from.unwrap_or(0),
    }
}

/// One line for each bug that is put back: its name, the seeds it took, the law that it breaks.
fn planted(first: u64) -> ExitCode {
    let mut missed = 0;
    println!("planted bugs, seeds from {first}:");
    for bug in Planted::all() {
        let name = bug.name();
        if let Some(found) = bug.hunt(first) {
            let law: String = found.failure.what.chars().take(100).collect();
            println!("  {name}: {} seeds ({law})", found.seeds);
        } else {
            missed += 1;
            println!("  {name}: NOT FOUND in fewer than {PLANTED_SEEDS_MAX} seeds");
        }
    }
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn many(arguments: &Arguments) -> ExitCode {
    let first = first_seed(arguments);
    let count = arguments.seeds.unwrap_or(1000);
    let began = Instant::now();
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let total = Mutex::new((Total::default(), began));
    let late = || {
        let most = arguments.seconds.map(Duration::from_secs);
        most.is_some_and(|most| began.elapsed() >= most)
    };
    let work = || {
        while !stop.load(Ordering::Relaxed) && !late() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                break;
            }
            let seed = first.wrapping_add(at);
            let done = run(seed, &Options::town(seed));
            let mut guard = total.lock().unwrap_or_else(PoisonError::into_inner);
            let (total, told) = &mut *guard;
            match done {
                Ok(report) => total.add(&report),
                Err(failure) => {
                    println!("FAIL {failure}\n     repeat with: scripts/simulate --seed {seed}");
                    total.failures.push(failure);
                    stop.store(total.failures.len() >= 10, Ordering::Relaxed);
                }
            }
            if told.elapsed() >= PROGRESS {
                *told = Instant::now();
                total.tell(first, began);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let (total, _) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    total.tell(first, began);
    total.tell_deeds();
    if total.failures.is_empty() && total.seeds > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
