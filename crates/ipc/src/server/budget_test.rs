//! Tests of the shared budget: who gets room, who waits, who goes.
//! May touch: budgets made here.
//! Must not: open a socket.

use super::*;

fn leaves(share: &mut Share) -> bool {
    use std::{future::Future, pin::pin, task};
    let mut context = task::Context::from_waker(task::Waker::noop());
    pin!(share.woken(false)).poll(&mut context) == task::Poll::Ready(true)
}

#[test]
fn who_holds_the_most_makes_room() {
    let budget = InputBudget::new(100);
    let (mut large, mut small) = (Share::new(&budget), Share::new(&budget));
    let mut new = Share::new(&budget);
    assert_eq!(large.ask(60), Grant::Given);
    assert_eq!(small.ask(40), Grant::Given);
    assert_eq!(new.ask(10), Grant::Wait);
    assert!(leaves(&mut large) && !leaves(&mut small));
    assert_eq!(new.ask(10), Grant::Wait, "one that leaves is enough");
    assert_eq!(large.ask(60), Grant::Leave, "it was told so");
    large.keep(20);
    assert_eq!(new.ask(10), Grant::Given);
    new.keep(0);
    assert!(!leaves(&mut small));
    drop(large);
    assert_eq!(new.ask(10), Grant::Given);
    assert_eq!(budget.used(), 50);
    small.keep(5);
    assert_eq!(budget.used(), 15);
    drop((small, new));
    assert_eq!(budget.used(), 0);
}

#[test]
fn a_request_that_grows_over_all_others_is_the_one_that_goes() {
    let budget = InputBudget::new(100);
    let (mut flood, mut other) = (Share::new(&budget), Share::new(&budget));
    assert_eq!(other.ask(20), Grant::Given);
    assert_eq!(flood.ask(80), Grant::Given);
    assert_eq!(flood.ask(81), Grant::Leave);
    let mut huge = Share::new(&budget);
    drop(flood);
    assert_eq!(huge.ask(101), Grant::Wait, "another may make room");
    drop(other);
    assert_eq!(huge.ask(101), Grant::Leave, "never fits");
}

#[test]
fn of_equals_the_oldest_goes_first() {
    let budget = InputBudget::new(100);
    let mut all: Vec<Share> = (0..10).map(|_| Share::new(&budget)).collect();
    assert!(all.iter_mut().all(|s| s.ask(10) == Grant::Given));
    let mut new = Share::new(&budget);
    assert_eq!(new.ask(15), Grant::Wait);
    assert_eq!(new.ask(15), Grant::Wait);
    let told: Vec<bool> = all.iter_mut().map(leaves).collect();
    assert_eq!(told[..3], [true, true, false]);
    assert!(!told[3..].contains(&true));
}

#[tokio::test]
async fn who_waits_is_woken() {
    let budget = InputBudget::new(10);
    let (mut holder, mut waits) = (Share::new(&budget), Share::new(&budget));
    assert_eq!(holder.ask(10), Grant::Given);
    assert_eq!(waits.ask(5), Grant::Wait);
    assert!(holder.woken(true).await);
    drop(holder);
    assert!(!waits.woken(true).await);
    assert_eq!(waits.ask(5), Grant::Given);
}
