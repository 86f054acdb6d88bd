//! Tests of ideal.rs: who should hold what.
//! May touch: small pictures built by hand.
//! Must not: depend on case files.

use yarn_types::{Millis, Resource};

use super::super::{
    Monitor, QueueRow, Rules,
    town::{Town, conf, gpu, mb, types},
};
use crate::{conf::PreemptionConf, num::Calculator};

fn row(town: &Town, conf: &PreemptionConf, queue: usize) -> QueueRow {
    let types = types();
    let rules = Rules {
        calculator: Calculator::Default,
        types: &types,
        spare_cpu_only: false,
    };
    let mut monitor = Monitor::default();
    monitor.tick(Millis(0), &town.snapshot, conf, &rules);
    *monitor.row(queue, 0).unwrap()
}

/// One leaf with everything, one with nothing that asks for `asks`; both own 50 of 100.
fn greedy_and_poor(asks: i64) -> (Town, usize, usize) {
    let mut town = Town::new(mb(100));
    let greedy = town.leaf(mb(50), Resource::ZERO);
    let poor = town.leaf(mb(50), mb(asks));
    let app = town.app(greedy);
    town.holds(app, 100, mb(1));
    (town, greedy, poor)
}

#[test]
fn a_queue_gets_what_it_asks_for_up_to_its_guarantee() {
    let table = [(0, 100, 0), (10, 90, 10), (50, 50, 50), (80, 50, 50)];
    for (asks, keeps, gets) in table {
        let (town, greedy, poor) = greedy_and_poor(asks);
        let (greedy, poor) = (row(&town, &conf(), greedy), row(&town, &conf(), poor));
        assert_eq!(greedy.ideal_assigned.memory_mb(), keeps, "asks {asks}");
        assert_eq!(poor.ideal_assigned.memory_mb(), gets, "asks {asks}");
        assert_eq!(greedy.to_be_preempted.memory_mb(), gets, "asks {asks}");
    }
}

#[test]
fn a_type_that_nobody_is_guaranteed_is_not_taken_from_its_only_user() {
    // a tenth of four GPUs is no GPU
    let mut town = Town::new(gpu(100, 100, 4));
    let leaf = town.leaf(gpu(10, 10, 0), gpu(1, 1, 3));
    let idle = town.leaf(gpu(90, 90, 3), Resource::ZERO);
    let app = town.app(leaf);
    town.holds(app, 1, gpu(1, 1, 3));
    let types = types();
    let rules = Rules {
        calculator: Calculator::Dominant,
        types: &types,
        spare_cpu_only: true,
    };
    let mut monitor = Monitor::default();
    monitor.tick(Millis(0), &town.snapshot, &conf(), &rules);
    let rows = [leaf, idle].map(|queue| *monitor.row(queue, 0).unwrap());
    assert_eq!(rows[0].ideal_assigned, gpu(1, 1, 3), "{rows:?}");
    assert_eq!(rows[0].to_be_preempted, Resource::ZERO);
}

#[test]
fn a_disabled_queue_keeps_all_that_it_has_too_much() {
    let (mut town, greedy, poor) = greedy_and_poor(50);
    town.snapshot.queues[greedy].disabled = true;
    let (greedy, poor) = (row(&town, &conf(), greedy), row(&town, &conf(), poor));
    assert_eq!(greedy.untouchable_extra.memory_mb(), 50);
    assert_eq!(greedy.preemptable_extra.memory_mb(), 0);
    assert_eq!(poor.ideal_assigned.memory_mb(), 0);
    assert_eq!(greedy.to_obtain, Resource::ZERO);
}

#[test]
fn the_round_is_scaled_to_its_limit() {
    let (town, greedy, _) = greedy_and_poor(50);
    let some = PreemptionConf {
        total_per_round: 0.2,
        ..conf()
    };
    assert_eq!(row(&town, &some, greedy).to_be_preempted.memory_mb(), 20);
}

#[test]
fn natural_termination_takes_a_part_rounded_half_up() {
    let (town, greedy, _) = greedy_and_poor(37);
    let slow = PreemptionConf {
        natural_termination_factor: 0.2,
        ..conf()
    };
    // 37 × 0.2 = 7.4 and 43 × 0.2 = 8.6
    assert_eq!(row(&town, &slow, greedy).to_obtain.memory_mb(), 7);
    let (town, greedy, _) = greedy_and_poor(43);
    assert_eq!(row(&town, &slow, greedy).to_obtain.memory_mb(), 9);
}

#[test]
fn within_the_dead_zone_nothing_is_taken() {
    for (held, taken) in [(55, 0), (56, 6)] {
        let mut town = Town::new(mb(100));
        let greedy = town.leaf(mb(50), Resource::ZERO);
        town.leaf(mb(50), mb(50));
        let app = town.app(greedy);
        town.holds(app, held, mb(1));
        // another one without demand holds the rest
        let third = town.leaf(mb(0), Resource::ZERO);
        let other = town.app(third);
        town.holds(other, 44, mb(1));
        town.snapshot.queues[third].disabled = true;
        let got = row(&town, &conf(), greedy).to_obtain.memory_mb();
        assert_eq!(got > 0, taken > 0, "holds {held}");
    }
}

#[test]
fn satisfied_queues_balance_only_when_told() {
    let mut town = Town::new(mb(100));
    let greedy = town.leaf(mb(20), Resource::ZERO);
    let modest = town.leaf(mb(20), mb(60));
    let app = town.app(greedy);
    town.holds(app, 80, mb(1));
    let other = town.app(modest);
    town.holds(other, 20, mb(1));
    assert_eq!(row(&town, &conf(), greedy).to_obtain.memory_mb(), 0);
    let balance = PreemptionConf {
        balance_after_satisfied: true,
        ..conf()
    };
    let row = row(&town, &balance, greedy);
    assert_eq!(row.ideal_assigned.memory_mb(), 50);
    assert_eq!(row.to_obtain.memory_mb(), 30);
}

#[test]
fn the_queue_of_higher_priority_below_its_guarantee_is_served_first() {
    let mut town = Town::new(mb(100));
    let greedy = town.leaf(mb(20), Resource::ZERO);
    let low = town.leaf(mb(40), mb(40));
    let high = town.leaf(mb(40), mb(40));
    town.snapshot.queues[high].priority = 1;
    let app = town.app(greedy);
    town.holds(app, 100, mb(1));
    // 30 are left for both; each round offers 40 of 150, so the last one is rounded away
    town.snapshot.queues[greedy].shares[0].guaranteed = mb(70);
    assert_eq!(row(&town, &conf(), high).ideal_assigned.memory_mb(), 29);
    assert_eq!(row(&town, &conf(), low).ideal_assigned.memory_mb(), 0);
    town.snapshot.queues[0].priority_order = false;
    let of = |queue| row(&town, &conf(), queue).ideal_assigned.memory_mb();
    assert!(
        of(high).abs_diff(of(low)) <= 1,
        "{} and {}",
        of(high),
        of(low)
    );
    assert!(of(low) >= 14);
}

#[test]
fn a_parent_within_its_guarantee_still_levels_its_children() {
    let mut town = Town::new(mb(100));
    let parent = town.queue(0, false, mb(100), Resource::ZERO);
    let greedy = town.queue(parent, true, mb(50), Resource::ZERO);
    let poor = town.queue(parent, true, mb(50), mb(30));
    let app = town.app(greedy);
    town.holds(app, 100, mb(1));
    assert_eq!(row(&town, &conf(), parent).to_be_preempted.memory_mb(), 0);
    assert_eq!(row(&town, &conf(), parent).pending.memory_mb(), 30);
    assert_eq!(row(&town, &conf(), poor).ideal_assigned.memory_mb(), 30);
    assert_eq!(row(&town, &conf(), greedy).to_obtain.memory_mb(), 30);
}

#[test]
fn what_may_be_killed_is_not_taken_again() {
    let (mut town, greedy, _) = greedy_and_poor(50);
    town.snapshot.queues[greedy].shares[0].killable = mb(30);
    assert_eq!(row(&town, &conf(), greedy).to_be_preempted.memory_mb(), 20);
}
