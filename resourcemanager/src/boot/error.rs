//! Why the ResourceManager does not start, one sentence each.
//! May touch: text.
//! Must not: hold a secret.

use std::{fmt, io, net::SocketAddr, path::PathBuf};

use rm_core::conf::ConfProblem;
use yarn_conf::{LoadError, Problem};

use crate::{hosts::HostsError, store::LabelStoreError};

/// Anything that keeps the daemon from starting.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration files cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A value cannot be used.
    #[error("{0}")]
    Conf(#[from] Problem),
    /// Keys that must not be ignored, and behaviour that is not built.
    #[error("refused configuration: {}", List(.0))]
    Refused(Vec<Problem>),
    /// Keys of the scheduler or the life cycles.
    #[error("refused configuration: {}", List(.0))]
    Core(Vec<ConfProblem>),
    /// dynamic-resources.xml.
    #[error("dynamic-resources.xml: {0}")]
    DynamicResources(String),
    /// The store of node labels.
    #[error(transparent)]
    Labels(#[from] LabelStoreError),
    /// The journal's directory.
    #[error(
        "cannot write the journal in {dir} (yarn.resourcemanager.heddle.journal.dir): {source}"
    )]
    Journal {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A host list.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// An address of ours has no IP address.
    #[error("cannot resolve {host} ({key}): {source}")]
    Resolve {
        /// Key of the address.
        key: String,
        /// Its host.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// A port cannot be opened.
    #[error("cannot listen on {address} ({key}): {}", Bind(.source))]
    Bind {
        /// Key of the address.
        key: String,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// No thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The endpoints file.
    #[error("cannot write {path} (--endpoints-file): {source}")]
    Endpoints {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Several findings in one line.
struct List<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if n == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

/// The two usual reasons in words.
struct Bind<'a>(&'a io::Error);

impl fmt::Display for Bind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind() {
            io::ErrorKind::AddrInUse => f.write_str("the port is in use by another process"),
            io::ErrorKind::AddrNotAvailable => {
                f.write_str("this machine does not have the address")
            }
            _ => write!(f, "{}", self.0),
        }
    }
}
