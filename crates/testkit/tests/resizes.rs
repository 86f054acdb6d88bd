//! Containers that change their size: from the request to the node's word, and back.
//! May touch: `testkit`.
//! Must not: sleep.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test"
)]

use rm_core::{
    Reply,
    effect::{Allocated, Grant, HeartbeatReply},
    event::{
        AdminRequest, AmRequest, Decommission, HostLists, NodeRequest, Update,
        UpdateKind::{self, Decrease, Increase},
    },
    view::QueueReport,
};
use testkit::{Cluster, resource};
use yarn_types::{ContainerId, Resource};

const EXPIRY: &str = "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms";

/// One node of 8 GiB with a running container of 2 GiB and 1 vcore, beside its master's 1 GiB.
fn one() -> (Cluster, ContainerId) {
    one_of(Cluster::new())
}

fn one_of(c: Cluster) -> (Cluster, ContainerId) {
    let mut c = c.nodes(1, "8gb 8vc").app("a").ask(1, "2gb 1vc").run(2);
    let id = *c.master().held.keys().next().unwrap();
    (c, id)
}

fn ask(c: &mut Cluster, id: ContainerId, kind: UpdateKind, to: &str) -> Allocated {
    c.master().resize(id, kind, resource(to));
    c.allocate()
}

fn held(c: &mut Cluster, id: ContainerId) -> Grant {
    c.master().held[&id].clone()
}

fn used(c: &Cluster) -> Resource {
    c.report().used
}

fn on_node(c: &Cluster, id: ContainerId) -> Resource {
    c.nodes[0].containers[&id].resource
}

/// The master has its node use the size that it was given.
fn use_size(c: &mut Cluster, id: ContainerId) {
    let grant = held(c, id);
    assert!(c.nodes[0].resize(&grant));
}

fn beat(c: &mut Cluster) -> Box<HeartbeatReply> {
    let heartbeat = c.nodes[0].heartbeat();
    let reply = c.node(NodeRequest::Heartbeat(Box::new(heartbeat)));
    let Reply::Heartbeat(reply) = reply else {
        panic!("nodeHeartbeat answered {reply:?}")
    };
    c.nodes[0].on_heartbeat(&reply);
    reply
}

fn updates(c: &mut Cluster, updates: Vec<Update>) -> Vec<(usize, String, i32)> {
    c.master().updates = updates;
    let errors = c.allocate().update_errors.into_iter();
    errors
        .map(|e| (e.at, e.reason.into_owned(), e.version))
        .collect()
}

fn reserved(c: &Cluster) -> Resource {
    c.report().reserved
}

fn root(c: &Cluster) -> QueueReport {
    c.rm.queue("root").expect("there is a root")
}

#[test]
fn a_container_grows_by_a_new_token_and_stays_so_once_its_node_says_so() {
    let (mut c, id) = one_of(Cluster::new().set(EXPIRY, "10000"));
    let answer = ask(&mut c, id, Increase, "4gb 2vc");
    let [(Increase, grant)] = &answer.updated[..] else {
        panic!("{answer:?}")
    };
    assert_eq!((grant.container, grant.version), (id, 1));
    assert_eq!(grant.resource, resource("4gb 2vc"));
    assert_eq!(used(&c), resource("5gb 3vc"));
    assert_eq!(
        on_node(&c, id),
        resource("2gb 1vc"),
        "the master has the token"
    );
    use_size(&mut c, id);
    assert_eq!(beat(&mut c).containers_to_update, []);
    c.silence(60_000);
    assert_eq!(used(&c), resource("5gb 3vc"));
}

#[test]
fn an_increase_that_is_not_used_goes_back_to_what_the_node_keeps_to() {
    let (mut c, id) = one_of(Cluster::new().set(EXPIRY, "10000"));
    ask(&mut c, id, Increase, "3gb 1vc");
    use_size(&mut c, id);
    beat(&mut c);
    ask(&mut c, id, Increase, "6gb 4vc");
    let old = held(&mut c, id);
    c.silence(9_999);
    assert_eq!(used(&c), resource("7gb 5vc"));
    c.silence(1);
    assert_eq!(used(&c), resource("4gb 2vc"));
    // node and master hear of it, and the token that was not used is void
    let reply = beat(&mut c);
    let told = reply.containers_to_update.iter();
    let told: Vec<_> = told
        .map(|(kind, g)| (*kind, g.version, g.resource))
        .collect();
    assert_eq!(told, [(Decrease, 3, resource("3gb 1vc"))]);
    assert!(!c.nodes[0].resize(&old));
    let answer = c.allocate();
    assert_eq!(answer.updated[0].0, Decrease);
    assert_eq!(held(&mut c, id).version, 3);
}

#[test]
fn a_container_shrinks_at_once_and_its_node_is_told() {
    let (mut c, id) = one();
    let answer = ask(&mut c, id, Decrease, "1gb 1vc");
    assert_eq!(
        (answer.updated[0].0, answer.updated[0].1.version),
        (Decrease, 1)
    );
    assert_eq!(used(&c), resource("2gb 2vc"));
    let told = beat(&mut c).containers_to_update.clone();
    assert_eq!((told.len(), told[0].1.resource), (1, resource("1gb 1vc")));
    assert_eq!(on_node(&c, id), resource("1gb 1vc"));
    assert_eq!(beat(&mut c).containers_to_update, [], "told once");
}

#[test]
fn what_does_not_fit_waits_and_a_release_or_the_end_gives_it_up() {
    for release in [true, false] {
        let mut c = Cluster::new()
            .nodes(1, "8gb 8vc")
            .app("a")
            .ask(2, "3gb 1vc")
            .run(2);
        let ids: Vec<_> = c.master().held.keys().copied().collect();
        let answer = ask(&mut c, ids[0], Increase, "5gb 1vc");
        assert!(answer.updated.is_empty() && answer.update_errors.is_empty());
        assert_eq!(root(&c).pending.memory_mb(), 2048);
        if release {
            c.master().releases.push(ids[0]);
        } else {
            c.exit(ids[0], 0, "");
        }
        c = c.run(2);
        assert_eq!(root(&c).pending, Resource::ZERO);
        assert_eq!(reserved(&c), Resource::ZERO);
        assert_eq!(used(&c), resource("4gb 2vc"));
    }
}

#[test]
fn room_that_comes_free_is_given_to_the_container_that_waits() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(2, "3gb 1vc")
        .run(2);
    let ids: Vec<_> = c.master().held.keys().copied().collect();
    ask(&mut c, ids[0], Increase, "5gb 1vc");
    c.exit(ids[1], 0, "");
    c = c.run(2);
    assert_eq!(held(&mut c, ids[0]).resource, resource("5gb 1vc"));
    assert_eq!(root(&c).pending, Resource::ZERO);
    assert_eq!(reserved(&c), Resource::ZERO);
}

#[test]
fn the_last_wish_counts_and_its_present_size_withdraws_it() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(2, "3gb 1vc")
        .run(2);
    let id = *c.master().held.keys().next().unwrap();
    ask(&mut c, id, Increase, "5gb 1vc");
    assert_eq!(root(&c).pending.memory_mb(), 2048);
    ask(&mut c, id, Increase, "6gb 1vc");
    assert_eq!(root(&c).pending.memory_mb(), 3072);
    ask(&mut c, id, Increase, "3gb 1vc");
    assert_eq!(root(&c).pending, Resource::ZERO);
    ask(&mut c, id, Increase, "5gb 1vc");
    ask(&mut c, id, Decrease, "2gb 1vc");
    assert_eq!(root(&c).pending, Resource::ZERO);
    assert_eq!(reserved(&c), Resource::ZERO);
}

#[test]
fn a_decrease_before_the_node_has_spoken_is_told_again() {
    let (mut c, id) = one();
    ask(&mut c, id, Increase, "5gb 1vc");
    use_size(&mut c, id);
    ask(&mut c, id, Decrease, "4gb 1vc");
    // the node's word of 5 GiB crosses the decrease
    let heartbeat = c.nodes[0].heartbeat();
    assert_eq!(heartbeat.increased, [(id, resource("5gb 1vc"))]);
    let told = beat(&mut c).containers_to_update.clone();
    assert_eq!((told.len(), told[0].1.resource), (1, resource("4gb 1vc")));
    assert_eq!(on_node(&c, id), resource("4gb 1vc"));
    assert_eq!(used(&c), resource("5gb 2vc"));
}

#[test]
fn a_node_that_registers_again_larger_is_put_right() {
    let (mut c, id) = one();
    ask(&mut c, id, Decrease, "1gb 1vc");
    // the answer that says so is lost, and the node registers
    let heartbeat = c.nodes[0].heartbeat();
    c.node(NodeRequest::Heartbeat(Box::new(heartbeat)));
    c.register(0);
    assert_eq!(on_node(&c, id), resource("2gb 1vc"));
    beat(&mut c);
    assert_eq!(on_node(&c, id), resource("1gb 1vc"));
}

#[test]
fn a_container_that_starts_with_an_older_token_gets_its_size() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(1, "4gb 1vc");
    let request = AmRequest::Allocate(Box::new(c.master().allocate()));
    let Ok(Reply::Allocated(first)) = c.am(request) else {
        panic!("refused")
    };
    let grant = first.grants[0].clone();
    c.master().on_allocated(&first);
    let answer = ask(&mut c, grant.container, Decrease, "1gb 1vc");
    assert_eq!(answer.updated[0].1.version, 1);
    assert!(c.nodes[0].start(grant.container, grant.resource, &[]));
    beat(&mut c);
    assert_eq!(on_node(&c, grant.container), resource("1gb 1vc"));
    assert_eq!(used(&c), resource("2gb 2vc"));
}

#[test]
fn requests_are_refused_one_by_one_in_hadoops_words() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("b")
        .ask(1, "1gb 1vc")
        .run(2);
    let foreign = *c.master().held.keys().next().unwrap();
    let mut c = c.app("a").ask(1, "2gb 1vc").run(2);
    let id = *c.master().held.keys().next().unwrap();
    let request = |container, version, kind, to: &str| Update {
        container,
        version,
        kind,
        opportunistic: false,
        capability: (!to.is_empty()).then(|| resource(to)),
        named: [].into(),
        unknown_resource: None,
    };
    let unknown = c.attempt().container(0, 99);
    let errors = updates(
        &mut c,
        vec![
            request(unknown, 0, Increase, "1gb 1vc"),
            request(foreign, 0, Increase, "1gb 1vc"),
            request(id, 1, Increase, "3gb 1vc"),
            request(id, 0, Increase, "2048gb 1vc"),
            request(id, 0, Decrease, "3gb 1vc"),
            request(id, 0, Decrease, ""),
            request(id, 0, UpdateKind::Promote, ""),
            request(id, 0, UpdateKind::Demote, ""),
            request(id, 0, Increase, "3gb 1vc"),
            request(id, 0, Increase, "4gb 1vc"),
        ],
    );
    let range = "RESOURCE_OUTSIDE_ALLOWED_RANGE";
    let later = "is refused: opportunistic containers are not built";
    let expected = [
        (0, "INVALID_CONTAINER_ID", -1),
        (1, "INVALID_CONTAINER_ID", -1),
        (2, "INCORRECT_CONTAINER_VERSION_ERROR", 0),
        (3, range, 0),
        (4, range, 0),
        (5, range, 0),
        (6, &format!("PROMOTE_EXECUTION_TYPE {later}"), 0),
        (7, &format!("DEMOTE_EXECUTION_TYPE {later}"), 0),
        (9, "UPDATE_OUTSTANDING_ERROR", 0),
    ];
    let expected = expected.map(|(at, reason, version)| (at, reason.to_owned(), version));
    assert_eq!(errors, expected);
    assert_eq!(
        held(&mut c, id).resource,
        resource("3gb 1vc"),
        "the ninth is good"
    );
}

#[test]
fn sizes_are_rounded_up_and_an_increase_leaves_larger_lanes_alone() {
    let (mut c, id) = one();
    ask(&mut c, id, Increase, "2500mb 1vc");
    assert_eq!(held(&mut c, id).resource, resource("3gb 1vc"));
    ask(&mut c, id, Increase, "1gb 4vc");
    assert_eq!(held(&mut c, id).resource, resource("3gb 4vc"));
}

#[test]
fn devices_stay_with_a_container_and_in_its_tokens() {
    let mut c = Cluster::new()
        .gpu_nodes(1, "8gb 8vc", 4)
        .app("a")
        .ask(1, "1gb 1vc 2gpu")
        .run(2);
    let before = c.master().held.values().next().unwrap().clone();
    let id = before.container;
    let text = |to| {
        format!(
            "yarn.io/gpu of a running container cannot change: it holds 2 and {to} was asked \
             for; name what it holds, or release it and ask for another"
        )
    };
    for (kind, to, said) in [
        (Increase, "2gb 1vc 3gpu", 3),
        (Decrease, "1gb 1vc 1gpu", 1),
        (Decrease, "1gb 1vc", 0),
    ] {
        let answer = ask(&mut c, id, kind, to);
        assert_eq!(answer.update_errors[0].reason, text(said));
    }
    // what does not name the type leaves it alone
    for (kind, to) in [(Increase, "2gb 2vc"), (Decrease, "1gb 1vc")] {
        c.master().resize(id, kind, resource(to));
        c.master().updates[0].named.clear();
        let answer = c.allocate();
        let grant = &answer.updated[0].1;
        assert_eq!((grant.resource.0[2], &grant.gpus), (2000, &before.gpus));
    }
    assert_eq!(held(&mut c, id).version, 2);
}

#[test]
fn a_queue_at_its_maximum_lets_nothing_grow() {
    let mut c = Cluster::new()
        .queues("a:50 b:50")
        .set("yarn.scheduler.capacity.root.a.maximum-capacity", "50")
        .nodes(1, "8gb 8vc")
        .app_in("x", "a")
        .ask(1, "2gb 1vc")
        .run(2);
    let id = *c.master().held.keys().next().unwrap();
    assert!(ask(&mut c, id, Increase, "4gb 1vc").updated.is_empty());
    let answer = ask(&mut c, id, Increase, "3gb 1vc");
    assert_eq!(answer.updated[0].1.resource, resource("3gb 1vc"));
}

#[test]
fn nodes_update_by_themselves_where_that_is_configured() {
    let auto = "yarn.resourcemanager.auto-update.containers";
    let (mut c, id) = one_of(Cluster::new().set(auto, "true").set(EXPIRY, "10000"));
    ask(&mut c, id, Increase, "4gb 1vc");
    beat(&mut c);
    assert_eq!(on_node(&c, id), resource("4gb 1vc"));
    beat(&mut c);
    c.silence(60_000);
    assert_eq!(used(&c), resource("5gb 2vc"));
}

#[test]
fn with_heartbeat_pacing_a_container_grows_in_its_nodes_turn() {
    let pacing = "yarn.scheduler.capacity.heddle.pacing";
    let mut c = Cluster::new()
        .set(pacing, "heartbeat")
        .nodes(1, "8gb 8vc")
        .app("a")
        .run(1)
        .ask(1, "2gb 1vc")
        .run(2);
    let id = *c.master().held.keys().next().unwrap();
    assert!(ask(&mut c, id, Increase, "4gb 1vc").updated.is_empty());
    beat(&mut c);
    // a wish that names the version of before comes too late
    let stale = ask(&mut c, id, Increase, "5gb 1vc");
    assert_eq!(stale.updated[0].1.resource, resource("4gb 1vc"));
    assert_eq!(
        stale.update_errors[0].reason,
        "INCORRECT_CONTAINER_VERSION_ERROR"
    );
    assert_eq!(stale.update_errors[0].version, 1);
}

#[test]
fn what_a_container_gives_back_on_a_going_node_is_offered_to_nobody() {
    let (mut c, id) = one();
    let lists = HostLists {
        exclude: vec!["n1".into()],
        ..HostLists::default()
    };
    let how = Decommission::Graceful { timeout_s: 3600 };
    c.admin(AdminRequest::RefreshNodes { lists, how }).unwrap();
    ask(&mut c, id, Decrease, "1gb 1vc");
    let node = c.rm.node(&c.nodes[0].id).unwrap();
    assert_eq!((node.used, node.total), (used(&c), used(&c)));
    c = c.ask(1, "1gb 1vc").run(2);
    assert_eq!(c.master().held.len(), 1);
}
