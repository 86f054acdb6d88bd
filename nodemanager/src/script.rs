//! Runs a program of the administrator and reads what it says.
//! May touch: its process.
//! Must not: judge what it says.

use std::{io, os::unix::process::ExitStatusExt, path::Path, process::Stdio, time::Duration};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{io::AsyncReadExt, process::Command};

/// Most of a script's output that is read.
const OUTPUT_BYTES_MAX: u64 = 64 * 1024;

/// How a run went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ran {
    /// It said this and ended well.
    Said(String),
    /// It ended badly.
    Failed {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// It took too long and was killed, with all that it had started.
    TimedOut,
}

/// One run of at most `timeout_ms`.
///
/// # Errors
/// It cannot be started or read.
pub async fn run(path: &Path, opts: &[String], timeout_ms: u64) -> io::Result<Ran> {
    let mut child = Command::new(path)
        .args(opts)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let group = child.id().and_then(|pid| i32::try_from(pid).ok());
    let output = child.stdout.take();
    let read = async {
        let mut kept = Vec::new();
        if let Some(mut output) = output {
            (&mut output)
                .take(OUTPUT_BYTES_MAX)
                .read_to_end(&mut kept)
                .await?;
            tokio::io::copy(&mut output, &mut tokio::io::sink()).await?;
        }
        Ok::<_, io::Error>((kept, child.wait().await?))
    };
    let done = tokio::time::timeout(Duration::from_millis(timeout_ms), read).await;
    let Ok(done) = done else {
        if let Some(group) = group {
            // Also what the script has started.
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        return Ok(Ran::TimedOut);
    };
    let (kept, status) = done?;
    Ok(if status.success() {
        Ran::Said(String::from_utf8_lossy(&kept).into_owned())
    } else {
        Ran::Failed {
            code: status.code(),
            signal: status.signal(),
        }
    })
}
