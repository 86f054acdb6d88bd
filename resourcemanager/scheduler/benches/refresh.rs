//! 10,000 refreshes of 100 and of 1,000 queues while containers come, go and are preempted: the
//! longest stall, and that nothing is lost; exits 1 beyond a bar.
//! May touch: the scheduler's public face; the clocks.
//! Must not: pass with a bar broken.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints and may stop"
)]
#![allow(clippy::disallowed_methods, reason = "the clock is shown beside")]

mod common;

use std::{collections::VecDeque, process::ExitCode, time::Instant};

use capacity_scheduler::sched::{AppIdx, ContainerIdx, Told};
use common::{Cluster, GPUS, gib};

/// Refreshes of each hierarchy.
const REFRESHES: usize = 10_000;
/// Milliseconds that a refresh and what follows at once may hold everything else up.
const STALL_MS_MAX: f64 = 50.0;
/// Nodes of the cluster.
const NODES: u32 = 1_000;
/// Applications.
const APPS: u32 = 1_000;

fn main() -> ExitCode {
    let mut broken = false;
    for queues in [100, 1_000] {
        broken |= refreshes(queues);
    }
    if broken {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Live containers, oldest first, as the scheduler told of them.
#[derive(Default)]
struct Live {
    all: VecDeque<ContainerIdx>,
    granted: usize,
    released: usize,
    killed: usize,
}

impl Live {
    /// Takes in what the scheduler said; answers the containers that it wants ended.
    fn hear(&mut self, told: &[Told]) -> Vec<ContainerIdx> {
        let mut to_end = Vec::new();
        for told in told {
            match told {
                Told::Granted(granted) => {
                    self.all.push_back(granted.container);
                    self.granted += 1;
                }
                Told::Kill {
                    container,
                    released,
                    ..
                } => {
                    self.all.retain(|c| c != container);
                    self.released += 1;
                    self.killed += 1;
                    if !released {
                        to_end.push(*container);
                    }
                }
                _ => {}
            }
        }
        to_end
    }
}

fn refreshes(queues: usize) -> bool {
    let mut c = Cluster::new(NODES, queues, APPS);
    let each = i32::try_from(i64::from(NODES) * GPUS / i64::from(APPS)).unwrap();
    for app in 0..APPS {
        // more than there is room for, so that every release is followed by a grant
        c.ask(AppIdx(app), gib(8, 1, 1), each + 20);
    }
    let mut live = Live::default();
    let ended = live.hear(c.pass());
    assert!(ended.is_empty());
    let confs = [common::conf(queues, false), common::conf(queues, true)];
    let mut stalls = Vec::with_capacity(REFRESHES);
    let mut by_clock = Vec::with_capacity(REFRESHES);
    for turn in 0..REFRESHES {
        for _ in 0..8 {
            let gone = live.all.pop_front();
            live.released += usize::from(gone.is_some_and(|c2| c.sched.release(c2)));
        }
        let conf = confs[turn % 2].clone();
        let (start, ran) = (Instant::now(), common::ran_s());
        c.sched.reload(conf).unwrap();
        if turn % 8 == 0 {
            c.sched.preempt_tick(c.now);
        }
        c.sched.pass(c.now);
        stalls.push((common::ran_s() - ran) * 1e3);
        by_clock.push(start.elapsed().as_secs_f64() * 1e3);
        for container in live.hear(c.pass()) {
            c.sched.release(container);
        }
        c.later(1_000);
        let app = AppIdx(u32::try_from(turn).unwrap() % APPS);
        c.ask(app, gib(8, 1, 1), 20);
    }
    for container in live.hear(c.pass()) {
        c.sched.release(container);
    }
    c.sched.check().unwrap();
    let figures = c.sched.queue("root").unwrap();
    let kept = figures.containers as usize;
    let lost = (live.granted - live.released).abs_diff(kept) + live.all.len().abs_diff(kept);
    stalls.sort_by(f64::total_cmp);
    by_clock.sort_by(f64::total_cmp);
    let (median, longest) = (stalls[REFRESHES / 2], stalls[REFRESHES - 1]);
    let longest_wall = by_clock[REFRESHES - 1];
    println!(
        "{queues} queues, {NODES} nodes, {APPS} applications: {REFRESHES} refreshes, {} grants, {} ends, {} of them preempted; stall median {median:.2} ms, longest {longest:.2} ms of processor time ({longest_wall:.0} ms by the clock), at most {STALL_MS_MAX:.0}; containers lost: {lost}",
        live.granted, live.released, live.killed
    );
    longest > STALL_MS_MAX || lost > 0
}
