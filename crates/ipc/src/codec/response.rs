//! Responses: header, then the delimited message if the call succeeded.
//! May touch: frames, header messages.
//! Must not: write a negative call id as anything but 32 bits (clients compare it so).

use bytes::{Bytes, BytesMut};
use prost::Message;
use yarn_proto::common::RpcResponseHeaderProto;
use yarn_proto::common::rpc_response_header_proto::{RpcErrorCodeProto, RpcStatusProto};

use super::frame::{FrameError, begin_frame, end_frame, split_delimited};
use super::preamble::IPC_VERSION;
use super::request::put_delimited;

/// What a response echoes of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseTo {
    /// Call id of the request.
    pub call_id: i32,
    /// Client id of the request.
    pub client_id: Bytes,
    /// Retry count of the request.
    pub retry_count: i32,
}

impl ResponseTo {
    /// A response that no call asked for: no client id, retry count -1.
    pub const fn connection(call_id: i32) -> Self {
        Self {
            call_id,
            client_id: Bytes::new(),
            retry_count: -1,
        }
    }

    fn header(&self, status: RpcStatusProto) -> RpcResponseHeaderProto {
        RpcResponseHeaderProto {
            call_id: u32::from_be_bytes(self.call_id.to_be_bytes()),
            status: status.into(),
            server_ipc_version_num: Some(u32::from(IPC_VERSION)),
            client_id: Some(self.client_id.to_vec()),
            retry_count: Some(self.retry_count),
            ..RpcResponseHeaderProto::default()
        }
    }
}

/// Appends a successful response; false (and nothing appended) if it is too long for a frame.
pub fn write_success(out: &mut BytesMut, to: &ResponseTo, message: &impl Message) -> bool {
    let start = begin_frame(out);
    put_delimited(out, &to.header(RpcStatusProto::Success));
    put_delimited(out, message);
    end_frame(out, start)
}

/// Appends an ERROR or FATAL response; no message follows its header.
pub fn write_error(
    out: &mut BytesMut,
    to: &ResponseTo,
    status: RpcStatusProto,
    class: &str,
    text: &str,
    code: RpcErrorCodeProto,
) {
    let start = begin_frame(out);
    let header = RpcResponseHeaderProto {
        exception_class_name: Some(class.to_owned()),
        error_msg: Some(text.to_owned()),
        error_detail: Some(code.into()),
        ..to.header(status)
    };
    put_delimited(out, &header);
    end_frame(out, start);
}

/// A response as a client reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The call succeeded; its undecoded message.
    Success {
        /// Call it answers.
        call_id: i32,
        /// The response message.
        body: Bytes,
    },
    /// The call or the whole connection failed.
    Error {
        /// Call it answers; negative for the connection.
        call_id: i32,
        /// The server closes the connection.
        fatal: bool,
        /// Java class of the exception.
        class: String,
        /// Its message, with a stack trace from Java servers.
        message: String,
    },
}

/// Reads a response frame.
pub fn read_response(mut frame: Bytes) -> Result<Reply, String> {
    let text = |e: FrameError| e.to_string();
    let bytes = split_delimited(&mut frame).map_err(text)?;
    let header = RpcResponseHeaderProto::decode(bytes).map_err(|e| e.to_string())?;
    let call_id = i32::from_be_bytes(header.call_id.to_be_bytes());
    match RpcStatusProto::try_from(header.status) {
        Ok(RpcStatusProto::Success) => Ok(Reply::Success {
            call_id,
            body: split_delimited(&mut frame).map_err(text)?,
        }),
        Ok(status) => Ok(Reply::Error {
            call_id,
            fatal: status == RpcStatusProto::Fatal,
            class: header.exception_class_name.unwrap_or_default(),
            message: header.error_msg.unwrap_or_default(),
        }),
        Err(_) => Err(format!("unknown response status {}", header.status)),
    }
}

#[cfg(test)]
#[path = "response_test.rs"]
mod tests;
