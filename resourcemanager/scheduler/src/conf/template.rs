//! Settings of created queues: their own entries over those of their parent's templates
//! (`AutoCreatedQueueTemplate`).
//! May touch: the raw entries.
//! Must not: create a queue.

use std::collections::{BTreeMap, BTreeSet};

use yarn_types::{Resource, ResourceTypes};

use super::{
    Calculator, ConfProblem, PREFIX, QueueConf, QueuesConf,
    queue::{self, Env, Place},
    read::Reader,
    refused,
};

const V2: &str = "auto-queue-creation-v2.";
const LABELS: &str = "accessible-node-labels.";

/// The templates of a parent for queues that are made below it, by what follows the path in a key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Templates {
    /// `auto-queue-creation-v2.template.*`.
    pub all: BTreeMap<String, String>,
    /// `auto-queue-creation-v2.parent-template.*`.
    pub parents: BTreeMap<String, String>,
    /// `auto-queue-creation-v2.leaf-template.*`.
    pub leaves: BTreeMap<String, String>,
}

impl QueuesConf {
    /// The templates of `parent`: those of its own path over those with `*` in it.
    pub fn templates(&self, parent: &QueueConf) -> Templates {
        let mut out = Templates::default();
        for path in wildcards(&parent.path, parent.auto_create.max_depth) {
            let prefix = format!("{PREFIX}{path}.{V2}");
            let keys = self.raw.range(prefix.clone()..);
            for (key, value) in keys.take_while(|(key, _)| key.starts_with(&prefix)) {
                let lists = [
                    ("template.", &mut out.all),
                    ("parent-template.", &mut out.parents),
                    ("leaf-template.", &mut out.leaves),
                ];
                for (kind, list) in lists {
                    if let Some(suffix) = key[prefix.len()..].strip_prefix(kind) {
                        list.entry(suffix.to_owned())
                            .or_insert_with(|| value.clone());
                    }
                }
            }
        }
        out
    }

    /// The settings of the queue `path` that is created below `parent`, a leaf or a parent.
    ///
    /// Explicit entries of the path win over `parent-template` or `leaf-template`, those over
    /// `template`; a template of the parent's path over one with `*` in it. What none of them says
    /// is a weight of 1, for a leaf no limit per user, and all of it for ApplicationMasters.
    ///
    /// # Errors
    /// A value of a template or entry that cannot be used.
    pub fn created_queue(
        &self,
        parent: &QueueConf,
        path: &str,
        is_parent: bool,
        types: &ResourceTypes,
        calculator: Calculator,
    ) -> Result<QueueConf, Vec<ConfProblem>> {
        let own_prefix = format!("{PREFIX}{path}.");
        let mut conf = around(&self.raw, &own_prefix);
        let templates = templates(&self.raw, parent, is_parent);
        for (suffix, value) in &templates {
            let key = format!("{own_prefix}{suffix}");
            conf.entry(key).or_insert_with(|| value.clone());
        }
        let labels = BTreeMap::from([(path.to_owned(), labels_of(&conf, &own_prefix))]);
        let all_labels = BTreeSet::new();
        let env = Env {
            types,
            calculator,
            legacy: self.cluster.legacy_mode,
            cluster: Resource::ZERO,
            max_application_priority: self.cluster.max_application_priority,
            labels: &labels,
            all_labels: &all_labels,
        };
        let mut reader = Reader::new(&conf);
        let place = Place {
            path,
            parent: Some(parent),
            is_parent,
            dynamic: true,
        };
        let mut queue = queue::read(&mut reader, &env, place);
        refused::queue(&mut reader, &queue);
        if reader.problems.is_empty() {
            queue.is_parent = is_parent;
            Ok(queue)
        } else {
            Err(reader.problems)
        }
    }
}

/// The entries of one queue, and those that are no queue's.
fn around(raw: &BTreeMap<String, String>, prefix: &str) -> BTreeMap<String, String> {
    let (queues, after) = (format!("{PREFIX}root."), format!("{PREFIX}root/"));
    let own = raw.range(prefix.to_owned()..);
    let own = own.take_while(|(key, _)| key.starts_with(prefix));
    let entries = raw.range(..queues).chain(own).chain(raw.range(after..));
    entries.map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn labels_of(conf: &BTreeMap<String, String>, prefix: &str) -> BTreeSet<String> {
    let prefix = format!("{prefix}{LABELS}");
    let keys = conf.range(prefix.clone()..);
    keys.take_while(|(key, _)| key.starts_with(&prefix))
        .filter_map(|(key, _)| key[prefix.len()..].split_once('.'))
        .map(|(label, _)| label.to_owned())
        .collect()
}

/// The templates of `parent` for its created children, the more explicit ones kept.
fn templates(
    raw: &BTreeMap<String, String>,
    parent: &QueueConf,
    is_parent: bool,
) -> BTreeMap<String, String> {
    let special = if is_parent {
        "parent-template."
    } else {
        "leaf-template."
    };
    let mut of_kind = BTreeMap::new();
    let mut common = BTreeMap::new();
    for path in wildcards(&parent.path, parent.auto_create.max_depth) {
        let prefix = format!("{PREFIX}{path}.{V2}");
        let keys = raw.range(prefix.clone()..);
        for (key, value) in keys.take_while(|(key, _)| key.starts_with(&prefix)) {
            let rest = &key[prefix.len()..];
            let (suffix, into) = if let Some(suffix) = rest.strip_prefix(special) {
                (suffix, &mut of_kind)
            } else if let Some(suffix) = rest.strip_prefix("template.") {
                (suffix, &mut common)
            } else {
                continue;
            };
            let entry = into.entry(suffix.to_owned());
            entry.or_insert_with(|| value.clone());
        }
    }
    for (suffix, value) in common {
        of_kind.entry(suffix).or_insert(value);
    }
    of_kind
}

/// `root.a.b`, `root.a.*`, `root.*.*`: root is never a wildcard, nor more than `depth` levels.
fn wildcards(path: &str, depth: u32) -> Vec<String> {
    let mut parts: Vec<&str> = path.split('.').collect();
    let mut paths = vec![path.to_owned()];
    let depth = usize::try_from(depth).unwrap_or(usize::MAX);
    for at in (1..parts.len()).rev().take(depth) {
        parts[at] = "*";
        paths.push(parts.join("."));
    }
    paths
}

#[cfg(test)]
#[path = "template_test.rs"]
mod tests;
