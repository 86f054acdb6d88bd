//! Directory work that a container's account cannot divert: every step from a trusted root goes
//! through a descriptor, and no link is followed.
//! May touch: files below the directories it is given.
//! Must not: resolve a path that an account could have changed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, fchmod, fstat, mkdirat};
use nix::unistd::{Gid, Uid, fchown, fchownat, symlinkat};
use thiserror::Error;

/// A file operation that failed, with the path.
#[derive(Debug, Error)]
#[error("{what} {path}: {source}")]
pub struct FsError {
    /// What was tried.
    pub what: &'static str,
    /// On which path.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Who owns what is created; `None` leaves the NodeManager's own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

/// An open directory, with the path it was reached by (for texts only).
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

const DIR_FLAGS: OFlag = OFlag::O_DIRECTORY
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC)
    .union(OFlag::O_RDONLY);

impl Dir {
    /// Opens a trusted root, such as a configured local directory; links in its path are followed.
    ///
    /// # Errors
    /// What the system answers.
    pub fn open(path: &Path) -> Result<Self, FsError> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_RDONLY;
        let fd = nix::fcntl::open(path, flags, Mode::empty())
            .map_err(|e| fail("open directory", path, e))?;
        Ok(Self {
            fd,
            path: path.to_owned(),
        })
    }

    /// Path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the child directory `name`, never through a link.
    ///
    /// # Errors
    /// What the system answers.
    pub fn child(&self, name: &OsStr) -> Result<Self, FsError> {
        let path = self.path.join(name);
        let fd = openat(&self.fd, name, DIR_FLAGS, Mode::empty())
            .map_err(|e| fail("open directory", &path, e))?;
        Ok(Self { fd, path })
    }

    /// Opens the directory at the relative path `rel`, never through a link.
    ///
    /// # Errors
    /// What the system answers, and `InvalidInput` for a path that is not plainly relative.
    pub fn descend(&self, rel: &Path) -> Result<Self, FsError> {
        let mut dir = Self {
            fd: self.fd.try_clone().map_err(|source| FsError {
                what: "duplicate descriptor of",
                path: self.path.clone(),
                source,
            })?,
            path: self.path.clone(),
        };
        for name in names(&self.path, rel)? {
            dir = dir.child(name)?;
        }
        Ok(dir)
    }

    /// Opens the child directory `name`, created with `mode` and `owner` if it is missing. One
    /// that exists must belong to `owner` or to the NodeManager.
    ///
    /// # Errors
    /// What the system answers; `PermissionDenied` when it belongs to somebody else.
    pub fn ensure(&self, name: &OsStr, mode: u32, owner: Option<Owner>) -> Result<Self, FsError> {
        let path = self.path.join(name);
        let created = match mkdirat(&self.fd, name, Mode::from_bits_truncate(0o700)) {
            Ok(()) => true,
            Err(Errno::EEXIST) => false,
            Err(e) => return Err(fail("create directory", &path, e)),
        };
        let dir = self.child(name)?;
        if created {
            // Mode first: after the owner change only root could still set it.
            fchmod(&dir.fd, Mode::from_bits_truncate(mode))
                .map_err(|e| fail("set the mode of", &path, e))?;
            give(dir.as_fd(), owner).map_err(|e| fail("set the owner of", &path, e))?;
            return Ok(dir);
        }
        let found = fstat(&dir.fd).map_err(|e| fail("stat", &path, e))?.st_uid;
        let allowed = owner.is_some_and(|o| o.uid == found) || found == Uid::effective().as_raw();
        if allowed {
            Ok(dir)
        } else {
            let source = io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("it belongs to uid {found}"),
            );
            Err(FsError {
                what: "use directory",
                path,
                source,
            })
        }
    }

    /// As [`Dir::ensure`], but an existing directory is an error.
    ///
    /// # Errors
    /// What the system answers.
    pub fn create(&self, name: &OsStr, mode: u32, owner: Option<Owner>) -> Result<Self, FsError> {
        let path = self.path.join(name);
        mkdirat(&self.fd, name, Mode::from_bits_truncate(0o700))
            .map_err(|e| fail("create directory", &path, e))?;
        let dir = self.child(name)?;
        fchmod(&dir.fd, Mode::from_bits_truncate(mode))
            .map_err(|e| fail("set the mode of", &path, e))?;
        give(dir.as_fd(), owner).map_err(|e| fail("set the owner of", &path, e))?;
        Ok(dir)
    }

    /// Writes the new file `name`; an existing one, or a link, is an error.
    ///
    /// # Errors
    /// What the system answers.
    pub fn write_new(
        &self,
        name: &str,
        mode: u32,
        owner: Option<Owner>,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let path = self.path.join(name);
        let flags =
            OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::from_bits_truncate(0o600))
            .map_err(|e| fail("create file", &path, e))?;
        let mut file = File::from(fd);
        file.write_all(bytes).map_err(|source| FsError {
            what: "write",
            path: path.clone(),
            source,
        })?;
        fchmod(&file, Mode::from_bits_truncate(mode))
            .map_err(|e| fail("set the mode of", &path, e))?;
        give(file.as_fd(), owner).map_err(|e| fail("set the owner of", &path, e))
    }

    /// Links `name` to `target`, replacing a file or link of that name (`ln -sf`).
    ///
    /// # Errors
    /// What the system answers.
    pub fn link(&self, target: &Path, name: &OsStr, owner: Option<Owner>) -> Result<(), FsError> {
        let path = self.path.join(name);
        let made = match symlinkat(target, &self.fd, name) {
            Err(Errno::EEXIST) => {
                nix::unistd::unlinkat(&self.fd, name, nix::unistd::UnlinkatFlags::NoRemoveDir)
                    .map_err(|e| fail("replace", &path, e))?;
                symlinkat(target, &self.fd, name)
            }
            other => other,
        };
        made.map_err(|e| fail("create link", &path, e))?;
        let Some(o) = owner else { return Ok(()) };
        let (uid, gid) = (Some(Uid::from_raw(o.uid)), Some(Gid::from_raw(o.gid)));
        fchownat(&self.fd, name, uid, gid, AtFlags::AT_SYMLINK_NOFOLLOW)
            .map_err(|e| fail("set the owner of", &path, e))
    }

    /// Opens the regular file `name` for reading; a link, a device or a pipe is an error.
    ///
    /// # Errors
    /// What the system answers.
    pub fn open_file(&self, name: &str) -> Result<File, FsError> {
        let path = self.path.join(name);
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        let fd =
            openat(&self.fd, name, flags, Mode::empty()).map_err(|e| fail("open", &path, e))?;
        let file = File::from(fd);
        let meta = file.metadata().map_err(|source| FsError {
            what: "stat",
            path: path.clone(),
            source,
        })?;
        if meta.is_file() {
            return Ok(file);
        }
        let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        Err(FsError {
            what: "open",
            path,
            source,
        })
    }

    /// Path of this very directory through `/proc/self/fd`, whatever its name became.
    pub fn fd_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
    }

    /// Its descriptor.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Removes `root`/`rel` and all below it, following no link on the way or inside. A missing
/// path is success.
///
/// # Errors
/// What the system answers, with the path.
pub fn remove_tree(root: &Path, rel: &Path) -> Result<(), FsError> {
    let gone = |e: &FsError| e.source.kind() == io::ErrorKind::NotFound;
    let Some(name) = rel.file_name() else {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "not a path below it");
        return Err(FsError {
            what: "remove",
            path: root.join(rel),
            source,
        });
    };
    let parent =
        match Dir::open(root).and_then(|d| d.descend(rel.parent().unwrap_or(Path::new("")))) {
            Ok(parent) => parent,
            Err(e) if gone(&e) => return Ok(()),
            Err(e) => return Err(e),
        };
    let path = parent.fd_path().join(name);
    let is_dir = match std::fs::symlink_metadata(&path) {
        Ok(meta) => meta.is_dir(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(FsError {
                what: "stat",
                path: root.join(rel),
                source,
            });
        }
    };
    let result = if is_dir {
        std::fs::remove_dir_all(&path).or_else(|e| {
            if e.kind() != io::ErrorKind::PermissionDenied {
                return Err(e);
            }
            // An unprivileged NodeManager meets directories that their owner, itself, closed.
            open_closed_directories(&parent, name);
            std::fs::remove_dir_all(&path)
        })
    } else {
        std::fs::remove_file(&path)
    };
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(FsError {
            what: "remove",
            path: root.join(rel),
            source,
        }),
        Ok(()) => Ok(()),
    }
}

/// Gives the owner all rights on every directory of the tree, as far as that is allowed.
fn open_closed_directories(parent: &Dir, name: &OsStr) {
    let path = parent.fd_path().join(name);
    let _ = std::fs::set_permissions(
        &path,
        <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700),
    );
    let Ok(dir) = parent.child(name) else { return };
    let Ok(entries) = std::fs::read_dir(dir.fd_path()) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            open_closed_directories(&dir, &entry.file_name());
        }
    }
}

/// Changes the owner of a whole tree, links themselves included, following none.
///
/// # Errors
/// The first failure, with the path.
pub fn give_tree(parent: &Dir, name: &OsStr, owner: Owner) -> Result<(), FsError> {
    let path = parent.path.join(name);
    let (uid, gid) = (
        Some(Uid::from_raw(owner.uid)),
        Some(Gid::from_raw(owner.gid)),
    );
    fchownat(parent.as_fd(), name, uid, gid, AtFlags::AT_SYMLINK_NOFOLLOW)
        .map_err(|e| fail("set the owner of", &path, e))?;
    let Ok(dir) = parent.child(name) else {
        return Ok(());
    };
    let entries = std::fs::read_dir(dir.fd_path()).map_err(|source| FsError {
        what: "list",
        path: path.clone(),
        source,
    })?;
    for entry in entries {
        let entry = entry.map_err(|source| FsError {
            what: "list",
            path: path.clone(),
            source,
        })?;
        give_tree(&dir, &entry.file_name(), owner)?;
    }
    Ok(())
}

fn give(fd: BorrowedFd<'_>, owner: Option<Owner>) -> Result<(), Errno> {
    let Some(o) = owner else { return Ok(()) };
    fchown(fd, Some(Uid::from_raw(o.uid)), Some(Gid::from_raw(o.gid)))
}

fn fail(what: &'static str, path: &Path, errno: Errno) -> FsError {
    FsError {
        what,
        path: path.to_owned(),
        source: errno.into(),
    }
}

/// The components of a relative path; anything but plain names is refused.
fn names<'a>(base: &Path, rel: &'a Path) -> Result<Vec<&'a OsStr>, FsError> {
    let mut names = Vec::new();
    for component in rel.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => {
                let source = io::Error::new(io::ErrorKind::InvalidInput, "not a path below it");
                return Err(FsError {
                    what: "descend to",
                    path: base.join(rel),
                    source,
                });
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
#[path = "safe_fs_test.rs"]
mod tests;
