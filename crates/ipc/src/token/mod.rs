//! Hadoop tokens: their Writable form, credentials files, identifiers, passwords and master keys.
//! May touch: bytes and the identifier messages of `yarn-proto`.
//! Must not: know sockets, clocks or randomness (time and key bytes are arguments), or print a secret.

mod credentials;
mod identifier;
mod keys;
mod node_keys;
mod vint;

use std::fmt;

use yarn_proto::common::TokenProto;

pub use credentials::Credentials;
pub use identifier::{Identifier, kinds, mint, parse, sign, verify_password};
pub use keys::{KeyRing, KeyRingOptions, MasterKey, hmac_sha1};
pub use node_keys::NodeKeys;
pub use vint::{Reader, read_vlong, write_text, write_vlong};

/// Why bytes are not what a token, credentials or identifier must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The bytes end inside a value.
    #[error("token bytes end early: {what} needs {needed} more bytes")]
    Truncated {
        /// The value that was being read.
        what: &'static str,
        /// Bytes that are missing, at least.
        needed: usize,
    },
    /// A length or count is negative or larger than the bytes that follow it.
    #[error("bad length {length} for {what}: want 0 to {max}")]
    Length {
        /// The value that was being read.
        what: &'static str,
        /// The length as read.
        length: i64,
        /// The largest length that the remaining bytes allow.
        max: usize,
    },
    /// A text is not UTF-8.
    #[error("{what} is not UTF-8")]
    Text {
        /// The value that was being read.
        what: &'static str,
    },
    /// Credentials do not start with `HDTS`.
    #[error("bad header found in token storage: want HDTS")]
    Magic,
    /// Credentials of a storage format other than 0 (Writable) and 1 (protobuf).
    #[error("unknown token storage format {0}: want 0 or 1")]
    Format(u8),
    /// A protobuf message does not decode.
    #[error("bad {what}: {source}")]
    Proto {
        /// The message's name.
        what: &'static str,
        /// What prost says.
        source: prost::DecodeError,
    },
}

/// `org.apache.hadoop.security.token.Token`: an identifier, its password, a kind and a service.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Token {
    /// Serialised identifier; the password is computed over exactly these bytes.
    pub identifier: Vec<u8>,
    /// Secret shared with the server that issued the token.
    pub password: Vec<u8>,
    /// One of [`kinds`].
    pub kind: String,
    /// `ip:port` or `host:port` of the server, several joined by commas, or empty.
    pub service: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("kind", &self.kind)
            .field("service", &self.service)
            .field("identifier_len", &self.identifier.len())
            .finish_non_exhaustive()
    }
}

impl Token {
    /// Appends the Writable form: identifier and password with vint lengths, then kind and service as Text.
    pub fn write(&self, out: &mut Vec<u8>) {
        vint::write_bytes(out, &self.identifier);
        vint::write_bytes(out, &self.password);
        write_text(out, &self.kind);
        write_text(out, &self.service);
    }

    /// Reads the Writable form.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, TokenError> {
        Ok(Self {
            identifier: reader.bytes("token identifier")?.to_vec(),
            password: reader.bytes("token password")?.to_vec(),
            kind: reader.text("token kind")?.to_owned(),
            service: reader.text("token service")?.to_owned(),
        })
    }

    /// Reads one token in Writable form from the start of `bytes`; what follows it is ignored.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TokenError> {
        Self::read(&mut Reader::new(bytes))
    }
}

impl From<Token> for TokenProto {
    fn from(token: Token) -> Self {
        Self {
            identifier: token.identifier,
            password: token.password,
            kind: token.kind,
            service: token.service,
        }
    }
}

impl From<TokenProto> for Token {
    fn from(proto: TokenProto) -> Self {
        Self {
            identifier: proto.identifier,
            password: proto.password,
            kind: proto.kind,
            service: proto.service,
        }
    }
}

#[cfg(test)]
#[path = "token_test.rs"]
mod tests;
