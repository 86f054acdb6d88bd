//! Keys whose absence would weaken safety or change who runs where: the daemon does not start.
//! May touch: the table.
//! Must not: refuse a value that Hadoop's default already is.

use crate::{error::Problem, load::Daemon, table::Configuration};

pub(super) fn check(_daemon: Daemon, _conf: &Configuration, _refused: &mut Vec<Problem>) {}

pub(super) fn judges(_key: &str) -> bool {
    false
}
