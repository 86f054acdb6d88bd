//! The reasons that users see, with their numbers.
//! May touch: the scheduler's public face.
//! Must not: look into its tables.

use std::sync::Arc;

use super::super::{
    ANY, AppIdx,
    event::tests::{Cluster, gib},
};

fn only(c: &Cluster, app: AppIdx) -> String {
    let lines = c.sched.why(app);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(!lines[0].contains('\n'));
    lines[0].clone()
}

#[test]
fn nothing_is_said_of_what_is_placed() {
    let mut c = Cluster::new(&[]);
    c.node(gib(8, 8, 0), "");
    let a = c.app("a", "u");
    c.ask(a, gib(1, 1, 0), 2);
    c.run();
    assert!(c.sched.why(a).is_empty());
    assert!(c.sched.why(AppIdx(77)).is_empty());
}

#[test]
fn no_node_is_large_enough_at_once() {
    let mut c = Cluster::new(&[]);
    let a = c.app("a", "u");
    assert!(c.sched.why(a)[0].ends_with("there is no usable node"));
    c.node(gib(8, 8, 0), "");
    c.node(gib(4, 16, 0), "");
    c.ask(a, gib(9, 1, 0), 2);
    let why = only(&c, a);
    assert!(why.starts_with("2 x <memory:9216, vCores:1"), "{why}");
    assert!(
        why.contains("the largest amounts are <memory:8192, vCores:16"),
        "{why}"
    );
}

#[test]
fn limits_say_where_and_how_much() {
    let mut c = Cluster::new(&[
        ("root.a.maximum-capacity", "60"),
        ("root.b.user-limit-factor", "0.5"),
    ]);
    for _ in 0..2 {
        c.node(gib(10, 10, 0), "");
    }
    let (a, b) = (c.app("a", "u"), c.app("b", "v"));
    c.ask(a, gib(2, 2, 0), 10);
    c.run();
    let why = only(&c, a);
    assert!(
        why.contains("queue root.a holds <memory:12288, vCores:12")
            && why.contains("at most <memory:12288, vCores:12"),
        "{why}"
    );
    c.ask(b, gib(1, 1, 0), 10);
    c.run();
    let why = only(&c, b);
    assert!(
        why.contains("the user holds <memory:5120, vCores:5") && why.contains("in queue root.b"),
        "{why}"
    );
}

#[test]
fn room_is_counted_by_nodes_and_reservations_named() {
    let mut c = Cluster::new(&[]);
    for _ in 0..2 {
        c.node(gib(8, 8, 0), "");
    }
    let (a, b) = (c.app("a", "u"), c.app("b", "v"));
    c.ask(a, gib(3, 3, 0), 4);
    c.run();
    c.ask(b, gib(4, 4, 0), 1);
    c.run();
    let why = only(&c, b);
    assert!(
        why.contains("reserved on h0, which lacks <memory:2048, vCores:2"),
        "{why}"
    );
    c.ask(a, gib(4, 1, 0), 1);
    let why = only(&c, a);
    assert!(
        why.ends_with("none of the 2 nodes that could hold it has room now"),
        "{why}"
    );
}

#[test]
fn free_gpus_on_several_nodes_are_no_room_for_a_larger_ask() {
    let mut c = Cluster::new(&[]);
    for _ in 0..2 {
        c.node(gib(64, 64, 8), "");
    }
    let a = c.app("a", "u");
    c.ask(a, gib(1, 1, 6), 2);
    c.run();
    c.ask(a, gib(1, 1, 4), 1);
    let why = only(&c, a);
    assert!(why.contains("enough GPUs are free in all"), "{why}");
    assert!(why.contains("on 2 nodes"), "{why}");
}

#[test]
fn waits_and_exclusions_are_told_apart() {
    let mut c = Cluster::new(&[
        ("node-locality-delay", "1"),
        ("rack-locality-additional-delay", "1"),
    ]);
    for _ in 0..2 {
        c.node(gib(8, 8, 0), "");
    }
    let a = c.app("a", "u");
    c.ask_at(a, gib(1, 1, 0), &[("elsewhere", 1, true), (ANY, 1, true)]);
    c.run();
    c.later(400);
    c.run();
    assert!(only(&c, a).ends_with("waits up to 600 ms more for a closer node"));
    c.sched
        .update_blacklist(a, &[Arc::from("h0"), Arc::from("h1")], &[]);
    assert!(only(&c, a).contains("2 nodes have room, but its places or its blacklist"));
}

#[test]
fn partitions_and_turns() {
    let keys = [
        ("root.accessible-node-labels", "*"),
        ("root.accessible-node-labels.x.capacity", "100"),
        ("root.a.accessible-node-labels", "x"),
        ("root.a.accessible-node-labels.x.capacity", "100"),
        ("root.b.accessible-node-labels", " "),
        ("root.a.max-parallel-apps", "1"),
    ];
    let mut c = Cluster::new(&keys);
    c.sched.add_labels(&[(Arc::from("x"), true)]).unwrap();
    c.node(gib(8, 8, 0), "");
    let (a, b) = (c.app("a", "u"), c.app("b", "u"));
    c.ask_for(a, 1, gib(1, 1, 0), "x", &[(ANY, 1, true)]);
    assert!(only(&c, a).ends_with("no usable node has node label 'x'"));
    c.ask_for(b, 1, gib(1, 1, 0), "x", &[(ANY, 1, true)]);
    assert!(only(&c, b).ends_with("queue root.b may not use node label 'x'"));
    let second = c.app("a", "u");
    assert_eq!(
        only(&c, second),
        "ApplicationMaster <memory:1, vCores:1>: 1 applications run in queue root.a and at most 1 may (max-parallel-apps)"
    );
}

#[test]
fn an_application_master_over_its_limit_says_so() {
    let mut c = Cluster::new(&[("root.a.maximum-am-resource-percent", "0.1")]);
    c.node(gib(20, 20, 0), "");
    let first = c.app("a", "u");
    let apps: Vec<AppIdx> = (0..2).map(|_| c.managed("a", "u", gib(2, 1, 0))).collect();
    c.run();
    assert!(c.sched.why(first).is_empty());
    let why = only(&c, apps[1]);
    assert!(
        why.starts_with("ApplicationMaster <memory:2048, vCores:1>: "),
        "{why}"
    );
    assert!(why.contains("ApplicationMasters hold"), "{why}");
}
