//! What one decision costs, from 100 to 50,000 nodes of 8 GPUs and from 10 to 1,000 leaf queues,
//! beside a bare scan over the nodes' free vectors; exits 1 beyond a bar.
//! May touch: the scheduler's public face; the clock.
//! Must not: pass with a bar broken.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints and may stop"
)]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

mod common;

use std::{collections::VecDeque, process::ExitCode, time::Instant};

use capacity_scheduler::sched::{AppIdx, ContainerIdx, NodeIdx, Sched, Told};
use common::{Cluster, GPUS, allocations, gib, median, us};
use yarn_types::Resource;

/// Microseconds that one ask, its grant and its release may take at 10,000 nodes.
const GRANT_US_MAX: f64 = 5.0;
/// How much more a grant may cost at 50,000 nodes than at 1,000.
const GROWTH_MAX: f64 = 2.0;
/// Microseconds that a heartbeat without news may take.
const HEARTBEAT_US_MAX: f64 = 1.0;
/// Seconds for 80,000 containers on 10,000 nodes.
const WAVE_S_MAX: f64 = 1.0;

/// Bars and whether they held.
#[derive(Default)]
struct Bars {
    broken: bool,
}

impl Bars {
    fn hold(&mut self, what: &str, got: f64, most: f64) {
        let held = got <= most;
        self.broken |= !held;
        let sign = if held { "ok" } else { "BEYOND THE BAR" };
        println!("  {what}: {got:.2}, at most {most:.2}: {sign}");
    }
}

/// Figures of one size of cluster, in microseconds.
struct Row {
    grant: f64,
    nowhere: f64,
    heartbeat: f64,
    limit: f64,
    handover: f64,
    preemption: f64,
    scan: f64,
    allocations: u64,
}

fn main() -> ExitCode {
    let at_sizes = rows();
    let mut bars = Bars::default();
    println!("bars:");
    let of = |size: (u32, usize)| at_sizes.iter().find(|(s, _)| *s == size).map(|(_, r)| r);
    for ((nodes, queues), row) in &at_sizes {
        let at = format!("at {nodes} nodes, {queues} queues");
        if *nodes == 10_000 {
            bars.hold(&format!("grant in us {at}"), row.grant, GRANT_US_MAX);
        }
        bars.hold(&format!("fits nowhere in us {at}"), row.nowhere, row.grant);
        bars.hold(
            &format!("heartbeat in us {at}"),
            row.heartbeat,
            HEARTBEAT_US_MAX,
        );
        bars.hold(
            &format!("allocations per decision {at}"),
            row.allocations as f64,
            0.0,
        );
    }
    if let (Some(large), Some(small)) = (of((50_000, 100)), of((1_000, 100))) {
        bars.hold(
            "grant at 50,000 over 1,000 nodes",
            large.grant / small.grant,
            GROWTH_MAX,
        );
    }
    for queues in [10, 100, 1_000] {
        let took = wave(queues);
        bars.hold(
            &format!("80,000 containers, {queues} queues, in s"),
            took,
            WAVE_S_MAX,
        );
    }
    let sizes = Sched::entry_bytes();
    bars.hold("bytes of a node", sizes.node as f64, 2048.0);
    bars.hold("bytes of a container", sizes.container as f64, 1024.0);
    bars.hold("bytes of an application", sizes.app as f64, 8192.0);
    if bars.broken {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// All sizes, each printed when it is measured.
fn rows() -> Vec<((u32, usize), Row)> {
    println!(
        "{:>6} {:>6} {:>6} | {:>8} {:>8} {:>9} {:>8} {:>9} {:>10} {:>8} {:>6}",
        "nodes",
        "queues",
        "apps",
        "grant us",
        "nowhere",
        "heartbeat",
        "handover",
        "limit",
        "preemption",
        "scan",
        "allocs"
    );
    let mut at_sizes = Vec::new();
    for (nodes, queues, apps) in [
        (100, 10, 100),
        (1_000, 10, 1_000),
        (1_000, 100, 1_000),
        (10_000, 10, 10_000),
        (10_000, 100, 10_000),
        (10_000, 1_000, 10_000),
        (50_000, 100, 1_000),
        (50_000, 1_000, 10_000),
    ] {
        let row = measure(nodes, queues, apps);
        println!(
            "{nodes:>6} {queues:>6} {apps:>6} | {:>8.2} {:>8.2} {:>9.3} {:>8.2} {:>9.1} {:>10.1} {:>8.2} {:>6}",
            row.grant,
            row.nowhere,
            row.heartbeat,
            row.handover,
            row.limit,
            row.preemption,
            row.scan,
            row.allocations
        );
        at_sizes.push(((nodes, queues), row));
    }
    at_sizes
}

fn measure(nodes: u32, queues: usize, apps: u32) -> Row {
    let mut c = Cluster::new(nodes, queues, apps);
    // half full, so that nodes differ
    c.fill(u64::from(nodes) * GPUS.unsigned_abs() / 2);
    let size = gib(8, 1, 1);
    let mut turn = 0;
    let mut next = |c: &Cluster| {
        turn = (turn + 7) % c.apps;
        AppIdx(turn)
    };
    let mut once = |c: &mut Cluster| {
        let app = next(c);
        c.ask(app, size, 1);
        let container = c.granted().unwrap();
        assert!(c.sched.release(container));
        c.pass();
    };
    for _ in 0..200 {
        once(&mut c);
    }
    let grant = us(median(2_000, || once(&mut c)));
    let allocations = decision_allocations(&mut c, size);
    // more memory than any node has left, and more GPUs than one has
    let mut turn = 0;
    let nowhere = us(median(2_000, || {
        turn = (turn + 7) % c.apps;
        c.ask(AppIdx(turn), gib(8, 1, GPUS + 1), 1);
        assert!(c.pass().is_empty());
        c.ask(AppIdx(turn), gib(8, 1, GPUS + 1), 0);
    }));
    let (handover, preemption) = contended(&mut c, size);
    let mut node = 0;
    let heartbeat = us(median(2_000, || {
        for _ in 0..16 {
            node = (node + 13) % nodes;
            c.sched.set_free_devices(NodeIdx(node), 4);
            c.sched.set_free_devices(NodeIdx(node), 4);
        }
        c.pass();
    })) / 32.0;
    let (one, other) = (common::conf(queues, false), common::conf(queues, true));
    let mut flip = false;
    let limit = us(median(20, || {
        flip = !flip;
        let conf = if flip { &other } else { &one };
        c.sched.reload(conf.clone()).unwrap();
        c.pass();
    }));
    Row {
        grant,
        nowhere,
        heartbeat,
        limit,
        handover,
        preemption,
        scan: bare_scan(nodes),
        allocations,
    }
}

/// On a full cluster where everybody wants more: an end and the grant that follows it, and a round
/// of the preemption monitor.
fn contended(c: &mut Cluster, size: Resource) -> (f64, f64) {
    let all = i32::try_from(i64::from(c.nodes) * GPUS / i64::from(c.apps)).unwrap();
    for app in 0..c.apps {
        c.ask(AppIdx(app), size, all + 10);
    }
    let mut live: VecDeque<_> = granted(c.pass()).collect();
    let handover = us(median(1_000, || {
        let oldest = live.pop_front().unwrap();
        assert!(c.sched.release(oldest));
        live.extend(granted(c.pass()));
    }));
    let preemption = us(median(5, || {
        c.sched.preempt_tick(c.now);
        std::hint::black_box(c.sched.take_told());
    }));
    for app in 0..c.apps {
        c.ask(AppIdx(app), size, 0);
    }
    c.pass();
    (handover, preemption)
}

fn granted(told: &[Told]) -> impl Iterator<Item = ContainerIdx> {
    told.iter().filter_map(|told| match told {
        Told::Granted(granted) => Some(granted.container),
        _ => None,
    })
}

/// Heap allocations of choosing and committing one container, asks aside.
fn decision_allocations(c: &mut Cluster, size: Resource) -> u64 {
    let app = AppIdx(0);
    let mut least = u64::MAX;
    c.ask(app, size, 1_000);
    c.sched.pass_steps(c.now, 500);
    for _ in 0..20 {
        let counted = allocations(|| {
            c.sched.pass_steps(c.now, 1);
        });
        least = least.min(counted);
    }
    c.ask(app, size, 0);
    let containers: Vec<_> = granted(c.pass()).collect();
    for container in containers {
        c.sched.release(container);
    }
    c.pass();
    least
}

/// The cheapest that a search without any index can be: the free vectors in one column.
fn bare_scan(nodes: u32) -> f64 {
    let free: Vec<Resource> = (0..nodes).map(|n| gib(64, 8, i64::from(n % 8))).collect();
    let mut want = 8;
    us(median(200, || {
        want = 17 - want;
        let found = free.iter().position(|free| gib(8, 1, want).fits(*free));
        assert!(std::hint::black_box(found).is_none());
    }))
}

/// Seconds for one container on each of 80,000 GPUs.
fn wave(queues: usize) -> f64 {
    let mut c = Cluster::new(10_000, queues, 1_000);
    for app in 0..c.apps {
        c.ask(AppIdx(app), gib(8, 1, 1), 80);
    }
    let start = Instant::now();
    let granted = c.pass().len();
    let took = start.elapsed().as_secs_f64();
    assert_eq!(granted, 80_000);
    took
}
