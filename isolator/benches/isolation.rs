//! Times apply and verify of one container with one card; exits 1 above the bar.
//! May touch: cgroups below a top directory of its own, a temporary ledger.
//! Must not: be run without root.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // a bench reports and may fail

use std::process::ExitCode;
use std::time::{Duration, Instant};

use isolator::cgroup::dir::{RemovalPatience, remove};
use isolator::cgroup::mounts::Mode;
use isolator::isolation::{Facts, Isolation, Plan, Spec};
use isolator::limits::{CpuLimit, LimitSpec, MemoryLimit};

/// Most for apply (which reads back) and one more verify, the median of all rounds.
const BAR: Duration = Duration::from_millis(3);
const ROUNDS: usize = 200;

fn main() -> ExitCode {
    let facts = Facts::read(&[]);
    let mut over = false;
    for mode in [Mode::V1, Mode::V2] {
        if !nix::unistd::Uid::effective().is_root() || facts.mounts.devices(mode).is_none() {
            println!("SKIP isolation {mode:?}: needs root and the mount");
            over |= std::env::var("CI").as_deref() == Ok("true");
            continue;
        }
        let times = rounds(mode, &facts);
        let (median, slow) = (times[ROUNDS / 2], times[ROUNDS * 99 / 100]);
        println!("isolation {mode:?}: apply+verify median {median:?}, 99 % {slow:?}, bar {BAR:?}");
        over |= median > BAR;
    }
    ExitCode::from(u8::from(over))
}

/// Sorted times of all rounds.
fn rounds(mode: Mode, facts: &Facts) -> Vec<Duration> {
    let ledger = tempfile::tempdir().unwrap();
    let isolation = Isolation::new(ledger.path(), RemovalPatience::default()).unwrap();
    let hierarchy = format!("heddle-bench-{}", std::process::id());
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|round| {
            let spec = Spec {
                container: format!("container_{round}"),
                hierarchy: hierarchy.clone(),
                mode,
                gpu_minors: vec![3],
                simulated_gpus: true,
                nodes: vec![],
                limits: LimitSpec {
                    memory: Some(MemoryLimit {
                        hard_bytes: 1 << 30,
                        soft_bytes: None,
                        swappiness: Some(0),
                    }),
                    cpu: Some(CpuLimit {
                        vcores: 1,
                        quota: None,
                    }),
                    pids_max: None,
                },
            };
            let begun = Instant::now();
            let plan = Plan::new(&spec, facts).unwrap();
            let applied = isolation.apply(&plan).unwrap();
            assert_eq!(isolation.verify(&applied), []);
            let took = begun.elapsed();
            isolation.undo(&applied).unwrap();
            took
        })
        .collect();
    for mount in facts.mounts.v1.values().chain(facts.mounts.v2.as_ref()) {
        remove(&mount.join(&hierarchy), RemovalPatience::default()).unwrap();
    }
    times.sort();
    times
}
