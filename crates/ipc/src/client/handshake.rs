//! From a fresh socket to an accepted context.
//! May touch: the socket, SASL, random nonces.
//! Must not: send the context to a server that did not prove the token.

use std::io;

use base64::Engine as _;
use bytes::BytesMut;
use prost::Message as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use yarn_proto::common::{IpcConnectionContextProto, RpcSaslProto, UserInformationProto};

use super::{Auth, CallError};
use crate::codec::{
    AuthProtocol, CALL_ID_SASL, Reply, client_preamble, next_frame, read_response, write_context,
    write_sasl_request,
};
use crate::sasl::{ClientSasl, ClientStep};
use crate::token::Token;

/// Largest SASL message that a server may send.
const FRAME_BYTES_MAX: usize = 64 * 1024;

/// Sends preamble, negotiation and context; gives back what the server sent beyond that.
pub(super) async fn open(
    stream: &mut TcpStream,
    protocol: &str,
    auth: Auth,
    client_id: &[u8],
) -> Result<BytesMut, CallError> {
    let mut output = BytesMut::new();
    let mut input = BytesMut::new();
    let effective_user = match auth {
        Auth::Simple { user } => {
            output.extend_from_slice(&client_preamble(AuthProtocol::None));
            Some(user)
        }
        Auth::Token { token } => {
            negotiate(stream, &mut input, token).await?;
            None
        }
    };
    // With a token the user is the token's: the message is there, but empty.
    let user_info = Some(UserInformationProto {
        effective_user,
        real_user: None,
    });
    let context = IpcConnectionContextProto {
        user_info,
        protocol: Some(protocol.to_owned()),
    };
    write_context(&mut output, client_id, &context);
    stream.write_all(&output).await?;
    Ok(input)
}

async fn negotiate(
    stream: &mut TcpStream,
    input: &mut BytesMut,
    token: Token,
) -> Result<(), CallError> {
    let cnonce = base64::engine::general_purpose::STANDARD.encode(rand::random::<[u8; 30]>());
    let mut sasl = ClientSasl::new(token, cnonce);
    let mut output = BytesMut::from(client_preamble(AuthProtocol::Sasl).as_slice());
    write_sasl_request(&mut output, &ClientSasl::start());
    loop {
        stream.write_all(&output).await?;
        output.clear();
        let message = read_sasl(stream, input).await?;
        match sasl.on_message(&message).map_err(CallError::Protocol)? {
            ClientStep::Send(message) => {
                write_sasl_request(&mut output, &message);
            }
            ClientStep::Done => return Ok(()),
        }
    }
}

async fn read_sasl(
    stream: &mut TcpStream,
    input: &mut BytesMut,
) -> Result<RpcSaslProto, CallError> {
    let frame = loop {
        if let Some(frame) =
            next_frame(input, FRAME_BYTES_MAX).map_err(|e| CallError::Protocol(e.to_string()))?
        {
            break frame;
        }
        if stream.read_buf(input).await? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "server closed during authentication",
            )
            .into());
        }
    };
    match read_response(frame).map_err(CallError::Protocol)? {
        Reply::Success {
            call_id: CALL_ID_SASL,
            body,
        } => RpcSaslProto::decode(body)
            .map_err(|e| CallError::Protocol(format!("bad SASL message: {e}"))),
        Reply::Success { call_id, .. } => Err(CallError::Protocol(format!(
            "answer to call {call_id} during authentication"
        ))),
        Reply::Error {
            fatal,
            class,
            message,
            ..
        } => Err(CallError::Remote {
            class,
            message,
            fatal,
        }),
    }
}
