//! Include and exclude files of nodes (`HostsFileReader`), as text or XML.
//! May touch: those files.
//! Must not: resolve names.

mod xml;

use std::{path::Path, sync::Arc};

use rm_core::event::HostLists;

/// A host file is refused beyond this size.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Why a list cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// The file is not there or not readable.
    #[error("cannot read {path} ({key}): {source}")]
    Io {
        /// Key that names it.
        key: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is larger than any list of hosts.
    #[error("{path} ({key}) has {bytes} bytes, want at most {FILE_BYTES_MAX}")]
    TooLong {
        /// Key that names it.
        key: &'static str,
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// It is no XML host list, though its name ends in `.xml`.
    #[error("{path} ({key}): {reason}")]
    Xml {
        /// Key that names it.
        key: &'static str,
        /// The file.
        path: String,
        /// What is wrong, and where.
        reason: String,
    },
}

impl HostsError {
    /// The key that names the list.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Io { key, .. } | Self::TooLong { key, .. } | Self::Xml { key, .. } => key,
        }
    }
}

/// Reads both lists; a list that is not configured is empty.
///
/// # Errors
/// A configured file that cannot be used.
pub fn read(include: Option<&Path>, exclude: Option<&Path>) -> Result<HostLists, HostsError> {
    let named = |entries: &xml::Entries| -> Vec<Arc<str>> {
        entries
            .iter()
            .map(|(host, _)| host.as_str().into())
            .collect()
    };
    let include = list("yarn.resourcemanager.nodes.include-path", include)?;
    let exclude = list("yarn.resourcemanager.nodes.exclude-path", exclude)?;
    let timed = exclude.iter();
    let timed = timed.filter_map(|(host, timeout)| Some((host.as_str().into(), (*timeout)?)));
    Ok(HostLists {
        include: named(&include),
        exclude: named(&exclude),
        timeouts_s: timed.collect(),
    })
}

fn list(key: &'static str, path: Option<&Path>) -> Result<xml::Entries, HostsError> {
    let Some(file) = path else {
        return Ok(Vec::new());
    };
    let path = file.display().to_string();
    let text = std::fs::metadata(file).and_then(|meta| {
        let long = meta.len() > FILE_BYTES_MAX;
        if long {
            Ok(Err(meta.len()))
        } else {
            std::fs::read_to_string(file).map(Ok)
        }
    });
    match text {
        Ok(Ok(text)) if path.to_lowercase().ends_with(".xml") => {
            xml::read(&text).map_err(|reason| HostsError::Xml { key, path, reason })
        }
        Ok(Ok(text)) => Ok(hosts(&text)),
        Ok(Err(bytes)) => Err(HostsError::TooLong { key, path, bytes }),
        Err(source) => Err(HostsError::Io { key, path, source }),
    }
}

/// Words separated by blanks; `#` and what follows it on the line is a comment.
fn hosts(text: &str) -> xml::Entries {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    lines
        .flat_map(str::split_whitespace)
        .map(|host| (host.to_owned(), None))
        .collect()
}

#[cfg(test)]
#[path = "hosts_test.rs"]
mod tests;
