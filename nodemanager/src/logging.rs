//! Structured logs to standard error or to a file that rolls.
//! May touch: the log file and its directory.
//! Must not: know what is logged.

use std::path::Path;

use tracing_appender::{
    non_blocking::WorkerGuard,
    rolling::{RollingFileAppender, Rotation},
};
use tracing_subscriber::EnvFilter;

/// How often a log file begins anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Rotate {
    /// Never: somebody else rolls it.
    Never,
    /// Every hour (UTC).
    Hourly,
    /// Every day (UTC).
    Daily,
}

/// Rolled files that are kept.
const FILES_MAX: usize = 14;

/// Starts logging; the guard writes what waits when it is dropped.
///
/// # Errors
/// A level that is none, or a file that cannot be made; the text names it.
pub fn start(
    file: Option<&Path>,
    level: &str,
    rotate: Rotate,
) -> Result<Option<WorkerGuard>, String> {
    let filter = EnvFilter::try_new(level).map_err(|e| {
        format!("--log-level {level}: {e}; want error, warn, info, debug, trace or target=level")
    })?;
    let Some(path) = file else {
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(false)
            .with_writer(std::io::stderr)
            .init();
        return Ok(None);
    };
    let name = path.file_name().and_then(|n| n.to_str());
    let name = name.ok_or_else(|| format!("--log-file {}: is not a file name", path.display()))?;
    let rotation = match rotate {
        Rotate::Never => Rotation::NEVER,
        Rotate::Hourly => Rotation::HOURLY,
        Rotate::Daily => Rotation::DAILY,
    };
    let mut builder = RollingFileAppender::builder()
        .rotation(rotation)
        .filename_prefix(name);
    if rotate != Rotate::Never {
        builder = builder.max_log_files(FILES_MAX);
    }
    let dir = path
        .parent()
        .filter(|d| !d.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let appender = builder
        .build(dir)
        .map_err(|e| format!("--log-file {}: {e}", path.display()))?;
    let (writer, guard) = tracing_appender::non_blocking(appender);
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(writer)
        .init();
    Ok(Some(guard))
}
