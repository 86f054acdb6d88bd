//! Tests of intra.rs and intra_plan.rs: applications of one leaf.
//! May touch: small pictures built by hand.
//! Must not: depend on case files.

use super::super::{
    LeafOrder, Rules,
    town::{Town, conf, gpu, mb, types},
};
use crate::{
    conf::{IntraOrder, IntraPreemption, PreemptionConf},
    num::Calculator,
};

fn on(order: IntraOrder, most: f32) -> PreemptionConf {
    PreemptionConf {
        intra: IntraPreemption {
            enabled: true,
            max_allowable_limit: most,
            order,
            ..conf().intra
        },
        ..conf()
    }
}

/// A leaf with all of the cluster, asked for 40 more.
fn full() -> (Town, usize) {
    let mut town = Town::new(mb(100));
    let leaf = town.leaf(mb(100), mb(40));
    (town, leaf)
}

#[test]
fn a_higher_priority_takes_from_a_lower_up_to_the_limit() {
    let (mut town, leaf) = full();
    let user = town.user(mb(100));
    let low = town.app_of(leaf, user, 1);
    let high = town.app_of(leaf, user, 5);
    town.am(low, mb(1));
    town.holds(low, 98, mb(1));
    town.am(high, mb(1));
    town.asks(high, mb(40));
    assert_eq!(town.marks(&on(IntraOrder::PriorityFirst, 0.2)), [20, 0]);
    assert_eq!(town.marks(&on(IntraOrder::PriorityFirst, 0.7)), [40, 0]);
    // where users count, a user that is not above its limit loses nothing
    assert_eq!(town.marks(&on(IntraOrder::UserLimitFirst, 0.7)), [0, 0]);
    assert_eq!(town.marks(&conf()), [0, 0]);
}

#[test]
fn users_take_from_users_above_their_limits_and_leave_one_container_more() {
    let (mut town, leaf) = full();
    let (first, second) = (town.user(mb(50)), town.user(mb(50)));
    let rich = town.app_of(leaf, first, 1);
    let poor = town.app_of(leaf, second, 1);
    town.holds(rich, 100, mb(1));
    town.asks(poor, mb(40));
    assert_eq!(town.marks(&on(IntraOrder::UserLimitFirst, 1.0)), [40, 0]);
    town.asks(poor, mb(90));
    assert_eq!(town.marks(&on(IntraOrder::UserLimitFirst, 1.0)), [49, 0]);
}

#[test]
fn equal_priorities_of_one_user_take_nothing() {
    let (mut town, leaf) = full();
    let user = town.user(mb(100));
    let rich = town.app_of(leaf, user, 1);
    let poor = town.app_of(leaf, user, 1);
    town.holds(rich, 100, mb(1));
    town.asks(poor, mb(40));
    for order in [IntraOrder::PriorityFirst, IntraOrder::UserLimitFirst] {
        assert_eq!(town.marks(&on(order, 1.0)), [0, 0]);
    }
}

#[test]
fn a_leaf_that_uses_little_or_is_disabled_is_left_alone() {
    let high_wants = |held: u32| {
        let (mut town, leaf) = full();
        let user = town.user(mb(100));
        let low = town.app_of(leaf, user, 1);
        let high = town.app_of(leaf, user, 5);
        town.holds(low, held, mb(1));
        town.asks(high, mb(40));
        town
    };
    let conf = on(IntraOrder::PriorityFirst, 1.0);
    assert_eq!(high_wants(49).marks(&conf), [0, 0]);
    let mut town = high_wants(50);
    assert_eq!(town.marks(&conf), [40, 0]);
    town.snapshot.queues[1].intra_disabled = true;
    assert_eq!(town.marks(&conf), [0, 0]);
    town.snapshot.queues[1].intra_disabled = false;
    town.snapshot.queues[1].disabled = true;
    assert_eq!(town.marks(&conf), [0, 0]);
}

#[test]
fn a_fair_leaf_takes_from_the_user_who_uses_most() {
    let (mut town, leaf) = full();
    town.snapshot.queues[leaf].order = LeafOrder::Fair {
        size_based_weight: false,
    };
    let users = [town.user(mb(30)), town.user(mb(30)), town.user(mb(30))];
    let apps = users.map(|user| town.app_of(leaf, user, 1));
    town.holds(apps[0], 60, mb(1));
    town.holds(apps[1], 40, mb(1));
    town.asks(apps[2], mb(20));
    assert_eq!(town.marks(&on(IntraOrder::UserLimitFirst, 1.0)), [20, 0, 0]);
    // by submission it would be the younger one
    town.snapshot.queues[leaf].order = LeafOrder::Fifo;
    let by_age = town.marks(&on(IntraOrder::UserLimitFirst, 1.0));
    assert_eq!(by_age[1], 9, "{by_age:?}");
}

#[test]
fn what_another_queue_takes_counts() {
    let mut town = Town::new(mb(100));
    let leaf = town.leaf(mb(50), mb(40));
    town.leaf(mb(50), mb(50));
    let user = town.user(mb(100));
    let low = town.app_of(leaf, user, 1);
    let high = town.app_of(leaf, user, 5);
    town.holds(low, 100, mb(1));
    town.asks(high, mb(40));
    let inter = town.marks(&conf());
    assert_eq!(inter, [50, 0]);
    let both = town.marks(&on(IntraOrder::PriorityFirst, 1.0));
    assert!(both[0] >= 50 && both[0] <= 90, "{both:?}");
}

#[test]
fn where_gpus_alone_are_short_containers_without_gpus_are_spared() {
    let types = types();
    let hadoop = Rules {
        calculator: Calculator::Dominant,
        types: &types,
        spare_cpu_only: false,
    };
    let sparing = Rules {
        spare_cpu_only: true,
        ..hadoop
    };
    let with_memory = |memory: i64| {
        let mut town = Town::new(gpu(memory, 100, 8));
        let leaf = town.leaf(gpu(memory, 100, 8), gpu(40, 4, 2));
        let user = town.user(gpu(memory, 100, 8));
        let trainer = town.app_of(leaf, user, 1);
        let etl = town.app_of(leaf, user, 1);
        let high = town.app_of(leaf, user, 5);
        town.holds(trainer, 8, gpu(20, 2, 1));
        town.holds(etl, 6, gpu(20, 2, 0));
        town.asks(high, gpu(40, 4, 2));
        town
    };
    let conf = on(IntraOrder::PriorityFirst, 1.0);
    assert_eq!(with_memory(1_000).marks_by(&conf, &sparing), [2, 0, 0]);
    assert!(with_memory(1_000).marks_by(&conf, &hadoop)[1] > 0);
    // memory is short, too
    assert!(with_memory(290).marks_by(&conf, &sparing)[1] > 0);
}
