//! The seam to file systems that hold resources; `file` is built.
//! May touch: source files, read only.
//! Must not: write.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Seek};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::FetchError;

/// A source that can be read and, for archives with a directory at their end, sought in.
pub trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

/// What is known of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStatus {
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Bytes, for files.
    pub len: u64,
    /// Modification time in ms after 1970.
    pub modified_ms: i64,
    /// Permission bits.
    pub mode: u32,
}

/// A file system that resources come from.
pub trait FileSystem {
    /// Status of `path`.
    ///
    /// # Errors
    /// [`FetchError::Missing`], [`FetchError::Denied`], [`FetchError::Io`].
    fn status(&self, path: &str) -> Result<FileStatus, FetchError>;

    /// Opens the file at `path`, with the status of what was opened.
    ///
    /// # Errors
    /// As [`FileSystem::status`].
    fn open(&self, path: &str) -> Result<(FileStatus, Box<dyn Source>), FetchError>;

    /// Names in the directory at `path`, in order.
    ///
    /// # Errors
    /// As [`FileSystem::status`].
    fn list(&self, path: &str) -> Result<Vec<String>, FetchError>;
}

/// The file system of a scheme.
///
/// # Errors
/// [`FetchError::Scheme`] for all but `file` and the empty default.
pub fn for_scheme(scheme: &str) -> Result<Box<dyn FileSystem>, FetchError> {
    match scheme {
        "" | "file" => Ok(Box::new(LocalFiles)),
        other => Err(FetchError::Scheme(other.to_owned())),
    }
}

/// Files of this machine.
#[derive(Debug, Clone, Copy)]
pub struct LocalFiles;

impl FileSystem for LocalFiles {
    fn status(&self, path: &str) -> Result<FileStatus, FetchError> {
        std::fs::metadata(path)
            .map(|m| status_of(&m))
            .map_err(|e| explain(path, e))
    }

    fn open(&self, path: &str) -> Result<(FileStatus, Box<dyn Source>), FetchError> {
        // A named pipe must not hold the localiser up; regular files do not mind the flag.
        let file = File::options()
            .read(true)
            .custom_flags(nix::libc::O_NONBLOCK)
            .open(path)
            .map_err(|e| explain(path, e))?;
        let meta = file.metadata().map_err(|e| explain(path, e))?;
        if !meta.is_file() && !meta.is_dir() {
            let source = std::io::Error::new(ErrorKind::InvalidInput, "not a file or directory");
            return Err(FetchError::Io {
                path: path.into(),
                source,
            });
        }
        Ok((status_of(&meta), Box::new(file)))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, FetchError> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path).map_err(|e| explain(path, e))? {
            let name = entry.map_err(|e| explain(path, e))?.file_name();
            names.push(name.into_string().map_err(|name| {
                let text = format!("the name {} is not UTF-8", Path::new(&name).display());
                let source = std::io::Error::new(ErrorKind::InvalidData, text);
                FetchError::Io {
                    path: path.into(),
                    source,
                }
            })?);
        }
        names.sort();
        Ok(names)
    }
}

fn status_of(meta: &Metadata) -> FileStatus {
    FileStatus {
        is_dir: meta.is_dir(),
        len: meta.len(),
        modified_ms: meta
            .mtime()
            .saturating_mul(1000)
            .saturating_add(meta.mtime_nsec() / 1_000_000),
        mode: meta.permissions().mode(),
    }
}

fn explain(path: &str, e: std::io::Error) -> FetchError {
    let url = format!("file:{path}");
    match e.kind() {
        ErrorKind::NotFound => FetchError::Missing(url),
        ErrorKind::PermissionDenied => FetchError::Denied {
            url,
            account: own_account(),
        },
        _ => FetchError::Io {
            path: path.into(),
            source: e,
        },
    }
}

/// Name of the account this process runs as, the number where it has none.
fn own_account() -> String {
    let uid = nix::unistd::Uid::effective();
    nix::unistd::User::from_uid(uid)
        .ok()
        .flatten()
        .map_or_else(|| uid.to_string(), |u| u.name)
}
