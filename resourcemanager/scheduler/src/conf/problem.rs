//! Settings that cannot be used, and settings that change nothing.
//! May touch: text.
//! Must not: know files and lines (the shell adds them).

use std::fmt;

/// A setting that cannot be used, or (as a remark) one that is ignored; the shell adds file and line.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct ConfProblem {
    /// The key.
    pub key: String,
    /// Its value, when it has one.
    pub value: Option<String>,
    /// Why, and what would be right; Hadoop's text where Hadoop has one.
    pub reason: String,
}

impl ConfProblem {
    /// A problem of `key`.
    pub fn new(key: impl Into<String>, value: Option<String>, reason: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for ConfProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}: {}", self.key, self.reason),
            None => write!(f, "{}: {}", self.key, self.reason),
        }
    }
}
