//! What one connection has said so far: preamble, SASL, context, then calls. No IO.
//! May touch: frames, the port's secrets.
//! Must not: read or write a socket, or let a call through before its context.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use yarn_proto::common::rpc_response_header_proto::{RpcErrorCodeProto, RpcStatusProto};
use yarn_proto::common::{IpcConnectionContextProto, RpcSaslProto, UserInformationProto};

use super::{AuthPolicy, Caller, ProxyRule, RemoteException};
use crate::codec::{
    AuthProtocol, CALL_ID_AUTH_FAILED, CALL_ID_CONTEXT, CALL_ID_PING, CALL_ID_SASL, HeaderError,
    Preamble, Request, ResponseTo, bad_version_reply, http_reply, read_context, read_request,
    write_error, write_success,
};
use crate::sasl::{ServerSasl, ServerStep};

/// What the connection's task does with a frame.
#[derive(Debug)]
pub(super) enum Input {
    /// Nothing more: it was out of band.
    Nothing,
    /// Hand the call to the service.
    Call(Arc<Caller>, Request),
    /// Send what is in the buffer, then end the connection.
    Close,
}

/// State of one connection.
pub(super) struct Session {
    auth: AuthPolicy,
    proxy_rule: Option<ProxyRule>,
    peer: SocketAddr,
    phase: Phase,
}

enum Phase {
    /// No preamble yet.
    New,
    /// Negotiating.
    Sasl(ServerSasl),
    /// Waiting for the context of a SIMPLE connection.
    Simple,
    /// Waiting for the context of a TOKEN connection.
    Token { identifier: Vec<u8>, user: String },
    /// Taking calls.
    Open { caller: Arc<Caller>, sasl: bool },
}

impl Session {
    pub(super) const fn new(
        auth: AuthPolicy,
        proxy_rule: Option<ProxyRule>,
        peer: SocketAddr,
    ) -> Self {
        Self {
            auth,
            proxy_rule,
            peer,
            phase: Phase::New,
        }
    }

    /// True once calls are taken.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open { .. })
    }

    /// True before the preamble.
    pub(super) const fn is_new(&self) -> bool {
        matches!(self.phase, Phase::New)
    }

    /// Takes the preamble. `nonce` is drawn only for SASL.
    pub(super) fn on_preamble(
        &mut self,
        preamble: Preamble,
        out: &mut BytesMut,
        nonce: impl FnOnce() -> String,
    ) -> Input {
        let offer = self.auth.offer();
        let to = ResponseTo::connection(CALL_ID_AUTH_FAILED);
        match preamble {
            Preamble::Good {
                auth: AuthProtocol::Sasl,
                ..
            } => {
                self.phase = Phase::Sasl(ServerSasl::new(offer, nonce()));
                Input::Nothing
            }
            Preamble::Good {
                auth: AuthProtocol::None,
                ..
            } if offer.allows_simple() => {
                self.phase = Phase::Simple;
                Input::Nothing
            }
            Preamble::Good {
                auth: AuthProtocol::None,
                ..
            } => self.fatal(out, &to, &offer.simple_refused().into()),
            Preamble::UnknownAuth(byte) => {
                let text = format!("Unknown auth protocol:{byte}");
                let code = RpcErrorCodeProto::FatalUnauthorized;
                let e = RemoteException {
                    code,
                    ..RemoteException::new("org.apache.hadoop.ipc.IpcException", text)
                };
                self.fatal(out, &to, &e)
            }
            Preamble::Http => {
                out.extend_from_slice(http_reply());
                Input::Close
            }
            Preamble::Version(version) => {
                bad_version_reply(out, version);
                Input::Close
            }
        }
    }

    /// Takes one frame; answers of the connection itself are appended to `out`.
    pub(super) fn on_frame(&mut self, frame: Bytes, out: &mut BytesMut) -> Input {
        match read_request(frame) {
            Ok(request) => self.on_request(request, out),
            Err(e) => self.header_error(out, e),
        }
    }

    fn on_request(&mut self, request: Request, out: &mut BytesMut) -> Input {
        let invalid = |text: String| {
            RemoteException::rpc_server(text, RpcErrorCodeProto::FatalInvalidRpcHeader)
        };
        let text = match (request.call_id, &self.phase) {
            (CALL_ID_PING, _) => return Input::Nothing,
            (CALL_ID_SASL, Phase::Sasl(_)) => return self.on_sasl(&request, out),
            (CALL_ID_SASL, Phase::Token { .. } | Phase::Open { sasl: true, .. }) => {
                let code = RpcErrorCodeProto::FatalInvalidRpcHeader;
                let class = "javax.security.sasl.SaslException";
                let e = RemoteException {
                    code,
                    ..RemoteException::new(class, "Negotiation is already complete")
                };
                return self.fatal(out, &to_request(&request), &e);
            }
            (CALL_ID_SASL, _) => "SASL protocol not requested by client".to_owned(),
            (CALL_ID_CONTEXT, Phase::Sasl(_)) => {
                "Connection header sent during SASL negotiation".to_owned()
            }
            (CALL_ID_CONTEXT, Phase::Open { .. }) => {
                "Connection context already processed".to_owned()
            }
            (CALL_ID_CONTEXT, _) => return self.on_context(&request, out),
            (call_id, _) if call_id < 0 => format!("Unknown out of band call #{call_id}"),
            (_, Phase::Open { caller, .. }) => return Input::Call(Arc::clone(caller), request),
            _ => "Connection context not established".to_owned(),
        };
        self.fatal(out, &to_request(&request), &invalid(text))
    }

    fn on_sasl(&mut self, request: &Request, out: &mut BytesMut) -> Input {
        let Phase::Sasl(sasl) = &mut self.phase else {
            return Input::Close;
        };
        let message: RpcSaslProto = match read_context(request, "RpcSaslProto") {
            Ok(message) => message,
            Err(e) => return self.header_error(out, e),
        };
        let to = ResponseTo::connection(CALL_ID_SASL);
        match sasl.on_message(&message, self.auth.secrets()) {
            Ok(ServerStep::Reply(reply)) => {
                write_success(out, &to, &reply);
            }
            Ok(ServerStep::Simple(reply)) => {
                if let Some(reply) = reply {
                    write_success(out, &to, &reply);
                }
                self.phase = Phase::Simple;
            }
            Ok(ServerStep::Token {
                reply,
                identifier,
                user,
            }) => {
                write_success(out, &to, &reply);
                self.phase = Phase::Token { identifier, user };
            }
            Err(failure) => {
                tracing::warn!(peer = %self.peer, class = failure.class, text = failure.text, "authentication failed");
                return self.fatal(out, &to_request(request), &failure.into());
            }
        }
        Input::Nothing
    }

    fn on_context(&mut self, request: &Request, out: &mut BytesMut) -> Input {
        let context: IpcConnectionContextProto =
            match read_context(request, "IpcConnectionContextProto") {
                Ok(context) => context,
                Err(e) => return self.header_error(out, e),
            };
        let UserInformationProto {
            effective_user,
            real_user,
        } = context.user_info.unwrap_or_default();
        let effective_user = effective_user.filter(|user| !user.is_empty());
        let opened = match &mut self.phase {
            Phase::Token { identifier, user } => match effective_user {
                Some(claimed) if claimed != *user => Err(format!(
                    "Authenticated user ({user} (auth:TOKEN)) doesn't match what the client claims to be \
                     ({claimed} (auth:SIMPLE))"
                )),
                _ => Ok(Caller {
                    user: std::mem::take(user),
                    real_user: None,
                    identifier: Some(std::mem::take(identifier)),
                    peer: self.peer,
                    token: true,
                }),
            },
            _ => match effective_user {
                // A stock server runs such a call as its own user; nobody honest sends one.
                None => Err("connection context names no effective user".to_owned()),
                Some(user) => {
                    let real_user = real_user.filter(|real| !real.is_empty());
                    Ok(Caller {
                        user,
                        real_user,
                        identifier: None,
                        peer: self.peer,
                        token: false,
                    })
                }
            },
        };
        match opened
            .map_err(RemoteException::access_control)
            .and_then(|caller| self.allow_proxy(caller))
        {
            Ok(caller) => {
                self.phase = Phase::Open {
                    sasl: caller.token,
                    caller: Arc::new(caller),
                };
                Input::Nothing
            }
            Err(e) => {
                tracing::warn!(peer = %self.peer, error = %e, "connection refused");
                let code = RpcErrorCodeProto::FatalUnauthorized;
                self.fatal(out, &to_request(request), &RemoteException { code, ..e })
            }
        }
    }

    /// `DefaultImpersonationProvider`: without a rule nobody may act for another.
    fn allow_proxy(&self, caller: Caller) -> Result<Caller, RemoteException> {
        let Some(real) = &caller.real_user else {
            return Ok(caller);
        };
        let allowed = self
            .proxy_rule
            .as_ref()
            .is_some_and(|rule| rule(real, &caller.user, self.peer.ip()));
        if allowed {
            return Ok(caller);
        }
        let text = format!("User: {real} is not allowed to impersonate {}", caller.user);
        Err(RemoteException::new(
            "org.apache.hadoop.security.authorize.AuthorizationException",
            text,
        ))
    }

    fn header_error(&self, out: &mut BytesMut, e: HeaderError) -> Input {
        let to = ResponseTo {
            call_id: e.call_id,
            client_id: Bytes::new(),
            retry_count: e.retry_count,
        };
        self.fatal(out, &to, &RemoteException::rpc_server(e.text, e.code))
    }

    fn fatal(&self, out: &mut BytesMut, to: &ResponseTo, e: &RemoteException) -> Input {
        tracing::debug!(peer = %self.peer, error = %e, "ending connection");
        write_error(out, to, RpcStatusProto::Fatal, &e.class, &e.message, e.code);
        Input::Close
    }
}

/// A stock server echoes the retry count but no client id in answers to out-of-band requests.
fn to_request(request: &Request) -> ResponseTo {
    ResponseTo {
        call_id: request.call_id,
        client_id: Bytes::new(),
        retry_count: request.retry_count,
    }
}

#[cfg(test)]
#[path = "session_test.rs"]
mod tests;
