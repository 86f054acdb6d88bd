//! ResourceTracker: registration, heartbeats, health, loss, return.
//! May touch: `testkit` and the core's public face.
//! Must not: sleep.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test"
)]

use rm_core::{
    Event, Reply,
    effect::NodeAction,
    event::{HostLists, NodeRequest},
};
use testkit::{Cluster, ModelNode, resource};
use yarn_types::{NodeState, exit};

fn state(c: &Cluster, at: usize) -> NodeState {
    c.rm.node(&c.nodes[at].id).unwrap().state
}

fn heartbeat(c: &mut Cluster, response_id: i32) -> Reply {
    let mut heartbeat = c.nodes[0].heartbeat();
    heartbeat.response_id = response_id;
    c.node(NodeRequest::Heartbeat(Box::new(heartbeat)))
}

fn refused(c: &mut Cluster, node: &ModelNode) -> String {
    let request = NodeRequest::Register(Box::new(node.registration()));
    match c.node(request) {
        Reply::NodeRegistered {
            action: NodeAction::Shutdown,
            diagnostics,
            ..
        } => diagnostics,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_node_that_is_too_small_is_refused() {
    let mut c = Cluster::new();
    let text = refused(&mut c, &ModelNode::new("tiny", resource("512mb 1vc")));
    assert_eq!(
        text,
        "NodeManager from  tiny doesn't satisfy minimum allocations, Sending SHUTDOWN signal to \
         the NodeManager. Node capabilities are <memory:512, vCores:1>; minimums are 1024mb and 1 \
         vcores"
    );
    assert!(c.rm.nodes().is_empty());
}

#[test]
fn an_old_version_is_refused_where_a_minimum_is_set() {
    let mut c = Cluster::new().set(
        "yarn.resourcemanager.nodemanager.minimum.version",
        "EqualToRM",
    );
    let mut registration = ModelNode::new("n", resource("8gb 8vc")).registration();
    registration.version = "3.4.1".to_owned();
    let reply = c.node(NodeRequest::Register(Box::new(registration)));
    let Reply::NodeRegistered {
        action,
        diagnostics,
        ..
    } = reply
    else {
        panic!("{reply:?}")
    };
    assert_eq!(action, NodeAction::Shutdown);
    assert_eq!(
        diagnostics,
        "Disallowed NodeManager Version 3.4.1, is less than the minimum version 3.5.0 sending \
         SHUTDOWN signal to NodeManager."
    );
}

#[test]
fn excluded_hosts_go_and_may_come_back() {
    let mut c = Cluster::new().nodes(2, "8gb 8vc");
    let exclude = vec!["n1".into()];
    c.event(Event::Hosts(HostLists {
        exclude,
        ..HostLists::default()
    }));
    assert_eq!(state(&c, 0), NodeState::Decommissioned);
    let Reply::Heartbeat(reply) = heartbeat(&mut c, 0) else {
        panic!("no answer")
    };
    assert_eq!(reply.action, NodeAction::Shutdown);
    assert_eq!(
        reply.diagnostics,
        "Disallowed NodeManager nodeId: n1:45454 hostname: n1"
    );
    let node = c.nodes[0].clone();
    assert_eq!(
        refused(&mut c, &node),
        "Disallowed NodeManager from  n1, Sending SHUTDOWN signal to the NodeManager."
    );
    c.event(Event::Hosts(HostLists::default()));
    c.register(0);
    assert_eq!(state(&c, 0), NodeState::Running);
    assert_eq!(c.rm.nodes().len(), 2);
}

#[test]
fn heartbeats_are_counted_repeated_and_resynchronised() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    let Reply::Heartbeat(reply) = heartbeat(&mut c, 0) else {
        panic!("no answer")
    };
    assert_eq!(reply.response_id, 1);
    assert_eq!(heartbeat(&mut c, 0), Reply::HeartbeatAgain);
    let Reply::Heartbeat(reply) = heartbeat(&mut c, 1) else {
        panic!("no answer")
    };
    assert_eq!(reply.response_id, 2);
    let Reply::Heartbeat(reply) = heartbeat(&mut c, 0) else {
        panic!("no answer")
    };
    assert_eq!(reply.action, NodeAction::Resync);
    assert_eq!(
        reply.diagnostics,
        "Too far behind rm response id:2 nm response id:0"
    );
    assert_eq!(state(&c, 0), NodeState::Rebooted);
    let Reply::Heartbeat(reply) = heartbeat(&mut c, 2) else {
        panic!("no answer")
    };
    assert_eq!(reply.diagnostics, "Node not found resyncing n1:45454");
    c.register(0);
    assert_eq!(state(&c, 0), NodeState::Running);
}

#[test]
fn a_silent_node_is_lost_with_its_containers() {
    let mut c = Cluster::new()
        .nodes(2, "4gb 4vc")
        .app("a")
        .ask(5, "1gb 1vc")
        .run(1);
    let am_host = c.rm.container(c.am_container()).unwrap().node;
    let other = c.nodes.iter().position(|n| n.id != am_host).unwrap();
    let lost: Vec<_> = c.nodes[other].running().collect();
    assert!(!lost.is_empty());
    c.nodes[other].stopped = true; // no more heartbeats
    c = c.run(602);
    assert_eq!(state(&c, other), NodeState::Lost);
    let ended = c.master().ended.clone();
    assert!(
        lost.iter().all(|id| ended.get(id) == Some(&exit::ABORTED)),
        "{ended:?}"
    );
    // it comes back with everything still running: all of that must go
    c.nodes[other].stopped = false;
    c.nodes[other].registered = false;
    c = c.run(3);
    assert_eq!(state(&c, other), NodeState::Running);
    assert!(lost.iter().all(|id| !c.nodes[other].runs(*id)));
}

#[test]
fn an_absent_rm_does_not_lose_its_nodes() {
    let mut c = Cluster::new().nodes(2, "8gb 8vc").app("a");
    // the process was stopped for an hour; the first thing it does is a tick
    c.now = c.now.plus(3_600_000);
    c.event(Event::Tick);
    assert_eq!(
        (state(&c, 0), state(&c, 1)),
        (NodeState::Running, NodeState::Running)
    );
    assert_eq!(c.attempt(), c.id().attempt(1));
    // silence from then on counts
    c.silence(600_000 + 1);
    assert_eq!(state(&c, 0), NodeState::Lost);
}

#[test]
fn a_master_on_a_lost_node_is_tried_again_without_counting() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
    for attempt in 2..5 {
        let node = c.nodes[0].id.clone();
        c.node(NodeRequest::Unregister { node });
        assert_eq!(state(&c, 0), NodeState::Shutdown);
        let old = c.rm.attempt(c.id().attempt(attempt - 1)).unwrap();
        assert!(
            old.diagnostics.contains("exitCode: -100"),
            "{}",
            old.diagnostics
        );
        c.nodes[0].containers.clear();
        c.register(0);
        assert_eq!(c.attempt(), c.id().attempt(attempt));
    }
}

#[test]
fn an_unhealthy_node_loses_its_containers_and_takes_none() {
    let mut c = Cluster::new()
        .nodes(2, "2gb 2vc")
        .app("a")
        .ask(3, "1gb 1vc")
        .run(1);
    assert_eq!(c.report().used_containers, 4);
    let am_host = c.rm.container(c.am_container()).unwrap().node;
    let other = c.nodes.iter().position(|n| n.id != am_host).unwrap();
    c.nodes[other].healthy = false;
    c.heartbeat(other);
    assert_eq!(state(&c, other), NodeState::Unhealthy);
    assert_eq!(c.report().used_containers, 2);
    c = c.ask(2, "1gb 1vc").run(2);
    assert_eq!(c.report().used_containers, 2);
    assert!(
        !c.nodes[other].running().any(|_| true),
        "they are killed there"
    );
    c.nodes[other].healthy = true;
    c = c.run(2);
    assert_eq!(state(&c, other), NodeState::Running);
    assert_eq!(c.report().used_containers, 4);
}

#[test]
fn a_node_that_registers_again_keeps_what_it_still_runs() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(3, "1gb 1vc")
        .run(2);
    let running: Vec<_> = c.master().held.keys().copied().collect();
    c.nodes[0].containers.remove(&running[0]); // lost in the restart of the node
    c.nodes[0].end(running[1], 143, "stopped");
    c.register(0);
    let answer = c.allocate();
    let ended: Vec<_> = answer
        .completed
        .iter()
        .map(|d| (d.container, d.exit_status))
        .collect();
    assert_eq!(ended.len(), 2);
    assert!(ended.contains(&(running[0], exit::ABORTED)));
    assert!(ended.contains(&(running[1], 143)));
    assert!(c.rm.container(running[2]).is_some());
    assert_eq!(c.attempt(), c.id().attempt(1), "the master lives");
}

#[test]
fn a_container_not_started_yet_survives_a_new_registration() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(1, "1gb 1vc");
    let grant = c.allocate().grants[0].clone();
    c.nodes[0].containers.remove(&grant.container);
    c.register(0);
    c.heartbeat(0);
    assert!(c.rm.container(grant.container).is_some());
}

#[test]
fn strange_containers_and_applications_are_cleaned_up() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    let ghost = c.submission("default").app.attempt(1).container(0, 7);
    c.nodes[0].start(ghost, resource("1gb 1vc"), &[]);
    let Reply::Heartbeat(reply) = heartbeat(&mut c, 0) else {
        panic!("no answer")
    };
    assert_eq!(reply.containers_to_cleanup, [ghost]);
    assert_eq!(reply.applications_to_cleanup, [ghost.app()]);
}

#[test]
fn a_node_may_grow_and_shrink_when_it_registers_again() {
    let mut c = Cluster::new()
        .nodes(1, "4gb 4vc")
        .app("a")
        .ask(5, "1gb 1vc")
        .run(1);
    assert_eq!(c.report().used_containers, 4);
    c.nodes[0].total = resource("8gb 8vc");
    c.register(0);
    c = c.run(1);
    assert_eq!(c.report().used_containers, 6);
}

#[test]
fn a_node_on_another_rack_starts_anew() {
    let mut c = Cluster::new().nodes(2, "8gb 8vc").app("a");
    let mut registration = c.nodes[1].registration();
    registration.rack = "/other".into();
    c.node(NodeRequest::Register(Box::new(registration)));
    assert_eq!(&*c.rm.node(&c.nodes[1].id).unwrap().rack, "/other");
}
