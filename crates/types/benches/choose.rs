//! Times the choice of devices for one container; exits 1 above the bar.
//! May touch: the choosing.
//! Must not: know nodes.
#![allow(clippy::print_stdout, clippy::expect_used)] // a bench reports and may fail

use std::{
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant},
};

use yarn_types::gpu::{Affinity, DeviceSet, GpuDevice, GpuHealth, GpuLink, LinkKind};

/// Most for one choice, the median of all rounds.
const BAR: Duration = Duration::from_micros(5);
const ROUNDS: usize = 200;
/// Choices timed together, as one is shorter than the clock's own cost allows to measure.
const BATCH: u32 = 100;

fn main() -> ExitCode {
    let mut over = false;
    for cards in [8, 16] {
        let affinity = Affinity::of(&node(cards));
        let all: DeviceSet = (0..cards).collect();
        for (state, free) in [("all free", all), ("one taken", all.without(first()))] {
            for count in [1, 2, 4, 8] {
                if count > free.len() {
                    continue;
                }
                let times = rounds(&affinity, free, count);
                let (median, slow) = (times[ROUNDS / 2], times[ROUNDS * 99 / 100]);
                println!(
                    "choose {count} of {cards}, {state}: median {median:?}, 99 % {slow:?}, bar {BAR:?}"
                );
                over |= median > BAR;
            }
        }
    }
    ExitCode::from(u8::from(over))
}

fn first() -> DeviceSet {
    std::iter::once(0).collect()
}

/// Sorted times of one choice each.
fn rounds(affinity: &Affinity, free: DeviceSet, count: usize) -> Vec<Duration> {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            for _ in 0..BATCH {
                let chosen = black_box(affinity).choose(black_box(free), black_box(count));
                black_box(chosen.expect("enough are free"));
            }
            begin.elapsed() / BATCH
        })
        .collect();
    times.sort();
    times
}

/// Cards in NVLink groups of four, two groups a NUMA node.
fn node(cards: usize) -> Vec<GpuDevice> {
    let uuid = |n: usize| std::sync::Arc::<str>::from(format!("GPU-{n}"));
    let card = |n: usize| {
        let peers = (0..cards).filter(|p| *p != n && p / 4 == n / 4);
        let number = u32::try_from(n).unwrap_or(u32::MAX);
        GpuDevice {
            uuid: uuid(n),
            index: number,
            minor: number,
            pci: format!("00000000:{n:02X}:00.0"),
            model: "A100".to_owned(),
            memory_mib: 81_920,
            numa: Some(number / 8),
            links: peers
                .map(|p| GpuLink {
                    peer: uuid(p),
                    kind: LinkKind::NvLink(12),
                })
                .collect(),
            health: GpuHealth::Ok,
        }
    };
    (0..cards).map(card).collect()
}
