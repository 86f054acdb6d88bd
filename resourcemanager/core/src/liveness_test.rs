//! Deadlines: renewal, expiry, absence of the RM.
//! May touch: the tested module.
//! Must not: sleep.

use yarn_types::Millis;

use super::{Deadlines, Watched};
use crate::sched::NodeIdx;

fn node(at: u32) -> Watched {
    Watched::Node(NodeIdx(at))
}

fn expired(deadlines: &mut Deadlines, now: u64) -> Vec<Watched> {
    std::iter::from_fn(|| deadlines.expired(Millis(now))).collect()
}

#[test]
fn a_renewed_deadline_does_not_expire_and_wakes_no_later_than_due() {
    let mut deadlines = Deadlines::default();
    deadlines.set(node(1), Millis(100));
    deadlines.set(node(2), Millis(150));
    deadlines.set(node(1), Millis(200));
    deadlines.check().unwrap();
    assert!(deadlines.next().unwrap() <= Millis(150));
    assert_eq!(expired(&mut deadlines, 149), []);
    assert_eq!(expired(&mut deadlines, 150), [node(2)]);
    assert_eq!(deadlines.next(), Some(Millis(200)));
    assert_eq!(expired(&mut deadlines, 1000), [node(1)]);
    assert_eq!(deadlines.next(), None);
}

#[test]
fn a_deadline_may_be_moved_forward() {
    let mut deadlines = Deadlines::default();
    deadlines.set(node(1), Millis(100));
    deadlines.set(node(1), Millis(50));
    deadlines.check().unwrap();
    assert_eq!(expired(&mut deadlines, 60), [node(1)]);
}

#[test]
fn shifting_moves_everybody() {
    let mut deadlines = Deadlines::default();
    deadlines.set(node(1), Millis(100));
    deadlines.set(node(1), Millis(130));
    deadlines.set(node(2), Millis(110));
    deadlines.shift(1000);
    deadlines.check().unwrap();
    assert_eq!(expired(&mut deadlines, 1109), []);
    assert_eq!(expired(&mut deadlines, 1130), [node(2), node(1)]);
}

#[test]
fn the_forgotten_never_expire() {
    let mut deadlines = Deadlines::default();
    deadlines.set(node(1), Millis(100));
    deadlines.set(node(1), Millis(120));
    deadlines.remove(node(1));
    deadlines.check().unwrap();
    assert_eq!(expired(&mut deadlines, u64::MAX), []);
}
