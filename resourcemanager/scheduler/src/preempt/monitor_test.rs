//! Tests of monitor.rs: marks and kills over time, and laws over random pictures.
//! May touch: small pictures built by hand or from a seed.
//! Must not: depend on case files.

use std::collections::BTreeSet;

use yarn_types::{Millis, Resource, ResourceTypes};

use super::super::{
    Action, Monitor, Rules,
    town::{Town, conf, gpu, mb, types},
};
use crate::{
    conf::{IntraOrder, PreemptionConf},
    num::Calculator,
};

fn rules(types: &ResourceTypes, calculator: Calculator) -> Rules<'_> {
    Rules {
        calculator,
        types,
        spare_cpu_only: false,
    }
}

fn greedy_and_poor(asks: i64) -> Town {
    let mut town = Town::new(mb(100));
    let greedy = town.leaf(mb(50), Resource::ZERO);
    town.leaf(mb(50), mb(asks));
    let app = town.app(greedy);
    town.holds(app, 100, mb(1));
    town
}

fn counts(actions: &[Action]) -> (usize, usize) {
    let of = |want: fn(&Action) -> bool| actions.iter().filter(|a| want(a)).count();
    (
        of(|a| matches!(a, Action::MarkPreemption(_))),
        of(|a| matches!(a, Action::Kill(_))),
    )
}

#[test]
fn marks_once_and_kills_when_the_wait_is_over() {
    let types = types();
    let rules = rules(&types, Calculator::Default);
    let town = greedy_and_poor(10);
    let mut monitor = Monitor::default();
    let table = [
        (0, (10, 0)),
        (5_000, (0, 0)),
        (9_999, (0, 0)),
        (10_000, (0, 10)),
        // still there: asked for anew
        (13_000, (10, 0)),
    ];
    for (now, want) in table {
        let actions = monitor.tick(Millis(now), &town.snapshot, &conf(), &rules);
        assert_eq!(counts(&actions), want, "at {now}");
    }
    assert_eq!((monitor.total_marked(), monitor.total_killed()), (20, 10));
}

#[test]
fn a_mark_that_is_not_renewed_is_forgotten_after_twice_the_wait() {
    let types = types();
    let rules = rules(&types, Calculator::Default);
    let (town, calm) = (greedy_and_poor(10), greedy_and_poor(0));
    let mut monitor = Monitor::default();
    monitor.tick(Millis(0), &town.snapshot, &conf(), &rules);
    monitor.tick(Millis(20_000), &calm.snapshot, &conf(), &rules);
    assert_eq!(monitor.marked().count(), 10);
    monitor.tick(Millis(20_001), &calm.snapshot, &conf(), &rules);
    assert_eq!(monitor.marked().count(), 0);
}

#[test]
fn observing_asks_for_nothing_and_still_computes() {
    let types = types();
    let rules = rules(&types, Calculator::Default);
    let town = greedy_and_poor(10);
    let watching = PreemptionConf {
        observe_only: true,
        ..conf()
    };
    let mut monitor = Monitor::default();
    let actions = monitor.tick(Millis(0), &town.snapshot, &watching, &rules);
    assert_eq!(actions, []);
    assert_eq!(monitor.marked().count(), 0);
    assert_eq!(monitor.row(1, 0).unwrap().to_obtain.memory_mb(), 10);
}

#[test]
fn balancing_waits_longer_before_it_kills() {
    let types = types();
    let rules = rules(&types, Calculator::Default);
    let mut town = Town::new(mb(100));
    let greedy = town.leaf(mb(20), Resource::ZERO);
    let modest = town.leaf(mb(20), mb(60));
    let app = town.app(greedy);
    town.holds(app, 80, mb(1));
    let other = town.app(modest);
    town.holds(other, 20, mb(1));
    let balance = PreemptionConf {
        balance_after_satisfied: true,
        balance_max_wait_before_kill_ms: 15_000,
        ..conf()
    };
    let mut monitor = Monitor::default();
    for (now, want) in [(0, (30, 0)), (14_999, (0, 0)), (15_000, (0, 30))] {
        let actions = monitor.tick(Millis(now), &town.snapshot, &balance, &rules);
        assert_eq!(counts(&actions), want, "at {now}");
    }
}

/// Numbers from a seed, the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(self.0 >> 33).unwrap() % below.max(1)
    }
}

/// Two parents with up to three leaves each, up to three applications in each.
fn random(seed: u64) -> (Town, PreemptionConf) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut town = Town::new(gpu(600, 300, 24));
    for _ in 0..2 {
        let parent = town.queue(0, false, gpu(300, 150, 12), Resource::ZERO);
        for _ in 0..=dice.roll(3) {
            let has = gpu(100, 50, 4);
            let asks = gpu(dice.roll(200), dice.roll(100), dice.roll(5));
            let leaf = town.queue(parent, true, has, asks);
            town.snapshot.queues[leaf].priority = i32::try_from(dice.roll(3)).unwrap();
            for _ in 0..dice.roll(4) {
                let user = town.user(gpu(80, 40, 4));
                let app = town.app_of(leaf, user, i32::try_from(dice.roll(3)).unwrap());
                town.am(app, gpu(2, 1, 0));
                let size = gpu(1 + dice.roll(12), 1 + dice.roll(6), dice.roll(2));
                town.holds(app, u32::try_from(dice.roll(12)).unwrap(), size);
                town.asks(app, asks);
            }
        }
    }
    let mut conf = PreemptionConf {
        total_per_round: [1.0, 0.5, 0.1][usize::try_from(dice.roll(3)).unwrap()],
        conservative_drf: dice.roll(4) == 0,
        select_reserved: dice.roll(2) == 0,
        balance_after_satisfied: dice.roll(3) == 0,
        ..conf()
    };
    conf.intra.enabled = dice.roll(2) == 0;
    conf.intra.conservative_drf = dice.roll(2) == 0;
    if dice.roll(2) == 0 {
        conf.intra.order = IntraOrder::PriorityFirst;
    }
    (town, conf)
}

fn taken(town: &Town, actions: &[Action]) -> Vec<(usize, usize)> {
    let place = |action: &Action| match action {
        Action::MarkPreemption(key) => Some(*key),
        _ => None,
    };
    let keys: BTreeSet<u64> = actions.iter().filter_map(place).collect();
    let mut places = Vec::new();
    for (app, facts) in town.snapshot.apps.iter().enumerate() {
        for (at, container) in facts.containers.iter().enumerate() {
            if keys.contains(&container.key) {
                places.push((app, at));
            }
        }
    }
    places
}

#[test]
fn laws_hold_over_random_pictures() {
    let types = types();
    let mut some = 0;
    for seed in 0..400 {
        let (town, conf) = random(seed);
        let calculator = [Calculator::Default, Calculator::Dominant][usize::from(seed % 2 == 0)];
        let rules = rules(&types, calculator);
        let mut monitor = Monitor::default();
        let actions = monitor.tick(Millis(0), &town.snapshot, &conf, &rules);
        let places = taken(&town, &actions);
        some += usize::from(!places.is_empty());
        let container = |(app, at): (usize, usize)| &town.snapshot.apps[app].containers[at];
        let sum = places.iter().fold(Resource::ZERO, |sum, place| {
            sum.plus(container(*place).size)
        });
        // no more in all than the round allows
        let total = town.snapshot.partitions[0].total;
        let most = crate::num::share_of(total, conf.total_per_round, &types);
        assert!(
            calculator.fits(sum, most),
            "seed {seed}: {sum:?} of {most:?}"
        );
        // no AM while a task of its application is left that the round would allow
        for (app, at) in &places {
            let fits = |size| calculator.fits(size, most.minus(sum));
            let left = town.snapshot.apps[*app].containers.iter().enumerate();
            let mut tasks = left
                .filter(|(other, c)| !c.am && !places.contains(&(*app, *other)) && fits(c.size));
            let am = container((*app, *at)).am;
            let judged = am && calculator == Calculator::Default && !conf.conservative_drf;
            assert!(!judged || tasks.next().is_none(), "seed {seed}");
        }
        // no queue falls below its guarantee by more than a container
        if calculator == Calculator::Default && !conf.intra.enabled {
            for (queue, facts) in town.snapshot.queues.iter().enumerate() {
                let from = places
                    .iter()
                    .filter(|p| town.snapshot.apps[p.0].queue == queue);
                let sizes: Vec<i64> = from.map(|p| container(*p).size.memory_mb()).collect();
                let share = facts.shares[0];
                let after = share.used.memory_mb() - sizes.iter().sum::<i64>();
                // one container for each selector
                let slack = 3 * sizes.iter().max().copied().unwrap_or(0);
                let fine = sizes.is_empty() || after + slack >= share.guaranteed.memory_mb();
                assert!(fine, "seed {seed}: queue {queue} has {after}");
            }
        }
        // the same picture marks nothing twice, and another monitor marks the same
        let again = monitor.tick(Millis(1), &town.snapshot, &conf, &rules);
        assert_eq!(counts(&again), (0, 0), "seed {seed}");
        let other = Monitor::default().tick(Millis(0), &town.snapshot, &conf, &rules);
        assert_eq!(actions, other, "seed {seed}");
    }
    assert!(some > 100, "{some} pictures in which something is taken");
}

#[test]
fn disabled_queues_never_lose_anything() {
    let types = types();
    let rules = rules(&types, Calculator::Dominant);
    for seed in 0..100 {
        let (mut town, conf) = random(seed);
        for queue in &mut town.snapshot.queues {
            queue.disabled = true;
        }
        let actions = Monitor::default().tick(Millis(0), &town.snapshot, &conf, &rules);
        assert_eq!(actions, [], "seed {seed}");
    }
}

#[test]
fn sparing_takes_no_container_without_gpus_where_gpus_alone_are_short() {
    let types = types();
    let mut seen = 0;
    for seed in 0..300 {
        let (mut town, mut conf) = random(seed);
        conf.intra.enabled = false;
        conf.select_reserved = false;
        // memory and vcores without end
        let plenty = town.snapshot.partitions[0]
            .total
            .plus(Resource::new(100_000, 100_000));
        town.snapshot.partitions[0].total = plenty;
        town.snapshot.queues[0].shares[0].guaranteed = plenty;
        for queue in &mut town.snapshot.queues {
            queue.shares[0].max = plenty;
        }
        let sparing = Rules {
            spare_cpu_only: true,
            ..rules(&types, Calculator::Dominant)
        };
        let wanted = town.snapshot.queues.iter().filter(|queue| queue.leaf);
        let wanted: i64 = wanted.map(|queue| queue.shares[0].pending.0[2]).sum();
        if wanted == 0 {
            continue;
        }
        let actions = Monitor::default().tick(Millis(0), &town.snapshot, &conf, &sparing);
        for (app, at) in taken(&town, &actions) {
            let container = &town.snapshot.apps[app].containers[at];
            seen += 1;
            assert!(container.size.0[2] > 0, "seed {seed}");
        }
    }
    assert!(seen > 0, "something is taken");
}
