//! Tests of fifo.rs: whose containers go first.
//! May touch: small pictures built by hand.
//! Must not: depend on case files.

use yarn_types::{Millis, Resource};

use super::super::{
    Action, AppShare, Monitor, Node, Partition, Rules, UserShare,
    town::{Town, conf, gpu, key, mb, types},
};
use crate::{conf::PreemptionConf, num::Calculator};

/// A leaf that owns 50 of 100 and holds all of it in three applications, and one that asks for
/// `asks`.
fn three_apps(asks: i64) -> (Town, [usize; 3]) {
    let mut town = Town::new(mb(100));
    let greedy = town.leaf(mb(50), Resource::ZERO);
    town.leaf(mb(50), mb(asks));
    let apps = [town.app(greedy), town.app(greedy), town.app(greedy)];
    for app in apps {
        town.am(app, mb(1));
    }
    town.holds(apps[0], 47, mb(1));
    town.holds(apps[1], 30, mb(1));
    town.holds(apps[2], 20, mb(1));
    (town, apps)
}

#[test]
fn the_youngest_application_loses_first_and_ams_stay() {
    let (town, _) = three_apps(30);
    assert_eq!(town.marks(&conf()), [0, 10, 20]);
}

#[test]
fn the_lowest_priority_loses_first() {
    let (mut town, apps) = three_apps(30);
    town.snapshot.apps[apps[2]].priority = 5;
    town.snapshot.apps[apps[0]].priority = 3;
    assert_eq!(town.marks(&conf()), [0, 30, 0]);
}

#[test]
fn a_type_that_the_cluster_lacks_ends_no_choice() {
    let mut town = Town::new(gpu(4_096, 64, 0));
    let greedy = town.leaf(gpu(2_048, 32, 0), Resource::ZERO);
    town.leaf(gpu(2_048, 32, 0), gpu(1_024, 2, 0));
    let app = town.app(greedy);
    town.holds(app, 8, gpu(512, 1, 0));
    let types = types();
    let rules = Rules {
        calculator: Calculator::Dominant,
        types: &types,
        spare_cpu_only: true,
    };
    assert_eq!(town.marks_by(&conf(), &rules), [2]);
}

#[test]
fn within_an_application_the_largest_number_then_the_newest_goes() {
    let mut town = Town::new(mb(100));
    let greedy = town.leaf(mb(50), Resource::ZERO);
    town.leaf(mb(50), mb(3));
    let app = town.app(greedy);
    town.holds(app, 50, mb(1));
    town.put(app, mb(1), |c| c.priority = 9);
    town.holds(app, 49, mb(1));
    let types = types();
    let rules = Rules {
        calculator: Calculator::Default,
        types: &types,
        spare_cpu_only: false,
    };
    let actions = Monitor::default().tick(Millis(0), &town.snapshot, &conf(), &rules);
    let marks = [50, 99, 98].map(|at| Action::MarkPreemption(key(app, at)));
    assert_eq!(actions, marks);
}

#[test]
fn ams_go_last_and_only_beyond_the_share_kept_for_them() {
    let mut town = Town::new(mb(100));
    let greedy = town.leaf(mb(10), Resource::ZERO);
    town.leaf(mb(90), mb(90));
    for _ in 0..10 {
        let app = town.app(greedy);
        town.am(app, mb(5));
        town.holds(app, 1, mb(5));
    }
    // of 100 in use, 90 go: all tasks, and AMs down to 20 % of the guarantee
    town.snapshot.queues[greedy].max_am_percent = 1.0;
    assert_eq!(town.marks(&conf()).iter().sum::<usize>(), 18);
    town.snapshot.queues[greedy].max_am_percent = 2.0;
    assert_eq!(town.marks(&conf()).iter().sum::<usize>(), 16);
}

#[test]
fn reservations_are_dropped_before_containers_are_taken() {
    let (mut town, apps) = three_apps(10);
    town.put(apps[2], mb(4), |c| c.reserved = true);
    let types = types();
    let rules = Rules {
        calculator: Calculator::Default,
        types: &types,
        spare_cpu_only: false,
    };
    let actions = Monitor::default().tick(Millis(0), &town.snapshot, &conf(), &rules);
    assert_eq!(actions[0], Action::DropReservation(key(apps[2], 21)));
    assert_eq!(actions[1], Action::MarkPreemption(key(apps[2], 21)));
}

#[test]
fn containers_that_share_a_partition_go_before_those_that_asked_for_it() {
    let mut town = Town::new(mb(100));
    let total = mb(100);
    town.snapshot.partitions.push(Partition {
        total,
        exclusive: false,
    });
    town.snapshot.nodes.push(Node {
        partition: 1,
        total,
    });
    let greedy = town.leaf(mb(50), Resource::ZERO);
    let poor = town.leaf(mb(50), Resource::ZERO);
    for queue in [0, greedy, poor] {
        let share = town.snapshot.queues[queue].shares[0];
        town.snapshot.queues[queue].shares.push(share);
    }
    town.snapshot.queues[poor].shares[1].pending = mb(20);
    town.snapshot.queues[poor].shares[1].pending_less_reserved = mb(20);
    let apps = [town.app(greedy), town.app(greedy)];
    for app in apps {
        town.snapshot.apps[app].shares.push(AppShare::default());
        let user = town.snapshot.apps[app].user;
        town.snapshot.users[user].shares.push(UserShare::default());
    }
    for _ in 0..50 {
        town.put(apps[0], mb(1), |c| c.node = 1);
        town.put(apps[1], mb(1), |c| {
            c.node = 1;
            c.asked = 1;
        });
    }
    assert_eq!(town.marks(&conf()), [20, 0]);
}

/// A leaf with applications with and without GPUs, and one that asks for two GPUs.
fn gpus(free_memory: i64) -> Town {
    let total = gpu(1_000, 100, 8);
    let mut town = Town::new(total);
    let greedy = town.leaf(gpu(500, 50, 4), Resource::ZERO);
    town.leaf(gpu(500, 50, 4), gpu(20, 2, 2));
    let training = town.app(greedy);
    town.holds(training, 8, gpu(50, 4, 1));
    let etl = town.app(greedy);
    town.holds(etl, 6, gpu((600 - free_memory) / 6, 2, 0));
    town
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
    let town = gpus(60);
    assert_eq!(town.marks_by(&conf(), &sparing), [2, 0]);
    // with a conservative choice as well, where Hadoop takes nothing
    let conservative = PreemptionConf {
        conservative_drf: true,
        ..conf()
    };
    assert_eq!(town.marks_by(&conservative, &hadoop), [0, 0]);
    assert_eq!(town.marks_by(&conservative, &sparing), [2, 0]);
}

#[test]
fn where_memory_is_short_too_containers_without_gpus_may_go() {
    let types = types();
    let sparing = Rules {
        calculator: Calculator::Dominant,
        types: &types,
        spare_cpu_only: true,
    };
    assert!(gpus(0).marks_by(&conf(), &sparing)[1] > 0);
}

#[test]
fn memory_that_is_short_under_a_parents_maximum_is_short() {
    let types = types();
    let sparing = Rules {
        calculator: Calculator::Dominant,
        types: &types,
        spare_cpu_only: true,
    };
    let mut town = Town::new(gpu(1_000, 100, 8));
    let parent = town.queue(0, false, gpu(400, 40, 0), Resource::ZERO);
    let greedy = town.queue(parent, true, gpu(200, 20, 0), Resource::ZERO);
    town.queue(parent, true, gpu(200, 20, 0), gpu(100, 10, 0));
    let etl = town.app(greedy);
    town.holds(etl, 10, gpu(40, 4, 0));
    assert_eq!(
        town.marks_by(&conf(), &sparing),
        [0],
        "there is room elsewhere"
    );
    town.snapshot.queues[parent].shares[0].max = gpu(400, 40, 0);
    assert!(town.marks_by(&conf(), &sparing)[0] > 0);
}

#[test]
fn conservative_stops_when_one_wanted_type_is_met() {
    let total = Resource::new(100, 100);
    let mut town = Town::new(total);
    let greedy = town.leaf(Resource::new(50, 50), Resource::ZERO);
    town.leaf(Resource::new(50, 50), Resource::new(50, 50));
    let app = town.app(greedy);
    town.holds(app, 10, Resource::new(10, 2));
    town.holds(app, 8, Resource::new(0, 10));
    let lanes = yarn_types::ResourceTypes::memory_and_vcores();
    let rules = Rules {
        calculator: Calculator::Dominant,
        types: &lanes,
        spare_cpu_only: false,
    };
    let usual = town.marks_by(&conf(), &rules)[0];
    let careful = PreemptionConf {
        conservative_drf: true,
        ..conf()
    };
    let careful = town.marks_by(&careful, &rules)[0];
    assert!(careful < usual, "{careful} of {usual}");
}
