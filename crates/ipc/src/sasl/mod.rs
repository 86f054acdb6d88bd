//! SASL as Hadoop IPC uses it: negotiation of TOKEN (DIGEST-MD5) or SIMPLE, both sides, as state machines.
//! May touch: SASL messages, passwords in memory.
//! Must not: do IO or draw random numbers (nonces are arguments), or print a password.

mod client;
mod digest;
mod server;

use std::fmt;

use yarn_proto::common::rpc_response_header_proto::RpcErrorCodeProto;

pub use client::{ClientSasl, ClientStep};
pub use digest::{Digest, DigestError, Directives};
pub use server::{Offer, ServerSasl, ServerStep};

/// `AuthMethod.TOKEN`.
const METHOD_TOKEN: &str = "TOKEN";
/// `AuthMethod.SIMPLE`.
const METHOD_SIMPLE: &str = "SIMPLE";
/// Mechanism of `AuthMethod.TOKEN`, `hadoop.security.sasl.mechanism`.
const MECHANISM: &str = "DIGEST-MD5";
/// Realm and server id of every Hadoop server (`SaslRpcServer.SASL_DEFAULT_REALM`).
const REALM: &str = "default";
/// `protocol "/" serverId`, the protocol being empty.
const DIGEST_URI: &str = "/default";

/// What a token's identifier bytes stand for.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The token's password.
    pub password: Vec<u8>,
    /// User name of a connection that proves to know the password.
    pub user: String,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// A token that is unknown, expired, revoked or made with a key that is gone:
/// `SecretManager$InvalidToken` with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidToken(pub String);

/// The token passwords of one port; `SecretManager`.
pub trait Secrets: Send + Sync {
    /// Password and user name for raw identifier bytes. Called on a connection's task: must not block.
    fn lookup(&self, identifier: &[u8]) -> Result<Secret, InvalidToken>;

    /// Kind of the tokens, one of [`crate::token::kinds`].
    fn kind(&self) -> &'static str;
}

/// A failed negotiation: sent as a FATAL frame, then the connection ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {text}")]
pub struct SaslFailure {
    /// Java class of the exception.
    pub class: &'static str,
    /// Hadoop's text.
    pub text: String,
    /// Hadoop's code.
    pub code: RpcErrorCodeProto,
}

impl SaslFailure {
    fn unauthorized(class: &'static str, text: impl Into<String>) -> Self {
        Self {
            class,
            text: text.into(),
            code: RpcErrorCodeProto::FatalUnauthorized,
        }
    }

    fn sasl(text: impl Into<String>) -> Self {
        Self::unauthorized("javax.security.sasl.SaslException", text)
    }

    fn access(text: impl Into<String>) -> Self {
        Self::unauthorized("org.apache.hadoop.security.AccessControlException", text)
    }

    fn invalid_token(text: impl Into<String>) -> Self {
        Self::unauthorized(
            "org.apache.hadoop.security.token.SecretManager$InvalidToken",
            text,
        )
    }
}

#[cfg(test)]
#[path = "sasl_test.rs"]
mod tests;
