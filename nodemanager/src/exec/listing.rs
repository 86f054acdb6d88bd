//! The text of directory.info: what a container finds when it starts.
//! May touch: the container's directory, read only.
//! Must not: follow a link (stock's `find -L` runs with the account's rights, this does not).

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nm_core::launch::stamp_utc;

use super::safe_fs::Dir;

/// Deepest level listed, as in stock.
const DEPTH_MAX: usize = 5;

/// `ls -l` of the directory and `find -maxdepth 5 -ls` below it.
pub fn directory_info(work: &Dir) -> String {
    let mut out = String::from("ls -l:\n");
    for (path, line) in entries(work, Path::new("")) {
        let _ = writeln!(out, "{line} {}", path.display());
    }
    out.push_str("find . -maxdepth 5 -ls:\n");
    walk(work, Path::new("."), 1, &mut out);
    out
}

fn walk(dir: &Dir, at: &Path, depth: usize, out: &mut String) {
    for (path, line) in entries(dir, at) {
        let _ = writeln!(out, "{line} {}", path.display());
        let name = path.file_name().unwrap_or(OsStr::new(""));
        if depth < DEPTH_MAX
            && let Ok(child) = dir.child(name)
        {
            walk(&child, &path, depth + 1, out);
        }
    }
}

/// One line of mode, links, owner, size, time and link target for each entry, by name.
fn entries(dir: &Dir, at: &Path) -> Vec<(PathBuf, String)> {
    let Ok(read) = std::fs::read_dir(dir.fd_path()) else {
        return Vec::new();
    };
    let mut found: Vec<(PathBuf, String)> = read
        .flatten()
        .filter_map(|entry| {
            let meta = entry.metadata().ok()?;
            let mut path = at.join(entry.file_name());
            let line = format!(
                "{} {} {} {} {} {}",
                mode_text(meta.mode()),
                meta.nlink(),
                meta.uid(),
                super::account::group_name(meta.gid()),
                meta.len(),
                stamp_utc(meta.mtime().saturating_mul(1000))
                    .get(..16)
                    .unwrap_or_default()
            );
            if meta.is_symlink() {
                let target = std::fs::read_link(dir.fd_path().join(entry.file_name())).ok()?;
                path = PathBuf::from(format!("{} -> {}", path.display(), target.display()));
            }
            Some((path, line))
        })
        .collect();
    found.sort();
    found
}

/// `drwxr-x---` of a mode.
fn mode_text(mode: u32) -> String {
    let kind = match mode & 0o170_000 {
        0o040_000 => 'd',
        0o120_000 => 'l',
        _ => '-',
    };
    let mut text = String::from(kind);
    for (bit, letter) in (0..9).rev().zip("rwxrwxrwx".chars()) {
        text.push(if mode >> bit & 1 == 1 { letter } else { '-' });
    }
    text
}

#[cfg(test)]
#[path = "listing_test.rs"]
mod tests;
