//! Heartbeat-paced assignment: limits that reservations elsewhere must not soften.
//! May touch: the scheduler's public face.
//! Must not: sleep; time is a number.

use super::super::{
    ANY, NodeIdx,
    event::tests::{Cluster, gib},
};

#[test]
fn a_reservation_in_another_partition_makes_no_room_below_a_limit() {
    let keys = [
        ("heddle.pacing", "heartbeat"),
        ("root.a.capacity", "40"),
        ("root.b.capacity", "60"),
        ("root.a.maximum-capacity", "50"),
        ("root.accessible-node-labels", "*"),
        ("root.accessible-node-labels.x.capacity", "100"),
        ("root.a.accessible-node-labels", "x"),
        ("root.a.accessible-node-labels.x.capacity", "100"),
        ("root.b.accessible-node-labels.x.capacity", "0"),
    ];
    let mut c = Cluster::new(&keys);
    c.sched.add_labels(&[("x".into(), false)]).unwrap();
    let own = c.node(gib(8, 8, 0), "");
    let shared = c.node(gib(8, 8, 0), "x");
    let other = c.node(gib(8, 8, 0), "x");
    let filler = c.app("a", "u");
    c.ask_for(filler, 1, gib(5, 1, 0), "x", &[(ANY, 2, true)]);
    beats(&mut c, &[shared, other]);
    let app = c.app("a", "u");
    c.ask(app, gib(2, 1, 0), 1);
    beats(&mut c, &[own]);
    c.ask(app, gib(4, 1, 0), 1);
    beats(&mut c, &[shared; 8]);
    let reserved = c.sched.node_figures(shared).unwrap().reserved_app;
    assert_eq!(reserved, Some(app), "no room on either, its turn in x came");
    beats(&mut c, &[own, shared, own]);
    let used = c.sched.node_figures(own).unwrap().used;
    assert_eq!(used, gib(2, 1, 0), "4 GiB of the partition are its most");
}

fn beats(c: &mut Cluster, nodes: &[NodeIdx]) {
    for node in nodes {
        c.later(1000);
        c.sched.node_update(c.now, *node);
        c.sched.check().unwrap();
    }
}
