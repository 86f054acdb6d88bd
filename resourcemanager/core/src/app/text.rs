//! Texts that users and scripts read about applications, in Hadoop's words.
//! May touch: plain values.
//! Must not: decide anything.

use yarn_types::ApplicationId;

use crate::reject::{Reject, RejectKind};

/// An application that is not there, or no more (`ClientRMService.verifyUserAccessForRMApp`).
pub(super) fn absent(app: ApplicationId) -> Reject {
    let text = format!(
        "Application with id '{app}' doesn't exist in RM. Please check that the job submission was successful."
    );
    Reject::new(RejectKind::ApplicationNotFound, text)
}

/// `RMAppImpl.getAppAttemptFailedDiagnostics`.
pub(super) struct FailedText<'a> {
    pub app: ApplicationId,
    pub unmanaged: bool,
    /// The number of failures that count has reached the maximum.
    pub beyond: bool,
    pub max_attempts: u32,
    pub global_max_attempts: u32,
    pub validity_ms: Option<u64>,
    pub attempt: &'a str,
}

impl FailedText<'_> {
    pub(super) fn write(&self) -> String {
        let Self {
            app,
            max_attempts,
            attempt,
            ..
        } = self;
        if self.unmanaged {
            return format!(
                "Unmanaged application {app} failed due to {attempt}. Failing the application."
            );
        }
        if !self.beyond {
            return String::new();
        }
        let window = match self.validity_ms {
            Some(ms) if ms > 0 => format!(" in previous {ms} milliseconds"),
            _ => String::new(),
        };
        let limits = if self.global_max_attempts == *max_attempts {
            String::new()
        } else {
            format!(
                " (global limit ={}; local limit is ={max_attempts})",
                self.global_max_attempts
            )
        };
        format!(
            "Application {app} failed {max_attempts} times{window}{limits} due to {attempt}. \
             Failing the application."
        )
    }
}

/// `ClientRMService.forceKillApplication`.
pub(super) fn killed(app: ApplicationId, user: &str, peer: &str, words: &str) -> String {
    let mut text = format!("Application {app} was killed by user {user}");
    if !peer.is_empty() {
        text.push_str(" at ");
        text.push_str(peer);
    }
    let words = words.trim();
    if !words.is_empty() {
        text.push_str(" with diagnostic message: ");
        text.push_str(words);
    }
    text
}

#[cfg(test)]
#[path = "text_test.rs"]
mod tests;
