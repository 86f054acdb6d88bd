//! What passes from one attempt to the next: containers, news of them, nodes to keep off.
//! May touch: `testkit`.
//! Must not: sleep.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test"
)]

use std::{collections::BTreeSet, sync::Arc};

use rm_core::{
    Event, Reply,
    effect::Registered,
    event::{Allocate, AmRequest, UpdateKind},
};
use testkit::{Cluster, ModelNode, resource};
use yarn_types::{ApplicationState, ContainerId, exit};

/// An application that keeps its containers, with `containers` of them on two nodes.
fn keeper(validity_ms: Option<u64>, containers: i32) -> Cluster {
    let mut c = Cluster::new().nodes(2, "8gb 8vc");
    let mut submission = c.submission("default");
    submission.keep_containers = true;
    submission.attempt_failures_validity_ms = validity_ms;
    c.submit("a", submission);
    c.ask(containers, "1gb 1vc").run(2)
}

fn held(c: &mut Cluster) -> BTreeSet<ContainerId> {
    c.master().held.keys().copied().collect()
}

/// Ends the master; the next one is launched and registers.
fn next_master(c: &mut Cluster) -> Registered {
    let am = c.am_container();
    c.exit(am, 1, "");
    c.launches_held = true;
    *c = std::mem::take(c).run(1);
    let attempt = c.attempt();
    assert_ne!(am.attempt, attempt);
    c.event(Event::AmLaunched { attempt });
    let request = AmRequest::Register {
        host: String::new(),
        rpc_port: -1,
        tracking_url: String::new(),
    };
    match c.am(request) {
        Ok(Reply::Registered(registered)) => *registered,
        other => panic!("registerApplicationMaster answered {other:?}"),
    }
}

#[test]
fn the_next_master_gets_what_runs_and_hears_of_what_ended() {
    let mut c = keeper(None, 4);
    let before = held(&mut c);
    let (ended, lost) = (*before.first().unwrap(), *before.last().unwrap());
    let am = c.am_container();
    // One ends together with the master, one before the next registers.
    c.exit(ended, 7, "why not");
    let registered = next_master(&mut c);
    let kept: BTreeSet<ContainerId> = registered
        .from_previous_attempts
        .iter()
        .map(|g| g.container)
        .collect();
    let mut running = before.clone();
    running.remove(&ended);
    assert_eq!(kept, running);
    assert!(!kept.contains(&am));
    let nodes: BTreeSet<_> = registered
        .from_previous_attempts
        .iter()
        .map(|g| g.node.clone())
        .collect();
    let listed = c.rm.containers(c.attempt()).unwrap();
    let listed: BTreeSet<ContainerId> = listed.iter().map(|r| r.id).collect();
    assert!(kept.is_subset(&listed), "clients find them with it");
    let tokens: BTreeSet<_> = registered.nm_tokens.into_iter().collect();
    assert_eq!(tokens, nodes, "each node's token once");
    let allocate = |c: &mut Cluster, response_id| {
        let request = Allocate {
            response_id,
            ..Allocate::default()
        };
        match c.am(AmRequest::Allocate(Box::new(request))) {
            Ok(Reply::Allocated(allocated)) => *allocated,
            other => panic!("allocate answered {other:?}"),
        }
    };
    let told = allocate(&mut c, 0).completed;
    let told: Vec<(ContainerId, i32, &str)> = told
        .iter()
        .map(|done| (done.container, done.exit_status, done.diagnostics.as_str()))
        .collect();
    assert_eq!(told, [(ended, 7, "why not")]);
    c.exit(lost, 9, "");
    for at in 0..2 {
        c.heartbeat(at);
    }
    let later = allocate(&mut c, 1).completed;
    assert_eq!(later.len(), 1);
    assert_eq!((later[0].container, later[0].exit_status), (lost, 9));
}

#[test]
fn the_next_master_is_told_of_a_size_once() {
    let key = "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms";
    let mut c = Cluster::new().set(key, "10000").nodes(1, "8gb 8vc");
    let mut submission = c.submission("default");
    submission.keep_containers = true;
    c.submit("a", submission);
    c = c.ask(1, "1gb 1vc").run(2);
    let id = *c.master().held.keys().next().unwrap();
    let master = c.master();
    master.resize(id, UpdateKind::Increase, resource("2gb 1vc"));
    assert_eq!(c.allocate().updated.len(), 1);
    // not used in time; its master ends before it hears of that
    c.silence(10_000);
    let registered = next_master(&mut c);
    let told = registered.from_previous_attempts.first().unwrap();
    assert_eq!((told.version, told.resource), (2, resource("1gb 1vc")));
    match c.am(AmRequest::Allocate(Box::default())) {
        Ok(Reply::Allocated(answer)) => assert_eq!(answer.updated, []),
        other => panic!("allocate answered {other:?}"),
    }
}

#[test]
fn containers_end_with_the_last_attempt() {
    let mut c = keeper(None, 2);
    for number in 1..=2 {
        assert_eq!(c.attempt(), c.id().attempt(number));
        assert_eq!(c.report().used_containers, 3);
        let am = c.am_container();
        c.exit(am, 1, "");
        c = c.run(3);
    }
    assert_eq!(c.report().state, ApplicationState::Failed);
    assert_eq!(c.report().used_containers, 0);
    assert_eq!(c.nodes.iter().flat_map(ModelNode::running).count(), 0);
}

#[test]
fn failures_outside_the_interval_keep_the_containers_alive() {
    let mut c = keeper(Some(10_000), 2);
    for number in 1..=4 {
        assert_eq!(c.attempt(), c.id().attempt(number));
        assert_eq!(c.report().used_containers, 3);
        let am = c.am_container();
        c.exit(am, 1, "");
        c = c.run(12);
    }
    assert_eq!(c.report().state, ApplicationState::Running);
    // Two within the interval are the end.
    for _ in 0..2 {
        let am = c.am_container();
        c.exit(am, 1, "");
        c = c.run(3);
    }
    assert_eq!(c.report().state, ApplicationState::Failed);
    assert_eq!(c.report().used_containers, 0);
}

fn cluster(nodes: usize, share: &str) -> Cluster {
    Cluster::new()
        .set(
            "yarn.resourcemanager.am-scheduling.node-blacklisting-enabled",
            "true",
        )
        .set(
            "yarn.resourcemanager.am-scheduling.node-blacklisting-disable-threshold",
            share,
        )
        .set("yarn.resourcemanager.am.max-attempts", "9")
        .nodes(nodes, "8gb 8vc")
        .app("a")
}

/// Host of the current master.
fn am_host(c: &Cluster) -> Arc<str> {
    let report = c.rm.attempt(c.attempt()).unwrap();
    report.am_node.expect("the master has a node").0.host
}

/// The master exits; where the next one is.
fn retried_on(c: &mut Cluster, exit_status: i32) -> Arc<str> {
    let am = c.am_container();
    c.exit(am, exit_status, "");
    *c = std::mem::take(c).run(2);
    am_host(c)
}

fn avoided(c: &Cluster) -> Vec<Arc<str>> {
    c.rm.attempt(c.attempt())
        .unwrap()
        .nodes_blacklisted_by_system
}

#[test]
fn a_host_that_failed_a_master_is_not_tried_again() {
    let mut c = cluster(3, "0.8");
    let first = am_host(&c);
    let second = retried_on(&mut c, 1);
    assert_ne!(first, second);
    assert_eq!(avoided(&c), std::slice::from_ref(&first));
    let third = retried_on(&mut c, 1);
    assert!(third != first && third != second);
    assert_eq!(avoided(&c).len(), 2);
    // The third failure makes it three of three: above the share, so none is avoided.
    retried_on(&mut c, 1);
    assert!(avoided(&c).is_empty());
    // Its other containers go anywhere.
    c = c.ask(12, "1gb 1vc").run(2);
    for host in [first, second, third] {
        assert!(c.placement().contains(&format!("{host}:")), "{host}");
    }
}

#[test]
fn ends_that_are_not_the_nodes_fault_blame_nobody() {
    for status in [
        exit::PREEMPTED,
        exit::ABORTED,
        exit::DISKS_FAILED,
        exit::KILLED_EXCEEDED_PMEM,
        exit::KILLED_EXCEEDED_VMEM,
        exit::KILLED_BY_RESOURCEMANAGER,
        exit::KILLED_AFTER_APP_COMPLETION,
    ] {
        let mut c = cluster(3, "0.8");
        retried_on(&mut c, status);
        assert!(avoided(&c).is_empty(), "{status}");
    }
    // Off by default.
    let mut c = Cluster::new().nodes(3, "8gb 8vc").app("a");
    retried_on(&mut c, 1);
    assert!(avoided(&c).is_empty());
}

#[test]
fn a_master_may_move_its_page_and_avoid_places() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
    let call = |c: &mut Cluster, request: Allocate| {
        let response_id = c.master().response_id;
        let request = Allocate {
            response_id,
            ..request
        };
        match c.am(AmRequest::Allocate(Box::new(request))) {
            Ok(Reply::Allocated(answer)) => c.master().response_id = answer.response_id,
            other => panic!("allocate answered {other:?}"),
        }
    };
    let moved = Allocate {
        tracking_url: Some("http://there:1".to_owned()),
        blacklist_additions: vec!["n9".into(), "/r".into()],
        ..Allocate::default()
    };
    call(&mut c, moved);
    assert_eq!(c.report().original_tracking_url, "http://there:1");
    let seen = c.rm.attempt(c.attempt()).unwrap();
    assert_eq!(seen.blacklisted_nodes, ["/r".into(), "n9".into()]);
    let removed = Allocate {
        blacklist_removals: vec!["/r".into()],
        ..Allocate::default()
    };
    call(&mut c, removed);
    assert_eq!(c.report().original_tracking_url, "http://there:1", "stays");
    let seen = c.rm.attempt(c.attempt()).unwrap();
    assert_eq!(seen.blacklisted_nodes, ["n9".into()]);
}
