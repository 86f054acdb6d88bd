//! Requests: header, then a SASL message, a connection context or a call.
//! May touch: frames, header messages.
//! Must not: keep state between frames, or know which protocols exist.

use bytes::{Bytes, BytesMut};
use prost::Message;
use prost::encoding::{DecodeContext, decode_key, skip_field};
use yarn_proto::common::rpc_request_header_proto::OperationProto;
use yarn_proto::common::rpc_response_header_proto::RpcErrorCodeProto;
use yarn_proto::common::{
    IpcConnectionContextProto, RequestHeaderProto, RpcKindProto, RpcRequestHeaderProto,
    RpcSaslProto,
};

use super::frame::{FrameError, begin_frame, end_frame, split_delimited};

/// Authorization failed before a call existed; server to client only.
pub const CALL_ID_AUTH_FAILED: i32 = -1;
/// The connection context.
pub const CALL_ID_CONTEXT: i32 = -3;
/// A ping, never answered.
pub const CALL_ID_PING: i32 = -4;
/// SASL messages, both ways.
pub const CALL_ID_SASL: i32 = -33;

/// A request's header and the bytes after it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Call id as sent (zig-zag decoded).
    pub call_id: i32,
    /// Echoed in the answer.
    pub client_id: Bytes,
    /// Echoed in the answer; -1 if the client sent none.
    pub retry_count: i32,
    /// Delimited messages after the header.
    pub rest: Bytes,
}

/// A fault that ends the connection with a FATAL frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct HeaderError {
    /// Call id as far as it was read, else -1.
    pub call_id: i32,
    /// Retry count as far as it was read, else -1.
    pub retry_count: i32,
    /// Hadoop's text.
    pub text: String,
    /// Hadoop's code.
    pub code: RpcErrorCodeProto,
}

impl HeaderError {
    fn new(call_id: i32, retry_count: i32, text: impl Into<String>) -> Self {
        Self {
            call_id,
            retry_count,
            text: text.into(),
            code: RpcErrorCodeProto::FatalInvalidRpcHeader,
        }
    }

    fn decode(message: &str, source: &dyn std::fmt::Display) -> Self {
        Self {
            code: RpcErrorCodeProto::FatalDeserializingRequest,
            ..Self::new(-1, -1, format!("Error decoding {message}: {source}"))
        }
    }
}

/// Reads the header of a frame and checks it as `Server.checkRpcHeaders` does.
pub fn read_request(mut frame: Bytes) -> Result<Request, HeaderError> {
    const NAME: &str = "RpcRequestHeaderProto";
    let bytes = split_delimited(&mut frame).map_err(|e| HeaderError::decode(NAME, &e))?;
    let header =
        RpcRequestHeaderProto::decode(bytes.clone()).map_err(|e| HeaderError::decode(NAME, &e))?;
    // prost reads an absent required field as its default; only then the bytes are looked at again.
    if (header.call_id == 0 || header.client_id.is_empty()) && !has_fields(&bytes, [3, 4]) {
        return Err(HeaderError::decode(
            NAME,
            &"message lacks required field callId or clientId",
        ));
    }
    let (call_id, retry_count) = (header.call_id, header.retry_count());
    let bad = |text: String| Err(HeaderError::new(call_id, retry_count, text));
    // As in Java, a number outside the enum counts as absent.
    match header
        .rpc_op
        .and_then(|op| OperationProto::try_from(op).ok())
    {
        None => return bad(" IPC Server: No rpc op in rpcRequestHeader".into()),
        Some(OperationProto::RpcFinalPacket) => {}
        Some(op) => {
            return bad(format!(
                "IPC Server does not implement rpc header operation{}",
                op.as_str_name()
            ));
        }
    }
    // Out-of-band messages are read whatever kind they name.
    match header
        .rpc_kind
        .and_then(|kind| RpcKindProto::try_from(kind).ok())
    {
        None => return bad(" IPC Server: No rpc kind in rpcRequestHeader".into()),
        Some(kind) if call_id >= 0 && kind != RpcKindProto::RpcProtocolBuffer => {
            return bad(format!(
                "Unknown rpc kind in rpc header{}",
                kind.as_str_name()
            ));
        }
        Some(_) => {}
    }
    Ok(Request {
        call_id,
        client_id: header.client_id.into(),
        retry_count,
        rest: frame,
    })
}

/// True if every one of the tags is a field of the message.
fn has_fields(mut bytes: &[u8], tags: [u32; 2]) -> bool {
    let mut seen = [false; 2];
    while let Ok((tag, wire)) = decode_key(&mut bytes) {
        for (seen, wanted) in seen.iter_mut().zip(tags) {
            *seen |= tag == wanted;
        }
        if skip_field(wire, tag, &mut bytes, DecodeContext::default()).is_err() {
            break;
        }
    }
    seen == [true, true]
}

/// Reads one delimited message of an out-of-band request.
pub fn read_context<M: Message + Default>(request: &Request, name: &str) -> Result<M, HeaderError> {
    let mut rest = request.rest.clone();
    let fail = |e: &dyn std::fmt::Display| HeaderError {
        call_id: request.call_id,
        retry_count: request.retry_count,
        ..HeaderError::decode(name, e)
    };
    let bytes = split_delimited(&mut rest).map_err(|e| fail(&e))?;
    M::decode(bytes).map_err(|e| fail(&e))
}

/// A call's header and its undecoded message.
#[derive(Debug, Clone)]
pub struct RequestBody {
    /// Method, protocol and version.
    pub header: RequestHeaderProto,
    /// The request message.
    pub body: Bytes,
}

/// Reads the call in a request; an error is answered with `InvalidProtocolBufferException` and the connection lives on.
pub fn read_call(rest: &Bytes) -> Result<RequestBody, String> {
    let text = |e: FrameError| e.to_string();
    let mut rest = rest.clone();
    let bytes = split_delimited(&mut rest).map_err(text)?;
    let header = RequestHeaderProto::decode(bytes).map_err(|e| e.to_string())?;
    let body = split_delimited(&mut rest).map_err(text)?;
    Ok(RequestBody { header, body })
}

/// Appends a frame with a request header and the delimited messages; false if it is too long to send.
fn write_request(
    out: &mut BytesMut,
    call_id: i32,
    client_id: &[u8],
    retry_count: i32,
    write: impl FnOnce(&mut BytesMut),
) -> bool {
    let start = begin_frame(out);
    let header = RpcRequestHeaderProto {
        rpc_kind: Some(RpcKindProto::RpcProtocolBuffer.into()),
        rpc_op: Some(OperationProto::RpcFinalPacket.into()),
        call_id,
        client_id: client_id.to_vec(),
        retry_count: Some(retry_count),
        ..RpcRequestHeaderProto::default()
    };
    put_delimited(out, &header);
    write(out);
    end_frame(out, start)
}

/// Appends a message with its length; an empty one is a single 0 byte.
pub(super) fn put_delimited(out: &mut BytesMut, message: &impl Message) {
    // BytesMut grows as needed, so the only error of encoding cannot happen.
    if message.encode_length_delimited(out).is_err() {
        debug_assert!(false, "BytesMut has no capacity limit");
    }
}

/// Appends a call; false if the message is too long for a frame.
pub fn write_call(
    out: &mut BytesMut,
    call_id: i32,
    client_id: &[u8],
    header: &RequestHeaderProto,
    message: &impl Message,
) -> bool {
    write_request(out, call_id, client_id, 0, |out| {
        put_delimited(out, header);
        put_delimited(out, message);
    })
}

/// Appends the connection context.
pub fn write_context(
    out: &mut BytesMut,
    client_id: &[u8],
    context: &IpcConnectionContextProto,
) -> bool {
    write_request(out, CALL_ID_CONTEXT, client_id, -1, |out| {
        put_delimited(out, context);
    })
}

/// Appends a SASL message of the client.
pub fn write_sasl_request(out: &mut BytesMut, message: &RpcSaslProto) -> bool {
    write_request(out, CALL_ID_SASL, &[], -1, |out| {
        put_delimited(out, message);
    })
}

#[cfg(test)]
#[path = "request_test.rs"]
mod tests;
