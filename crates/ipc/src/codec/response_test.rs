//! Tests of responses.
//! May touch: the module under test.
//! Must not: do IO.

use proptest::prelude::*;
use yarn_proto::common::RpcSaslProto;

use super::*;
use crate::codec::{CALL_ID_AUTH_FAILED, CALL_ID_SASL, next_frame};

fn frame(write: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut out = BytesMut::new();
    write(&mut out);
    next_frame(&mut out, 1 << 20).unwrap().unwrap()
}

#[test]
fn negative_call_ids_are_five_bytes() {
    let success = RpcSaslProto::default();
    let bytes = frame(|out| {
        assert!(write_success(
            out,
            &ResponseTo::connection(CALL_ID_SASL),
            &success
        ));
    });
    // callId -33 as uint32, SUCCESS, version 9, empty clientId, retryCount -1; then {state=SUCCESS}.
    let expected = [
        14, 0x08, 0xdf, 0xff, 0xff, 0xff, 0x0f, 0x10, 0, 0x18, 9, 0x3a, 0, 0x40, 1, 2, 0x10, 0,
    ];
    assert_eq!(bytes.as_ref(), expected);
}

#[test]
fn errors_have_no_message_after_the_header() {
    let to = ResponseTo::connection(CALL_ID_AUTH_FAILED);
    let bytes = frame(|out| {
        write_error(
            out,
            &to,
            RpcStatusProto::Fatal,
            "C",
            "t",
            RpcErrorCodeProto::FatalUnauthorized,
        );
    });
    let expected = [
        22, 0x08, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x10, 2, 0x18, 9, 0x22, 1, b'C', 0x2a, 1, b't',
        0x30, 15, 0x3a, 0, 0x40, 1,
    ];
    assert_eq!(bytes.as_ref(), expected);
    let error = Reply::Error {
        call_id: -1,
        fatal: true,
        class: "C".into(),
        message: "t".into(),
    };
    assert_eq!(read_response(bytes), Ok(error));
}

#[test]
fn client_id_and_retry_count_are_echoed() {
    let to = ResponseTo {
        call_id: 5,
        client_id: Bytes::from_static(b"0123456789abcdef"),
        retry_count: 3,
    };
    let empty = yarn_proto::yarn::GetNewApplicationRequestProto {};
    let bytes = frame(|out| {
        assert!(write_success(out, &to, &empty));
    });
    assert_eq!(bytes.last(), Some(&0), "an empty message is one zero byte");
    let mut rest = bytes.clone();
    let header = RpcResponseHeaderProto::decode(split_delimited(&mut rest).unwrap()).unwrap();
    assert_eq!(
        (header.client_id.as_deref(), header.retry_count),
        (Some(b"0123456789abcdef".as_slice()), Some(3))
    );
    assert_eq!(
        read_response(bytes.clone()),
        Ok(Reply::Success {
            call_id: 5,
            body: Bytes::new()
        })
    );
    assert!(
        read_response(bytes.slice(..bytes.len() - 1)).is_err(),
        "a missing length is not an empty message"
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = read_response(bytes.into());
    }
}
