//! Order, bound and closing of the inbox.
//! May touch: the inbox.
//! Must not: know the driver.

use super::*;

#[test]
fn a_full_inbox_refuses_calls_but_never_news() {
    let inbox = Inbox::new(2);
    assert_eq!(inbox.push(1), Ok(()));
    assert_eq!(inbox.push(2), Ok(()));
    assert_eq!(inbox.push(3), Err(3));
    inbox.push_priority(10);
    let batch = inbox.take(None, Batch::default());
    assert_eq!(batch.priority, [10]);
    assert_eq!(batch.ordinary, [1, 2]);
    assert_eq!(inbox.push(4), Ok(()));
}

#[test]
fn a_closed_inbox_delivers_what_it_has_and_refuses_the_rest() {
    let inbox = Inbox::new(2);
    assert_eq!(inbox.push(1), Ok(()));
    inbox.close();
    assert_eq!(inbox.push(2), Err(2));
    inbox.push_priority(3);
    let batch = inbox.take(None, Batch::default());
    assert!(batch.closed);
    assert_eq!(batch.ordinary, [1]);
    assert!(batch.priority.is_empty());
}

#[test]
fn taking_from_an_empty_inbox_ends_with_the_wait() {
    let inbox: Inbox<u8> = Inbox::new(2);
    let batch = inbox.take(Some(Duration::ZERO), Batch::default());
    assert!(batch.priority.is_empty() && batch.ordinary.is_empty() && !batch.closed);
}
