//! Tests: one health of several reports, and logs that outlive a NodeManager.
//! May touch: the module under test.
//! Must not: sleep, or read clocks.

use super::*;
use crate::{
    Event, ToRm,
    nm::tests::{Bench, app, cid, spec},
};

fn report(healthy: bool, text: &str, checked_wall_ms: i64) -> Health {
    Health {
        healthy,
        report: text.to_owned(),
        checked_wall_ms,
    }
}

#[test]
fn one_unhealthy_checker_is_enough_and_all_reports_are_told() {
    let mut b = Bench::registered();
    let told = b.apply(Event::Health {
        reporter: 1,
        health: report(false, "ERROR fan", 5),
    });
    assert!(
        matches!(&told[..], [Action::Tell(ToRm::Heartbeat { health, .. })] if !health.healthy),
        "the change does not wait for the next interval: {told:?}"
    );
    b.apply(Event::Health {
        reporter: 0,
        health: report(true, "1/2 log-dirs have errors:  [ /l : gone ] ", 9),
    });
    let health = b.nm.health();
    assert_eq!(
        (
            health.healthy,
            health.report.as_str(),
            health.checked_wall_ms
        ),
        (
            false,
            "1/2 log-dirs have errors:  [ /l : gone ] ;ERROR fan",
            9
        )
    );
    b.apply(Event::Health {
        reporter: 1,
        health: report(true, "", 10),
    });
    assert!(b.nm.health().healthy);
}

#[test]
fn logs_that_were_left_go_when_their_time_is_over() {
    let mut b = Bench::registered();
    let old = (app(7), 20_000_000);
    let young = (app(8), 10_000_000);
    b.apply(Event::LeftLogs {
        apps: vec![old, young],
    });
    assert_eq!(b.nm.next_wake(), Some(Millis(0)));
    assert_eq!(b.at(0), [Action::DeleteLogs { app: app(7) }]);
    assert!(!b.at(799_999).contains(&Action::DeleteLogs { app: app(8) }));
    assert!(b.at(800_000).contains(&Action::DeleteLogs { app: app(8) }));
}

#[test]
fn left_logs_of_an_application_that_goes_on_stay() {
    let mut b = Bench::registered();
    b.apply(Event::LeftLogs {
        apps: vec![(app(1), 10_799_000)],
    });
    b.start(spec(cid(1))).unwrap();
    assert!(!b.at(2_000).contains(&Action::DeleteLogs { app: app(1) }));
    b.apply(Event::LeftLogs {
        apps: vec![(app(1), 10_800_000)],
    });
    assert!(!b.at(3_000).contains(&Action::DeleteLogs { app: app(1) }));
}
