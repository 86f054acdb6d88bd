//! Tests of the outbox.
//! May touch: the module under test.
//! Must not: open a socket.

use super::*;
use crate::codec::{Reply, next_frame, read_response};
use yarn_proto::yarn::GetNewApplicationRequestProto;

fn replier(outbox: &Arc<Outbox>, call_id: i32) -> Replier {
    outbox.replier(ResponseTo {
        call_id,
        client_id: bytes::Bytes::new(),
        retry_count: 0,
    })
}

fn replies(out: &mut BytesMut) -> Vec<Reply> {
    std::iter::from_fn(|| next_frame(out, 1 << 20).unwrap())
        .map(|frame| read_response(frame).unwrap())
        .collect()
}

#[test]
fn answers_come_out_together_in_the_order_they_were_given() {
    let outbox = Outbox::new(1 << 20);
    let (first, second) = (replier(&outbox, 1), replier(&outbox, 2));
    second.ok(&GetNewApplicationRequestProto {});
    first.err(RemoteException::no_such_method("p", "m"));
    let mut out = BytesMut::new();
    assert_eq!(outbox.take(&mut out), (0, State::Open));
    let ids: Vec<i32> = replies(&mut out)
        .into_iter()
        .map(|reply| match reply {
            Reply::Success { call_id, .. } | Reply::Error { call_id, .. } => call_id,
        })
        .collect();
    assert_eq!(ids, [2, 1]);
}

#[test]
fn a_dropped_replier_answers_with_an_io_exception() {
    let outbox = Outbox::new(1 << 20);
    drop(replier(&outbox, 1));
    let mut out = BytesMut::new();
    assert_eq!(outbox.take(&mut out), (0, State::Open));
    let replies = replies(&mut out);
    assert!(
        matches!(&replies[..], [Reply::Error { class, fatal: false, .. }] if class == "java.io.IOException")
    );
}

#[test]
fn a_peer_that_takes_nothing_overflows_but_one_large_answer_does_not() {
    let outbox = Outbox::new(100);
    let large = || RemoteException::io("x".repeat(500));
    replier(&outbox, 1).err(large());
    let mut out = BytesMut::new();
    assert_eq!(outbox.take(&mut out).1, State::Open);
    replier(&outbox, 2).err(large());
    replier(&outbox, 3).err(large());
    assert_eq!(outbox.take(&mut out), (0, State::Overflow));
    assert!(!outbox.may_sleep(), "the connection's task must look");
}

#[test]
fn answers_after_the_end_go_nowhere() {
    let outbox = Outbox::new(100);
    let late = replier(&outbox, 1);
    outbox.close();
    late.ok(&GetNewApplicationRequestProto {});
    let mut out = BytesMut::new();
    assert_eq!(outbox.take(&mut out), (0, State::Closed));
    assert!(out.is_empty());
}

#[tokio::test]
async fn an_answer_wakes_a_sleeping_task_once() {
    let outbox = Outbox::new(1 << 20);
    let (first, second) = (replier(&outbox, 1), replier(&outbox, 2));
    assert!(outbox.may_sleep());
    first.ok(&GetNewApplicationRequestProto {});
    outbox.woken().await;
    second.ok(&GetNewApplicationRequestProto {});
    assert!(!outbox.may_sleep(), "something waits");
    let mut out = BytesMut::new();
    outbox.take(&mut out);
    assert_eq!(replies(&mut out).len(), 2);
    assert!(outbox.may_sleep());
}
