//! Every honoured key that is set must expand and be of its kind, before anything starts.
//! May touch: the table and the key tables.
//! Must not: refuse what Hadoop takes.

use crate::{error::Problem, load::Daemon, table::Configuration};

pub(super) fn check(
    _daemon: Daemon,
    _conf: &Configuration,
    _refused: &mut Vec<Problem>,
    _warnings: &mut Vec<Problem>,
) {
}
