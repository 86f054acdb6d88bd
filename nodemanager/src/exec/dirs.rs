//! The layout of local and log directories, with stock's names, modes and owners.
//! May touch: the configured directories.
//! Must not: choose between disks (`disks` does) or delete anything.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::account::Account;
use super::safe_fs::{Dir, FsError, Owner};

/// Directory of users' files below a local directory.
pub const USERCACHE: &str = "usercache";
/// Directory of an owner's applications.
pub const APPCACHE: &str = "appcache";
/// Directory of cached resources.
pub const FILECACHE: &str = "filecache";
/// Directory only the NodeManager can enter.
pub const NM_PRIVATE: &str = "nmPrivate";

const OPEN_DIR: u32 = 0o755;
const PRIVATE_DIR: u32 = 0o700;
/// `DefaultContainerExecutor.USER_PERM`.
const USER_DIR: u32 = 0o750;
/// `APPCACHE_PERM`, `FILECACHE_PERM`, `APPDIR_PERM` and `LOGDIR_PERM`.
const APP_DIR: u32 = 0o710;

/// `usercache/<user>`, relative to a local directory.
pub fn user_dir(user: &str) -> PathBuf {
    Path::new(USERCACHE).join(user)
}

/// `usercache/<user>/appcache/<app>`, relative to a local directory.
pub fn app_dir(user: &str, app_id: &str) -> PathBuf {
    user_dir(user).join(APPCACHE).join(app_id)
}

/// `nmPrivate/<app>/<container>`, relative to a local directory.
pub fn private_dir(app_id: &str, container_id: &str) -> PathBuf {
    Path::new(NM_PRIVATE).join(app_id).join(container_id)
}

/// Where files of one container lie. All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerPaths {
    /// Local directory (disk) its working directory is on.
    pub local_dir: PathBuf,
    /// Log directory (disk) its logs go to.
    pub log_root: PathBuf,
    /// All usable local directories, the chosen one among them.
    pub local_dirs: Vec<PathBuf>,
    /// All usable log directories, the chosen one among them.
    pub log_roots: Vec<PathBuf>,
    /// Submitter.
    pub user: String,
    /// `application_…`.
    pub app_id: String,
    /// `container_…`.
    pub container_id: String,
}

impl ContainerPaths {
    /// Working directory.
    pub fn work_dir(&self) -> PathBuf {
        self.local_dir
            .join(app_dir(&self.user, &self.app_id))
            .join(&self.container_id)
    }

    /// Log directory.
    pub fn log_dir(&self) -> PathBuf {
        self.log_root.join(&self.app_id).join(&self.container_id)
    }

    /// The NodeManager's own directory for it.
    pub fn private_dir(&self) -> PathBuf {
        self.local_dir
            .join(private_dir(&self.app_id, &self.container_id))
    }

    /// `<private>/<container>.pid`.
    pub fn pid_file(&self) -> PathBuf {
        self.private_dir()
            .join(format!("{}.pid", self.container_id))
    }

    /// `<private>/<container>.pid.exitcode`.
    pub fn exit_code_file(&self) -> PathBuf {
        self.private_dir()
            .join(format!("{}.pid.exitcode", self.container_id))
    }

    /// `LOCAL_DIRS`.
    pub fn app_dirs(&self) -> Vec<PathBuf> {
        let rel = app_dir(&self.user, &self.app_id);
        self.local_dirs.iter().map(|d| d.join(&rel)).collect()
    }

    /// `LOG_DIRS`.
    pub fn log_dirs(&self) -> Vec<PathBuf> {
        let rel = Path::new(&self.app_id).join(&self.container_id);
        self.log_roots.iter().map(|d| d.join(&rel)).collect()
    }
}

/// Owner of files made for `account`: nothing to change where the NodeManager is that account.
pub fn owner_of(account: &Account) -> Option<Owner> {
    account.switch.then_some(Owner {
        uid: account.uid,
        gid: account.gid,
    })
}

/// Creates the fixed directories of one local directory.
///
/// # Errors
/// The first failure, with the path.
pub fn init_local_dir(local_dir: &Path) -> Result<(), FsError> {
    create_root(local_dir)?;
    let root = Dir::open(local_dir)?;
    root.ensure(OsStr::new(USERCACHE), OPEN_DIR, None)?;
    root.ensure(OsStr::new(FILECACHE), OPEN_DIR, None)?;
    root.ensure(OsStr::new(NM_PRIVATE), PRIVATE_DIR, None)?;
    Ok(())
}

fn create_root(path: &Path) -> Result<(), FsError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(OPEN_DIR)
        .create(path)
        .map_err(|source| FsError {
            what: "create directory",
            path: path.to_owned(),
            source,
        })
}

/// Creates an application's directories on one local directory: the user's, its caches, the
/// application's and its cache.
///
/// # Errors
/// The first failure, with the path.
pub fn create_app_dirs(
    local_dir: &Path,
    user: &str,
    app_id: &str,
    account: &Account,
) -> Result<(), FsError> {
    let owner = owner_of(account);
    let users = Dir::open(local_dir)?.ensure(OsStr::new(USERCACHE), OPEN_DIR, None)?;
    let user = users.ensure(OsStr::new(user), USER_DIR, owner)?;
    user.ensure(OsStr::new(FILECACHE), APP_DIR, owner)?;
    let apps = user.ensure(OsStr::new(APPCACHE), APP_DIR, owner)?;
    let app = apps.ensure(OsStr::new(app_id), APP_DIR, owner)?;
    app.ensure(OsStr::new(FILECACHE), APP_DIR, owner)?;
    Ok(())
}

/// Creates an application's log directory on one disk.
///
/// # Errors
/// The failure, with the path.
pub fn create_app_log_dir(log_root: &Path, app_id: &str, account: &Account) -> Result<(), FsError> {
    Dir::open(log_root)?.ensure(OsStr::new(app_id), APP_DIR, owner_of(account))?;
    Ok(())
}

/// The directories of a container that is about to start.
#[derive(Debug)]
pub struct ContainerDirs {
    /// Working directory.
    pub work: Dir,
    /// Log directory.
    pub log: Dir,
    /// `nmPrivate/<app>/<container>`.
    pub private: Dir,
}

/// Creates a container's directories on all disks of `paths`; the application's exist or are
/// created on the way.
///
/// # Errors
/// The first failure on the chosen disks; other disks are only tried.
pub fn create_container_dirs(
    paths: &ContainerPaths,
    account: &Account,
) -> Result<ContainerDirs, FsError> {
    let owner = owner_of(account);
    let name = OsStr::new(&paths.container_id);
    for other in paths.local_dirs.iter().filter(|d| **d != paths.local_dir) {
        let made = create_app_dirs(other, &paths.user, &paths.app_id, account)
            .and_then(|()| Dir::open(other)?.descend(&app_dir(&paths.user, &paths.app_id)))
            .and_then(|app| app.ensure(name, APP_DIR, owner));
        if let Err(e) = made {
            tracing::warn!(error = %e, "a local directory is left out of a container's start");
        }
    }
    for other in paths.log_roots.iter().filter(|d| **d != paths.log_root) {
        let made = create_app_log_dir(other, &paths.app_id, account)
            .and_then(|()| Dir::open(other)?.child(OsStr::new(&paths.app_id)))
            .and_then(|app| app.ensure(name, APP_DIR, owner));
        if let Err(e) = made {
            tracing::warn!(error = %e, "a log directory is left out of a container's start");
        }
    }
    create_app_dirs(&paths.local_dir, &paths.user, &paths.app_id, account)?;
    let root = Dir::open(&paths.local_dir)?;
    let app = root.descend(&app_dir(&paths.user, &paths.app_id))?;
    // Created, not ensured: a container id is never used twice, so anything here is not ours.
    let work = app.create(name, APP_DIR, owner)?;
    work.create(OsStr::new("tmp"), APP_DIR, owner)?;
    create_app_log_dir(&paths.log_root, &paths.app_id, account)?;
    let app_log = Dir::open(&paths.log_root)?.child(OsStr::new(&paths.app_id))?;
    let log = app_log.ensure(name, APP_DIR, owner)?;
    let private = private_dir_of(&root, &paths.app_id, &paths.container_id)?;
    Ok(ContainerDirs { work, log, private })
}

/// Opens or creates `nmPrivate/<app>/<name>`.
///
/// # Errors
/// The failure, with the path.
pub fn private_dir_of(local_dir: &Dir, app_id: &str, name: &str) -> Result<Dir, FsError> {
    local_dir
        .ensure(OsStr::new(NM_PRIVATE), PRIVATE_DIR, None)?
        .ensure(OsStr::new(app_id), PRIVATE_DIR, None)?
        .ensure(OsStr::new(name), PRIVATE_DIR, None)
}

/// Opens one log file of a container for reading. Links are refused: the account owns the
/// directory, and a root NodeManager must not read elsewhere on its behalf.
///
/// # Errors
/// What the system answers; `NotFound` when it is on none of the disks.
pub fn open_log(
    log_roots: &[PathBuf],
    app_id: &str,
    container_id: &str,
    file: &str,
) -> Result<File, FsError> {
    let rel = Path::new(app_id).join(container_id).join(file);
    let mut last = FsError {
        what: "open",
        path: rel.clone(),
        source: std::io::Error::from(std::io::ErrorKind::NotFound),
    };
    for root in log_roots {
        let dir = rel.parent().unwrap_or(Path::new(""));
        let opened = Dir::open(root).and_then(|d| d.descend(dir)).and_then(|d| {
            let name = rel.file_name().and_then(OsStr::to_str).unwrap_or_default();
            d.open_file(name)
        });
        match opened {
            Ok(file) => return Ok(file),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Names and sizes (bytes) of a container's log files on all disks, by name.
pub fn list_logs(log_roots: &[PathBuf], app_id: &str, container_id: &str) -> Vec<(String, u64)> {
    let rel = Path::new(app_id).join(container_id);
    let mut found = Vec::new();
    for root in log_roots {
        let Ok(dir) = Dir::open(root).and_then(|d| d.descend(&rel)) else {
            continue;
        };
        let Ok(entries) = std::fs::read_dir(dir.fd_path()) else {
            continue;
        };
        for entry in entries.flatten() {
            let (Ok(name), Ok(meta)) = (entry.file_name().into_string(), entry.metadata()) else {
                continue;
            };
            if meta.is_file() {
                found.push((name, meta.len()));
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
#[path = "dirs_test.rs"]
mod tests;
