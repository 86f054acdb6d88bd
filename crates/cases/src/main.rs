//! `sched-cases`: runs case files of the capacity scheduler.
//! May touch: arguments, case files, standard output.
//! Must not: judge a case itself.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, anyhow, bail};
use clap::{Parser, ValueEnum};
use sched_cases::{
    case::{Body, Case, Way},
    inproc::InProcess,
    known::{self, Reasons},
    placement,
    report::Failure,
    rpc::Remote,
    scenario, snapshot_run, vector,
};

/// Runs case files or folders of them. Prints one line for each failing case, then
/// `N passed, M failed, K known-wrong`, in event mode with `, P pacing-dependent`. Exits 1 on a failure, 2 on a malformed file.
#[derive(Parser)]
struct Args {
    /// How scheduling is paced.
    #[arg(long, value_enum, default_value = "heartbeat")]
    mode: Mode,
    /// What the cases run against.
    #[arg(long, value_enum, default_value = "inproc")]
    via: Via,
    /// Go on after a difference, and print all of them.
    #[arg(long)]
    all: bool,
    /// Writes what the web services answer at the end of each case to a folder of its own here
    /// (rpc and stock).
    #[arg(long)]
    answers: Option<PathBuf>,
    /// Case files and folders.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// By heartbeats of nodes, as Hadoop.
    Heartbeat,
    /// By events.
    Event,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Via {
    /// The core in this process.
    Inproc,
    /// Our ResourceManager through RPC.
    Rpc,
    /// The stock ResourceManager through RPC.
    Stock,
}

/// Exit status for usage and malformed files.
const MALFORMED: u8 = 2;

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            say_error(&format!("{error:#}"));
            ExitCode::from(MALFORMED)
        }
    }
}

#[allow(clippy::print_stderr, reason = "the face of a command")]
fn say_error(text: &str) {
    eprintln!("{text}");
}

#[allow(clippy::print_stdout, reason = "the face of a command")]
fn say(text: &str) {
    println!("{text}");
}

/// What became of the cases.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    known_wrong: usize,
    /// Differ because they depend on pacing, as listed.
    paced: usize,
}

impl Tally {
    /// The last line.
    fn line(&self, mode: Mode) -> String {
        let paced = match mode {
            Mode::Event => format!(", {} pacing-dependent", self.paced),
            Mode::Heartbeat => String::new(),
        };
        format!(
            "{} passed, {} failed, {} known-wrong{paced}",
            self.passed, self.failed, self.known_wrong
        )
    }
}

/// Runs everything; the number of failing cases.
fn run(args: &Args) -> anyhow::Result<usize> {
    let files = files(&args.paths)?;
    let mut cases = Vec::new();
    for file in &files {
        cases.push((Case::read(file)?, known_wrong(file)?));
    }
    let listed = |on: bool, list: &str| {
        if on {
            known::read(&repository().join(list))
        } else {
            Ok(Reasons::new())
        }
    };
    let paced = listed(args.mode == Mode::Event, "docs/pacing.md")?;
    let otherwise = match args.via {
        Via::Stock => listed(true, "docs/stock.md")?,
        Via::Rpc => listed(true, "docs/rpc-cases.md")?,
        Via::Inproc => Reasons::new(),
    };
    let mut tally = Tally::default();
    for (case, wrong) in &cases {
        if args.via != Via::Inproc && !case.runs.contains(&Way::Rpc) {
            continue;
        }
        let failures = run_case(case, args)?;
        if paced.contains_key(&case.id) && !failures.is_empty() {
            tally.paced += 1;
            continue;
        }
        if let (Some(reason), false) = (otherwise.get(&case.id), failures.is_empty()) {
            for failure in &failures {
                say(&format!("DIFF {}: {failure} ({reason})", case.id));
            }
            tally.known_wrong += 1;
            continue;
        }
        let listed = if paced.contains_key(&case.id) {
            Some("that depends on pacing")
        } else {
            wrong.get(&case.id).map(|_| "that is known to be wrong")
        };
        count(&mut tally, case, listed, &failures);
    }
    say(&tally.line(args.mode));
    Ok(tally.failed)
}

fn count(tally: &mut Tally, case: &Case, listed: Option<&str>, failures: &[Failure]) {
    match (failures, listed) {
        ([], None) => tally.passed += 1,
        ([], Some(as_what)) => {
            tally.failed += 1;
            say(&format!(
                "FAIL {}: step 1: expected a case {as_what}, got a pass; take it off the list",
                case.id
            ));
        }
        (_, Some(_)) => tally.known_wrong += 1,
        (failures, None) => {
            tally.failed += 1;
            for failure in failures {
                say(&format!("FAIL {}: {failure}", case.id));
            }
        }
    }
}

fn run_case(case: &Case, args: &Args) -> anyhow::Result<Vec<Failure>> {
    let mut failures = match &case.body {
        Body::Placement(body) => placement::run(body),
        Body::Vectors(body) => vector::run(body),
        Body::Snapshot(body) => snapshot_run::run(body),
        Body::Scenario(body) => match args.via {
            Via::Inproc => {
                let mut target = InProcess::new(args.mode == Mode::Event);
                scenario::run(body, &mut target, args.all)
            }
            Via::Rpc | Via::Stock => {
                let mut target = Remote::new(args.via == Via::Stock).map_err(|e| anyhow!(e))?;
                let failures = scenario::run(body, &mut target, args.all);
                if let Some(folder) = &args.answers {
                    let kept = target.keep_answers(&folder.join(&case.id));
                    kept.map_err(|e| anyhow!("answers of {}: {e}", case.id))?;
                }
                failures
            }
        },
    };
    if !args.all {
        failures.truncate(1);
    }
    Ok(failures)
}

/// Case files, and those in folders, in the order of their names.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let shown = path.display();
            let entries = std::fs::read_dir(path).with_context(|| format!("read {shown}"))?;
            let mut found = Vec::new();
            for entry in entries {
                let file = entry.with_context(|| format!("read {shown}"))?.path();
                if file.extension().is_some_and(|ext| ext == "yaml") {
                    found.push(file);
                } else if file.is_dir() {
                    found.extend(self::files(&[file])?);
                }
            }
            if found.is_empty() {
                bail!("{shown} holds no case file (*.yaml)");
            }
            found.sort();
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// The list beside a case file.
fn known_wrong(file: &Path) -> anyhow::Result<Reasons> {
    let folder = file.parent().unwrap_or(Path::new("."));
    known::read(&folder.join("known-wrong.md"))
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
