//! Reads the whole configuration: entries, hierarchy, queues, checks.
//! May touch: `yarn_types::Lookup`.
//! Must not: take more than it can hold (every count and length has a cap).

use std::collections::{BTreeMap, BTreeSet};

use yarn_types::{Lookup, Resource, ResourceTypes};

use super::{
    Calculator, ConfProblem, PREFIX, QueueConf, QueuesConf, check, cluster_read,
    queue::{self, Env, Place},
    read::Reader,
    refused, unknown,
};

/// Deepest hierarchy taken.
const DEPTH_MAX: usize = 32;
/// Most queues taken.
const QUEUES_MAX: usize = 10_000;
/// Most labels named, the default partition included.
const LABELS_MAX: usize = 255;
/// Longest name of a queue or a label, in bytes.
const NAME_BYTES_MAX: usize = 1024;
/// Longest value taken, in bytes; JSON rules are the long ones.
const VALUE_BYTES_MAX: usize = 1 << 20;
/// Most entries taken.
const ENTRIES_MAX: usize = 1_000_000;

/// What a configuration is read against.
#[derive(Clone, Copy, Debug)]
pub struct LoadContext<'a> {
    /// Lanes with the cluster's minimum and maximum allocation.
    pub types: &'a ResourceTypes,
    /// How resources compare.
    pub calculator: Calculator,
    /// What the nodes have together; zero at start.
    pub cluster: Resource,
    /// Paths of created queues that are parents: they stay parents when they are written into the
    /// file without children.
    pub created_parents: &'a BTreeSet<String>,
}

/// What a scheduler that runs has, against which a configuration is read again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// What the nodes have together.
    pub cluster: Resource,
    /// Paths of created queues that are parents.
    pub created_parents: BTreeSet<String>,
}

impl QueuesConf {
    /// Reads and validates everything that needs no running scheduler.
    ///
    /// # Errors
    /// Every key that cannot be used, with Hadoop's text where Hadoop refuses it too.
    pub fn load(conf: &dyn Lookup, context: &LoadContext<'_>) -> Result<Self, Vec<ConfProblem>> {
        let raw = entries(conf)?;
        let mut reader = Reader::new(&raw);
        let cluster = cluster_read::read(conf, &mut reader);
        let labels = labels_by_queue(&mut reader);
        let all_labels: BTreeSet<String> = labels.values().flatten().cloned().collect();
        if all_labels.len() >= LABELS_MAX {
            let reason = format!("more than {LABELS_MAX} node labels are named");
            reader.problem(&format!("{PREFIX}root.accessible-node-labels"), reason);
        }
        let env = Env {
            types: context.types,
            calculator: context.calculator,
            legacy: cluster.legacy_mode,
            cluster: context.cluster,
            max_application_priority: cluster.max_application_priority,
            labels: &labels,
            all_labels: &all_labels,
        };
        let queues = hierarchy(&mut reader, &env, context.created_parents);
        if env.legacy {
            check::siblings(&mut reader, &env, &queues);
        }
        unknown::remark(&mut reader, &queues);
        let system = reader.int(&format!("{PREFIX}maximum-applications"), 10_000);
        let global = reader.int(&format!("{PREFIX}global-queue-max-application"), -1);
        let Reader {
            problems, remarks, ..
        } = reader;
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            queues,
            maximum_applications: u32::try_from(system).unwrap_or(0),
            global_maximum_applications: u32::try_from(global).ok().filter(|g| *g > 0),
            cluster,
            remarks,
            raw,
        })
    }
}

/// The entries that the scheduler reads.
fn entries(conf: &dyn Lookup) -> Result<BTreeMap<String, String>, Vec<ConfProblem>> {
    let mut raw = BTreeMap::new();
    let mut problems = Vec::new();
    let prefixes = std::iter::once(&PREFIX).chain(cluster_read::ELSEWHERE);
    for key in prefixes.flat_map(|prefix| conf.keys_with_prefix(prefix)) {
        let Some(value) = conf.get(&key) else {
            continue;
        };
        if value.len() > VALUE_BYTES_MAX {
            let reason = format!(
                "its value has {} bytes, more than {VALUE_BYTES_MAX}",
                value.len()
            );
            problems.push(ConfProblem::new(key, None, reason));
        } else if raw.len() >= ENTRIES_MAX {
            let reason = format!("there are more than {ENTRIES_MAX} entries");
            return Err(vec![ConfProblem::new(key, None, reason)]);
        } else {
            raw.insert(key, value);
        }
    }
    if problems.is_empty() {
        Ok(raw)
    } else {
        Err(problems)
    }
}

/// Labels that keys name, by path (`getConfiguredNodeLabelsByQueue`).
fn labels_by_queue(reader: &mut Reader<'_>) -> BTreeMap<String, BTreeSet<String>> {
    const MARK: &str = "accessible-node-labels.";
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut broken = Vec::new();
    for key in reader.conf.keys() {
        let Some(key_part) = key.strip_prefix(PREFIX) else {
            continue;
        };
        let Some((path, rest)) = key_part.split_once(MARK) else {
            continue;
        };
        let path = path.strip_suffix('.').unwrap_or(path);
        match rest.split_once('.') {
            Some((label, _)) if !label.is_empty() && label.len() <= NAME_BYTES_MAX => {
                found
                    .entry(path.to_owned())
                    .or_default()
                    .insert(label.to_owned());
            }
            _ => broken.push(key.clone()),
        }
    }
    for key in broken {
        reader.problem(
            &key,
            "names no property of a node label: accessible-node-labels.<label>.capacity and the like are known",
        );
    }
    found
}

/// Reads the queues from root down, each before its children.
fn hierarchy(
    reader: &mut Reader<'_>,
    env: &Env<'_>,
    created_parents: &BTreeSet<String>,
) -> Vec<QueueConf> {
    let mut queues: Vec<QueueConf> = Vec::new();
    // depth first, so that a queue's descendants follow it
    let mut stack: Vec<(String, Option<usize>, usize)> = vec![("root".to_owned(), None, 0)];
    while let Some((path, parent, depth)) = stack.pop() {
        let names = children(reader, &path);
        let enabled = format!("{PREFIX}{path}.auto-queue-creation-v2.enabled");
        let is_parent =
            !names.is_empty() || reader.boolean(&enabled, false) || created_parents.contains(&path);
        let queues_key = format!("{PREFIX}{path}.queues");
        if parent.is_none() && !is_parent {
            let reason = "Queue configuration missing child queue names for root";
            reader.problem(&queues_key, reason);
        }
        let place = Place {
            path: &path,
            parent: parent.map(|at| &queues[at]),
            is_parent,
            dynamic: false,
        };
        let mut queue = queue::read(reader, env, place);
        queue.parent = parent;
        refused::queue(reader, &queue);
        let at = queues.len();
        queues.push(queue);
        let total = queues.len() + stack.len() + names.len();
        if !names.is_empty() && (depth >= DEPTH_MAX || total > QUEUES_MAX) {
            let reason =
                format!("the hierarchy goes beyond {DEPTH_MAX} levels or {QUEUES_MAX} queues");
            reader.problem(&queues_key, reason);
            break;
        }
        let below = names.iter().rev();
        stack.extend(below.map(|name| (format!("{path}.{name}"), Some(at), depth + 1)));
    }
    queues
}

/// `queues` of one queue.
fn children(reader: &mut Reader<'_>, path: &str) -> Vec<String> {
    let key = format!("{PREFIX}{path}.queues");
    let mut names: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let list = reader.text(&key).unwrap_or_default();
    for name in list.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        if name.len() > NAME_BYTES_MAX {
            reader.problem(
                &key,
                format!("a queue's name is longer than {NAME_BYTES_MAX} bytes"),
            );
        } else if name.contains('.') {
            reader.problem(&key, format!("queue name '{name}' holds a dot"));
        } else if !seen.insert(name) {
            reader.problem(&key, format!("queue '{name}' is named twice"));
        } else {
            names.push(name.to_owned());
        }
        if reader.problems.len() > QUEUES_MAX {
            break;
        }
    }
    names
}

#[cfg(test)]
#[path = "load_test.rs"]
mod tests;
