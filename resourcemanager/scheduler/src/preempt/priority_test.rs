//! Tests of priority.rs: old reservations of queues of higher priority.
//! May touch: small pictures built by hand.
//! Must not: depend on case files.

use yarn_types::{Millis, Resource};

use super::super::{
    Action, Monitor, Node, Rules,
    town::{Town, conf, key, mb, types},
};
use crate::{conf::PreemptionConf, num::Calculator};

/// Two nodes of 50. A leaf of low priority holds 20 on each, below its guarantee of 60; one of high
/// priority reserved 40 on the first at 1,000 ms, and owns `has`.
fn town(has: i64) -> Town {
    let mut town = Town::new(mb(100));
    let total = mb(50);
    let node = Node {
        partition: 0,
        total,
    };
    town.snapshot.nodes = vec![node; 2];
    let low = town.leaf(mb(60), Resource::ZERO);
    let high = town.leaf(mb(has), mb(40));
    town.snapshot.queues[high].priority = 2;
    let app = town.app(low);
    town.put(app, mb(10), |c| c.am = true);
    town.put(app, mb(10), |_| {});
    town.put(app, mb(10), |_| {});
    for _ in 0..4 {
        town.put(app, mb(5), |c| c.node = 1);
    }
    let asking = town.app(high);
    town.put(asking, mb(40), |c| {
        c.reserved = true;
        c.created = Millis(1_000);
    });
    town
}

fn tick(town: &Town, now: u64, conf: &PreemptionConf) -> Vec<Action> {
    let types = types();
    let rules = Rules {
        calculator: Calculator::Default,
        types: &types,
        spare_cpu_only: false,
    };
    Monitor::default().tick(Millis(now), &town.snapshot, conf, &rules)
}

fn on() -> PreemptionConf {
    PreemptionConf {
        underutilized: true,
        underutilized_delay_ms: 5_000,
        ..conf()
    }
}

#[test]
fn an_old_reservation_takes_from_a_lower_queue_below_its_guarantee() {
    let town = town(40);
    assert_eq!(tick(&town, 6_000, &conf()), []);
    assert_eq!(tick(&town, 5_999, &on()), [], "too young");
    let marks = [1, 2].map(|at| Action::MarkPreemption(key(0, at)));
    assert_eq!(tick(&town, 6_000, &on()), marks);
}

#[test]
fn a_queue_with_its_guarantee_takes_nothing() {
    assert_eq!(tick(&town(0), 6_000, &on()), []);
}

#[test]
fn equal_priorities_take_nothing_from_each_other() {
    let mut town = town(40);
    town.snapshot.queues[1].priority = 2;
    assert_eq!(tick(&town, 6_000, &on()), []);
    town.snapshot.queues[1].priority = 1;
    town.snapshot.queues[0].priority_order = false;
    assert_eq!(tick(&town, 6_000, &on()), []);
}

#[test]
fn a_reservation_moves_only_where_that_is_allowed() {
    let mut town = town(40);
    // nothing but the AM is there: 40 never fit beside 30
    for container in town.snapshot.apps[0].containers.iter_mut().take(3) {
        container.am = true;
    }
    assert_eq!(tick(&town, 6_000, &on()), []);
    let moving = PreemptionConf {
        underutilized_move_reservation: true,
        ..on()
    };
    let moved = Action::MoveReservation {
        reservation: key(1, 0),
        to: 1,
    };
    assert_eq!(tick(&town, 6_000, &moving), [moved]);
    town.snapshot.apps[1].containers[0].pinned = true;
    assert_eq!(tick(&town, 6_000, &moving), []);
}
