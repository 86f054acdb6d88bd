//! JSON lines between the NodeManager and `container-localizer`.
//! May touch: text handed in by the caller.
//! Must not: open files.

use std::io::BufRead;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Longest accepted line, in bytes.
pub const LINE_BYTES_MAX: u64 = 1 << 20;

/// `LocalResourceType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Kind {
    /// Unpacked by the file's suffix.
    Archive,
    /// Kept as it is.
    File,
    /// Kept, with matching entries unpacked beside it.
    Pattern,
}

/// Upper bounds of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes written.
    pub bytes_max: u64,
    /// Files, directories and links made.
    pub entries_max: u64,
}

impl Default for Limits {
    /// 64 GiB and a million entries: far above real environments, far below a full disk of inodes.
    fn default() -> Self {
        Self {
            bytes_max: 64 << 30,
            entries_max: 1_000_000,
        }
    }
}

/// One resource to fetch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Names the request in its response.
    pub id: u64,
    /// Scheme of the source; empty means `file`.
    pub scheme: String,
    /// The whole URL as Hadoop prints it, for texts.
    pub url: String,
    /// Path on the source file system.
    pub path: String,
    /// Expected bytes; below 0 is not checked.
    pub size: i64,
    /// Expected modification time in ms after 1970.
    pub timestamp_ms: i64,
    /// How it is unpacked.
    pub kind: Kind,
    /// Whether all users will share it.
    pub public: bool,
    /// Pattern of [`Kind::Pattern`].
    pub pattern: Option<String>,
    /// Directory to make; its parent exists. Relative to the working directory or absolute.
    pub dest: PathBuf,
    /// Caps.
    pub limits: Limits,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// Of which request.
    pub id: u64,
    /// File name inside `dest` and bytes on disk, or the error's text.
    pub result: Result<Fetched, String>,
}

/// A resource that is in place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// Name of the file or directory inside the request's `dest`.
    pub name: String,
    /// Bytes on disk.
    pub size: u64,
    /// What an operator should know, e.g. that an archive's suffix is unknown.
    pub warning: Option<String>,
}

/// Reads one line; `None` at the end of the stream.
///
/// # Errors
/// What the stream answers; `InvalidData` for a line over [`LINE_BYTES_MAX`].
pub fn read_line(from: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut line = String::new();
    let read = std::io::Read::take(&mut *from, LINE_BYTES_MAX).read_line(&mut line)?;
    if read == 0 {
        return Ok(None);
    }
    if !line.ends_with('\n') && line.len() as u64 >= LINE_BYTES_MAX {
        let text = format!("a line of more than {LINE_BYTES_MAX} bytes");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, text));
    }
    Ok(Some(line))
}
