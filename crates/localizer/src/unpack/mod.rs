//! Unpacks archives by the lower-cased suffix of the remote file's name.
//! May touch: the destination directory.
//! Must not: write through a link, make devices, trust a size or a name in an archive.

mod tar;
mod zip;

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use regex::Regex;

use crate::FetchError;
use crate::fetch::Budget;
use crate::filesystem::Source;
use crate::protocol::{Kind, Request};

/// Unpacks `source` to `target`, a directory named like the file. An unknown suffix is kept as a
/// file; the result is then a warning.
///
/// # Errors
/// Any [`FetchError`].
#[expect(clippy::case_sensitive_file_extension_comparisons)] // the name is in lower case here
pub fn unpack(
    request: &Request,
    name: &str,
    source: &mut dyn Source,
    target: &Path,
    budget: &mut Budget<'_>,
) -> Result<Option<String>, FetchError> {
    let lower = name.to_lowercase();
    let pattern = match (&request.pattern, request.kind) {
        (Some(text), Kind::Pattern) if lower.ends_with(".jar") => Some(whole(text, request)?),
        _ => None,
    };
    let is_jar = lower.ends_with(".jar");
    let as_archive = (request.kind == Kind::Pattern && !is_jar).then(|| {
        format!(
            "treating {} as an archive even though it was specified as PATTERN",
            request.url
        )
    });
    if is_jar || lower.ends_with(".zip") {
        let mut out = Unpacker::new(target, budget)?;
        zip::unpack(source, pattern.as_ref(), &mut out)?;
        if is_jar && request.kind == Kind::Pattern {
            out.keep_archive(name, source)?;
        }
    } else if lower.ends_with(".tar.gz") || lower.ends_with(".tgz") {
        let mut out = Unpacker::new(target, budget)?;
        tar::unpack(&mut flate2::read::MultiGzDecoder::new(source), &mut out)?;
    } else if lower.ends_with(".tar") {
        let mut out = Unpacker::new(target, budget)?;
        tar::unpack(source, &mut out)?;
    } else {
        budget.entry()?;
        budget.copy(source, target)?;
        return Ok(Some(format!(
            "cannot unpack {}: kept as a file",
            request.url
        )));
    }
    Ok(as_archive)
}

/// The pattern of a whole entry name (`Matcher.matches`).
fn whole(pattern: &str, request: &Request) -> Result<Regex, FetchError> {
    Regex::new(&format!("^(?:{pattern})$")).map_err(|e| FetchError::Pattern {
        url: request.url.clone(),
        pattern: pattern.to_owned(),
        reason: e.to_string(),
    })
}

/// Makes the entries of an archive below one directory.
#[derive(Debug)]
pub struct Unpacker<'a, 'b> {
    root: &'a Path,
    budget: &'a mut Budget<'b>,
    /// Directories made here, which therefore are no links.
    made: BTreeSet<PathBuf>,
}

impl<'a, 'b> Unpacker<'a, 'b> {
    fn new(root: &'a Path, budget: &'a mut Budget<'b>) -> Result<Self, FetchError> {
        budget.entry()?;
        DirBuilder::new()
            .mode(0o700)
            .create(root)
            .map_err(FetchError::io(root))?;
        Ok(Self {
            root,
            budget,
            made: BTreeSet::new(),
        })
    }

    fn broken(&self, reason: impl std::fmt::Display) -> FetchError {
        FetchError::Archive {
            url: self.budget.url().to_owned(),
            reason: reason.to_string(),
        }
    }

    fn outside(&self, entry: &Path) -> FetchError {
        let entry = entry.to_string_lossy().into_owned();
        FetchError::Outside {
            url: self.budget.url().to_owned(),
            entry,
        }
    }

    /// The entry's path, with its parents made. `None` for the root itself.
    fn place(&mut self, entry: &Path) -> Result<Option<PathBuf>, FetchError> {
        let mut rel = PathBuf::new();
        for component in entry.components() {
            match component {
                Component::Normal(name) => rel.push(name),
                Component::CurDir => {}
                _ => return Err(self.outside(entry)),
            }
        }
        if rel.as_os_str().is_empty() {
            return Ok(None);
        }
        if let Some(parent) = rel.parent() {
            self.dir(parent, entry)?;
        }
        Ok(Some(rel))
    }

    /// Makes `rel` and its parents as directories. A link on the way is refused: an archive must
    /// not write where its links lead.
    fn dir(&mut self, rel: &Path, entry: &Path) -> Result<(), FetchError> {
        if rel.as_os_str().is_empty() || self.made.contains(rel) {
            return Ok(());
        }
        if let Some(parent) = rel.parent() {
            self.dir(parent, entry)?;
        }
        let path = self.root.join(rel);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => {}
            Ok(meta) if meta.is_symlink() => return Err(self.outside(entry)),
            Ok(_) => {
                return Err(self.broken(format!("{} is a file and a directory", rel.display())));
            }
            Err(_) => {
                self.budget.entry()?;
                DirBuilder::new()
                    .mode(0o700)
                    .create(&path)
                    .map_err(FetchError::io(&path))?;
            }
        }
        self.made.insert(rel.to_owned());
        Ok(())
    }

    /// A directory entry.
    fn make_dir(&mut self, entry: &Path) -> Result<(), FetchError> {
        match self.place(entry)? {
            Some(rel) => self.dir(&rel, entry),
            None => Ok(()),
        }
    }

    /// A file entry; a later one of the same name replaces the earlier, as `tar` does.
    fn make_file(&mut self, entry: &Path, from: &mut dyn std::io::Read) -> Result<(), FetchError> {
        let path = self.free_place(entry)?;
        self.budget.copy(from, &path)
    }

    /// A symbolic link entry. It may point anywhere, as in stock (packed virtual environments
    /// link to `/usr/bin/python3`): nothing is ever written or read through it here, and the
    /// container that follows it has no more rights than its account.
    fn make_link(&mut self, entry: &Path, target: &Path) -> Result<(), FetchError> {
        let path = self.free_place(entry)?;
        std::os::unix::fs::symlink(target, &path).map_err(FetchError::io(&path))
    }

    /// A hard link entry: only to a regular file that this archive has made.
    fn make_hard_link(&mut self, entry: &Path, target: &Path) -> Result<(), FetchError> {
        let inside = self.place(target)?.ok_or_else(|| self.outside(entry))?;
        let from = self.root.join(&inside);
        match fs::symlink_metadata(&from) {
            Ok(meta) if meta.is_file() => {}
            _ => return Err(self.outside(entry)),
        }
        let path = self.free_place(entry)?;
        fs::hard_link(&from, &path).map_err(FetchError::io(&path))
    }

    fn free_place(&mut self, entry: &Path) -> Result<PathBuf, FetchError> {
        let rel = self
            .place(entry)?
            .ok_or_else(|| self.broken("a file without a name"))?;
        self.budget.entry()?;
        let path = self.root.join(rel);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(FetchError::Io { path, source: e })
            }
            _ => Ok(path),
        }
    }

    /// The archive itself beside its entries (`RunJar.unJarAndSave`).
    fn keep_archive(&mut self, name: &str, source: &mut dyn Source) -> Result<(), FetchError> {
        source.rewind().map_err(FetchError::io(name))?;
        self.make_file(Path::new(name), source)
    }
}

#[cfg(test)]
#[path = "unpack_test.rs"]
mod tests;
