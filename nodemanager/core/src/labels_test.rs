//! When the node's label is told.
//! May touch: the core on a bench.
//! Must not: sleep, or read clocks.

use crate::{
    Action, Event, ToRm,
    labels::SaidLabels,
    nm::tests::{Bench, conf},
};

fn bench() -> Bench {
    let mut conf = conf();
    conf.label_resync_ms = Some(5000);
    Bench::new(conf)
}

/// What the next request said of labels.
fn said(told: &[Action]) -> Option<SaidLabels> {
    let all = told.iter().filter_map(|action| match action {
        Action::Tell(ToRm::Register { labels, .. } | ToRm::Heartbeat { labels, .. }) => {
            Some(labels.clone())
        }
        _ => None,
    });
    let all: Vec<_> = all.collect();
    let [one] = &all[..] else { panic!("{told:?}") };
    one.clone()
}

fn found(label: Option<&str>) -> Event {
    Event::LabelFound {
        label: label.map(Into::into),
    }
}

#[test]
fn a_label_is_told_when_it_changes_and_once_in_a_while() {
    let mut b = bench();
    b.apply(found(Some("x")));
    let x = Some(vec!["x".into()]);
    assert_eq!(said(&b.apply(Event::Begin)), x);
    // The first heartbeat says it once more, as Hadoop's does.
    let told = b.apply(Event::Registered {
        rm_identifier: 1,
        gpu_seq: None,
    });
    assert_eq!(said(&told), x);
    b.beat(answer(1));
    assert_eq!(said(&b.at(1000)), None);
    b.beat(answer(2));
    // A change waits for its turn.
    assert!(b.apply(found(None)).is_empty());
    assert_eq!(said(&b.at(2000)), Some(vec![]));
    b.beat(answer(3));
    assert_eq!(said(&b.at(7000)), None);
    b.beat(answer(4));
    assert_eq!(said(&b.at(8000)), Some(vec![]));
}

#[test]
fn a_node_without_a_provider_says_nothing() {
    let mut b = Bench::new(conf());
    b.apply(found(Some("x")));
    assert_eq!(said(&b.apply(Event::Begin)), None);
}

#[test]
fn a_label_that_was_never_found_is_not_told() {
    let mut b = bench();
    assert_eq!(said(&b.apply(Event::Begin)), None);
}

fn answer(response_id: i32) -> crate::HeartbeatAnswer {
    crate::HeartbeatAnswer {
        response_id,
        ..Default::default()
    }
}
