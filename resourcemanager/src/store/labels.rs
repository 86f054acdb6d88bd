//! Node labels in a directory, as `FileSystemNodeLabelsStore` keeps them: a mirror, and a log of edits.
//! May touch: `nodelabel.mirror`, `nodelabel.editlog` and their copies in one directory.
//! Must not: judge labels (the core did).

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use prost::Message;
use rm_core::labels::NodeLabels;
use yarn_proto::yarn::{
    AddToClusterNodeLabelsRequestProto, RemoveFromClusterNodeLabelsRequestProto,
    ReplaceLabelsOnNodeRequestProto,
};
use yarn_types::NodeId;

use crate::labels;

/// Name of the mirror: everything, at the last start or change.
const MIRROR: &str = "nodelabel.mirror";
/// Name of the log: what came after the mirror. Only Hadoop writes it; here the mirror is replaced.
const EDITS: &str = "nodelabel.editlog";
/// No file of labels is longer.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Why labels cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum LabelStoreError {
    /// A file or the directory.
    #[error("node labels: cannot {what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What stands in a file is not what Hadoop writes.
    #[error("node labels: {path} at byte {at}: {reason}")]
    Bad {
        /// The file.
        path: PathBuf,
        /// Where in it.
        at: usize,
        /// What is wrong.
        reason: String,
    },
}

/// What a store held.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeptLabels {
    /// Names, and whether each is exclusive.
    pub labels: BTreeMap<Arc<str>, bool>,
    /// Which hosts and nodes have them.
    pub nodes: NodeLabels,
}

/// The directory.
#[derive(Clone, Debug)]
pub struct LabelFiles {
    dir: PathBuf,
}

fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LabelStoreError {
    let path = path.to_owned();
    move |source| LabelStoreError::Io { what, path, source }
}

/// The whole file; `None` when there is none.
fn read(path: &Path) -> Result<Option<Vec<u8>>, LabelStoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io_error("read", path)(e)),
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(io_error("read", path))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(LabelStoreError::Bad {
            path: path.to_owned(),
            at: bytes.len(),
            reason: format!("is longer than {FILE_BYTES_MAX} bytes"),
        });
    }
    Ok(Some(bytes))
}

/// Delimited messages in a file.
struct Reader<'a> {
    path: &'a Path,
    all: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn bad(&self, reason: impl Into<String>) -> LabelStoreError {
        LabelStoreError::Bad {
            path: self.path.to_owned(),
            at: self.at,
            reason: reason.into(),
        }
    }

    /// The number that an entry of the log begins with; `None` at the end, or where it was cut.
    fn kind(&mut self) -> Option<u32> {
        let bytes = self.all.get(self.at..self.at + 4)?;
        self.at += 4;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    }

    /// The next message; `None` when the file ends before it does.
    fn message<M: Message + Default>(&mut self) -> Result<Option<M>, LabelStoreError> {
        let rest = self.all.get(self.at..).unwrap_or_default();
        let Ok(length) = prost::decode_length_delimiter(rest) else {
            // A delimiter has at most ten bytes: fewer are one that was cut.
            return if rest.len() < 10 {
                Ok(None)
            } else {
                Err(self.bad("is no length of a message"))
            };
        };
        let start = self.at + prost::length_delimiter_len(length);
        let Some(body) = start
            .checked_add(length)
            .and_then(|end| self.all.get(start..end))
        else {
            return Ok(None);
        };
        let message = M::decode(body).map_err(|e| self.bad(e.to_string()))?;
        self.at = start + length;
        Ok(Some(message))
    }
}

impl KeptLabels {
    fn add(&mut self, m: &AddToClusterNodeLabelsRequestProto) {
        for (name, exclusive) in labels::to_add(m) {
            if !name.is_empty() {
                self.labels.entry(name).or_insert(exclusive);
            }
        }
    }

    fn remove(&mut self, m: &RemoveFromClusterNodeLabelsRequestProto) {
        let names = labels::names(&m.node_labels);
        self.labels.retain(|name, _| !names.contains(name));
        self.nodes.forget(&names);
    }

    /// Hosts first: their label would take those of their nodes away.
    fn replace(&mut self, m: &ReplaceLabelsOnNodeRequestProto) -> Option<()> {
        for (target, names) in labels::mapping(&m.node_to_labels)? {
            let known = names.into_iter().find(|n| self.labels.contains_key(n));
            self.nodes.set(&target, known.unwrap_or_default());
        }
        Some(())
    }

    fn read_mirror(&mut self, path: &Path, all: &[u8]) -> Result<(), LabelStoreError> {
        let mut from = Reader { path, all, at: 0 };
        let cut = |from: &Reader<'_>| from.bad("ends in the middle of a message");
        self.add(&from.message()?.ok_or_else(|| cut(&from))?);
        let mapping = from.message()?.ok_or_else(|| cut(&from))?;
        self.replace(&mapping)
            .ok_or_else(|| from.bad("names a node without host or port"))
    }

    /// Whether the log ends with a whole entry.
    fn read_edits(&mut self, path: &Path, all: &[u8]) -> Result<bool, LabelStoreError> {
        let mut from = Reader { path, all, at: 0 };
        while let Some(kind) = from.kind() {
            let whole = match kind {
                0 => from.message()?.map(|m| self.add(&m)),
                1 => match from.message()? {
                    Some(m) => Some(
                        self.replace(&m)
                            .ok_or_else(|| from.bad("names a node without host or port"))?,
                    ),
                    None => None,
                },
                2 => from.message()?.map(|m| self.remove(&m)),
                other => return Err(from.bad(format!("is no kind of edit: {other}"))),
            };
            if whole.is_none() {
                return Ok(false);
            }
        }
        Ok(from.at == all.len())
    }
}

impl LabelFiles {
    /// Reads what the directory holds, made by Heddle or by Hadoop, and writes it as one mirror. The
    /// directory is made when it is not there.
    ///
    /// # Errors
    /// The directory cannot be used, or a file is not what Hadoop writes.
    pub fn open(dir: &Path) -> Result<(Self, KeptLabels), LabelStoreError> {
        fs::create_dir_all(dir).map_err(io_error("make", dir))?;
        let mut kept = KeptLabels::default();
        let old = dir.join(format!("{MIRROR}.old"));
        for path in [dir.join(MIRROR), old.clone()] {
            if let Some(bytes) = read(&path)? {
                kept.read_mirror(&path, &bytes)?;
                break;
            }
        }
        let edits = dir.join(EDITS);
        if let Some(bytes) = read(&edits)?
            && !kept.read_edits(&edits, &bytes)?
        {
            tracing::warn!(path = %edits.display(), "the last edit of node labels was cut off and is left out");
        }
        // Hadoop writes the label of a host for each of its nodes too.
        let NodeLabels { hosts, nodes } = &mut kept.nodes;
        nodes.retain(|id, label| hosts.get(&id.host) != Some(label));
        let files = Self {
            dir: dir.to_owned(),
        };
        let labels: labels::Labels = kept.labels.iter().map(|(n, e)| (n.clone(), *e)).collect();
        files.save(&labels, &kept.nodes)?;
        fs::remove_file(&old).or_else(|e| match e.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(io_error("remove", &old)(e)),
        })?;
        // Not before the mirror: reading an edit twice changes nothing.
        File::create(&edits)
            .and_then(|file| file.sync_all())
            .map_err(io_error("empty", &edits))?;
        Ok((files, kept))
    }

    /// Replaces the mirror: whoever reads it sees all of this or nothing, whenever the power goes.
    ///
    /// # Errors
    /// The file cannot be written or renamed.
    pub fn save(
        &self,
        all: &[(Arc<str>, bool)],
        nodes: &NodeLabels,
    ) -> Result<(), LabelStoreError> {
        let hosts = nodes.hosts.iter();
        let hosts =
            hosts.map(|(host, label)| labels::mapping_proto(&NodeId::new(&**host, 0), label));
        let own = nodes.nodes.iter();
        let own = own.map(|(id, label)| labels::mapping_proto(id, label));
        let mapping = ReplaceLabelsOnNodeRequestProto {
            node_to_labels: hosts.chain(own).collect(),
            ..Default::default()
        };
        let mut bytes = labels::to_add_proto(all).encode_length_delimited_to_vec();
        bytes.extend(mapping.encode_length_delimited_to_vec());
        let aside = self.dir.join(format!("{MIRROR}.writing"));
        File::create(&aside)
            .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()))
            .map_err(io_error("write", &aside))?;
        let mirror = self.dir.join(MIRROR);
        fs::rename(&aside, &mirror).map_err(io_error("replace", &mirror))?;
        File::open(&self.dir)
            .and_then(|dir| dir.sync_all())
            .map_err(io_error("sync", &self.dir))
    }
}

#[cfg(test)]
#[path = "labels_test.rs"]
mod tests;
