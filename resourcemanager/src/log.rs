//! Log output: level, file and rotation by size or day.
//! May touch: the log file and its older versions.
//! Must not: be used before options are read, or lose a line silently.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Mutex,
};

use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::{EnvFilter, fmt};

use crate::boot::StartError;

/// Older files that are kept, as Hadoop's `hadoop.log.maxbackupindex`.
const BACKUPS: u32 = 20;
/// Size at which a file is rotated, as Hadoop's `hadoop.log.maxfilesize`.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// When a log file is put aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rotate {
    /// At 256 MiB.
    Size,
    /// At midnight UTC; the file's name ends with the day.
    Daily,
}

/// Sets the process's log output. To be called once.
///
/// # Errors
/// A level that is none, a file that cannot be written.
pub fn start(level: &str, file: Option<&Path>, rotate: Rotate) -> Result<(), StartError> {
    let filter = EnvFilter::try_new(level).map_err(|e| StartError::Option {
        option: "--log-level",
        value: level.to_owned(),
        reason: e.to_string(),
    })?;
    let builder = fmt().with_env_filter(filter).with_ansi(false);
    let Some(file) = file else {
        return finish(builder.with_writer(io::stderr).try_init());
    };
    let failed = |source| StartError::Log {
        path: file.to_owned(),
        source,
    };
    let writer: Box<dyn Write + Send> = match rotate {
        Rotate::Size => {
            let by_size = BySize::open(file, FILE_BYTES_MAX, BACKUPS).map_err(failed)?;
            Box::new(by_size)
        }
        Rotate::Daily => Box::new(daily(file).map_err(failed)?),
    };
    finish(builder.with_writer(Mutex::new(writer)).try_init())
}

fn finish<E: std::fmt::Display>(started: Result<(), E>) -> Result<(), StartError> {
    started.map_err(|e| StartError::Option {
        option: "--log-file",
        value: String::new(),
        reason: e.to_string(),
    })
}

fn daily(file: &Path) -> io::Result<RollingFileAppender> {
    let dir = file.parent().filter(|d| !d.as_os_str().is_empty());
    let name = file.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix(name.to_string_lossy())
        .max_log_files(usize::try_from(BACKUPS).unwrap_or(20))
        .build(dir.unwrap_or(Path::new(".")))
        .map_err(io::Error::other)
}

/// A file that becomes `NAME.1` when it is full, `NAME.1` becomes `NAME.2`, and so on.
struct BySize {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
    backups: u32,
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

impl BySize {
    fn open(path: &Path, bytes_max: u64, backups: u32) -> io::Result<Self> {
        let file = open(path)?;
        Ok(Self {
            path: path.to_owned(),
            bytes: file.metadata()?.len(),
            file,
            bytes_max,
            backups,
        })
    }

    fn numbered(&self, n: u32) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{n}"));
        name.into()
    }

    fn rotate(&mut self) -> io::Result<()> {
        for n in (1..self.backups).rev() {
            match std::fs::rename(self.numbered(n), self.numbered(n + 1)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        std::fs::rename(&self.path, self.numbered(1))?;
        self.file = open(&self.path)?;
        self.bytes = 0;
        Ok(())
    }
}

impl Write for BySize {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // A failed rotation must not lose the line: the old file grows on.
        if self.bytes >= self.bytes_max && self.rotate().is_err() {
            self.bytes = 0;
        }
        let written = self.file.write(line)?;
        self.bytes += u64::try_from(written).unwrap_or(0);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
#[path = "log_test.rs"]
mod tests;
