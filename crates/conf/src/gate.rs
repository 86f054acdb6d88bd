//! What a daemon does at start with keys it cannot honour yet: refuse, warn, or report.
//! May touch: the table and the key tables.
//! Must not: log or exit; the daemon's `main` does with what is returned.

mod known;
pub(crate) mod refuse;
pub(crate) mod rule;
mod typed;
pub(crate) mod warn;

use crate::{error::Problem, keys, load::Daemon, table::Configuration};

/// The findings, each list in key order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Gate {
    /// The daemon must not start: say each and exit.
    pub refused: Vec<Problem>,
    /// To be logged once each; the daemon starts.
    pub warnings: Vec<Problem>,
    /// Keys Hadoop knows that were set to something else than its default and change nothing here; to be reported once.
    pub without_effect: Vec<String>,
    /// Keys neither Hadoop nor Heddle documents; only `--check` shows them.
    pub unknown: Vec<String>,
}

/// Looks at every key that a file or `-D` set, for `daemon`.
pub fn check(daemon: Daemon, conf: &Configuration) -> Gate {
    let mut gate = Gate {
        warnings: conf.warnings().to_vec(),
        ..Gate::default()
    };
    refuse::check(daemon, conf, &mut gate.refused);
    typed::check(daemon, conf, &mut gate.refused, &mut gate.warnings);
    warn::check(daemon, conf, &mut gate.warnings);
    for (key, _) in conf.set_keys() {
        if keys::honoured(key) || refuse::judges(key) || warn::judges(key) {
            continue;
        }
        match known::standing(daemon, conf, key) {
            known::Standing::Other => {}
            known::Standing::WithoutEffect => gate.without_effect.push(key.to_owned()),
            known::Standing::Unknown => gate.unknown.push(key.to_owned()),
        }
    }
    gate
}

#[cfg(test)]
#[path = "gate_test.rs"]
mod tests;
