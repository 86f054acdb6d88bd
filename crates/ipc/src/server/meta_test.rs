//! Tests of what is answered without the service.
//! May touch: the module under test.
//! Must not: open a socket.

use bytes::{Bytes, BytesMut};

use super::*;
use crate::codec::{Reply, ResponseTo, next_frame, read_response};
use crate::server::outbox::Outbox;

/// Class and text of the refusal of a call, or `None` if it goes to the service.
fn refusal(
    protocols: &[(&'static str, u64)],
    protocol: &str,
    version: u64,
) -> Option<(String, String)> {
    let outbox = Outbox::new(1 << 20);
    let to = ResponseTo {
        call_id: 1,
        client_id: Bytes::new(),
        retry_count: 0,
    };
    let call = Call {
        protocol: protocol.into(),
        version,
        method: "m".into(),
        body: Bytes::new(),
    };
    if dispatch(protocols, call, outbox.replier(to)).is_some() {
        return None;
    }
    let mut out = BytesMut::new();
    outbox.take(&mut out);
    match read_response(next_frame(&mut out, 1 << 20).unwrap().unwrap()).unwrap() {
        Reply::Error {
            class,
            message,
            fatal: false,
            ..
        } => Some((class, message)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn other_protocols_and_versions_are_refused_with_the_texts_of_a_stock_server() {
    let served = [("a", 1), ("b", 1), ("b", 2)];
    assert_eq!(refusal(&served, "a", 1), None);
    assert_eq!(refusal(&served, "b", 2), None);
    let pair =
        |class: &str, text: &str| Some((format!("org.apache.hadoop.ipc.{class}"), text.to_owned()));
    assert_eq!(
        refusal(&served, "c", 1),
        pair("RpcNoSuchProtocolException", "Unknown protocol: c")
    );
    let text = "Protocol b version mismatch. (client = 7, server = 2)";
    assert_eq!(refusal(&served, "b", 7), pair("RPC$VersionMismatch", text));
    let text = format!("Unknown method m called on {PROTOCOL} protocol.");
    assert_eq!(
        refusal(&served, PROTOCOL, 1),
        pair("RpcNoSuchMethodException", &text)
    );
}

#[test]
fn a_service_that_declares_nothing_gets_every_call() {
    assert_eq!(refusal(&[], "c", 7), None);
}
