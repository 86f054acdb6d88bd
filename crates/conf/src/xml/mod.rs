//! Hadoop's configuration XML: files, what they include, and the properties in them.
//! May touch: regular files named by the caller and by `xi:include`.
//! Must not: fetch URLs, resolve external entities, or grow without bound.

mod decode;
mod doctype;
mod parse;

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::error::{LoadError, Origin, XmlError};

/// A file larger than this is no configuration.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// All files of one load together.
const TOTAL_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Files that include files that include files …
const INCLUDE_DEPTH_MAX: usize = 16;
/// Included files of one load.
const INCLUDES_MAX: usize = 1_000;

/// One `<property>` as it stands in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Property {
    pub name: String,
    /// `None` for no value or an empty one, which Hadoop ignores.
    pub value: Option<String>,
    pub is_final: bool,
    pub origin: Origin,
}

/// Reads the files of one load and counts what they cost.
#[derive(Default)]
pub(crate) struct Loader {
    /// Looked into first for relative includes, as Hadoop's class path.
    dir: Option<PathBuf>,
    /// Files being read, outermost first.
    open: Vec<PathBuf>,
    includes: usize,
    bytes: u64,
}

impl Loader {
    pub(crate) fn new(dir: Option<PathBuf>) -> Self {
        Self {
            dir,
            ..Self::default()
        }
    }

    /// The properties of `path` in order, included ones in their place.
    pub(crate) fn file(&mut self, path: &Path) -> Result<Vec<Property>, LoadError> {
        let bytes = read(path).map_err(|source| LoadError::Io {
            path: path.to_owned(),
            source,
        })?;
        Ok(self.document(path, &bytes)?)
    }

    /// [`Loader::file`] with the content at hand.
    pub(crate) fn document(
        &mut self,
        path: &Path,
        bytes: &[u8],
    ) -> Result<Vec<Property>, XmlError> {
        let file: Arc<str> = path.display().to_string().into();
        let fail = |line, text: String| XmlError {
            file: Arc::clone(&file),
            line,
            text,
        };
        self.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if self.bytes > TOTAL_BYTES_MAX {
            return Err(fail(
                1,
                format!("configuration files add up to more than {TOTAL_BYTES_MAX} bytes"),
            ));
        }
        let document = decode::decode(bytes).map_err(|e| fail(e.line, e.text))?;
        self.open
            .push(path.canonicalize().unwrap_or_else(|_| path.to_owned()));
        let properties = parse::Parser::new(self, path, Arc::clone(&file)).run(&document);
        self.open.pop();
        properties
    }

    /// The file that `href` names: in the configuration directory, else beside the including file.
    fn find(&self, href: &str, including: &Path) -> Result<Option<PathBuf>, String> {
        let local = match href.split_once(':') {
            Some(("file", rest)) => rest
                .strip_prefix("//")
                .map_or(rest, |r| r.strip_prefix("localhost").unwrap_or(r)),
            Some((scheme, _)) if scheme.len() > 1 && scheme.chars().all(char::is_alphanumeric) => {
                return Err(format!(
                    "includes '{href}': only local files are included, not {scheme}:"
                ));
            }
            _ => href,
        };
        let beside = including.parent().unwrap_or(Path::new(""));
        let places = self.dir.iter().map(PathBuf::as_path).chain([beside]);
        Ok(places
            .map(|place| place.join(local))
            .find(|path| path.exists()))
    }

    /// Reads an include; `None` when its file is not there (a fallback may help).
    fn include(
        &mut self,
        href: &str,
        including: &Path,
    ) -> Result<Option<Vec<Property>>, IncludeError> {
        let Some(path) = self.find(href, including).map_err(IncludeError::Here)? else {
            return Ok(None);
        };
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if self.open.contains(&real) {
            return Err(IncludeError::Here(format!(
                "includes '{href}', which is already being read: a file cannot include itself"
            )));
        }
        if self.open.len() >= INCLUDE_DEPTH_MAX {
            return Err(IncludeError::Here(format!(
                "includes '{href}' {INCLUDE_DEPTH_MAX} files deep; that is too deep"
            )));
        }
        self.includes += 1;
        if self.includes > INCLUDES_MAX {
            return Err(IncludeError::Here(format!(
                "more than {INCLUDES_MAX} includes in one load"
            )));
        }
        let bytes = read(&path).map_err(|e| {
            IncludeError::Here(format!("cannot read included {}: {e}", path.display()))
        })?;
        self.document(&path, &bytes)
            .map(Some)
            .map_err(IncludeError::There)
    }
}

/// Whether the include itself is at fault or the file it names.
enum IncludeError {
    Here(String),
    There(XmlError),
}

/// A regular file of bounded length.
pub(crate) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let refuse = |text: String| Err(std::io::Error::other(text));
    // asked before opening: opening a FIFO would wait for a writer
    if !std::fs::metadata(path)?.is_file() {
        return refuse("not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
        return refuse(format!("longer than {FILE_BYTES_MAX} bytes"));
    }
    Ok(bytes)
}

#[cfg(test)]
#[path = "mod_test.rs"]
mod tests;
