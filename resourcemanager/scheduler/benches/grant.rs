//! What one decision costs, from 100 to 50,000 nodes of 8 GPUs and from 10 to 1,000 leaf queues,
//! beside a bare scan over the nodes' free vectors; exits 1 beyond a bar.
//! May touch: the scheduler's public face; the clock.
//! Must not: pass with a bar broken.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints and may stop"
)]

mod common;

use std::{collections::VecDeque, process::ExitCode};

use capacity_scheduler::sched::{AppIdx, ContainerIdx, NodeIdx, Told};
use common::{Cluster, GPUS, allocations, bytes, gib, median_us, took_s};
use yarn_types::Resource;

/// Microseconds that one ask, its grant and its release may take at 10,000 nodes.
const GRANT_US_MAX: f64 = 5.0;
/// How much more a grant may cost at 50,000 nodes than at 1,000.
const GROWTH_MAX: f64 = 2.0;
/// Microseconds that a heartbeat without news may take.
const HEARTBEAT_US_MAX: f64 = 1.0;
/// Seconds for 80,000 containers on 10,000 nodes.
const WAVE_S_MAX: f64 = 1.0;
/// Milliseconds that a node's registration may take among 1,000 queues.
const REGISTRATION_MS_MAX: f64 = 2.0;
/// How much more a registration may cost after 9,000 others than after none.
const REGISTRATION_GROWTH_MAX: f64 = 2.0;
/// Bytes of a node, a container, an application.
const BYTES_MAX: [(&str, f64); 3] = [
    ("node", 2048.0),
    ("container", 1024.0),
    ("application", 8192.0),
];

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

/// Figures of one size of cluster, in microseconds of the processor.
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
    println!("bars, in processor time:");
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
    let of = |size: (u32, usize)| at_sizes.iter().find(|(s, _)| *s == size).map(|(_, r)| r);
    for queues in QUEUES {
        if let (Some(large), Some(small)) = (of((50_000, queues)), of((1_000, queues))) {
            bars.hold(
                &format!("grant at 50,000 over 1,000 nodes, {queues} queues"),
                large.grant / small.grant,
                GROWTH_MAX,
            );
        }
        bars.hold(
            &format!("80,000 containers, {queues} queues, in s"),
            wave(queues),
            WAVE_S_MAX,
        );
    }
    registrations(&mut bars);
    for ((of, most), got) in BYTES_MAX.into_iter().zip(sizes()) {
        bars.hold(&format!("bytes of each {of}"), got, most);
    }
    if bars.broken {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Leaf queues of the clusters.
const QUEUES: [usize; 3] = [10, 100, 1_000];

/// All sizes, each printed when it is measured.
fn rows() -> Vec<((u32, usize), Row)> {
    println!(
        "microseconds of the processor for: one ask, its grant and its release; an ask that fits nowhere; a heartbeat without news;\n\
         a release on a full cluster and the grant that follows; a change of a queue's limit; a round of preemption; a bare scan of\n\
         the nodes' free vectors"
    );
    println!(
        "{:>6} {:>6} {:>6} | {:>8} {:>8} {:>9} {:>8} {:>9} {:>10} {:>8} {:>6}",
        "nodes",
        "queues",
        "apps",
        "grant",
        "nowhere",
        "heartbeat",
        "handover",
        "limit",
        "preemption",
        "scan",
        "allocs"
    );
    let mut at_sizes = Vec::new();
    for nodes in [100_u32, 1_000, 10_000, 50_000] {
        for queues in QUEUES {
            let apps = if nodes < 1_000 { 1_000 } else { 10_000 };
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
    for _ in 0..2_000 {
        once(&mut c);
    }
    let grant = median_us(50, 100, || once(&mut c));
    let allocations = decision_allocations(&mut c, size);
    // more memory than any node has left, and more GPUs than one has
    let mut turn = 0;
    let nowhere = median_us(50, 100, || {
        turn = (turn + 7) % c.apps;
        c.ask(AppIdx(turn), gib(8, 1, GPUS + 1), 1);
        assert!(c.pass().is_empty());
        c.ask(AppIdx(turn), gib(8, 1, GPUS + 1), 0);
    });
    let handover = contended(&mut c, size);
    let mut node = 0;
    let heartbeat = median_us(50, 1_000, || {
        node = (node + 13) % nodes;
        c.sched.set_free_devices(NodeIdx(node), 4);
        c.pass();
    });
    let (one, other) = (common::conf(queues, false), common::conf(queues, true));
    let mut flip = false;
    let limit = median_us(20, 1, || {
        flip = !flip;
        let conf = if flip { &other } else { &one };
        c.sched.reload(conf.clone()).unwrap();
        c.pass();
    });
    Row {
        grant,
        nowhere,
        heartbeat,
        limit,
        handover,
        preemption: preemption(nodes, queues, apps),
        scan: bare_scan(nodes),
        allocations,
    }
}

/// On a full cluster where everybody wants more: an end and the grant that follows it.
fn contended(c: &mut Cluster, size: Resource) -> f64 {
    let all = i32::try_from(i64::from(c.nodes) * GPUS / i64::from(c.apps)).unwrap();
    for app in 0..c.apps {
        c.ask(AppIdx(app), size, all + 10);
    }
    let mut live: VecDeque<_> = granted(c.pass()).collect();
    let handover = median_us(20, 50, || {
        let oldest = live.pop_front().unwrap();
        assert!(c.sched.release(oldest));
        live.extend(granted(c.pass()));
    });
    for app in 0..c.apps {
        c.ask(AppIdx(app), size, 0);
    }
    c.pass();
    handover
}

/// A round of the preemption monitor: half of the queues hold the whole cluster, unevenly, and all
/// want more.
fn preemption(nodes: u32, queues: usize, apps: u32) -> f64 {
    let mut c = Cluster::new(nodes, queues, apps);
    let size = gib(8, 1, 1);
    let gpus = i64::from(nodes) * GPUS;
    let twice = i32::try_from(2 * gpus / i64::from(apps)).unwrap();
    for app in (1..apps).step_by(2) {
        c.ask(
            AppIdx(app),
            size,
            1 + twice + i32::try_from(app % 5).unwrap(),
        );
    }
    assert_eq!(i64::try_from(c.pass().len()).unwrap(), gpus);
    for app in 0..apps {
        c.ask(AppIdx(app), size, 10);
    }
    c.pass();
    let mut chosen = 0;
    let took = median_us(5, 1, || {
        c.sched.preempt_tick(c.now);
        chosen += c.sched.take_told().len();
    });
    // each queue is owed a GPU at least
    assert!(chosen > 0 || gpus < i64::try_from(queues).unwrap());
    took
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
    c.ask(app, size, 300);
    c.sched.pass_steps(c.now, 200);
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
    median_us(20, 10, || {
        want = 17 - want;
        let found = free.iter().position(|free| gib(8, 1, want).fits(*free));
        assert!(std::hint::black_box(found).is_none());
    })
}

/// Seconds for one container on each of 80,000 GPUs.
fn wave(queues: usize) -> f64 {
    let mut c = Cluster::new(10_000, queues, 1_000);
    for app in 0..c.apps {
        c.ask(AppIdx(app), gib(8, 1, 1), 80);
    }
    let mut granted = 0;
    let took = took_s(|| granted = c.pass().len());
    assert_eq!(granted, 80_000);
    took
}

/// 10,000 nodes register one after another, each followed by a pass; 1,000 queues and as many
/// applications wait for the GPUs that they bring, for 80,000 and then for none.
fn registrations(bars: &mut Bars) {
    for (what, each) in [("wanted", 80), ("idle", 0)] {
        let mut c = Cluster::new(0, 1_000, 1_000);
        for app in 0..c.apps {
            c.ask(AppIdx(app), gib(8, 1, 1), each);
        }
        let mut thousand = || {
            took_s(|| {
                for _ in 0..1_000 {
                    c.add_nodes(1);
                    c.pass();
                }
            })
        };
        let ms: Vec<f64> = (0..10).map(|_| thousand()).collect();
        let (first, last) = (ms[0], ms[9]);
        println!("  registrations of nodes that are {what}, ms each by thousands: {ms:.3?}");
        let most = ms.iter().copied().fold(0.0, f64::max);
        bars.hold(
            &format!("registration of a node that is {what}, in ms"),
            most,
            REGISTRATION_MS_MAX,
        );
        bars.hold(
            &format!("registrations of nodes that are {what}, last thousand over first"),
            last / first,
            REGISTRATION_GROWTH_MAX,
        );
    }
}

/// Bytes on the heap for each node, container and application with an ask.
fn sizes() -> [f64; 3] {
    let mut c = Cluster::new(1, 100, 1);
    c.ask(AppIdx(0), gib(8, 1, 1), 8);
    assert_eq!(c.pass().len(), 8);
    let start = bytes();
    c.add_nodes(10_000);
    c.pass();
    let with_nodes = bytes();
    c.ask(AppIdx(0), gib(8, 1, 1), 80_000);
    assert_eq!(c.take().len(), 80_000);
    let with_containers = bytes();
    // one less: a queue takes 100 applications here, and the first has one
    for app in 0..9_999 {
        let app = c.submit((app + 1) % 100);
        c.ask(app, gib(8, 1, 1), 1);
    }
    c.take();
    let with_apps = bytes();
    [
        (with_nodes - start) / 10_000.0,
        (with_containers - with_nodes) / 80_000.0,
        (with_apps - with_containers) / 9_999.0,
    ]
}
