//! Tests: the NodeManager's side of the link to the ResourceManager, and its stop.
//! May touch: the module under test.
//! Must not: sleep, or read clocks.

use yarn_types::ContainerState;

use super::{tests::*, *};
use crate::{container::State, event::Signal, reject::Reject};

#[test]
fn a_status_that_may_be_lost_is_sent_again() {
    let mut b = Bench::registered();
    b.running(1);
    b.beat(beat(2));
    b.exited(1, 0);
    b.apply(Event::TornDown {
        container: cid(1),
        dirty: None,
    });
    assert!(b.heartbeat().is_some());
    // No answer: the repetition is answered from memory, so it proves nothing.
    b.apply(Event::RmUnreachable {
        reason: "reset".to_owned(),
    });
    assert!(b.heartbeat().is_none(), "attempts keep their pace");
    b.at(1000);
    let (id, statuses) = b.heartbeat().unwrap();
    assert_eq!((id, statuses.len()), (2, 1));
    b.beat(beat(3));
    assert_eq!(b.heartbeat().unwrap().1.len(), 1, "not at once");
    b.beat(beat(4));
    b.at(3000);
    assert_eq!(b.heartbeat().unwrap().1.len(), 0);
}

#[test]
fn an_end_during_a_heartbeat_is_reported_right_after_it() {
    let mut b = Bench::registered();
    b.running(1);
    assert!(b.nm.link.in_flight());
    b.exited(1, 0);
    b.apply(Event::TornDown {
        container: cid(1),
        dirty: None,
    });
    assert!(b.heartbeat().is_none(), "one request at a time");
    b.beat(beat(2));
    let (id, statuses) = b.heartbeat().expect("it does not wait for its turn");
    assert_eq!((id, statuses[0].state), (2, ContainerState::Complete));
}

#[test]
fn resync_keeps_containers_and_lists_them() {
    let mut b = Bench::registered();
    b.running(1);
    b.beat(beat(2));
    b.running(2);
    b.exited(2, 0);
    b.apply(Event::TornDown {
        container: cid(2),
        dirty: None,
    });
    b.beat(beat(3));
    b.beat(beat(4));
    b.at(1000);
    let resync = HeartbeatAnswer {
        action: NodeAction::Resync,
        ..beat(0)
    };
    let effects = b.beat(resync);
    let Some(Action::Tell(ToRm::Register {
        containers,
        applications,
        ..
    })) = effects.first()
    else {
        panic!("{effects:?}");
    };
    let states: Vec<_> = containers.iter().map(|c| c.state).collect();
    assert_eq!(states, [ContainerState::Running, ContainerState::Complete]);
    assert_eq!(applications, &[app(1)]);
    // Between the two registrations nothing can be started.
    assert_eq!(b.start(spec(cid(3))), Err(Reject::NotYetReady));
    b.apply(Event::Registered {
        rm_identifier: RM + 5,
        gpu_seq: None,
    });
    let (id, statuses) = b
        .heartbeat()
        .expect("a registration is followed by a heartbeat");
    assert_eq!((id, statuses.len()), (0, 2));
    assert_eq!(b.state(1), State::Running);
}

#[test]
fn resync_without_work_preserving_ends_containers() {
    let mut b = Bench::registered();
    b.nm.conf.work_preserving = false;
    b.running(1);
    b.beat(beat(2));
    b.at(1000);
    let effects = b.beat(HeartbeatAnswer {
        action: NodeAction::Resync,
        ..beat(0)
    });
    assert!(effects.contains(&Action::Signal {
        container: cid(1),
        signal: Signal::Term
    }));
}

#[test]
fn without_a_resource_manager_the_node_ends_after_max_wait() {
    let mut b = Bench::registered();
    b.running(1);
    let gone = || Event::RmUnreachable {
        reason: "connection refused".to_owned(),
    };
    let mut ms = 0;
    while b.nm.stopping.is_none() {
        b.apply(gone());
        if let Some(wake) = b.nm.next_wake() {
            ms = wake.0;
            b.at(ms);
        }
        assert!(ms < 1_000_000, "never gives up");
    }
    assert!(ms >= 900_000, "gave up after {ms} ms");
    assert_eq!(b.start(spec(cid(9))), Err(Reject::ShuttingDown));
    b.exited(1, 143);
    let effects = b.apply(Event::TornDown {
        container: cid(1),
        dirty: None,
    });
    let is_exit =
        |a: &Action| matches!(a, Action::Exit { reason, .. } if reason.contains("refused"));
    assert!(effects.iter().any(is_exit), "{effects:?}");
}

#[test]
fn a_stop_ends_containers_then_says_goodbye() {
    let mut b = Bench::registered();
    b.running(1);
    b.beat(beat(2));
    let effects = b.apply(Event::Shutdown {
        reason: "SIGTERM".to_owned(),
    });
    assert!(effects.contains(&Action::Signal {
        container: cid(1),
        signal: Signal::Term
    }));
    assert_eq!(b.start(spec(cid(2))), Err(Reject::ShuttingDown));
    b.exited(1, 143);
    assert!(
        b.apply(Event::TornDown {
            container: cid(1),
            dirty: None
        })
        .contains(&Action::Tell(ToRm::Unregister))
    );
    let effects = b.apply(Event::Unregistered);
    assert_eq!(
        effects,
        [Action::Exit {
            code: 0,
            reason: "SIGTERM".to_owned()
        }]
    );
}

#[test]
fn a_stop_does_not_wait_for_ever() {
    let mut b = Bench::registered();
    b.running(1);
    b.beat(beat(2));
    b.apply(Event::Shutdown {
        reason: "SIGTERM".to_owned(),
    });
    assert!(b.at(5250).contains(&Action::Tell(ToRm::Unregister)));
    assert!(matches!(b.at(10_250)[..], [Action::Exit { code: 0, .. }]));
}

#[test]
fn an_ended_application_is_cleaned_and_its_logs_go_later() {
    let mut b = Bench::registered();
    b.running(1);
    b.beat(beat(2));
    b.at(1000);
    b.beat(HeartbeatAnswer {
        applications_to_cleanup: vec![app(1)],
        ..beat(3)
    });
    b.exited(1, 143);
    let clean = Action::CleanApp {
        app: app(1),
        user: "alice".into(),
    };
    assert!(
        b.apply(Event::TornDown {
            container: cid(1),
            dirty: None
        })
        .contains(&clean)
    );
    b.apply(Event::AppCleaned { app: app(1) });
    // Nobody acknowledges the container any more: its delivered status is forgotten.
    assert!(
        b.beat(beat(4))
            .contains(&Action::Forget { container: cid(1) })
    );
    let delete = Action::DeleteLogs { app: app(1) };
    assert!(!b.at(1000 + 10_799_999).contains(&delete));
    assert!(b.at(1000 + 10_800_000).contains(&delete));
}

#[test]
fn a_refused_registration_ends_the_node() {
    let mut b = Bench::new(conf());
    b.apply(Event::Begin);
    let effects = b.apply(Event::RegistrationRefused {
        diagnostics: "excluded".to_owned(),
    });
    assert!(
        matches!(&effects[..], [Action::Exit { code: 1, reason }] if reason.contains("excluded"))
    );
}
