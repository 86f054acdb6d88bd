//! Measures local and log directories: whether they can be written, and how much room they have.
//! May touch: the configured directories, their file systems' usage.
//! Must not: judge the figures (`nm_core::disks` does), or create the layout inside (`dirs` does).

use std::{
    io::ErrorKind::{QuotaExceeded, StorageFull},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use nm_core::disks::{Fault, Look, Space};

/// Looks at each of `dirs`, one that is gone is made again (`DiskChecker.checkDir`). Blocking.
pub fn look(dirs: &[PathBuf]) -> Vec<Look> {
    dirs.iter().map(|dir| (dir.clone(), probe(dir))).collect()
}

/// Room on the directory's file system, after a write to it has succeeded.
fn probe(dir: &Path) -> Result<Space, Fault> {
    let fault = |what: &str, e: &dyn std::fmt::Display| {
        Fault::Error(format!("{what}: {} ({e})", dir.display()))
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(dir)
        .map_err(|e| match std::fs::metadata(dir) {
            Ok(meta) if !meta.is_dir() => {
                Fault::Error(format!("Not a directory: {}", dir.display()))
            }
            _ => fault("Cannot create directory", &e),
        })?;
    std::fs::read_dir(dir).map_err(|e| fault("Directory is not readable", &e))?;
    let vfs = nix::sys::statvfs::statvfs(dir).map_err(|e| fault("Cannot stat file system", &e))?;
    let bytes = |blocks: u64| blocks.saturating_mul(vfs.fragment_size());
    let space = Space {
        total: bytes(vfs.blocks()),
        usable: bytes(vfs.blocks_available()),
    };
    // Permission bits do not tell of a read-only or failing disk; writing something does.
    let trial = dir.join(format!(".disk-check-{}", std::process::id()));
    let written = std::fs::write(&trial, b"disk check\n");
    let removed = std::fs::remove_file(&trial);
    match written.and(removed) {
        Ok(()) => Ok(space),
        Err(e) if matches!(e.kind(), StorageFull | QuotaExceeded) => {
            // There may be bytes left and no inode, or a quota.
            Err(Fault::Full(format!("nothing can be written: {e}")))
        }
        Err(e) => Err(fault("Directory is not writable", &e)),
    }
}

#[cfg(test)]
#[path = "disks_test.rs"]
mod tests;
