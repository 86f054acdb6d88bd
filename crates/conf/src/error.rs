//! What can be wrong with configuration, as data: where, which key, what would be right.
//! May touch: text.
//! Must not: log, or hold the value of a key that names a secret.

use std::{fmt, path::PathBuf, sync::Arc};

/// Where a value was written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Origin {
    /// The file as it was opened, or `-D` for a value of the command line.
    pub file: Arc<str>,
    /// Line of the `<property>`, from 1; 0 where there are no lines (`-D`).
    pub line: u32,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            f.write_str(&self.file)
        } else {
            write!(f, "{}:{}", self.file, self.line)
        }
    }
}

/// A key whose value cannot stand, or stands with a remark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The key as Hadoop spells it; empty where no single key is at fault.
    pub key: String,
    /// Its value, expanded; `None` when unset or a secret.
    pub value: Option<String>,
    /// Where the value was written; `None` for a default.
    pub origin: Option<Origin>,
    /// What is wrong and what would be right, or Hadoop's own text.
    pub text: String,
}

impl Problem {
    /// A problem of the configuration as a whole.
    pub fn general(text: impl Into<String>) -> Self {
        Self {
            key: String::new(),
            value: None,
            origin: None,
            text: text.into(),
        }
    }
}

/// Values of such keys never appear in messages.
pub(crate) fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    [
        "password",
        "secret",
        "access.key",
        "account.key",
        "credential",
        "keystore.pass",
        "encryption.key",
        "session.key",
        "session.token",
        "oauth",
    ]
    .iter()
    .any(|part| key.contains(part))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(f, "{origin}: ")?;
        }
        if !self.key.is_empty() {
            f.write_str(&self.key)?;
            if let Some(value) = &self.value {
                write!(f, " = '{value}'")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for Problem {}

/// Why the files cannot be read; the daemon does not start.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The configuration directory is not there or is not a directory.
    #[error("configuration directory {path} cannot be used: {reason}")]
    Directory {
        /// The directory that was asked for.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file is there but cannot be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what Hadoop's XML reader takes, or holds what is refused here.
    #[error("{0}")]
    Xml(#[from] XmlError),
}

/// A fault in one file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}: {text}")]
pub struct XmlError {
    /// The file that holds the fault.
    pub file: Arc<str>,
    /// Its line, from 1.
    pub line: u32,
    /// What is wrong and what would be right.
    pub text: String,
}
