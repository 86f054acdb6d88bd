//! What a user reads about a container's end; Hadoop's texts to the letter.
//! May touch: the values it is given.
//! Must not: read files or clocks.

use std::fmt::Write;

use super::{PRELAUNCH_ERR, stamp_utc};

/// Exit code of a process ended by SIGKILL.
pub const FORCE_KILLED: i32 = 137;
/// Exit code of a process ended by SIGTERM.
pub const TERMINATED: i32 = 143;

/// The end of a log file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// File name.
    pub name: String,
    /// Its last bytes, as text.
    pub text: String,
}

/// The log files that explain a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tails {
    /// `yarn.nodemanager.container.stderr.tail.bytes`, default 4096.
    pub bytes: u64,
    /// End of prelaunch.err, if it can be read.
    pub prelaunch: Option<Tail>,
    /// Names of all files that match `yarn.nodemanager.container.stderr.pattern`.
    pub stderr_names: Vec<String>,
    /// End of the one changed last.
    pub stderr: Option<Tail>,
}

/// One entry of a container's diagnostics: `[time]text` and a line end (`ContainerImpl`).
pub fn entry(wall_ms: i64, text: &str) -> String {
    format!("[{}]{text}\n", stamp_utc(wall_ms))
}

/// What the executor adds when the exit code is neither 0 nor that of a kill
/// (`DefaultContainerExecutor`). `message` is what the launch said before it redirected itself.
pub fn launch_exception(container_id: &str, code: i32, message: &str) -> String {
    let mut text = format!(
        "Exception from container-launch.\nContainer id: {container_id}\nExit code: {code}\n"
    );
    if !message.is_empty() {
        let _ = writeln!(text, "Exception message: {message}");
    }
    text
}

/// What the executor adds for exit codes 137 and 143.
pub fn killed_on_request(code: i32) -> String {
    format!("Container killed on request. Exit code is {code}")
}

/// Added after the exit text when nobody in YARN asked for the kill.
pub const KILLED_BY_EXTERNAL_SIGNAL: &str = "Killed by external signal";

/// Whether `code` is that of a killed process, whose logs are not looked at.
pub fn is_kill(code: i32) -> bool {
    code == FORCE_KILLED || code == TERMINATED
}

/// `ContainerLaunch.handleContainerExitCode`: the exit code and the ends of the error logs.
pub fn exited(code: i32, tails: &Tails) -> String {
    let mut text = format!("Container exited with a non-zero exit code {code}. ");
    if is_kill(code) {
        return text;
    }
    let bytes = tails.bytes;
    if let Some(tail) = &tails.prelaunch {
        let _ = writeln!(text, "Error file: {PRELAUNCH_ERR}.");
        let _ = write!(text, "Last {bytes} bytes of {} :\n{}", tail.name, tail.text);
    }
    if let Some(tail) = &tails.stderr {
        if tails.stderr_names.len() > 1 {
            let _ = writeln!(text, "Error files: {}.", tails.stderr_names.join(", "));
        }
        let _ = write!(
            text,
            "Last {bytes} bytes of {} :\n{}\n",
            tail.name, tail.text
        );
    }
    text
}

#[cfg(test)]
#[path = "diagnostics_test.rs"]
mod tests;
