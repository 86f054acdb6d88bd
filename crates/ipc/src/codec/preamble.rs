//! The 7 bytes that open a connection, and the raw answers to bad ones.
//! May touch: bytes.
//! Must not: decide who may connect.

use bytes::{BufMut, BytesMut};
use yarn_proto::common::rpc_response_header_proto::{RpcErrorCodeProto, RpcStatusProto};

use super::response::{ResponseTo, write_error};

/// Version of the protocol, `RpcConstants.CURRENT_VERSION`.
pub const IPC_VERSION: u8 = 9;
/// Magic, version, service class, auth protocol.
pub const PREAMBLE_BYTES: usize = 7;
const MAGIC: &[u8; 4] = b"hrpc";
const HTTP_GET: &[u8; 4] = b"GET ";
const AUTH_NONE: u8 = 0;
/// -33 as a byte.
const AUTH_SASL: u8 = 0xdf;
const VERSION_MISMATCH: &str = "org.apache.hadoop.ipc.RPC$VersionMismatch";

/// Last byte of the preamble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthProtocol {
    /// The context follows at once.
    None,
    /// A SASL negotiation follows.
    Sasl,
}

/// What the first bytes of a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preamble {
    /// A client of this protocol.
    Good {
        /// RPC service class, unused.
        service_class: u8,
        /// What follows.
        auth: AuthProtocol,
    },
    /// Another version, or another magic: answer [`bad_version_reply`].
    Version(i8),
    /// A web browser: answer [`http_reply`].
    Http,
    /// An auth protocol that does not exist; the signed byte is part of the answer.
    UnknownAuth(i8),
}

/// Reads the preamble from the first 7 bytes; `None` until they are there.
pub fn read_preamble(bytes: &[u8]) -> Option<Preamble> {
    let [a, b, c, d, version, service_class, auth] = *bytes.first_chunk::<PREAMBLE_BYTES>()?;
    let magic = [a, b, c, d];
    Some(if magic == *HTTP_GET {
        Preamble::Http
    } else if magic != *MAGIC || version != IPC_VERSION {
        Preamble::Version(i8::from_be_bytes([version]))
    } else {
        match auth {
            AUTH_NONE => Preamble::Good {
                service_class,
                auth: AuthProtocol::None,
            },
            AUTH_SASL => Preamble::Good {
                service_class,
                auth: AuthProtocol::Sasl,
            },
            other => Preamble::UnknownAuth(i8::from_be_bytes([other])),
        }
    })
}

/// The preamble that a client sends.
pub fn client_preamble(auth: AuthProtocol) -> [u8; PREAMBLE_BYTES] {
    let [a, b, c, d] = *MAGIC;
    let auth = match auth {
        AuthProtocol::None => AUTH_NONE,
        AuthProtocol::Sasl => AUTH_SASL,
    };
    [a, b, c, d, IPC_VERSION, 0, auth]
}

/// Forms of the answer to a version that is not ours; which one, the client's version decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionReply {
    /// A normal FATAL frame, for versions from 9 on.
    Frame,
    /// Two raw integers and two strings, for 3 to 8.
    Old,
    /// Hadoop 0.18's form, for 2.
    Ancient,
    /// Nothing: no client of that version ever existed.
    Silence,
}

/// Writes the answer that lets a client of another version print a clear error (`Server.setupBadVersionResponse`).
pub fn bad_version_reply(out: &mut BytesMut, version: i8) -> VersionReply {
    let text = format!(
        "Server IPC version {IPC_VERSION} cannot communicate with client version {version}"
    );
    match version {
        9.. => {
            let to = ResponseTo::connection(super::CALL_ID_AUTH_FAILED);
            let code = RpcErrorCodeProto::FatalVersionMismatch;
            write_error(
                out,
                &to,
                RpcStatusProto::Fatal,
                VERSION_MISMATCH,
                &text,
                code,
            );
            VersionReply::Frame
        }
        3..=8 => {
            out.put_i32(-1);
            out.put_i32(-1);
            put_string(out, VERSION_MISMATCH);
            put_string(out, &text);
            VersionReply::Old
        }
        2 => {
            out.put_i32(0);
            out.put_u8(1);
            put_string(out, VERSION_MISMATCH);
            put_string(out, &text);
            VersionReply::Ancient
        }
        _ => VersionReply::Silence,
    }
}

/// A string of `WritableUtils.writeString`: 4-byte length, UTF-8.
fn put_string(out: &mut BytesMut, text: &str) {
    out.put_u32(u32::try_from(text.len()).unwrap_or(u32::MAX));
    out.put_slice(text.as_bytes());
}

/// The answer to an HTTP request on an IPC port (`Server.RECEIVED_HTTP_REQ_RESPONSE`).
pub const fn http_reply() -> &'static [u8] {
    b"HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n\
      It looks like you are making an HTTP request to a Hadoop IPC port. \
      This is not the correct port for the web interface on this daemon.\r\n"
}

#[cfg(test)]
#[path = "preamble_test.rs"]
mod tests;
