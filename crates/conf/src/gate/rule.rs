//! The shape of a rule about one key: when it applies, to whom, and what to say.
//! May touch: the table.
//! Must not: hold rules.

use crate::{error::Problem, load::Daemon, table::Configuration};

/// When a rule applies to the value of its key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// The value is none of these words (any case); an unset or blank key is fine.
    Not(&'static [&'static str]),
    /// One of the comma-separated parts is none of these words.
    AnyNot(&'static [&'static str]),
    /// The key reads as `true`.
    True,
    /// A file or `-D` set it to anything but blanks.
    Set,
}

impl When {
    /// The values it means, for docs/config.md.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Not(words) | Self::AnyNot(words) => {
                let words: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
                format!("anything but {}", words.join(", "))
            }
            Self::True => "`true`".to_owned(),
            Self::Set => "anything".to_owned(),
        }
    }
}

/// One rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub key: &'static str,
    /// The daemon that cares; `None` for both.
    pub daemon: Option<Daemon>,
    pub when: When,
    /// What to say.
    pub text: &'static str,
    /// Keys that only refine this one: not reported by themselves.
    pub details: &'static [&'static str],
}

impl Rule {
    /// The problem, if the rule applies.
    pub(crate) fn judge(&self, daemon: Daemon, conf: &Configuration) -> Option<Problem> {
        if self.daemon.is_some_and(|d| d != daemon) {
            return None;
        }
        let value = match conf.get_trimmed(self.key) {
            Ok(value) => value.unwrap_or_default(),
            Err(problem) => return Some(problem),
        };
        let one_of =
            |text: &str, words: &[&str]| words.iter().any(|w| w.eq_ignore_ascii_case(text));
        let applies = match self.when {
            When::Not(words) => !value.is_empty() && !one_of(&value, words),
            When::AnyNot(words) => value
                .split(',')
                .map(str::trim)
                .any(|part| !part.is_empty() && !one_of(part, words)),
            When::True => value.eq_ignore_ascii_case("true"),
            When::Set => !value.is_empty() && conf.is_set(self.key),
        };
        applies.then(|| conf.problem(self.key, self.text))
    }

    /// Whether `key` is this rule's or one of its details.
    pub(crate) fn covers(&self, key: &str) -> bool {
        key == self.key || self.details.iter().any(|prefix| key.starts_with(prefix))
    }
}

/// A rule for both daemons without details.
pub(crate) const fn both(key: &'static str, when: When, text: &'static str) -> Rule {
    Rule {
        key,
        daemon: None,
        when,
        text,
        details: &[],
    }
}

/// A rule of the ResourceManager.
pub(crate) const fn rm(key: &'static str, when: When, text: &'static str) -> Rule {
    Rule {
        daemon: Some(Daemon::ResourceManager),
        ..both(key, when, text)
    }
}

/// A rule of the NodeManager.
pub(crate) const fn nm(key: &'static str, when: When, text: &'static str) -> Rule {
    Rule {
        daemon: Some(Daemon::NodeManager),
        ..both(key, when, text)
    }
}
