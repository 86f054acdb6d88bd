//! Tests of request headers and calls.
//! May touch: the module under test.
//! Must not: do IO.

use proptest::prelude::*;
use yarn_proto::common::UserInformationProto;

use super::*;
use crate::codec::next_frame;

const CLIENT_ID: [u8; 16] = *b"cccccccccccccccc";

fn frame(write: impl FnOnce(&mut BytesMut) -> bool) -> Bytes {
    let mut out = BytesMut::new();
    assert!(write(&mut out));
    next_frame(&mut out, 1 << 20).unwrap().unwrap()
}

fn header() -> RpcRequestHeaderProto {
    RpcRequestHeaderProto {
        rpc_kind: Some(2),
        rpc_op: Some(0),
        call_id: 5,
        client_id: CLIENT_ID.to_vec(),
        retry_count: Some(0),
        ..RpcRequestHeaderProto::default()
    }
}

fn read(header: &RpcRequestHeaderProto) -> Result<Request, HeaderError> {
    read_request(header.encode_length_delimited_to_vec().into())
}

#[test]
fn sasl_request_has_the_recorded_bytes() {
    // rpcKind 2, rpcOp 0, callId -33 (zig-zag 65), empty clientId, retryCount -1; then state NEGOTIATE.
    let negotiate = RpcSaslProto {
        state: 1,
        ..RpcSaslProto::default()
    };
    let bytes = frame(|out| write_sasl_request(out, &negotiate));
    assert_eq!(
        bytes.as_ref(),
        [10, 0x08, 2, 0x10, 0, 0x18, 65, 0x22, 0, 0x28, 1, 2, 0x10, 1]
    );
}

#[test]
fn context_and_call_are_read_back() {
    let user_info = Some(UserInformationProto {
        effective_user: Some("alice".into()),
        real_user: None,
    });
    let context = IpcConnectionContextProto {
        user_info,
        protocol: Some("p".into()),
    };
    let request = read_request(frame(|out| write_context(out, &CLIENT_ID, &context))).unwrap();
    assert_eq!(
        (request.call_id, request.retry_count),
        (CALL_ID_CONTEXT, -1)
    );
    assert_eq!(
        read_context::<IpcConnectionContextProto>(&request, "x"),
        Ok(context)
    );

    let call = RequestHeaderProto {
        method_name: "allocate".into(),
        declaring_class_protocol_name: "p".into(),
        client_protocol_version: 1,
    };
    let request = read_request(frame(|out| {
        write_call(out, 5, &CLIENT_ID, &call, &header())
    }))
    .unwrap();
    assert_eq!(
        (request.call_id, request.client_id.as_ref()),
        (5, CLIENT_ID.as_slice())
    );
    let body = read_call(&request.rest).unwrap();
    assert_eq!(
        (body.header, body.body),
        (call, header().encode_to_vec().into())
    );
}

#[test]
fn an_empty_message_is_one_zero_byte() {
    let empty = yarn_proto::yarn::GetNewApplicationRequestProto {};
    let bytes = frame(|out| write_call(out, 5, &CLIENT_ID, &RequestHeaderProto::default(), &empty));
    assert_eq!(bytes.last(), Some(&0));
    let request = read_request(bytes.clone()).unwrap();
    assert_eq!(read_call(&request.rest).unwrap().body, Bytes::new());
    let truncated = read_request(bytes.slice(..bytes.len() - 1)).unwrap();
    assert!(
        read_call(&truncated.rest).is_err(),
        "a missing length is not an empty message"
    );
}

#[test]
fn bad_headers_get_the_texts_of_a_stock_server() {
    let fatal = |header: RpcRequestHeaderProto| read(&header).unwrap_err();
    let e = fatal(RpcRequestHeaderProto {
        rpc_op: None,
        ..header()
    });
    assert_eq!(
        (e.text.as_str(), e.call_id, e.retry_count),
        (" IPC Server: No rpc op in rpcRequestHeader", 5, 0)
    );
    assert_eq!(e.code, RpcErrorCodeProto::FatalInvalidRpcHeader);
    let text = |header| fatal(header).text;
    assert_eq!(
        text(RpcRequestHeaderProto {
            rpc_op: Some(1),
            ..header()
        }),
        "IPC Server does not implement rpc header operationRPC_CONTINUATION_PACKET"
    );
    assert_eq!(
        text(RpcRequestHeaderProto {
            rpc_op: Some(9),
            ..header()
        }),
        " IPC Server: No rpc op in rpcRequestHeader"
    );
    assert_eq!(
        text(RpcRequestHeaderProto {
            rpc_kind: None,
            ..header()
        }),
        " IPC Server: No rpc kind in rpcRequestHeader"
    );
    assert_eq!(
        text(RpcRequestHeaderProto {
            rpc_kind: Some(1),
            ..header()
        }),
        "Unknown rpc kind in rpc headerRPC_WRITABLE"
    );
}

#[test]
fn undecodable_and_incomplete_headers_are_fatal() {
    let garbage = read_request(Bytes::from_static(&[3, 0xff, 0xff, 0xff])).unwrap_err();
    assert_eq!(garbage.code, RpcErrorCodeProto::FatalDeserializingRequest);
    assert_eq!((garbage.call_id, garbage.retry_count), (-1, -1));
    // rpcKind, rpcOp and clientId, but no callId: must not be taken for call 0.
    let no_call_id =
        read_request(Bytes::from_static(&[7, 0x08, 2, 0x10, 0, 0x22, 1, 7])).unwrap_err();
    assert!(
        no_call_id
            .text
            .starts_with("Error decoding RpcRequestHeaderProto: "),
        "{}",
        no_call_id.text
    );
    // rpcKind, rpcOp and callId 5, but no clientId.
    let no_client_id = Bytes::from_static(&[6, 0x08, 2, 0x10, 0, 0x18, 10]);
    assert!(read_request(no_client_id).is_err());
    assert_eq!(
        read(&RpcRequestHeaderProto {
            call_id: 0,
            ..header()
        })
        .unwrap()
        .call_id,
        0
    );
    assert_eq!(
        read(&RpcRequestHeaderProto {
            client_id: Vec::new(),
            ..header()
        })
        .unwrap()
        .call_id,
        5
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        if let Ok(request) = read_request(bytes.clone().into()) {
            let _ = read_context::<RpcSaslProto>(&request, "x");
        }
        let _ = read_call(&bytes.into());
    }

    #[test]
    fn no_call_panics(call_id: i32, rest: Vec<u8>) {
        let mut frame = RpcRequestHeaderProto { call_id, ..header() }.encode_length_delimited_to_vec();
        frame.extend(rest);
        let request = read_request(frame.into()).unwrap();
        prop_assert_eq!(request.call_id, call_id);
        let _ = read_call(&request.rest);
        let _ = read_context::<IpcConnectionContextProto>(&request, "x");
    }
}
