//! What `--check` and `--print` of a daemon say: every finding with file, line, key, value and reason.
//! May touch: the table and the findings of the gate.
//! Must not: print, or let a secret through.

use std::path::PathBuf;

use crate::{
    error::{LoadError, Origin, Problem, is_secret},
    gate,
    load::Daemon,
    table::Configuration,
};

/// Stands where the value of a secret would (`ConfigRedactor` of Hadoop).
const REDACTED: &str = "<redacted>";
/// The files a daemon reads.
const KINDS: [&str; 5] = [
    "core-site",
    "yarn-site",
    "resource-types",
    "capacity-scheduler",
    "node-resources",
];
/// Keys of capacity-scheduler.xml.
const SCHEDULER_PREFIX: &str = "yarn.scheduler.capacity.";

/// Everything that can be said of one configuration.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// The daemon would not start.
    pub refused: Vec<Problem>,
    /// The daemon would say it and start.
    pub warnings: Vec<Problem>,
    /// Keys that Hadoop knows and that change nothing here, and keys that nobody knows.
    pub notes: Vec<Problem>,
}

impl Report {
    /// The findings of the gate for `daemon`, to which [`Report::refuse`] adds.
    pub fn new(daemon: Daemon, conf: &Configuration) -> Self {
        let gate = gate::check(daemon, conf);
        let mut report = Self {
            warnings: gate.warnings,
            ..Self::default()
        };
        for problem in gate.refused {
            report.refuse(conf, problem);
        }
        let seen = |list: &[Problem], key: &str| list.iter().any(|p| p.key == key);
        for (key, origin) in conf.set_keys() {
            // Hadoop fails when such a key is read; nothing here reads those that are left.
            if let Err(problem) = conf.get(key)
                && !seen(&report.refused, key)
                && !seen(&report.warnings, key)
            {
                let origin = Some(origin.clone());
                report.warnings.push(Problem { origin, ..problem });
            }
        }
        let without = gate.without_effect.iter();
        let without = without.map(|key| conf.problem(key, "changes nothing here"));
        let unknown = gate.unknown.iter();
        let unknown = unknown.map(|key| conf.problem(key, "unknown key"));
        report.notes = without.chain(unknown).collect();
        report
    }

    /// One more reason not to start; a key that is refused already is not said twice, and a key
    /// that no file sets gets the place where it is missing.
    pub fn refuse(&mut self, conf: &Configuration, mut problem: Problem) {
        let known = |p: &Problem| p.key == problem.key && !p.key.is_empty();
        if self.refused.iter().any(known) {
            return;
        }
        if problem.origin.is_none() {
            problem.origin = nearest(conf, &problem.key);
        }
        self.refused.push(problem);
    }

    /// Whether the daemon would start.
    pub fn accepted(&self) -> bool {
        self.refused.is_empty()
    }

    /// One line for each finding, refusals first: `file:line: [warning: |note: ]key=value: reason`.
    pub fn lines(&self) -> Vec<String> {
        let kinds = [
            ("", &self.refused),
            ("warning: ", &self.warnings),
            ("note: ", &self.notes),
        ];
        let of = |(mark, list): (&'static str, &'_ Vec<Problem>)| -> Vec<String> {
            list.iter().map(|p| line(mark, p)).collect()
        };
        kinds.into_iter().flat_map(of).collect()
    }
}

/// What `--file KIND=FILE` asks for, as [`crate::LoadOptions::instead`] wants it.
///
/// # Errors
/// No such kind of file, or no file.
pub fn replacement(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((kind, file)) if KINDS.contains(&kind) && !file.is_empty() => {
            Ok((format!("{kind}.xml"), file.into()))
        }
        _ => Err(format!(
            "want KIND=FILE with a KIND of {}",
            KINDS.join(", ")
        )),
    }
}

/// Why no configuration could be read, in the form of [`Report::lines`].
pub fn unreadable(error: &LoadError) -> String {
    match error {
        LoadError::Io { path, source } => {
            one_line(&format!("{}:1: cannot be read: {source}", path.display()))
        }
        LoadError::Directory { .. } | LoadError::Xml(_) => one_line(&error.to_string()),
    }
}

/// What `--print` says: key, effective value and `file:line` with tabs between, a line for each key
/// that a file or `-D` set, in key order. Tabs and line ends in values are written as in C.
pub fn effective(conf: &Configuration) -> Vec<String> {
    let secrets: Vec<&str> = conf
        .iter()
        .filter(|(key, value)| is_secret(key) && !value.is_empty())
        .map(|(_, value)| value)
        .collect();
    let shown = |key: &str| {
        let raw = conf.raw(key).unwrap_or_default();
        let value = conf.get(key).ok().flatten();
        let value = value.unwrap_or_else(|| raw.to_owned());
        let referred =
            raw.contains("${") && (is_secret(raw) || secrets.iter().any(|s| value.contains(s)));
        if is_secret(key) || referred {
            REDACTED.to_owned()
        } else {
            one_line(&value)
        }
    };
    conf.set_keys()
        .map(|(key, origin)| format!("{}\t{}\t{origin}", one_line(key), shown(key)))
        .collect()
}

fn line(mark: &str, problem: &Problem) -> String {
    let place = problem.origin.as_ref();
    let place = place.map_or_else(String::new, |origin| format!("{origin}: "));
    let subject = match (&*problem.key, &problem.value) {
        ("", _) => String::new(),
        (key, Some(value)) => format!("{key}={value}: "),
        (key, None) => format!("{key}: "),
    };
    one_line(&format!("{place}{mark}{subject}{}", problem.text))
}

/// Control characters could forge a line or colour a terminal.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Where a key that is not set would be looked for: for a queue's key, the line that names the queue
/// or its nearest ancestor; else the top of the file it belongs to.
fn nearest(conf: &Configuration, key: &str) -> Option<Origin> {
    let mut stem = key;
    while stem.starts_with(SCHEDULER_PREFIX)
        && let Some((parent, _)) = stem.rsplit_once('.')
    {
        if let Some(origin) = conf.origin(&format!("{parent}.queues")) {
            return Some(origin.clone());
        }
        stem = parent;
    }
    let name = if key.starts_with(SCHEDULER_PREFIX) {
        "capacity-scheduler.xml"
    } else {
        "yarn-site.xml"
    };
    let file = conf.looked_at(name)?.display().to_string();
    Some(Origin {
        file: file.into(),
        line: 1,
    })
}

#[cfg(test)]
#[path = "report_test.rs"]
mod tests;
