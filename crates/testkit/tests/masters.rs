//! ApplicationMasterProtocol: order of calls, replays, refusals, what answers carry.
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
    Event, RejectKind, Reply,
    event::{Allocate, AmRequest},
};
use testkit::Cluster;
use yarn_types::{FinalStatus, NodeState, exit};

fn register() -> AmRequest {
    AmRequest::Register {
        host: "h".to_owned(),
        rpc_port: 1,
        tracking_url: String::new(),
    }
}

fn allocate(request: Allocate) -> AmRequest {
    AmRequest::Allocate(Box::new(request))
}

#[test]
fn registering_twice_is_refused() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
    let reject = c.am(register()).unwrap_err();
    assert_eq!(reject.kind, RejectKind::InvalidApplicationMasterRequest);
    assert_eq!(
        reject.message,
        format!("Application Master is already registered : {}", c.id())
    );
}

#[test]
fn calls_before_registration_are_refused() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    c.launches_held = true;
    c = c.app("a");
    let attempt = c.attempt();
    let reject = c.am(allocate(Allocate::default())).unwrap_err();
    assert_eq!(reject.kind, RejectKind::ApplicationMasterNotRegistered);
    assert_eq!(
        reject.message,
        format!(
            "AM is not registered for known application attempt: {attempt} or RM had restarted \
             after AM registered.  AM should re-register."
        )
    );
    let reject = c.finish(FinalStatus::Succeeded, "").unwrap_err();
    assert_eq!(reject.kind, RejectKind::ApplicationMasterNotRegistered);
}

#[test]
fn a_master_faster_than_the_launcher_is_heard() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    c.launches_held = true;
    c = c.app("a");
    assert!(c.am(register()).is_ok());
    let attempt = c.attempt();
    c.event(Event::AmLaunched { attempt });
    assert_eq!(c.report().state, yarn_types::ApplicationState::Running);
}

#[test]
fn a_repeated_call_is_answered_again_and_an_older_one_refused() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(1, "1gb 1vc");
    assert_eq!(c.allocate().response_id, 1);
    assert_eq!(c.allocate().response_id, 2);
    let at = |response_id| {
        allocate(Allocate {
            response_id,
            ..Allocate::default()
        })
    };
    assert_eq!(c.am(at(1)), Ok(Reply::AllocatedAgain));
    assert_eq!(c.am(at(1)), Ok(Reply::AllocatedAgain));
    for wrong in [0, 3, -1] {
        let reject = c.am(at(wrong)).unwrap_err();
        assert_eq!(reject.kind, RejectKind::InvalidApplicationMasterRequest);
        let words = format!("expect responseId to be 2 but get {wrong}");
        assert!(reject.message.ends_with(&words), "{}", reject.message);
    }
    assert_eq!(c.allocate().response_id, 3);
}

#[test]
fn a_repeated_call_before_any_answer_gets_an_empty_one() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
    let request = Allocate {
        response_id: -1,
        ..Allocate::default()
    };
    let Ok(Reply::Allocated(answer)) = c.am(allocate(request)) else {
        panic!("refused")
    };
    assert_eq!((answer.response_id, answer.grants.len()), (0, 0));
}

#[test]
fn calls_of_an_attempt_that_is_over_are_refused() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
    let old = c.attempt();
    let am = c.am_container();
    c.exit(am, 1, "");
    c = c.run(1);
    let reject = c.am_of(old, allocate(Allocate::default())).unwrap_err();
    assert_eq!(reject.kind, RejectKind::ApplicationAttemptNotFound);
    assert_eq!(
        reject.message,
        format!("Application attempt {old} doesn't exist in ApplicationMasterService cache.")
    );
    let reject = c.am_of(old, register()).unwrap_err();
    assert_eq!(reject.kind, RejectKind::InvalidApplicationMasterRequest);
}

#[test]
fn the_first_container_on_a_node_brings_its_nm_token() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(1, "1gb 1vc");
    assert_eq!(c.allocate().nm_tokens.len(), 1);
    c = c.ask(1, "1gb 1vc");
    assert_eq!(c.allocate().nm_tokens.len(), 0);
    c.event(Event::NmKeyActivated);
    c = c.ask(1, "1gb 1vc");
    assert_eq!(c.allocate().nm_tokens.len(), 1, "the key has changed");
    c.register(0);
    c = c.ask(1, "1gb 1vc");
    assert_eq!(
        c.allocate().nm_tokens.len(),
        1,
        "the node has registered again"
    );
}

#[test]
fn released_containers_come_back_once_as_aborted() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(2, "1gb 1vc")
        .run(1);
    let one = *c.master().held.keys().next().unwrap();
    c.master().releases.push(one);
    let answer = c.allocate();
    assert_eq!(answer.completed.len(), 1);
    assert_eq!(answer.completed[0].exit_status, exit::ABORTED);
    assert_eq!(
        answer.completed[0].diagnostics,
        "Container released by application"
    );
    assert!(c.nodes[0].runs(one));
    c = c.run(2);
    assert!(
        !c.nodes[0].containers.contains_key(&one),
        "killed and forgotten"
    );
    // once more: nothing happens
    c.master().releases.push(one);
    assert_eq!(c.allocate().completed.len(), 0);
    assert_eq!(c.report().used_containers, 2);
}

#[test]
fn releasing_what_belongs_to_another_is_refused_and_changes_nothing() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(1, "1gb 1vc")
        .run(1);
    let foreign = *c.master().held.keys().next().unwrap();
    c = c.app("b").ask(1, "1gb 1vc");
    c.master().releases.push(foreign);
    let request = allocate(c.master().allocate());
    let reject = c.am(request).unwrap_err();
    assert_eq!(reject.kind, RejectKind::InvalidContainerRelease);
    assert_eq!(
        reject.message,
        format!(
            "Cannot release container : {foreign} not belonging to this application attempt : {}",
            c.attempt()
        )
    );
    assert_eq!(c.report().pending_containers, 0);
    assert!(c.rm.container(foreign).is_some());
}

#[test]
fn a_wrong_call_is_refused_before_anything_changes() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(1, "1gb 1vc");
    let good = c.master().allocate();
    let with = |f: fn(&mut Allocate)| {
        let mut request = good.clone();
        f(&mut request);
        allocate(request)
    };
    let reject = c
        .am(with(|r| r.blacklist_additions.push("*".into())))
        .unwrap_err();
    assert_eq!(reject.kind, RejectKind::InvalidResourceBlacklistRequest);
    assert_eq!(reject.message, "Cannot add * to the blacklist!");
    let reject = c.am(with(|r| r.scheduling_requests = true)).unwrap_err();
    assert_eq!(reject.kind, RejectKind::Yarn);
    let reject = c.am(with(|r| r.asks[0].capability.0[0] = -1)).unwrap_err();
    assert_eq!(reject.kind, RejectKind::InvalidResourceRequest);
    let reject = c
        .am(with(|r| r.asks[0].capability.0[0] = 1 << 40))
        .unwrap_err();
    assert_eq!(reject.kind, RejectKind::InvalidResourceRequest);
    assert_eq!(c.report().used_containers, 1);
    assert_eq!(
        c.allocate().grants.len(),
        1,
        "the same response id is still good"
    );
}

#[test]
fn odd_progress_is_read_as_hadoop_reads_it() {
    for (sent, shown) in [
        (f32::NAN, 0.0),
        (f32::INFINITY, 1.0),
        (f32::NEG_INFINITY, 0.0),
        (-0.5, 0.0),
        (7.0, 1.0),
    ] {
        let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
        let request = Allocate {
            progress: sent,
            ..Allocate::default()
        };
        c.am(allocate(request)).unwrap();
        assert!((c.report().progress - shown).abs() < f32::EPSILON, "{sent}");
    }
}

#[test]
fn each_node_change_is_told_once() {
    let mut c = Cluster::new().nodes(2, "8gb 8vc").app("a");
    c.allocate();
    c.nodes[1].healthy = false;
    c.heartbeat(1);
    let answer = c.allocate();
    let seen = c.rm.node(&c.nodes[1].id).unwrap();
    assert_eq!(seen.state, NodeState::Unhealthy);
    assert_eq!(seen.health_report, "1/1 local-dirs are bad");
    assert_eq!(answer.updated_nodes, [seen]);
    assert_eq!(answer.num_cluster_nodes, 1);
    assert_eq!(c.allocate().updated_nodes, []);
}

#[test]
fn a_container_that_is_never_started_expires() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(1, "1gb 1vc");
    let grant = c.allocate().grants[0].clone();
    c.nodes[0].containers.remove(&grant.container); // the master does not start it
    c = c.run(599);
    assert!(c.rm.container(grant.container).is_some());
    c = c.run(2);
    assert!(c.rm.container(grant.container).is_none());
    let ended = c.master().ended.clone();
    assert_eq!(ended.get(&grant.container), Some(&exit::ABORTED));
}

#[test]
fn an_unregistered_master_gets_nothing_more() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
    c.finish(FinalStatus::Succeeded, "").unwrap();
    c = c.ask(1, "1gb 1vc");
    let answer = c.allocate();
    assert_eq!(answer.grants.len(), 0);
    assert_eq!(
        c.granted(),
        1,
        "only the master's own container was ever granted"
    );
}

#[test]
fn the_nodes_memory_of_ended_containers_is_bounded() {
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(3, "1gb 1vc")
        .run(1);
    let held: Vec<_> = c.master().held.keys().copied().collect();
    for container in held {
        c.exit(container, 0, "");
    }
    c = c.run(3);
    assert_eq!(c.master().ended.len(), 3);
    assert_eq!(
        c.nodes[0].containers.len(),
        1,
        "only the master's container is left"
    );
}

#[test]
fn what_is_on_its_way_is_not_granted_again() {
    let mut c = Cluster::new()
        .nodes(1, "4gb 4vc")
        .app("a")
        .ask(5, "1gb 1vc");
    assert_eq!(c.allocate().grants.len(), 3);
    // room appears: the two others are granted before the master calls again
    c.nodes[0].total = testkit::resource("16gb 16vc");
    c.register(0);
    assert_eq!(c.granted(), 6);
    // its call still says 2, as it has not seen them
    assert_eq!(c.allocate().grants.len(), 2);
    assert_eq!(c.granted(), 6);
    assert_eq!(c.report().pending_containers, 0);
}
