//! Reads typed values and keeps what is wrong with them.
//! May touch: the raw entries.
//! Must not: know what a key means.

use std::collections::BTreeMap;

use super::{ConfProblem, number};

/// The raw entries, with the problems and remarks found so far.
pub(super) struct Reader<'a> {
    pub conf: &'a BTreeMap<String, String>,
    /// What cannot be used.
    pub problems: Vec<ConfProblem>,
    /// What is ignored.
    pub remarks: Vec<ConfProblem>,
}

impl<'a> Reader<'a> {
    pub fn new(conf: &'a BTreeMap<String, String>) -> Self {
        Self {
            conf,
            problems: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The value as written.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.conf.get(key).map(String::as_str)
    }

    pub fn problem(&mut self, key: &str, reason: impl Into<String>) {
        let value = self.text(key).map(str::to_owned);
        self.problems.push(ConfProblem::new(key, value, reason));
    }

    pub fn remark(&mut self, key: &str, reason: impl Into<String>) {
        let value = self.text(key).map(str::to_owned);
        self.remarks.push(ConfProblem::new(key, value, reason));
    }

    /// `parse` of the value, or nothing; a value that cannot be parsed is a problem.
    pub fn parsed<T>(&mut self, key: &str, parse: fn(&str) -> Result<T, String>) -> Option<T> {
        match parse(self.text(key)?) {
            Ok(value) => Some(value),
            Err(reason) => {
                self.problem(key, reason);
                None
            }
        }
    }

    pub fn float(&mut self, key: &str, default: f32) -> f32 {
        self.parsed(key, number::float).unwrap_or(default)
    }

    pub fn int(&mut self, key: &str, default: i32) -> i32 {
        self.parsed(key, number::int).unwrap_or(default)
    }

    pub fn long(&mut self, key: &str, default: i64) -> i64 {
        self.parsed(key, number::long).unwrap_or(default)
    }

    /// A time that cannot be below 0.
    pub fn time(&mut self, key: &str, default: u64) -> u64 {
        let Some(value) = self.parsed(key, number::long) else {
            return default;
        };
        u64::try_from(value).unwrap_or_else(|_| {
            self.problem(key, "is below 0");
            default
        })
    }

    /// A switch, when it is one of the two words.
    pub fn switch(&mut self, key: &str) -> Option<bool> {
        let text = self.text(key)?;
        let value = number::boolean(text);
        if value.is_none() && !text.trim().is_empty() {
            self.remark(key, "is neither true nor false: the default is used");
        }
        value
    }

    pub fn boolean(&mut self, key: &str, default: bool) -> bool {
        self.switch(key).unwrap_or(default)
    }
}
