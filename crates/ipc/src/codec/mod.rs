//! Frames, headers and preambles of Hadoop IPC version 9, on byte slices.
//! May touch: bytes, the header messages of `yarn-proto`.
//! Must not: do IO, know SASL or tokens, or trust a length before it is capped.

mod frame;
mod preamble;
mod request;
mod response;
mod weight;

pub use frame::{FRAME_BYTES_MAX, FrameError, begin_frame, end_frame, next_frame, split_delimited};
pub use preamble::{
    AuthProtocol, IPC_VERSION, PREAMBLE_BYTES, Preamble, VersionReply, bad_version_reply,
    client_preamble, http_reply, read_preamble,
};
pub use request::{
    CALL_ID_AUTH_FAILED, CALL_ID_CONTEXT, CALL_ID_PING, CALL_ID_SASL, HeaderError, Request,
    RequestBody, read_call, read_context, read_request, write_call, write_context,
    write_sasl_request,
};
pub use response::{Reply, ResponseTo, read_response, write_error, write_success};
pub use weight::decoded_bytes;
