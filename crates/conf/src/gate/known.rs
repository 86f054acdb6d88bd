//! Keys that Hadoop knows, whether or not they have an effect here.
//! May touch: the default tables.
//! Must not: judge keys that another table judges.

use crate::{load::Daemon, table::Configuration};

pub(super) enum Standing {
    /// For another daemon, a client, or at its default.
    Other,
    /// Known to Hadoop for this daemon.
    WithoutEffect,
    Unknown,
}

pub(super) fn standing(_daemon: Daemon, _conf: &Configuration, _key: &str) -> Standing {
    Standing::Other
}
