//! What was done for each container, on disk before it is done.
//! May touch: files of the ledger directory, mode 0600.
//! Must not: touch cgroups.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

use super::{Error, Op};
use crate::devices::v2::Attached;

/// Version of the file format.
const VERSION: u32 = 1;
/// Longest accepted file, in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// What was done, or was about to be done, for one container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// Container id.
    pub container: String,
    /// Actions, in order; the later ones may be missing where the NodeManager died.
    pub ops: Vec<Op>,
    /// The attached program, once it is.
    pub attached: Option<Attached>,
    /// Nodes that the container lacks.
    pub missing: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    /// SHA-1 over the JSON of `record`: against torn and edited files, not against forgers.
    checksum: String,
    record: Record,
}

fn checksum(record: &Record) -> serde_json::Result<String> {
    let digest = Sha1::digest(serde_json::to_vec(record)?);
    Ok(digest
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")))
}

pub(super) fn path(dir: &Path, container: &str) -> PathBuf {
    dir.join(format!("{container}.json"))
}

fn damaged(path: &Path, reason: &impl ToString) -> Error {
    Error::Ledger {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

/// Writes `record`, whole or not at all. Without fsync: the ledger has to outlive a NodeManager,
/// not the machine, whose cgroups are gone after a crash anyway.
pub(super) fn write(dir: &Path, record: &Record) -> Result<(), Error> {
    let path = path(dir, &record.container);
    let file = File {
        version: VERSION,
        checksum: checksum(record).map_err(|e| damaged(&path, &e))?,
        record: record.clone(),
    };
    let json = serde_json::to_vec(&file).map_err(|e| damaged(&path, &e))?;
    let aside = path.with_extension("json.tmp");
    let done = || -> io::Result<()> {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&aside)?
            .write_all(&json)?;
        std::fs::rename(&aside, &path)
    };
    done().map_err(|source| Error::File {
        what: "writing the ledger".to_owned(),
        path: path.clone(),
        source,
    })
}

/// Reads one file and checks version and checksum.
pub(super) fn read(path: &Path) -> Result<Record, Error> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path)?;
        file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|source| Error::File {
        what: "reading the ledger".to_owned(),
        path: path.to_owned(),
        source,
    })?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(damaged(path, &format!("over {BYTES_MAX} bytes")));
    }
    let file: File = serde_json::from_slice(&bytes).map_err(|e| damaged(path, &e))?;
    if file.version != VERSION {
        let reason = format!("version {}, only {VERSION} is understood", file.version);
        return Err(damaged(path, &reason));
    }
    if checksum(&file.record).map_err(|e| damaged(path, &e))? != file.checksum {
        return Err(damaged(path, &"the checksum does not fit the content"));
    }
    Ok(file.record)
}

/// Removes the file of `container`; one that is not there is a success.
pub(super) fn forget(dir: &Path, container: &str) -> Result<(), Error> {
    let path = path(dir, container);
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::File {
            what: "removing from the ledger".to_owned(),
            path,
            source: e,
        }),
        _ => Ok(()),
    }
}

/// Containers of which there is a file, sorted. None where there is no directory yet.
pub(super) fn containers(dir: &Path) -> Result<Vec<String>, Error> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(source) => {
            return Err(Error::File {
                what: "reading the ledger".to_owned(),
                path: dir.to_owned(),
                source,
            });
        }
    };
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|e| Some(e.file_name().to_str()?.strip_suffix(".json")?.to_owned()))
        .collect();
    found.sort();
    Ok(found)
}

#[cfg(test)]
#[path = "ledger_test.rs"]
mod tests;
