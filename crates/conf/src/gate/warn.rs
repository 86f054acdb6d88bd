//! Features that are not built: one warning each, saying what does not happen.
//! May touch: the table.
//! Must not: repeat itself.

use crate::{error::Problem, load::Daemon, table::Configuration};

pub(super) fn check(_daemon: Daemon, _conf: &Configuration, _warnings: &mut Vec<Problem>) {}

pub(super) fn judges(_key: &str) -> bool {
    false
}
