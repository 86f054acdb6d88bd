//! `org.apache.hadoop.security.Credentials`: the `HDTS` token storage of files and launch contexts.
//! May touch: byte slices, token messages.
//! Must not: require that the bytes end with the credentials (Spark sends the whole backing array), or copy what follows.

use std::collections::BTreeMap;
use std::fmt;

use prost::Message;
use yarn_proto::common::CredentialsProto;

use super::vint::{Reader, write_bytes, write_text, write_vlong};
use super::{Token, TokenError};

const MAGIC: &[u8] = b"HDTS";
const FORMAT_WRITABLE: u8 = 0;
const FORMAT_PROTOBUF: u8 = 1;
/// A token entry is an alias, identifier, password, kind and service: five lengths at least.
const TOKEN_ENTRY_BYTES_MIN: usize = 5;
/// A secret entry is a name and a value: two lengths at least.
const SECRET_ENTRY_BYTES_MIN: usize = 2;

/// Tokens and secrets by alias; a later entry with the same alias replaces the earlier one.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Credentials {
    /// Tokens by alias. Hadoop uses the token's service as alias ("" for the AMRM token).
    pub tokens: BTreeMap<String, Token>,
    /// Secret keys by name.
    pub secrets: BTreeMap<String, Vec<u8>>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("tokens", &self.tokens)
            .field("secrets", &self.secrets.keys())
            .finish()
    }
}

impl Credentials {
    /// Reads storage format 0 or 1. Bytes after the credentials are ignored; no bytes at all are empty credentials.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TokenError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut reader = Reader::new(bytes);
        if reader.take(MAGIC.len(), "token storage header")? != MAGIC {
            return Err(TokenError::Magic);
        }
        match reader.byte("token storage format")? {
            FORMAT_WRITABLE => Self::read_writable(&mut reader),
            FORMAT_PROTOBUF => Self::read_protobuf(reader.rest()),
            other => Err(TokenError::Format(other)),
        }
    }

    /// Writes storage format 0, Hadoop's default. Equal credentials give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(FORMAT_WRITABLE);
        write_vlong(
            &mut out,
            i64::try_from(self.tokens.len()).unwrap_or(i64::MAX),
        );
        for (alias, token) in &self.tokens {
            write_text(&mut out, alias);
            token.write(&mut out);
        }
        write_vlong(
            &mut out,
            i64::try_from(self.secrets.len()).unwrap_or(i64::MAX),
        );
        for (name, secret) in &self.secrets {
            write_text(&mut out, name);
            write_bytes(&mut out, secret);
        }
        out
    }

    /// Adds `token` under its service, as Hadoop aliases tokens.
    pub fn add(&mut self, token: Token) {
        self.tokens.insert(token.service.clone(), token);
    }

    /// The first token of `kind`, in order of aliases.
    pub fn of_kind(&self, kind: &str) -> Option<&Token> {
        self.tokens.values().find(|token| token.kind == kind)
    }

    fn read_writable(reader: &mut Reader<'_>) -> Result<Self, TokenError> {
        let mut credentials = Self::default();
        for _ in 0..reader.count(TOKEN_ENTRY_BYTES_MIN, "number of tokens")? {
            let alias = reader.text("token alias")?.to_owned();
            credentials.tokens.insert(alias, Token::read(reader)?);
        }
        for _ in 0..reader.count(SECRET_ENTRY_BYTES_MIN, "number of secrets")? {
            let name = reader.text("secret name")?.to_owned();
            credentials
                .secrets
                .insert(name, reader.bytes("secret")?.to_vec());
        }
        Ok(credentials)
    }

    fn read_protobuf(bytes: &[u8]) -> Result<Self, TokenError> {
        let what = "CredentialsProto";
        let proto = CredentialsProto::decode_length_delimited(bytes)
            .map_err(|source| TokenError::Proto { what, source })?;
        let mut credentials = Self::default();
        for entry in proto.tokens {
            credentials
                .tokens
                .insert(entry.alias, entry.token.unwrap_or_default().into());
        }
        for entry in proto.secrets {
            credentials
                .secrets
                .insert(entry.alias, entry.secret.unwrap_or_default());
        }
        Ok(credentials)
    }
}

#[cfg(test)]
#[path = "credentials_test.rs"]
mod tests;
