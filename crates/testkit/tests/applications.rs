//! Life of applications and attempts, as clients and ApplicationMasters see it.
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
    Action, Event, RejectKind, Reply,
    effect::Record,
    event::{Allocate, AmRequest, ClientRequest},
};
use testkit::Cluster;
use yarn_types::{ApplicationState, AttemptState, FinalStatus, exit};

fn kill(cluster: &Cluster) -> ClientRequest {
    ClientRequest::Kill {
        app: cluster.id(),
        user: "bob".into(),
        peer: "10.0.0.7".to_owned(),
        diagnostics: String::new(),
    }
}

#[test]
fn an_application_runs_from_submission_to_the_exit_of_its_master() {
    let mut c = Cluster::new().nodes(2, "8gb 8vc").app("a");
    assert_eq!(c.report().state, ApplicationState::Running);
    assert_eq!(c.report().host, "am-host");
    assert_eq!(c.report().rpc_port, 4711);
    assert_eq!(c.report().final_status, FinalStatus::Undefined);
    c = c.ask(4, "1gb 1vc");
    assert_eq!(
        c.allocate().grants.len(),
        4,
        "an ask that fits is answered in the same call"
    );
    assert_eq!(c.report().used_containers, 5);

    let reply = c.finish(FinalStatus::Succeeded, "done");
    assert_eq!(reply, Ok(Reply::Unregistered(true)));
    assert_eq!(c.report().state, ApplicationState::Finished);
    assert_eq!(
        c.rm.attempt(c.attempt()).unwrap().state,
        AttemptState::Finishing
    );
    assert_eq!(
        c.finish(FinalStatus::Succeeded, "done"),
        Ok(Reply::Unregistered(true))
    );

    let am = c.am_container();
    c.exit(am, 0, "");
    let c = c.run(1);
    let report = c.report();
    assert_eq!(report.final_status, FinalStatus::Succeeded);
    assert_eq!(report.diagnostics, "done");
    assert_eq!(report.used_containers, 0);
    assert_eq!(report.progress.to_bits(), 1.0_f32.to_bits());
    assert_eq!(
        c.rm.attempt(c.attempt()).unwrap().state,
        AttemptState::Finished
    );
    let c = c.run(1);
    assert!(
        c.nodes.iter().all(|n| n.apps.is_empty()),
        "nodes are told of the end"
    );
}

#[test]
fn a_master_that_never_exits_is_stopped_after_its_grace() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
    c.finish(FinalStatus::Succeeded, "").unwrap();
    c = c.run(890);
    assert_eq!(
        c.rm.attempt(c.attempt()).unwrap().state,
        AttemptState::Finishing
    );
    c = c.run(15);
    assert_eq!(
        c.rm.attempt(c.attempt()).unwrap().state,
        AttemptState::Finished
    );
    assert_eq!(c.count(|a| matches!(a, Action::StopAm { .. })), 1);
    assert!(
        !c.nodes[0].running().any(|_| true),
        "the node is told to kill it"
    );
}

#[test]
fn nothing_is_told_before_it_is_stored() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    c.store_held = true;
    let submission = c.submission("default");
    let id = submission.app;
    let call = rm_core::CallId(1000);
    let request = ClientRequest::Submit(Box::new(submission));
    c.event(Event::Client { call, request });
    assert_eq!(c.answer(call), None);
    assert_eq!(c.rm.app(id).unwrap().state, ApplicationState::NewSaving);
    c.store_now();
    assert_eq!(c.answer(call), Some(Ok(Reply::Done)));
    assert_eq!(c.rm.app(id).unwrap().state, ApplicationState::Accepted);
    // the grant of the master's container is being stored: no launch yet
    assert_eq!(c.count(|a| matches!(a, Action::LaunchAm { .. })), 0);
    c.store_now();
    assert_eq!(c.count(|a| matches!(a, Action::LaunchAm { .. })), 1);
    assert_eq!(c.rm.app(id).unwrap().state, ApplicationState::Running);

    let call = rm_core::CallId(1001);
    let attempt = id.attempt(1);
    let request = AmRequest::Finish {
        status: FinalStatus::Succeeded,
        diagnostics: String::new(),
        tracking_url: String::new(),
    };
    c.event(Event::Am {
        call,
        attempt,
        request,
    });
    assert_eq!(c.answer(call), None);
    assert_eq!(c.rm.app(id).unwrap().state, ApplicationState::Running);
    c.store_now();
    assert_eq!(c.answer(call), Some(Ok(Reply::Unregistered(true))));
    assert_eq!(c.rm.app(id).unwrap().state, ApplicationState::Finished);
}

#[test]
fn a_submission_may_come_twice() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    let submission = c.submission("default");
    let id = submission.app;
    c.submit("a", submission.clone());
    c.submit("again", submission);
    assert_eq!(c.rm.apps().len(), 1);
    assert_eq!(c.rm.app(id).unwrap().state, ApplicationState::Running);
    assert_eq!(c.rm.attempts(id).unwrap().len(), 1);
}

#[test]
fn an_unknown_queue_fails_the_application_with_hadoops_words() {
    let c = Cluster::new().nodes(1, "8gb 8vc").app_in("a", "nosuch");
    let report = c.report();
    assert_eq!(report.state, ApplicationState::Failed);
    assert_eq!(report.final_status, FinalStatus::Failed);
    assert_eq!(
        report.diagnostics,
        format!(
            "Application {} submitted by user alice to unknown queue: nosuch",
            c.id()
        )
    );
    assert!(report.current_attempt.is_none());
}

#[test]
fn a_crashed_master_is_tried_again_and_then_fails_the_application() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
    let first = c.am_container();
    c.exit(first, 13, "Exception from container-launch.\n");
    c = c.run(1);
    assert_eq!(c.attempt(), c.id().attempt(2));
    assert_eq!(c.report().state, ApplicationState::Running);
    let page = format!("http://0.0.0.0:8088/cluster/app/{}", c.id());
    let crash = |attempt: u32, code: i32, words: &str| {
        format!(
            "AM Container for {} exited with  exitCode: {code}\nFailing this attempt.Diagnostics: \
             {words}For more detailed output, check the application tracking page: {page} Then \
             click on links to logs of each attempt.\n",
            c.id().attempt(attempt)
        )
    };
    let one = c.rm.attempt(c.id().attempt(1)).unwrap();
    assert_eq!(one.state, AttemptState::Failed);
    assert_eq!(
        one.diagnostics,
        crash(1, 13, "Exception from container-launch.\n")
    );
    assert_eq!((one.host.as_str(), one.rpc_port), ("N/A", -1));

    let expected = format!(
        "Application {} failed 2 times due to {}. Failing the application.",
        c.id(),
        crash(2, 1, "")
    );
    let second = c.am_container();
    c.exit(second, 1, "");
    c = c.run(1);
    let report = c.report();
    assert_eq!(report.state, ApplicationState::Failed);
    assert_eq!(report.diagnostics, expected);
    assert_eq!(report.original_tracking_url, page);
}

#[test]
fn a_lost_node_does_not_use_up_an_attempt() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
    for _ in 0..3 {
        let am = c.am_container();
        c.exit(am, exit::ABORTED, "lost");
        c = c.run(1);
    }
    assert_eq!(c.attempt(), c.id().attempt(4));
    assert_eq!(c.report().state, ApplicationState::Running);
}

#[test]
fn failures_outside_the_validity_interval_do_not_count() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    let mut submission = c.submission("default");
    submission.attempt_failures_validity_ms = Some(10_000);
    c.submit("a", submission);
    for _ in 0..3 {
        let am = c.am_container();
        c.exit(am, 1, "");
        c = c.run(20);
    }
    assert_eq!(c.report().state, ApplicationState::Running);
    for _ in 0..2 {
        let am = c.am_container();
        c.exit(am, 1, "");
        c = c.run(1);
    }
    assert_eq!(c.report().state, ApplicationState::Failed);
    let words = c.report().diagnostics;
    assert!(
        words.contains("failed 2 times in previous 10000 milliseconds due to"),
        "{words}"
    );
}

#[test]
fn one_attempt_is_one_attempt_whatever_ended_it() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    let mut submission = c.submission("default");
    submission.max_attempts = 1;
    c.submit("a", submission);
    let am = c.am_container();
    c.exit(am, exit::ABORTED, "");
    c = c.run(1);
    assert_eq!(c.report().state, ApplicationState::Failed);
    let words = c.report().diagnostics;
    assert!(
        words.contains("failed 1 times (global limit =2; local limit is =1) due to"),
        "{words}"
    );
}

#[test]
fn a_silent_master_is_timed_out() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
    c.master().registered = false; // calls no more
    c = c.run(899);
    assert_eq!(c.attempt(), c.id().attempt(1));
    c = c.run(2);
    assert_eq!(c.attempt(), c.id().attempt(2));
    assert_eq!(
        c.rm.attempt(c.id().attempt(1)).unwrap().diagnostics,
        format!(
            "ApplicationMaster for attempt {} timed out",
            c.id().attempt(1)
        )
    );
}

#[test]
fn a_failed_launch_is_a_failed_attempt() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    c.launches_held = true;
    c = c.app("a");
    let attempt = c.attempt();
    assert_eq!(
        c.rm.attempt(attempt).unwrap().state,
        AttemptState::Allocated
    );
    let diagnostics = format!("Error launching {attempt}. Got exception: refused");
    c.event(Event::AmLaunchFailed {
        attempt,
        diagnostics: diagnostics.clone(),
    });
    assert_eq!(c.rm.attempt(attempt).unwrap().diagnostics, diagnostics);
    assert_eq!(c.attempt(), c.id().attempt(2));
    // late news of the first launch change nothing
    c.event(Event::AmLaunched { attempt });
    assert_eq!(c.rm.attempt(attempt).unwrap().state, AttemptState::Failed);
}

#[test]
fn a_kill_ends_the_application_in_every_state() {
    let words = |c: &Cluster| format!("Application {} was killed by user bob at 10.0.0.7", c.id());
    // running
    let mut c = Cluster::new()
        .nodes(1, "8gb 8vc")
        .app("a")
        .ask(2, "1gb 1vc")
        .run(1);
    let request = kill(&c);
    assert_eq!(c.client(request), Ok(Reply::KillCompleted(false)));
    assert_eq!(c.report().state, ApplicationState::Killed);
    assert_eq!(c.report().final_status, FinalStatus::Killed);
    assert_eq!(c.report().diagnostics, words(&c));
    let request = kill(&c);
    assert_eq!(c.client(request), Ok(Reply::KillCompleted(true)));
    c = c.run(2);
    assert!(!c.nodes[0].running().any(|_| true));
    // waiting for its master's container
    let mut c = Cluster::new().app("a");
    assert_eq!(c.report().state, ApplicationState::Accepted);
    let request = kill(&c);
    c.client(request).unwrap();
    assert_eq!(c.report().state, ApplicationState::Killed);
    // being stored
    let mut c = Cluster::new();
    c.store_held = true;
    c = c.app("a");
    let request = kill(&c);
    c.client(request).unwrap();
    c.store_now();
    assert_eq!(c.report().state, ApplicationState::Killed);
    assert_eq!(c.report().diagnostics, words(&c));
    // being launched
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    c.launches_held = true;
    c = c.app("a");
    let request = kill(&c);
    c.client(request).unwrap();
    assert_eq!(c.report().state, ApplicationState::Killed);
    assert_eq!(c.count(|a| matches!(a, Action::StopAm { .. })), 1);
}

#[test]
fn killing_what_is_not_there_is_refused() {
    let mut c = Cluster::new();
    let app = c.submission("default").app;
    let request = ClientRequest::Kill {
        app,
        user: "bob".into(),
        peer: String::new(),
        diagnostics: String::new(),
    };
    let reject = c.client(request).unwrap_err();
    assert_eq!(reject.kind, RejectKind::ApplicationNotFound);
    assert_eq!(
        reject.message,
        format!("Trying to kill an absent application {app}")
    );
}

#[test]
fn a_user_can_fail_an_attempt() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc").app("a");
    let attempt = c.attempt();
    c.client(ClientRequest::FailAttempt {
        attempt,
        user: "bob".into(),
    })
    .unwrap();
    assert_eq!(
        c.rm.attempt(attempt).unwrap().diagnostics,
        "Attempt failed by user."
    );
    assert_eq!(c.attempt(), c.id().attempt(2));
}

#[test]
fn an_unmanaged_application_waits_for_its_master() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    let mut submission = c.submission("default");
    submission.unmanaged = true;
    c.submit("a", submission);
    assert_eq!(c.report().state, ApplicationState::Accepted);
    let attempt = c.attempt();
    assert_eq!(c.rm.attempt(attempt).unwrap().state, AttemptState::Launched);
    assert_eq!(
        c.count(|a| matches!(
            a,
            Action::AttemptStarted {
                unmanaged: true,
                ..
            }
        )),
        1
    );
    c.register_master(attempt);
    assert_eq!(c.report().state, ApplicationState::Running);
    c = c.ask(1, "1gb 1vc");
    assert_eq!(c.allocate().grants.len(), 1);
    assert_eq!(
        c.finish(FinalStatus::Succeeded, ""),
        Ok(Reply::Unregistered(true))
    );
    assert_eq!(c.report().state, ApplicationState::Finished);
    assert_eq!(c.rm.attempt(attempt).unwrap().state, AttemptState::Finished);
}

#[test]
fn an_unmanaged_application_is_not_tried_again() {
    let mut c = Cluster::new().nodes(1, "8gb 8vc");
    let mut submission = c.submission("default");
    submission.unmanaged = true;
    c.submit("a", submission);
    c = c.run(901);
    assert_eq!(c.report().state, ApplicationState::Failed);
    assert_eq!(
        c.report().diagnostics,
        format!(
            "Unmanaged application {} failed due to ApplicationMaster for attempt {} timed out. \
             Failing the application.",
            c.id(),
            c.id().attempt(1)
        )
    );
}

#[test]
fn kept_containers_survive_their_attempt() {
    let mut c = Cluster::new().nodes(2, "8gb 8vc");
    let mut submission = c.submission("default");
    submission.keep_containers = true;
    c.submit("a", submission);
    c = c.ask(2, "1gb 1vc").run(2);
    let am = c.am_container();
    c.exit(am, 1, "");
    c.launches_held = true;
    c = c.run(1);
    let attempt = c.attempt();
    assert_eq!(attempt, c.id().attempt(2));
    assert_eq!(
        c.report().used_containers,
        3,
        "two kept and the new master's"
    );
    c.event(Event::AmLaunched { attempt });
    let request = AmRequest::Register {
        host: String::new(),
        rpc_port: -1,
        tracking_url: String::new(),
    };
    let Ok(Reply::Registered(registered)) = c.am(request) else {
        panic!("register")
    };
    assert_eq!(registered.from_previous_attempts.len(), 2);
    assert!(!registered.nm_tokens.is_empty());
    // it may give them back
    let released = registered.from_previous_attempts[0].container;
    let request = Allocate {
        releases: vec![released],
        ..Allocate::default()
    };
    let Ok(Reply::Allocated(allocated)) = c.am(AmRequest::Allocate(Box::new(request))) else {
        panic!("allocate")
    };
    assert_eq!(allocated.completed[0].container, released);
    assert_eq!(c.report().used_containers, 2);
}

#[test]
fn ended_applications_are_forgotten_beyond_the_limit() {
    let mut c = Cluster::new()
        .set("yarn.resourcemanager.max-completed-applications", "2")
        .nodes(1, "8gb 8vc");
    for name in ["a", "b", "c", "d"] {
        c = c.app(name);
        let request = kill(&c);
        c.client(request).unwrap();
    }
    assert_eq!(c.rm.apps().len(), 2);
    assert_eq!(c.count(|a| matches!(a, Action::AppForgotten { .. })), 2);
    let first = c.apps["a"];
    assert!(c.rm.app(first).is_none());
    let ended = |a: &Action| {
        matches!(
            a,
            Action::Store {
                record: Record::AppEnded { .. },
                ..
            }
        )
    };
    assert_eq!(c.count(ended), 4);
}
