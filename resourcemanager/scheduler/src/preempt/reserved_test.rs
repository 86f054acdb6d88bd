//! Tests of reserved.rs: just enough on the cheapest node.
//! May touch: small pictures built by hand.
//! Must not: depend on case files.

use yarn_types::{Millis, Resource};

use super::super::{
    Action, Monitor, Node, Rules,
    town::{Town, conf, key, mb, types},
};
use crate::{conf::PreemptionConf, num::Calculator};

/// Two nodes of 50; a leaf with all of it in containers of `sizes`, and one that reserved `wanted`
/// on each node.
fn town(sizes: [i64; 2], wanted: i64) -> Town {
    let mut town = Town::new(mb(100));
    let total = mb(50);
    let node = Node {
        partition: 0,
        total,
    };
    town.snapshot.nodes = vec![node; 2];
    let greedy = town.leaf(mb(50), Resource::ZERO);
    let poor = town.leaf(mb(50), mb(2 * wanted));
    let app = town.app(greedy);
    for (node, size) in sizes.into_iter().enumerate() {
        for _ in 0..50 / size {
            town.put(app, mb(size), |c| c.node = node);
        }
    }
    let asking = town.app(poor);
    for node in 0..2 {
        town.put(asking, mb(wanted), |c| {
            c.node = node;
            c.reserved = true;
        });
    }
    town.snapshot.queues[poor].shares[0].pending_less_reserved = Resource::ZERO;
    town
}

fn marks(town: &Town, per_round: f32) -> Vec<u64> {
    let types = types();
    let rules = Rules {
        calculator: Calculator::Default,
        types: &types,
        spare_cpu_only: false,
    };
    let conf = PreemptionConf {
        select_reserved: true,
        total_per_round: per_round,
        ..conf()
    };
    let actions = Monitor::default().tick(Millis(0), &town.snapshot, &conf, &rules);
    let mark = |action: &Action| match action {
        Action::MarkPreemption(key) => Some(*key),
        _ => None,
    };
    actions.iter().filter_map(mark).collect()
}

#[test]
fn takes_just_enough_newest_first_on_the_cheapest_node() {
    // the first node wastes 3 of 15, the second 0; there is quota for both
    let got = marks(&town([6, 5], 15), 1.0);
    let second: Vec<u64> = [17, 16, 15].map(|at| key(0, at)).to_vec();
    assert_eq!(got[..3], second);
    let first: Vec<u64> = [7, 6, 5].map(|at| key(0, at)).to_vec();
    assert_eq!(got[3..6], first);
}

#[test]
fn takes_nothing_where_the_round_does_not_allow_enough() {
    assert_eq!(marks(&town([5, 5], 15), 0.1), Vec::<u64>::new());
    assert_eq!(marks(&town([5, 5], 15), 0.15).len(), 3);
}

#[test]
fn never_takes_an_am() {
    let mut town = town([50, 50], 30);
    for container in &mut town.snapshot.apps[0].containers {
        container.am = true;
    }
    // nor does the selector that comes after it, within the share kept for AMs
    town.snapshot.queues[1].max_am_percent = 2.0;
    let got = marks(&town, 1.0);
    assert!(got.iter().all(|k| *k >= key(1, 0)), "{got:?}");
}

#[test]
fn takes_nothing_where_what_is_free_will_do() {
    let mut town = town([5, 5], 15);
    for container in town.snapshot.apps[0].containers.iter_mut().take(3) {
        container.killable = true;
    }
    let got = marks(&town, 1.0);
    assert!(got.iter().all(|k| *k >= key(0, 10)), "{got:?}");
}
