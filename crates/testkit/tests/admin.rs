//! What an administrator does to nodes and priorities, and what applications notice of it.
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
    Event, Reject, Reply,
    effect::NodeAction,
    event::{AdminRequest, Decommission, HostLists, NodeOption, NodeRequest},
};
use testkit::{Cluster, resource};
use yarn_types::{FinalStatus, MILLI, NodeId, NodeState};

fn state(c: &Cluster, at: usize) -> NodeState {
    c.rm.node(&c.nodes[at].id).unwrap().state
}

/// `rmadmin -refreshNodes` with these hosts excluded, gracefully with a timeout.
fn exclude(c: &mut Cluster, hosts: &[&str], timeout_s: Option<i32>) {
    let lists = HostLists {
        exclude: hosts.iter().map(|h| (*h).into()).collect(),
        ..HostLists::default()
    };
    refresh(c, lists, timeout_s);
}

fn refresh(c: &mut Cluster, lists: HostLists, timeout_s: Option<i32>) {
    let how = timeout_s.map_or(Decommission::Normal, |timeout_s| Decommission::Graceful {
        timeout_s,
    });
    c.admin(AdminRequest::RefreshNodes { lists, how }).unwrap();
}

/// `rmadmin -updateNodeResource` for node number `at`.
fn update(c: &mut Cluster, at: usize, size: &str, timeout_ms: i32) -> Result<Reply, Reject> {
    let node = c.nodes[at].id.clone();
    c.admin(AdminRequest::UpdateNodeResource(vec![NodeOption {
        node,
        total: resource(size),
        overcommit_timeout_ms: timeout_ms,
    }]))
}

/// Two nodes; the application's containers fill what its master left of the first.
fn busy() -> Cluster {
    let c = Cluster::new().nodes(1, "4gb 4vc").app("a");
    c.ask(3, "1gb 1vc")
        .run(2)
        .expect("n1:3")
        .nodes(1, "4gb 4vc")
}

#[test]
fn a_node_goes_gracefully_once_its_application_has_ended() {
    let mut c = busy();
    exclude(&mut c, &["n1"], Some(3600));
    assert_eq!(state(&c, 0), NodeState::Decommissioning);
    let told = c.allocate().updated_nodes;
    assert_eq!(told.len(), 2, "n2 came, n1 goes: {told:?}");
    let going = told.iter().find(|n| *n.id.host == *"n1").unwrap();
    assert_eq!(going.state, NodeState::Decommissioning);
    assert_eq!(going.decommissioning_timeout_s, Some(3600));
    assert_eq!((going.used, going.containers), (resource("4gb 4vc"), 4));
    // Nothing new comes there, also when there is room.
    let given_back = *c.master().held.keys().next().unwrap();
    c.exit(given_back, 0, "");
    c = c.ask(2, "1gb 1vc").run(3).expect("n1:2 n2:2");
    let seen = c.rm.node(&c.nodes[0].id).unwrap();
    assert_eq!(seen.total, seen.used, "it offers what is held");
    for id in c.master().held.keys().copied().collect::<Vec<_>>() {
        c.exit(id, 0, "");
    }
    c = c.run(3);
    assert_eq!(state(&c, 0), NodeState::Decommissioning, "the master runs");
    c.finish(FinalStatus::Succeeded, "").unwrap();
    let am = c.am_container();
    c.exit(am, 0, "");
    c = c.run(3);
    assert_eq!(state(&c, 0), NodeState::Decommissioned);
    assert!(c.nodes[0].stopped, "its daemon was told to stop");
    assert_eq!(state(&c, 1), NodeState::Running);
}

#[test]
fn a_going_node_waits_for_applications_whose_files_it_has() {
    let mut c = Cluster::new()
        .nodes(1, "1gb 1vc")
        .app("a")
        .nodes(1, "4gb 4vc");
    c = c.ask(1, "1gb 1vc").run(2).expect("n2:1");
    exclude(&mut c, &["n2"], Some(-1));
    for id in c.master().held.keys().copied().collect::<Vec<_>>() {
        c.exit(id, 0, "");
    }
    c = c.run(10_000);
    assert_eq!(state(&c, 1), NodeState::Decommissioning);
    c.finish(FinalStatus::Succeeded, "").unwrap();
    let am = c.am_container();
    c.exit(am, 0, "");
    c = c.run(2);
    let heartbeat = c.nodes[1].heartbeat();
    assert_eq!(state(&c, 1), NodeState::Decommissioned);
    let Reply::Heartbeat(reply) = c.node(NodeRequest::Heartbeat(Box::new(heartbeat))) else {
        panic!("no answer")
    };
    assert_eq!(reply.action, NodeAction::Shutdown);
}

#[test]
fn an_idle_node_is_told_to_stop_with_hadoops_words() {
    let mut c = Cluster::new().nodes(1, "4gb 4vc");
    exclude(&mut c, &["n1"], Some(60));
    let heartbeat = c.nodes[0].heartbeat();
    let Reply::Heartbeat(reply) = c.node(NodeRequest::Heartbeat(Box::new(heartbeat))) else {
        panic!("no answer")
    };
    assert_eq!(reply.action, NodeAction::Shutdown);
    assert_eq!(
        reply.diagnostics,
        "DECOMMISSIONING n1:45454 is ready to be decommissioned"
    );
    assert_eq!(state(&c, 0), NodeState::Decommissioned);
}

#[test]
fn at_the_timeout_a_node_goes_with_all_it_runs() {
    let mut c = busy();
    let lists = HostLists {
        exclude: vec!["n1".into()],
        timeouts_s: [("n1".into(), 10)].into(),
        ..HostLists::default()
    };
    refresh(&mut c, lists, Some(3600));
    c = c.run(9);
    assert_eq!(
        state(&c, 0),
        NodeState::Decommissioning,
        "its own time counts"
    );
    c = c.run(2);
    assert_eq!(state(&c, 0), NodeState::Decommissioned);
    c = c.run(4);
    assert_eq!(
        c.attempt(),
        c.id().attempt(2),
        "its master starts elsewhere"
    );
    // A new time counts from the first refusal.
    let mut c = busy();
    exclude(&mut c, &["n1"], Some(100));
    c = c.run(5);
    exclude(&mut c, &["n1"], Some(6));
    c = c.run(2);
    assert_eq!(state(&c, 0), NodeState::Decommissioned);
}

#[test]
fn a_node_that_is_not_excluded_any_more_stays() {
    let mut c = busy();
    exclude(&mut c, &["n1"], Some(5));
    c = c.run(1);
    exclude(&mut c, &[], Some(5));
    assert_eq!(state(&c, 0), NodeState::Running);
    c = c.run(20);
    assert_eq!(state(&c, 0), NodeState::Running);
    assert_eq!(c.rm.nodes()[0].total, resource("4gb 4vc"));
    assert_eq!(c.attempt(), c.id().attempt(1));
}

#[test]
fn a_refresh_without_grace_and_a_forced_one_end_the_wait() {
    for forced in [false, true] {
        let mut c = busy();
        exclude(&mut c, &["n1"], Some(-1));
        if forced {
            c.admin(AdminRequest::DecommissionNow).unwrap();
        } else {
            exclude(&mut c, &["n1"], None);
        }
        assert_eq!(state(&c, 0), NodeState::Decommissioned);
        assert_eq!(state(&c, 1), NodeState::Running);
    }
}

#[test]
fn a_host_that_is_not_included_is_shut_down_and_not_decommissioned() {
    let mut c = Cluster::new().nodes(2, "4gb 4vc");
    let lists = HostLists {
        include: vec!["n2".into()],
        ..HostLists::default()
    };
    refresh(&mut c, lists, None);
    assert_eq!(state(&c, 0), NodeState::Shutdown);
    assert_eq!(state(&c, 1), NodeState::Running);
}

#[test]
fn a_going_node_may_register_again() {
    let mut c = busy();
    exclude(&mut c, &["n1"], Some(3600));
    c.register(0);
    assert!(c.nodes[0].registered);
    assert_eq!(state(&c, 0), NodeState::Decommissioning);
    c = c.run(2).expect("n1:3");
    assert_eq!(state(&c, 0), NodeState::Decommissioning);
    // One that comes back empty has nothing to wait for.
    c.nodes[0].containers.clear();
    c.nodes[0].apps.clear();
    c.register(0);
    c = c.run(1);
    assert!(c.nodes[0].stopped || state(&c, 0) == NodeState::Decommissioning);
}

#[test]
fn a_node_offers_what_an_administrator_says() {
    let mut c = Cluster::new().nodes(1, "4gb 4vc").app("a");
    update(&mut c, 0, "2gb 8vc", -1).unwrap();
    assert_eq!(c.rm.nodes()[0].total, resource("2gb 8vc"));
    c = c.ask(3, "1gb 1vc").run(2).expect("n1:1");
    update(&mut c, 0, "4gb 8vc", -1).unwrap();
    let heartbeat = c.nodes[0].heartbeat();
    let Reply::Heartbeat(reply) = c.node(NodeRequest::Heartbeat(Box::new(heartbeat))) else {
        panic!("no answer")
    };
    assert_eq!(
        reply.resource,
        Some(resource("4gb 8vc")),
        "its daemon is told"
    );
    c.nodes[0].on_heartbeat(&reply);
    let heartbeat = c.nodes[0].heartbeat();
    let Reply::Heartbeat(reply) = c.node(NodeRequest::Heartbeat(Box::new(heartbeat))) else {
        panic!("no answer")
    };
    assert_eq!(reply.resource, None, "once");
    c.nodes[0].on_heartbeat(&reply);
    c = c.run(1).expect("n1:3");
    c.register(0);
    assert_eq!(c.rm.nodes()[0].total, resource("4gb 8vc"));
}

#[test]
fn an_unknown_node_leaves_all_as_it_was() {
    let mut c = Cluster::new().nodes(1, "4gb 4vc");
    let option = |node: NodeId| NodeOption {
        node,
        total: resource("1gb 1vc"),
        overcommit_timeout_ms: -1,
    };
    let known = c.nodes[0].id.clone();
    let both = vec![option(known), option(NodeId::new("nowhere", 1))];
    for request in [
        AdminRequest::UpdateNodeResource(both.clone()),
        AdminRequest::RefreshNodesResources(both),
    ] {
        let refused = c.admin(request).unwrap_err();
        assert_eq!(
            refused.message,
            "Resource update get failed on all nodes due to change resource on an unrecognized \
             node: nowhere:1"
        );
        assert_eq!(c.rm.nodes()[0].total, resource("4gb 4vc"));
    }
}

#[test]
fn containers_beyond_the_offer_stay_or_go_as_the_timeout_says() {
    let mut c = busy();
    update(&mut c, 0, "2gb 2vc", -1).unwrap();
    c = c.run(30).expect("n1:3");
    assert_eq!(c.rm.nodes()[0].used, resource("4gb 4vc"));

    let mut c = busy();
    update(&mut c, 0, "2gb 2vc", 0).unwrap();
    let answer = c.allocate();
    assert_eq!(answer.completed.len(), 2);
    for ended in &answer.completed {
        assert_eq!(ended.exit_status, -102);
        assert_eq!(ended.diagnostics, "Container preempted by scheduler");
    }
    assert_eq!(
        c.rm.nodes()[0].used,
        resource("2gb 2vc"),
        "the master lives"
    );
    assert_eq!(c.report().preempted_containers, 2);

    let mut c = busy();
    update(&mut c, 0, "3gb 3vc", 10_000).unwrap();
    let newest = *c.master().held.keys().max().unwrap();
    assert_eq!(c.allocate().preempting, [newest]);
    assert!(c.allocate().preempting.is_empty(), "told once");
    c = c.run(9).expect("n1:3");
    c = c.run(2).expect("n1:2");
    assert!(!c.nodes[0].runs(newest));
    // More than enough again before the time is up: nothing goes.
    let mut c = busy();
    update(&mut c, 0, "3gb 3vc", 10_000).unwrap();
    update(&mut c, 0, "8gb 8vc", 10_000).unwrap();
    let _ = c.run(12).expect("n1:3");
}

#[test]
fn an_override_caps_the_sum_of_gpus_and_makes_none() {
    let mut c = Cluster::new().gpu_nodes(1, "8gb 8vc", 4).app("a");
    let gpus = |c: &Cluster| c.rm.nodes()[0].total.0[2];
    update(&mut c, 0, "8gb 8vc 2gpu", -1).unwrap();
    assert_eq!(gpus(&c), 2 * MILLI);
    c = c.ask(4, "1gb 1vc 1gpu").run(3).expect("n1:2");
    update(&mut c, 0, "8gb 8vc 16gpu", -1).unwrap();
    assert_eq!(gpus(&c), 4 * MILLI, "there are only four cards");
    c = c.run(3).expect("n1:4");
    assert_eq!(c.nodes[0].gpu_faults, Vec::<String>::new());
}

#[test]
fn dynamic_resources_hold_for_nodes_that_register_later() {
    let mut c = Cluster::new();
    let option = NodeOption {
        node: NodeId::new("n1", 45_454),
        total: resource("2gb 2vc"),
        overcommit_timeout_ms: -1,
    };
    c.event(Event::DynamicResources(vec![option]));
    let mut c = c.nodes(2, "4gb 4vc");
    assert_eq!(c.rm.nodes()[0].total, resource("2gb 2vc"));
    assert_eq!(c.rm.nodes()[1].total, resource("4gb 4vc"));
    let registration = c.nodes[0].registration();
    let reply = c.node(NodeRequest::Register(Box::new(registration)));
    assert!(
        matches!(reply, Reply::NodeRegistered { resource: Some(told), .. } if told == resource("2gb 2vc")),
        "{reply:?}"
    );
    let none = AdminRequest::RefreshNodesResources(Vec::new());
    c.admin(none).unwrap();
    c.silence(700_000);
    c.register(0);
    assert_eq!(c.rm.nodes()[0].total, resource("4gb 4vc"));
}

#[test]
fn the_highest_priority_holds_for_applications_that_come_later() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    let submit = |c: &mut Cluster, name: &str| {
        let mut submission = c.submission("default");
        submission.priority = Some(7);
        c.submit(name, submission);
        c.report().priority
    };
    assert_eq!(submit(&mut c, "a"), 0);
    c.admin(AdminRequest::ClusterMaxPriority(5)).unwrap();
    assert_eq!(submit(&mut c, "b"), 5);
}
