//! What is said of a case.
//! May touch: text.
//! Must not: print.

use std::fmt;

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Number and name of the step, and the key.
    pub step: String,
    /// What was expected.
    pub expected: String,
    /// What was there.
    pub got: String,
}

impl Failure {
    /// A difference at a step.
    pub fn new(
        step: impl Into<String>,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Self {
        Self {
            step: step.into(),
            expected: expected.into(),
            got: got.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |text: &str| text.replace('\n', " ");
        write!(
            f,
            "{}: expected {}, got {}",
            self.step,
            line(&self.expected),
            line(&self.got)
        )
    }
}
