//! Event-driven assignment: who gets what, where and when.
//! May touch: the scheduler's public face, and the reference search.
//! Must not: sleep; time is a number.

use std::{collections::BTreeMap, sync::Arc};

use yarn_types::{ApplicationId, GPU, MILLI, Millis, Resource, ResourceType, ResourceTypes};

use super::super::{
    ANY, AppIdx, Ask, AskKey, ContainerIdx, Granted, LabelIdx, Locality, NodeIdx, Sched, Submitted,
    Told,
};
use crate::{
    conf::{PREFIX, SchedConf},
    num::Calculator,
};

/// A scheduler with leaves `a` (60) and `b` (40), without user limits unless keys say so.
pub(in crate::sched) struct Cluster {
    pub sched: Sched,
    pub now: Millis,
    next_app: u32,
    next_node: u32,
}

pub(in crate::sched) const DEFAULTS: [(&str, &str); 9] = [
    ("root.queues", "a,b"),
    ("root.a.capacity", "60"),
    ("root.b.capacity", "40"),
    ("root.a.maximum-capacity", "100"),
    ("root.b.maximum-capacity", "100"),
    ("root.a.user-limit-factor", "10"),
    ("root.b.user-limit-factor", "10"),
    ("maximum-am-resource-percent", "1"),
    ("heddle.pacing", "event"),
];

pub(in crate::sched) fn types() -> ResourceTypes {
    let mut list: Vec<_> = ResourceTypes::memory_and_vcores().iter().cloned().collect();
    list.push(ResourceType {
        name: GPU.to_owned(),
        units: String::new(),
        minimum_allocation: 0,
        maximum_allocation: 1 << 20,
    });
    for t in &mut list {
        t.minimum_allocation = i64::from(t.name != GPU);
        t.maximum_allocation = 1 << 20;
    }
    ResourceTypes::new(list).unwrap()
}

pub(in crate::sched) fn conf(keys: &[(&str, &str)]) -> SchedConf {
    let table: BTreeMap<String, String> = DEFAULTS
        .iter()
        .chain(keys)
        .map(|(k, v)| (format!("{PREFIX}{k}"), (*v).to_owned()))
        .collect();
    SchedConf::from_lookup(&table, types(), Calculator::Dominant).unwrap()
}

pub(in crate::sched) fn gib(memory: i64, vcores: i64, gpus: i64) -> Resource {
    Resource::new(memory * 1024, vcores).with(2, gpus * MILLI)
}

impl Cluster {
    pub fn new(keys: &[(&str, &str)]) -> Self {
        Self {
            sched: Sched::new(conf(keys)),
            now: Millis(1000),
            next_app: 0,
            next_node: 0,
        }
    }

    pub fn node(&mut self, total: Resource, label: &str) -> NodeIdx {
        let n = NodeIdx(self.next_node);
        self.next_node += 1;
        let rack = if n.0.is_multiple_of(2) {
            "/even"
        } else {
            "/odd"
        };
        let label = self.sched.label(label).unwrap();
        self.sched.add_node(
            n,
            &Arc::from(format!("h{}", n.0)),
            &Arc::from(rack),
            total,
            label,
        );
        n
    }

    /// An application without a managed ApplicationMaster.
    pub fn app(&mut self, queue: &str, user: &str) -> AppIdx {
        let app = self.submit(queue, user);
        self.sched.start_attempt(self.now, app, None);
        app
    }

    /// An application whose ApplicationMaster asks for `size`.
    pub fn managed(&mut self, queue: &str, user: &str, size: Resource) -> AppIdx {
        let app = self.submit(queue, user);
        let am = Some((size, LabelIdx::DEFAULT));
        self.sched.start_attempt(self.now, app, am);
        app
    }

    fn submit(&mut self, queue: &str, user: &str) -> AppIdx {
        let app = AppIdx(self.next_app);
        self.next_app += 1;
        let submitted = Submitted {
            id: ApplicationId {
                cluster_timestamp: 1,
                id: self.next_app,
            },
            queue: queue.to_owned(),
            user: Arc::from(user),
            priority: None,
        };
        self.sched.submit(app, &submitted).unwrap();
        app
    }

    pub fn ask_at(&mut self, app: AppIdx, size: Resource, places: &[(&str, i32, bool)]) {
        self.ask_for(app, 1, size, "", places);
    }

    pub fn ask_for(
        &mut self,
        app: AppIdx,
        priority: i32,
        size: Resource,
        label: &str,
        places: &[(&str, i32, bool)],
    ) {
        let label = self.sched.label(label).unwrap();
        let asks: Vec<Ask> = places
            .iter()
            .map(|(place, count, relax)| Ask {
                key: AskKey {
                    priority,
                    request_id: 0,
                    update: None,
                },
                place: Arc::from(*place),
                size,
                count: *count,
                relax: *relax,
                label,
            })
            .collect();
        self.sched.update_asks(self.now, app, &asks);
    }

    pub fn ask(&mut self, app: AppIdx, size: Resource, count: i32) {
        self.ask_at(app, size, &[(ANY, count, true)]);
    }

    /// Runs passes to the end; grants in order.
    pub fn run(&mut self) -> Vec<Granted> {
        while self.sched.pass(self.now) {}
        self.sched.check().unwrap();
        self.sched
            .take_told()
            .into_iter()
            .filter_map(|told| match told {
                Told::Granted(granted) => Some(granted),
                _ => None,
            })
            .collect()
    }

    pub fn nodes_of(&mut self) -> Vec<u32> {
        self.run().iter().map(|g| g.node.0).collect()
    }

    pub fn later(&mut self, ms: u64) {
        self.now = self.now.plus(ms);
    }
}

fn by_app(grants: &[Granted]) -> BTreeMap<AppIdx, usize> {
    let mut out = BTreeMap::new();
    for g in grants {
        *out.entry(g.app).or_insert(0) += 1;
    }
    out
}

#[test]
fn an_ask_is_placed_at_once_and_queues_share_by_guarantee() {
    let mut c = Cluster::new(&[]);
    for _ in 0..5 {
        c.node(gib(8, 8, 0), "");
    }
    let (a, b) = (c.app("a", "u"), c.app("b", "u"));
    c.ask(a, gib(1, 1, 0), 100);
    c.ask(b, gib(1, 1, 0), 100);
    let grants = c.run();
    // 40 GiB: 24 for a, 16 for b
    assert_eq!(by_app(&grants), BTreeMap::from([(a, 24), (b, 16)]));
    assert!(!c.sched.pass(c.now));
}

#[test]
fn gpu_asks_pack_and_others_keep_off_gpu_nodes_and_spread() {
    let mut c = Cluster::new(&[]);
    for _ in 0..2 {
        c.node(gib(64, 64, 8), "");
    }
    for _ in 0..2 {
        c.node(gib(64, 64, 0), "");
    }
    let a = c.app("a", "u");
    c.ask(a, gib(8, 8, 0), 2);
    assert_eq!(c.nodes_of(), [2, 3]);
    c.ask(a, gib(1, 1, 1), 3);
    assert_eq!(c.nodes_of(), [0, 0, 0]);
    c.ask(a, gib(1, 1, 8), 1);
    assert_eq!(c.nodes_of(), [1]);
    c.ask(a, gib(1, 1, 1), 1);
    assert_eq!(c.nodes_of(), [0]);
}

#[test]
fn an_ask_with_places_waits_for_them_by_the_clock() {
    // 10 nodes: rack after 1000·5/10 ms, any after 1000·8/10 ms
    let keys = [
        ("node-locality-delay", "5"),
        ("rack-locality-additional-delay", "3"),
    ];
    let mut c = Cluster::new(&keys);
    for n in 0..10 {
        c.node(gib(if n == 0 { 1 } else { 8 }, 8, 0), "");
    }
    let a = c.app("a", "u");
    c.ask(a, gib(1, 1, 0), 10);
    c.run();
    c.ask_for(
        a,
        2,
        gib(1, 1, 0),
        "",
        &[("h0", 1, true), ("/even", 1, true), (ANY, 1, true)],
    );
    assert_eq!(c.run().len(), 0);
    assert_eq!(c.sched.next_wake(c.now), Some(c.now.plus(500)));
    c.later(499);
    assert_eq!(c.run().len(), 0);
    c.later(1);
    let grants = c.run();
    assert_eq!(grants.len(), 1);
    assert_eq!(grants[0].locality, Locality::Rack);
    // a rack that is not there: anywhere after 800 ms
    c.ask_for(
        a,
        3,
        gib(1, 1, 0),
        "",
        &[("/none", 1, true), (ANY, 1, true)],
    );
    assert_eq!(c.run().len(), 0);
    c.later(799);
    assert_eq!(c.run().len(), 0);
    c.later(1);
    assert_eq!(c.run()[0].locality, Locality::OffSwitch);
    // strict: never anywhere else
    c.ask_for(a, 4, gib(8, 1, 0), "", &[("h1", 1, true), (ANY, 1, false)]);
    c.later(100_000);
    assert_eq!(c.run().len(), 0);
}

#[test]
fn a_reservation_is_made_where_least_lacks_and_fulfilled_first() {
    let mut c = Cluster::new(&[]);
    for _ in 0..3 {
        c.node(gib(8, 8, 0), "");
    }
    let (a, b) = (c.app("a", "u"), c.app("b", "v"));
    c.ask(a, gib(2, 2, 0), 12);
    let small = c.run();
    assert_eq!(small.len(), 12);
    let on = |n: u32| -> Vec<ContainerIdx> {
        let of = small.iter().filter(|g| g.node.0 == n);
        of.map(|g| g.container).collect()
    };
    for container in [on(0)[0], on(1)[0], on(1)[1], on(2)[0]] {
        assert!(c.sched.release(container));
    }
    c.ask(b, gib(6, 6, 0), 1);
    assert_eq!(c.run().len(), 0);
    let reserved = |c: &Cluster, n| c.sched.node_figures(NodeIdx(n)).unwrap().reserved_app;
    assert_eq!(
        [0, 1, 2].map(|n| reserved(&c, n)),
        [None, Some(b), None],
        "once, on the node that lacks 2 of 6"
    );
    // the room on it is held back from others
    c.ask(a, gib(2, 2, 0), 3);
    assert_eq!(c.nodes_of(), [0]);
    c.sched.release(on(1)[2]);
    let grants = c.run();
    assert_eq!((grants[0].app, grants[0].node), (b, NodeIdx(1)));
    assert_eq!(reserved(&c, 1), None);
}

#[test]
fn a_withdrawn_ask_leaves_nothing_reserved() {
    let (mut c, _, b) = short_of_room();
    assert_eq!(reserved_by(&c), [Some(b), None, None]);
    c.ask(b, gib(4, 4, 0), 0);
    c.run();
    assert_eq!(reserved_by(&c), [None; 3]);
    c.ask(b, gib(4, 4, 0), 1);
    c.run();
    assert_eq!(reserved_by(&c), [Some(b), None, None]);
    c.sched.end_attempt(b);
    c.run();
    assert_eq!(reserved_by(&c), [None; 3]);
}

/// Three nodes with 2 GiB left on each; `b` asks for 4.
fn short_of_room() -> (Cluster, Vec<Granted>, AppIdx) {
    let mut c = Cluster::new(&[]);
    for _ in 0..3 {
        c.node(gib(8, 8, 0), "");
    }
    let (a, b) = (c.app("a", "u"), c.app("b", "v"));
    c.ask(a, gib(3, 3, 0), 6);
    let small = c.run();
    assert_eq!(small.len(), 6);
    c.ask(b, gib(4, 4, 0), 1);
    assert_eq!(c.run().len(), 0);
    (c, small, b)
}

fn reserved_by(c: &Cluster) -> [Option<AppIdx>; 3] {
    [0, 1, 2].map(|n| c.sched.node_figures(NodeIdx(n)).unwrap().reserved_app)
}

#[test]
fn room_elsewhere_ends_a_reservation() {
    let (mut c, small, b) = short_of_room();
    let there = small.iter().find(|g| g.node.0 == 1).unwrap();
    c.sched.release(there.container);
    let grants = c.run();
    assert_eq!((grants[0].app, grants[0].node.0), (b, 1));
    assert_eq!(reserved_by(&c), [None; 3]);
}

#[test]
fn a_shareable_partition_serves_others_after_one_heartbeat() {
    let keys = [
        ("root.accessible-node-labels", "*"),
        ("root.accessible-node-labels.x.capacity", "100"),
        ("root.a.accessible-node-labels", "x"),
        ("root.a.accessible-node-labels.x.capacity", "100"),
        ("root.b.accessible-node-labels.x.capacity", "0"),
    ];
    let mut c = Cluster::new(&keys);
    c.sched.add_labels(&[(Arc::from("x"), false)]).unwrap();
    c.node(gib(2, 2, 0), "");
    c.node(gib(8, 8, 0), "x");
    let a = c.app("a", "u");
    c.ask(a, gib(1, 1, 0), 4);
    assert_eq!(c.nodes_of(), [0, 0]);
    c.later(999);
    assert_eq!(c.run().len(), 0);
    c.later(1);
    assert_eq!(c.nodes_of(), [1, 1]);
    // who asks for the partition does not wait
    c.ask_for(a, 2, gib(1, 1, 0), "x", &[(ANY, 1, true)]);
    assert_eq!(c.nodes_of(), [1]);
    let _ = LabelIdx::DEFAULT;
}

#[test]
fn an_increase_is_granted_on_its_node_at_once() {
    let mut c = Cluster::new(&[]);
    c.node(gib(8, 8, 0), "");
    c.node(gib(8, 8, 0), "");
    let a = c.app("a", "u");
    c.ask(a, gib(2, 2, 0), 1);
    let container = c.run()[0].container;
    c.sched.increase(c.now, container, gib(5, 4, 0)).unwrap();
    while c.sched.pass(c.now) {}
    let told = c.sched.take_told();
    assert!(matches!(told[..], [Told::Resized { resource, .. }] if resource == gib(5, 4, 0)));
    assert_eq!(c.sched.size_of(container), Some(gib(5, 4, 0)));
}

#[test]
fn headroom_is_what_is_left_now() {
    let mut c = Cluster::new(&[]);
    c.node(gib(10, 10, 0), "");
    let (a, b) = (c.app("a", "u"), c.app("b", "v"));
    c.run();
    let room = |c: &Cluster, app| c.sched.headroom(app).memory_mb() / 1024;
    assert_eq!(room(&c, a), 6, "one user has the guarantee");
    c.ask(b, gib(1, 1, 0), 7);
    let grants = c.run();
    assert_eq!(grants.len(), 7);
    assert_eq!(room(&c, a), 3, "others hold 7 of 10");
    c.sched.release(grants[0].container);
    assert_eq!(room(&c, a), 4);
}

#[test]
fn entries_keep_within_their_sizes() {
    let bytes = Sched::entry_bytes();
    assert!(
        bytes.node <= 2048 && bytes.container <= 1024 && bytes.app <= 8192,
        "{bytes:?}"
    );
}

#[test]
fn devices_that_are_not_back_yet_are_no_room() {
    let mut c = Cluster::new(&[]);
    let node = c.node(gib(64, 64, 2), "");
    c.sched.set_free_devices(node, 2);
    let a = c.app("a", "u");
    c.ask(a, gib(1, 1, 2), 2);
    let first = c.run();
    assert_eq!(first.len(), 1);
    c.sched.release(first[0].container);
    assert_eq!(c.run().len(), 0, "the ledger has not freed them");
    c.sched.set_free_devices(node, 2);
    assert_eq!(c.run().len(), 1);
}

#[test]
fn a_pass_ends_at_its_budget_and_goes_on() {
    let mut c = Cluster::new(&[]);
    for _ in 0..8 {
        c.node(gib(100, 100, 0), "");
    }
    let a = c.app("a", "u");
    c.ask(a, gib(1, 1, 0), 700);
    assert!(c.sched.pass(c.now));
    assert_eq!(c.sched.take_told().len(), 512);
    assert!(!c.sched.pass(c.now));
    assert_eq!(c.sched.take_told().len(), 188);
}
