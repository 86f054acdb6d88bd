//! What users of the scheduler notice: who gets what, when, and why not.
//! May touch: the scheduler's public face.
//! Must not: look into its tables.

use std::collections::BTreeMap;

use yarn_types::NodeId;

use super::*;
use crate::conf::{PREFIX, QueuesConf};

/// A scheduler with queues `a` and `b` (60/40, `a` at most 80), both without user limits unless
/// the test adds keys, and nodes of 8 GiB and 8 vcores.
struct Cluster {
    sched: Sched,
    now: Millis,
    next_app: u32,
    held: BTreeMap<AppIdx, Vec<AllocIdx>>,
}

impl Cluster {
    fn new(nodes: u32, keys: &[(&str, &str)]) -> Self {
        let defaults = [
            ("root.queues", "a,b"),
            ("root.a.capacity", "60"),
            ("root.b.capacity", "40"),
            ("root.a.maximum-capacity", "80"),
            ("root.a.user-limit-factor", "10"),
            ("root.b.user-limit-factor", "10"),
            ("maximum-am-resource-percent", "1"),
        ];
        let conf: BTreeMap<String, String> = defaults
            .iter()
            .chain(keys)
            .map(|(k, v)| (format!("{PREFIX}{k}"), (*v).to_owned()))
            .collect();
        let mut sched = Sched::new(SchedConf {
            types: ResourceTypes::memory_and_vcores(),
            calculator: Calculator::Dominant,
            queues: QueuesConf::from_lookup(&conf).unwrap(),
            heartbeat_ms: 1000,
            max_application_priority: 10,
        });
        for n in 0..nodes {
            let rack: Arc<str> = Arc::from(if n % 2 == 0 { "/even" } else { "/odd" });
            sched.add_node(
                NodeIdx(n),
                &NodeId::new(format!("h{n}"), 1),
                &rack,
                Resource::new(8192, 8),
            );
        }
        Self {
            sched,
            now: Millis(1000),
            next_app: 0,
            held: BTreeMap::new(),
        }
    }

    /// As `new`, each node with four GPUs.
    fn with_gpus(nodes: u32) -> Self {
        let mut c = Self::new(0, &[]);
        let mut list: Vec<_> = ResourceTypes::memory_and_vcores().iter().cloned().collect();
        list.push(yarn_types::ResourceType {
            name: yarn_types::GPU.to_owned(),
            units: String::new(),
            minimum_allocation: 0,
            maximum_allocation: i64::MAX / yarn_types::MILLI,
        });
        c.sched.conf.types = ResourceTypes::new(list).unwrap();
        for n in 0..nodes {
            let total = Resource::new(8192, 8).with(2, 4000);
            c.sched.add_node(
                NodeIdx(n),
                &NodeId::new(format!("h{n}"), 1),
                &Arc::from("/r"),
                total,
            );
        }
        c
    }

    fn ask_gpus(&mut self, app: AppIdx, count: i32, gpus: i64) {
        let mut asks = [crate::event::Ask {
            priority: 1,
            allocation_request_id: 0,
            place: Arc::from("*"),
            capability: Resource::new(1024, 1).with(2, gpus * yarn_types::MILLI),
            count,
            relax_locality: true,
            label: None,
            opportunistic: false,
            unknown_resource: None,
        }];
        self.sched.validate_asks(app, &mut asks).unwrap();
        self.sched.update_asks(self.now, app, &asks);
    }

    /// Submits with an unmanaged ApplicationMaster.
    fn app(&mut self, queue: &str, user: &str, priority: i32) -> AppIdx {
        let app = AppIdx(self.next_app);
        self.next_app += 1;
        let id = ApplicationId {
            cluster_timestamp: 1,
            id: self.next_app,
        };
        self.sched
            .submit(app, queue, &Arc::from(user), Some(priority), id)
            .unwrap();
        self.sched.start_attempt(self.now, app, None);
        app
    }

    fn ask_at(&mut self, app: AppIdx, places: &[&str], count: i32, gib: i64, relax: bool) {
        let mut asks: Vec<crate::event::Ask> = places
            .iter()
            .chain(&["*"])
            .map(|place| crate::event::Ask {
                priority: 1,
                allocation_request_id: 0,
                place: Arc::from(*place),
                capability: Resource::new(gib * 1024, 1),
                count,
                relax_locality: relax || place.starts_with('h'),
                label: None,
                opportunistic: false,
                unknown_resource: None,
            })
            .collect();
        self.sched.validate_asks(app, &mut asks).unwrap();
        self.sched.update_asks(self.now, app, &asks);
    }

    fn ask(&mut self, app: AppIdx, count: i32, gib: i64) {
        self.ask_at(app, &[], count, gib, true);
    }

    /// Passes until nothing more comes; the grants as (app, node).
    fn run(&mut self) -> Vec<(AppIdx, NodeIdx)> {
        let mut granted = Vec::new();
        while self.sched.pass(self.now, &mut granted) {}
        self.sched.check().unwrap();
        self.sched.check_never_over().unwrap();
        for g in &granted {
            self.held.entry(g.app).or_default().push(g.alloc);
        }
        granted.iter().map(|g| (g.app, g.node)).collect()
    }

    fn counts(&mut self) -> BTreeMap<AppIdx, usize> {
        let mut counts = BTreeMap::new();
        for (app, _) in self.run() {
            *counts.entry(app).or_default() += 1;
        }
        counts
    }

    fn release(&mut self, app: AppIdx, count: usize) {
        for _ in 0..count {
            let alloc = self.held.get_mut(&app).unwrap().pop().unwrap();
            assert!(self.sched.release(alloc));
            assert!(
                !self.sched.release(alloc),
                "a second release changes nothing"
            );
        }
    }
}

#[test]
fn what_fits_is_granted_in_the_same_pass_and_spread() {
    let mut c = Cluster::new(2, &[]);
    let app = c.app("a", "u", 0);
    c.ask(app, 4, 1);
    let nodes: Vec<u32> = c.run().iter().map(|(_, n)| n.0).collect();
    assert_eq!(nodes, [0, 1, 0, 1]);
    assert!(c.sched.why(app).is_empty());
}

#[test]
fn a_queue_stops_at_its_maximum_and_says_so() {
    let mut c = Cluster::new(2, &[]);
    let app = c.app("root.a", "u", 0);
    c.ask(app, 16, 1);
    // 80 percent of 16 GiB is 13107 MiB: 12 containers of 1 GiB, as Hadoop counts
    assert_eq!(c.run().len(), 12);
    let why = c.sched.why(app).join("\n");
    assert!(
        why.contains("4 containers of <memory:1024, vCores:1>"),
        "{why}"
    );
    assert!(
        why.contains(
            "queue root.a holds <memory:12288, vCores:12> and may hold at most <memory:13107"
        ),
        "{why}"
    );
    let other = c.app("b", "u", 0);
    c.ask(other, 10, 1);
    assert_eq!(c.run().len(), 4, "the rest is the other queue's");
}

#[test]
fn the_queue_that_uses_less_of_its_guarantee_comes_first() {
    let mut c = Cluster::new(1, &[]);
    let (a, b) = (c.app("a", "u", 0), c.app("b", "u", 0));
    c.ask(a, 8, 1);
    c.ask(b, 8, 1);
    let counts = c.counts();
    assert_eq!(
        (counts[&a], counts[&b]),
        (5, 3),
        "60/40 of eight, larger guarantee first on a tie"
    );
}

#[test]
fn a_leaf_serves_by_priority_then_submission_and_passes_over_the_blocked() {
    let mut c = Cluster::new(2, &[]);
    let first = c.app("b", "u", 0);
    let second = c.app("b", "u", 0);
    let urgent = c.app("b", "u", 5);
    c.ask(first, 1, 8);
    c.ask(second, 1, 2);
    c.ask(urgent, 2, 1);
    let order: Vec<AppIdx> = c.run().iter().map(|(app, _)| *app).collect();
    assert_eq!(
        order,
        [urgent, urgent, second],
        "the large ask waits and blocks nobody"
    );
    let why = c.sched.why(first).join("\n");
    assert!(why.contains("none of the 2 nodes"), "{why}");
    c.release(urgent, 2);
    assert_eq!(c.run(), [(first, NodeIdx(1))], "a release wakes it");
}

#[test]
fn a_user_stays_within_the_user_limit_and_may_cross_it_once() {
    let keys = [
        ("root.b.user-limit-factor", "1"),
        ("root.b.maximum-capacity", "100"),
    ];
    let mut c = Cluster::new(2, &keys);
    let app = c.app("b", "u", 0);
    c.ask(app, 16, 1);
    // 40 percent is <6553, 6>, up to the step <7168, 6>: the seventh vcore crosses it
    assert_eq!(c.run().len(), 7);
    assert!(
        c.sched.why(app)[0].contains("the user holds"),
        "{:?}",
        c.sched.why(app)
    );
    let other = c.app("b", "v", 0);
    c.ask(other, 2, 1);
    assert_eq!(c.counts()[&other], 2);
}

#[test]
fn named_hosts_are_waited_for_then_the_rack_then_any() {
    let mut c = Cluster::new(
        4,
        &[
            ("node-locality-delay", "2"),
            ("rack-locality-additional-delay", "1"),
        ],
    );
    let filler = c.app("b", "f", 0);
    c.ask_at(filler, &["h0"], 1, 8, false);
    assert_eq!(c.run(), [(filler, NodeIdx(0))]);
    let app = c.app("a", "u", 0);
    c.ask_at(app, &["h0", "/even"], 1, 1, true);
    assert_eq!(
        c.run(),
        [],
        "h0 is full: the rack must wait 2 of 4 heartbeats"
    );
    assert!(
        c.sched.why(app)[0].contains("waits up to 500 ms more"),
        "{:?}",
        c.sched.why(app)
    );
    assert_eq!(c.sched.next_wake(), Some(Millis(1500)));
    c.now = Millis(1500);
    assert_eq!(c.run(), [(app, NodeIdx(2))], "rack-local now");
    c.ask_at(filler, &["h2"], 1, 7, false);
    assert_eq!(c.run(), [(filler, NodeIdx(2))]);
    c.ask_at(app, &["h0", "/even"], 1, 1, true);
    assert_eq!(c.run(), []);
    assert_eq!(
        c.sched.next_wake(),
        Some(Millis(2250)),
        "three of four heartbeats for any node"
    );
    c.now = Millis(2250);
    assert_eq!(c.run().len(), 1);
}

#[test]
fn strict_locality_and_blacklists_are_kept_and_explained() {
    let mut c = Cluster::new(2, &[]);
    let app = c.app("a", "u", 0);
    c.sched.update_blacklist(app, &[Arc::from("h0")], &[]);
    c.ask_at(app, &["h0"], 1, 1, false);
    assert_eq!(c.run(), []);
    assert!(
        c.sched.why(app)[0].contains("2 nodes have room"),
        "{:?}",
        c.sched.why(app)
    );
    c.sched.update_blacklist(app, &[], &[Arc::from("h0")]);
    assert_eq!(c.run(), [(app, NodeIdx(0))]);
}

#[test]
fn application_masters_wait_for_their_limit_but_the_first_never() {
    let mut c = Cluster::new(2, &[("maximum-am-resource-percent", "0.1")]);
    let submit = |c: &mut Cluster, n: u32| {
        let app = AppIdx(n);
        let id = ApplicationId {
            cluster_timestamp: 1,
            id: n,
        };
        c.sched
            .submit(app, "b", &Arc::from(format!("u{n}")), None, id)
            .unwrap();
        c.sched
            .start_attempt(c.now, app, Some(Resource::new(4096, 1)));
        app
    };
    let (first, second) = (submit(&mut c, 0), submit(&mut c, 1));
    assert_eq!(
        c.run().len(),
        1,
        "the first starts although it is over the limit"
    );
    assert!(c.sched.why(second)[0].contains("ApplicationMasters hold <memory:4096, vCores:1>"));
    c.release(first, 1);
    c.sched.remove_app(first);
    assert_eq!(c.run().iter().map(|g| g.0).collect::<Vec<_>>(), [second]);
}

#[test]
fn what_no_node_could_hold_says_so_at_once_and_waits() {
    let mut c = Cluster::new(1, &[]);
    c.sched.set_total(NodeIdx(0), Resource::new(4096, 8));
    let app = c.app("b", "u", 0);
    c.ask(app, 1, 5);
    assert_eq!(c.run(), []);
    let why = c.sched.why(app).join("");
    assert!(
        why.contains("may hold at most") || why.contains("no present node could hold it"),
        "{why}"
    );
    c.sched.set_total(NodeIdx(0), Resource::new(16_384, 8));
    assert_eq!(c.run().len(), 1, "a larger node wakes it");
}

#[test]
fn gpus_follow_the_devices_that_are_free_not_the_sum() {
    let mut c = Cluster::with_gpus(2);
    c.sched.set_free_devices(NodeIdx(0), 4);
    c.sched.set_free_devices(NodeIdx(1), 1);
    let app = c.app("b", "u", 0);
    c.sched.set_free_devices(NodeIdx(0), 1);
    assert_eq!(c.sched.headroom(app).0[2], 2000, "at most the idle devices");
    c.sched.set_free_devices(NodeIdx(0), 4);
    c.ask_gpus(app, 3, 1);
    let nodes: Vec<u32> = c.run().iter().map(|(_, n)| n.0).collect();
    assert_eq!(nodes, [0, 0, 0], "packed on the node that is used already");
    c.release(app, 3);
    c.ask_gpus(app, 1, 2);
    assert_eq!(
        c.run(),
        [],
        "released, but their node has not said that they are free"
    );
    c.sched.set_free_devices(NodeIdx(0), 2);
    assert_eq!(c.run(), [(app, NodeIdx(0))]);
}

#[test]
fn what_needs_no_gpu_keeps_off_nodes_that_have_them() {
    let mut c = Cluster::with_gpus(1);
    c.sched.add_node(
        NodeIdx(1),
        &NodeId::new("cpu", 1),
        &Arc::from("/r"),
        Resource::new(8192, 8),
    );
    let app = c.app("b", "u", 0);
    c.ask(app, 3, 1);
    let nodes: Vec<u32> = c.run().iter().map(|(_, n)| n.0).collect();
    assert_eq!(nodes, [1, 1, 1]);
}

#[test]
fn refused_submissions_carry_hadoops_words() {
    let mut c = Cluster::new(
        1,
        &[
            ("root.b.state", "STOPPED"),
            ("root.a.maximum-applications", "1"),
        ],
    );
    let id = ApplicationId {
        cluster_timestamp: 1,
        id: 9,
    };
    let text = |c: &mut Cluster, queue: &str| {
        c.sched
            .submit(AppIdx(9), queue, &Arc::from("u"), None, id)
            .unwrap_err()
            .message
    };
    assert_eq!(
        text(&mut c, "nope"),
        "Application application_1_0009 submitted by user u to unknown queue: nope"
    );
    assert_eq!(
        text(&mut c, "root"),
        "Application application_1_0009 submitted by user : u to non-leaf queue : root"
    );
    assert!(text(&mut c, "b").starts_with("Queue root.b is STOPPED. Cannot accept submission"));
    c.app("a", "u", 0);
    assert!(text(&mut c, "a").starts_with("Queue root.a already has 1 applications"));
}

#[test]
fn a_refused_refresh_changes_nothing_and_a_good_one_moves_capacity() {
    let mut c = Cluster::new(2, &[]);
    let app = c.app("a", "u", 0);
    c.ask(app, 16, 1);
    assert_eq!(c.run().len(), 12);
    let conf = |pairs: &[(&str, &str)]| {
        let map: BTreeMap<String, String> = pairs
            .iter()
            .map(|(k, v)| (format!("{PREFIX}{k}"), (*v).to_owned()))
            .collect();
        QueuesConf::from_lookup(&map).unwrap()
    };
    let before = c.sched.clone();
    let gone = conf(&[("root.queues", "b"), ("root.b.capacity", "100")]);
    let text = c.sched.reload(gone).unwrap_err().message;
    assert!(
        text.contains("root.a cannot be deleted") && text.contains("Current State : RUNNING"),
        "{text}"
    );
    assert_eq!(c.sched, before);
    let moved = conf(&[
        ("root.queues", "b,a"),
        ("root.b.capacity", "10"),
        ("root.a.capacity", "90"),
        ("root.a.user-limit-factor", "10"),
    ]);
    c.sched.reload(moved).unwrap();
    assert_eq!(c.run().len(), 4, "the maximum is 100 percent now");
}
