//! One fetch: checks, copy or unpack beside the destination, permissions, rename.
//! May touch: the source (read only) and the destination.
//! Must not: leave a half-made destination.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::FetchError;
use crate::filesystem::{FileStatus, FileSystem, for_scheme};
use crate::protocol::{Fetched, Kind, Limits, Request};
use crate::unpack;
use nm_core::launch::iso8601_utc;

/// Deepest directory resource copied.
const DEPTH_MAX: u32 = 64;

/// Counts what is written against the caps.
#[derive(Debug)]
pub struct Budget<'a> {
    url: &'a str,
    limits: Limits,
    bytes: u64,
    entries: u64,
}

impl<'a> Budget<'a> {
    /// An unused budget for the resource `url`.
    pub fn new(url: &'a str, limits: Limits) -> Self {
        Self {
            url,
            limits,
            bytes: 0,
            entries: 0,
        }
    }

    /// The resource's URL.
    pub fn url(&self) -> &'a str {
        self.url
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts one file, directory or link.
    ///
    /// # Errors
    /// [`FetchError::TooLarge`].
    pub fn entry(&mut self) -> Result<(), FetchError> {
        self.entries += 1;
        if self.entries > self.limits.entries_max {
            let (url, limit) = (self.url.to_owned(), self.limits.entries_max);
            return Err(FetchError::TooLarge {
                url,
                limit,
                what: "entries",
            });
        }
        Ok(())
    }

    /// Copies `from` into the new file `to`. What is really written counts, not what a header
    /// claims.
    ///
    /// # Errors
    /// [`FetchError::TooLarge`], [`FetchError::Io`].
    pub fn copy(&mut self, from: &mut dyn Read, to: &Path) -> Result<(), FetchError> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(to)
            .map_err(FetchError::io(to))?;
        let left = self.limits.bytes_max.saturating_sub(self.bytes);
        let copied = std::io::copy(&mut from.take(left.saturating_add(1)), &mut file)
            .and_then(|n| file.flush().map(|()| n))
            .map_err(FetchError::io(to))?;
        self.bytes = self.bytes.saturating_add(copied);
        if copied > left {
            let (url, limit) = (self.url.to_owned(), self.limits.bytes_max);
            return Err(FetchError::TooLarge {
                url,
                limit,
                what: "bytes",
            });
        }
        Ok(())
    }
}

/// Fetches one resource. Nothing is left at or beside `dest` on failure.
///
/// # Errors
/// Any [`FetchError`].
pub fn fetch(request: &Request) -> Result<Fetched, FetchError> {
    let aside = aside_of(&request.dest);
    remove(&aside)?; // what a killed localiser left
    let result = fetch_aside(request, &aside);
    if result.is_err() {
        let _ = remove(&aside);
    }
    result
}

/// `<dest>_tmp`, as stock names it.
fn aside_of(dest: &Path) -> PathBuf {
    let mut aside = dest.as_os_str().to_owned();
    aside.push("_tmp");
    PathBuf::from(aside)
}

fn fetch_aside(request: &Request, aside: &Path) -> Result<Fetched, FetchError> {
    let fs = for_scheme(&request.scheme)?;
    let status = fs.status(&request.path)?;
    check(request, status)?;
    if request.public && !is_public(fs.as_ref(), &request.path, status)? {
        return Err(FetchError::NotPublic(request.url.clone()));
    }
    let name = Path::new(&request.path)
        .file_name()
        .and_then(|n| n.to_str())
        .ok_or_else(|| FetchError::Missing(request.url.clone()))?;
    DirBuilder::new()
        .mode(0o755)
        .create(aside)
        .map_err(FetchError::io(aside))?;
    let target = aside.join(name);
    let mut budget = Budget::new(&request.url, request.limits);
    let mut warning = None;
    if status.is_dir {
        copy_dir(fs.as_ref(), &request.path, &target, &mut budget, 0)?;
    } else {
        let (opened, mut source) = fs.open(&request.path)?;
        check(request, opened)?; // of what is really read
        match request.kind {
            Kind::File => {
                budget.entry()?;
                budget.copy(&mut source, &target)?;
            }
            Kind::Archive | Kind::Pattern => {
                warning = unpack::unpack(request, name, source.as_mut(), &target, &mut budget)?;
            }
        }
    }
    set_permissions(&target, request.public)?;
    // The directory itself is entered by whoever may enter its parents, as in stock.
    fs::set_permissions(aside, Permissions::from_mode(0o755)).map_err(FetchError::io(aside))?;
    remove(&request.dest)?;
    fs::rename(aside, &request.dest).map_err(FetchError::io(&request.dest))?;
    Ok(Fetched {
        name: name.to_owned(),
        size: budget.bytes(),
        warning,
    })
}

/// Timestamp and size against what the client saw.
fn check(request: &Request, status: FileStatus) -> Result<(), FetchError> {
    if status.modified_ms != request.timestamp_ms {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis();
        return Err(FetchError::Changed {
            url: request.url.clone(),
            expected: iso8601_utc(request.timestamp_ms),
            was: iso8601_utc(status.modified_ms),
            now: iso8601_utc(i64::try_from(now).unwrap_or(i64::MAX)),
        });
    }
    let was = status.len;
    if !status.is_dir && u64::try_from(request.size).is_ok_and(|expected| expected != was) {
        let (url, expected) = (request.url.clone(), request.size);
        return Err(FetchError::Resized { url, expected, was });
    }
    Ok(())
}

/// Whether everybody can read it: the file or the whole directory, and every directory above
/// (`FSDownload.isPublic`).
fn is_public(fs: &dyn FileSystem, path: &str, status: FileStatus) -> Result<bool, FetchError> {
    if !readable_by_all(fs, path, status, 0)? {
        return Ok(false);
    }
    let mut above = Path::new(path).parent();
    while let Some(dir) = above {
        let dir_text = dir.to_string_lossy();
        if !dir_text.is_empty() && fs.status(&dir_text)?.mode & 0o001 == 0 {
            return Ok(false);
        }
        above = dir.parent();
    }
    Ok(true)
}

fn readable_by_all(
    fs: &dyn FileSystem,
    path: &str,
    status: FileStatus,
    depth: u32,
) -> Result<bool, FetchError> {
    if !status.is_dir {
        return Ok(status.mode & 0o004 != 0);
    }
    if status.mode & 0o005 != 0o005 || depth > DEPTH_MAX {
        return Ok(false);
    }
    for name in fs.list(path)? {
        let child = format!("{path}/{name}");
        if !readable_by_all(fs, &child, fs.status(&child)?, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn copy_dir(
    fs: &dyn FileSystem,
    from: &str,
    to: &Path,
    budget: &mut Budget<'_>,
    depth: u32,
) -> Result<(), FetchError> {
    if depth > DEPTH_MAX {
        let (url, limit) = (budget.url().to_owned(), u64::from(DEPTH_MAX));
        return Err(FetchError::TooLarge {
            url,
            limit,
            what: "levels of directories",
        });
    }
    budget.entry()?;
    DirBuilder::new()
        .mode(0o700)
        .create(to)
        .map_err(FetchError::io(to))?;
    for name in fs.list(from)? {
        let (source, target) = (format!("{from}/{name}"), to.join(&name));
        if fs.status(&source)?.is_dir {
            copy_dir(fs, &source, &target, budget, depth + 1)?;
        } else {
            budget.entry()?;
            budget.copy(&mut fs.open(&source)?.1, &target)?;
        }
    }
    Ok(())
}

/// 0755 and 0555 for PUBLIC, 0700 and 0500 for the rest; links are left alone.
fn set_permissions(path: &Path, public: bool) -> Result<(), FetchError> {
    let meta = fs::symlink_metadata(path).map_err(FetchError::io(path))?;
    if meta.is_symlink() {
        return Ok(());
    }
    if meta.is_dir() {
        for entry in fs::read_dir(path).map_err(FetchError::io(path))? {
            set_permissions(&entry.map_err(FetchError::io(path))?.path(), public)?;
        }
    }
    let mode = match (meta.is_dir(), public) {
        (true, true) => 0o755,
        (true, false) => 0o700,
        (false, true) => 0o555,
        (false, false) => 0o500,
    };
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(FetchError::io(path))
}

/// Removes a tree if it is there.
fn remove(path: &Path) -> Result<(), FetchError> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(FetchError::Io {
            path: path.to_owned(),
            source: e,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "fetch_test.rs"]
mod tests;
