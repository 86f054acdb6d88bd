//! Structured logs to standard error or to a file that is put aside by size or day.
//! May touch: the log file and its older versions.
//! Must not: know what is logged, or lose a line because a file cannot be put aside.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Mutex,
};

mod options;

pub use options::CommonOptions;

use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;

/// Older files that are kept, as Hadoop's `hadoop.log.maxbackupindex`.
const BACKUPS: u32 = 20;
/// Size at which a file is put aside, as Hadoop's `hadoop.log.maxfilesize`.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// When a log file is put aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Rotate {
    /// At 256 MiB, as NAME.1, NAME.2 and so on.
    Size,
    /// At midnight UTC; the name of a file ends with its day.
    Daily,
}

/// Starts logging. To be called once.
///
/// # Errors
/// A level that is none, or a file that cannot be made; the text names it.
pub fn start(file: Option<&Path>, level: &str, rotate: Rotate) -> Result<(), String> {
    let filter = filter(level).map_err(|e| {
        format!("--log-level {level}: {e}; want error, warn, info, debug, trace or target=level")
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        // On a full disk that would panic on a standard error that lies there too.
        .log_internal_errors(false);
    let started = match file {
        None => builder.with_writer(io::stderr).try_init(),
        Some(path) => {
            let writer =
                open(path, rotate).map_err(|e| format!("--log-file {}: {e}", path.display()))?;
            builder.with_writer(Mutex::new(writer)).try_init()
        }
    };
    started.map_err(|e| e.to_string())
}

/// What a stranger sends to a web port is no error of ours, which is what actix calls it; whoever
/// looks closer sees it.
fn filter(level: &str) -> Result<EnvFilter, tracing_subscriber::filter::ParseError> {
    let plain = ["error", "warn", "info"]
        .iter()
        .any(|l| l.eq_ignore_ascii_case(level.trim()));
    let strangers = if plain { ",actix_http=off" } else { "" };
    EnvFilter::try_new(format!("{}{strangers}", level.trim()))
}

fn open(path: &Path, rotate: Rotate) -> io::Result<Box<dyn Write + Send>> {
    Ok(match rotate {
        Rotate::Size => Box::new(BySize::open(path, FILE_BYTES_MAX, BACKUPS)?),
        Rotate::Daily => {
            let dir = path.parent().filter(|d| !d.as_os_str().is_empty());
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let appender = RollingFileAppender::builder()
                .rotation(Rotation::DAILY)
                .filename_prefix(name.to_string_lossy())
                .max_log_files(usize::try_from(BACKUPS).unwrap_or(20))
                .build(dir.unwrap_or(Path::new(".")))
                .map_err(io::Error::other)?;
            Box::new(appender)
        }
    })
}

/// A file that becomes `NAME.1` when it is full, `NAME.1` becomes `NAME.2`, and so on.
struct BySize {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
    backups: u32,
}

impl BySize {
    fn open(path: &Path, bytes_max: u64, backups: u32) -> io::Result<Self> {
        let file = append_to(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self {
            path: path.to_owned(),
            file,
            bytes,
            bytes_max,
            backups,
        })
    }

    fn numbered(&self, n: u32) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{n}"));
        name.into()
    }

    fn put_aside(&mut self) -> io::Result<()> {
        for n in (1..self.backups).rev() {
            match std::fs::rename(self.numbered(n), self.numbered(n + 1)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        std::fs::rename(&self.path, self.numbered(1))?;
        self.file = append_to(&self.path)?;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

impl Write for BySize {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.bytes >= self.bytes_max {
            // Where that fails the old file grows on, and the next try comes a file later.
            let _ = self.put_aside();
            self.bytes = 0;
        }
        let written = self.file.write(line)?;
        self.bytes = self
            .bytes
            .saturating_add(u64::try_from(written).unwrap_or(0));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
#[path = "lib_test.rs"]
mod tests;
