//! DIGEST-MD5 (RFC 2831) with qop "auth": the directive syntax and the two response values.
//! May touch: byte slices.
//! Must not: decide whether a name or password is right.

use md5::{Digest as _, Md5};

/// RFC 2831 knows 14 directives.
const DIRECTIVES_MAX: usize = 32;

/// Why bytes are not a list of directives.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// Not ASCII or UTF-8 text.
    #[error("directives are not UTF-8")]
    Text,
    /// No `=` after a name, or an empty name.
    #[error("directive without name or value at byte {0}")]
    Syntax(usize),
    /// A quoted value that does not end.
    #[error("quoted value without end at byte {0}")]
    Quote(usize),
    /// More directives than any client or server sends.
    #[error("more than {DIRECTIVES_MAX} directives")]
    TooMany,
    /// A directive stands twice.
    #[error("directive {0} stands twice")]
    Twice(String),
}

/// `name=value` pairs of a challenge or response, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directives(Vec<(String, String)>);

impl Directives {
    /// Reads `name=value,name="quoted \" value",…`. Names may hold dashes; unquoted values may hold `=`.
    pub fn parse(bytes: &[u8]) -> Result<Self, DigestError> {
        let text = std::str::from_utf8(bytes).map_err(|_| DigestError::Text)?;
        let mut list: Vec<(String, String)> = Vec::new();
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches([',', ' ', '\t', '\r', '\n']);
            if rest.is_empty() {
                return Ok(Self(list));
            }
            let at = text.len() - rest.len();
            let (name, after) = rest.split_once('=').ok_or(DigestError::Syntax(at))?;
            let name = name.trim_end();
            if name.is_empty() || name.contains([',', '"']) {
                return Err(DigestError::Syntax(at));
            }
            let after = after.trim_start_matches([' ', '\t']);
            let (value, tail) = if let Some(quoted) = after.strip_prefix('"') {
                unquote(quoted).ok_or(DigestError::Quote(at))?
            } else {
                let (value, tail) = after.split_at(after.find(',').unwrap_or(after.len()));
                (value.trim_end().to_owned(), tail)
            };
            if list.len() == DIRECTIVES_MAX {
                return Err(DigestError::TooMany);
            }
            if list.iter().any(|(known, _)| known == name) {
                return Err(DigestError::Twice(name.to_owned()));
            }
            list.push((name.to_owned(), value));
            rest = tail.trim_start();
            if !rest.is_empty() && !rest.starts_with(',') {
                return Err(DigestError::Syntax(text.len() - rest.len()));
            }
        }
    }

    /// The value of a directive.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// The value up to the closing quote with its escapes undone, and what follows the quote.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => value.push(chars.next()?.1),
            other => value.push(other),
        }
    }
    None
}

/// The inputs of a response value.
#[derive(Clone, Copy)]
pub struct Digest<'a> {
    /// User name as sent; for tokens the base64 of the identifier.
    pub username: &'a str,
    /// Realm as sent.
    pub realm: &'a str,
    /// Password; for tokens the base64 of the token's password.
    pub password: &'a str,
    /// The server's nonce.
    pub nonce: &'a str,
    /// The client's nonce.
    pub cnonce: &'a str,
    /// Nonce count, 8 hex digits.
    pub nc: &'a str,
    /// Service and host.
    pub digest_uri: &'a str,
}

impl Digest<'_> {
    /// The client's `response`: 32 hex digits.
    pub fn response(&self) -> String {
        self.value("AUTHENTICATE:")
    }

    /// The server's `rspauth`: 32 hex digits.
    pub fn rspauth(&self) -> String {
        self.value(":")
    }

    fn value(&self, a2_prefix: &str) -> String {
        let user = md5(&[self.username, ":", self.realm, ":", self.password]);
        let mut a1 = Md5::new_with_prefix(user);
        for part in [":", self.nonce, ":", self.cnonce] {
            a1.update(part);
        }
        let a1 = hex(&a1.finalize());
        let a2 = hex(&md5(&[a2_prefix, self.digest_uri]));
        hex(&md5(&[
            &a1,
            ":",
            self.nonce,
            ":",
            self.nc,
            ":",
            self.cnonce,
            ":auth:",
            &a2,
        ]))
    }
}

fn md5(parts: &[&str]) -> [u8; 16] {
    let mut hash = Md5::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let nibbles = bytes.iter().flat_map(|b| [b >> 4, b & 15]);
    nibbles
        .filter_map(|nibble| DIGITS.get(usize::from(nibble)))
        .collect()
}

#[cfg(test)]
#[path = "digest_test.rs"]
mod tests;
