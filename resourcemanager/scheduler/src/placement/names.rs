//! Queues by full path and short name (`CSQueueStore`).
//! May touch: its own tables.
//! Must not: hold more of a queue than its path and kind.

use std::collections::{BTreeMap, BTreeSet};

use super::{QueueKind, QueueLookup, QueueRef};

/// A table of queues that answers as Hadoop's queue store does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QueueNames {
    by_path: BTreeMap<String, QueueKind>,
    by_name: BTreeMap<String, BTreeSet<String>>,
}

impl QueueNames {
    /// Adds a queue, or changes its kind.
    pub fn insert(&mut self, path: &str, kind: QueueKind) {
        self.by_path.insert(path.to_owned(), kind);
        let name = short(path);
        // the name "root" stands for the root alone
        if name != "root" {
            let paths = self.by_name.entry(name.to_owned()).or_default();
            paths.insert(path.to_owned());
        }
    }

    /// Removes a queue.
    pub fn remove(&mut self, path: &str) {
        self.by_path.remove(path);
        if let Some(paths) = self.by_name.get_mut(short(path)) {
            paths.remove(path);
        }
        self.by_name.retain(|_, paths| !paths.is_empty());
    }
}

fn short(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

impl QueueLookup for QueueNames {
    fn find(&self, name: &str) -> Option<QueueRef> {
        let one_path = |paths: &BTreeSet<String>| match paths.len() {
            1 => paths.first().cloned(),
            _ => None,
        };
        let path = if self.by_path.contains_key(name) {
            name.to_owned()
        } else {
            self.by_name.get(name).and_then(one_path)?
        };
        let kind = *self.by_path.get(&path)?;
        Some(QueueRef { path, kind })
    }

    fn is_ambiguous(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|paths| paths.len() > 1)
    }
}
