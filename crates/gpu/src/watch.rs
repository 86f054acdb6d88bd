//! Reads a probe again and again on a thread of its own, with a time limit for each reading.
//! May touch: threads, the clock.
//! Must not: block whoever waits for readings, or pile up threads behind a hung library.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::Duration,
};

use crate::{Probe, ProbeError, Reading};

/// How often and how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchOptions {
    /// Between two readings.
    pub interval: Duration,
    /// For one reading (`yarn.nodemanager.resource-plugins.gpu.discovery-timeout`).
    pub limit: Duration,
    /// Longest wait after failures; the wait doubles from `interval` up to this.
    pub backoff_max: Duration,
}

/// Starts watching; `tell` gets each reading or error and returns false to stop.
///
/// After a timeout the next reading waits for the hung one to come back: a library that never
/// answers holds one thread, not one per attempt.
///
/// # Errors
/// The thread cannot be started.
pub fn watch(
    probe: Box<dyn Probe>,
    options: WatchOptions,
    mut tell: impl FnMut(Result<Reading, ProbeError>) -> bool + Send + 'static,
) -> std::io::Result<()> {
    let (ask, answers) = reader(probe)?;
    let run = move || {
        let mut wait = options.interval;
        let mut asked = false;
        loop {
            let result = one(&ask, &answers, options.limit, &mut asked);
            let failed = result.is_err();
            if !tell(result) {
                return;
            }
            wait = if failed {
                (wait * 2).min(options.backoff_max)
            } else {
                options.interval
            };
            thread::park_timeout(wait);
        }
    };
    thread::Builder::new()
        .name("gpu-watch".to_owned())
        .spawn(run)?;
    Ok(())
}

type Answers = Receiver<Result<Reading, ProbeError>>;

/// The thread that alone calls the probe.
fn reader(mut probe: Box<dyn Probe>) -> std::io::Result<(SyncSender<()>, Answers)> {
    let (ask, asked) = sync_channel::<()>(1);
    let (answer, answers) = sync_channel(1);
    let run = move || {
        while asked.recv().is_ok() {
            if answer.send(probe.read()).is_err() {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("gpu-probe".to_owned())
        .spawn(run)?;
    Ok((ask, answers))
}

fn one(
    ask: &SyncSender<()>,
    answers: &Answers,
    limit: Duration,
    asked: &mut bool,
) -> Result<Reading, ProbeError> {
    let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let gone = || ProbeError::Unusable {
        library: "probe".to_owned(),
        reason: "its thread ended".to_owned(),
    };
    if !*asked {
        ask.send(()).map_err(|_| gone())?;
        *asked = true;
    }
    match answers.recv_timeout(limit) {
        Ok(result) => {
            *asked = false;
            result
        }
        Err(RecvTimeoutError::Timeout) => Err(ProbeError::Timeout { limit_ms }),
        Err(RecvTimeoutError::Disconnected) => Err(gone()),
    }
}

#[cfg(test)]
#[path = "watch_test.rs"]
mod tests;
