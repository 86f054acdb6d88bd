//! Fetches and unpacks resources of containers, with the rights of whoever runs it.
//! May touch: the source files it is asked for and the destination below its cache directory.
//! Must not: change identity, know containers or keep state between two fetches.

pub mod fetch;
pub mod filesystem;
pub mod protocol;
pub mod unpack;

use std::path::PathBuf;

use thiserror::Error;

/// Why a resource was not localised; the text goes into the container's diagnostics, so where
/// Hadoop has one it is Hadoop's.
#[derive(Debug, Error)]
pub enum FetchError {
    /// No file system is built for the scheme.
    #[error("No FileSystem for scheme \"{0}\"")]
    Scheme(String),
    /// The source is not there.
    #[error("File {0} does not exist")]
    Missing(String),
    /// The source may not be read by the container's account.
    #[error(
        "{url} (Permission denied): the account {account} that runs the container cannot read it"
    )]
    Denied {
        /// The source.
        url: String,
        /// Who tried.
        account: String,
    },
    /// The source is not the one the client saw.
    #[error(
        "Resource {url} changed on src filesystem - expected: \"{expected}\", was: \"{was}\", \
         current time: \"{now}\""
    )]
    Changed {
        /// The source.
        url: String,
        /// Modification time asked for.
        expected: String,
        /// Modification time found.
        was: String,
        /// Time of the check.
        now: String,
    },
    /// The source has another size than the client saw.
    #[error("Resource {url} changed on src filesystem - expected size: {expected}, was: {was}")]
    Resized {
        /// The source.
        url: String,
        /// Bytes asked for.
        expected: i64,
        /// Bytes found.
        was: u64,
    },
    /// A PUBLIC resource that not everybody can read.
    #[error(
        "Resource {0} is not publicly accessible and as such cannot be part of the public cache."
    )]
    NotPublic(String),
    /// The archive is broken or of an unexpected form.
    #[error("cannot unpack {url}: {reason}")]
    Archive {
        /// The source.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// An archive entry would be written outside the destination.
    #[error("expanding {entry:?} of {url} would create a file outside of the resource's directory")]
    Outside {
        /// The source.
        url: String,
        /// The entry's name.
        entry: String,
    },
    /// The resource is over a cap.
    #[error("resource {url} has more than {limit} {what}")]
    TooLarge {
        /// The source.
        url: String,
        /// The cap.
        limit: u64,
        /// Of what: `bytes` or `entries`.
        what: &'static str,
    },
    /// The pattern of a PATTERN resource is no regular expression.
    #[error("pattern {pattern:?} of {url}: {reason}")]
    Pattern {
        /// The source.
        url: String,
        /// The pattern.
        pattern: String,
        /// What is wrong.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl FetchError {
    /// An I/O failure on `path`.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { path, source }
    }
}
