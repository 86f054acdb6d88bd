//! Entries of queues that Hadoop passes over without a word: a misspelt setting, an unlisted queue.
//! May touch: the raw entries, the parsed queues.
//! Must not: refuse them.

use std::collections::BTreeMap;

use super::{PREFIX, QueueConf, read::Reader};

/// Most remarks made.
const REMARKS_MAX: usize = 1000;

/// First parts of the settings of a queue.
const SETTINGS: &[&str] = &[
    "accessible-node-labels",
    "acl_administer_queue",
    "acl_administer_reservations",
    "acl_application_max_priority",
    "acl_list_reservations",
    "acl_submit_applications",
    "acl_submit_reservations",
    "allow-zero-capacity-sum",
    "auto-create-child-queue",
    "auto-queue-creation-v2",
    "average-capacity",
    "capacity",
    "default-application-lifetime",
    "default-application-priority",
    "default-node-label-expression",
    "disable_preemption",
    "instantaneous-max-capacity",
    "intra-queue-preemption",
    "leaf-queue-template",
    "max-parallel-apps",
    "maximum-allocation",
    "maximum-allocation-mb",
    "maximum-allocation-vcores",
    "maximum-am-resource-percent",
    "maximum-application-lifetime",
    "maximum-applications",
    "maximum-capacity",
    "minimum-user-limit-percent",
    "multi-node-sorting",
    "ordering-policy",
    "priority",
    "queues",
    "reservable",
    "reservation-agent",
    "reservation-enforcement-window",
    "reservation-move-on-expiry",
    "reservation-planner",
    "reservation-policy",
    "reservation-window",
    "show-reservations-as-queues",
    "state",
    "user-limit-factor",
    "user-settings",
];

/// Remarks every entry below `root` that is no setting of a queue of the tree.
pub(super) fn remark(reader: &mut Reader<'_>, queues: &[QueueConf]) {
    let by_path: BTreeMap<&str, &QueueConf> = queues.iter().map(|q| (q.path.as_str(), q)).collect();
    let begin = format!("{PREFIX}root.");
    let keys = reader.conf.range(begin.clone()..);
    let mut found = Vec::new();
    for (key, _) in keys.take_while(|(key, _)| key.starts_with(&begin)) {
        let Some(reason) = key.strip_prefix(PREFIX).and_then(|k| unused(k, &by_path)) else {
            continue;
        };
        found.push((key.clone(), reason));
        if found.len() >= REMARKS_MAX {
            break;
        }
    }
    for (key, reason) in found {
        reader.remark(&key, reason);
    }
}

fn unused(key: &str, queues: &BTreeMap<&str, &QueueConf>) -> Option<String> {
    // the deepest queue that the key begins with
    let mut end = "root".len();
    while let Some(next) = key[end + 1..].find('.').map(|at| end + 1 + at) {
        if !queues.contains_key(&key[..next]) {
            break;
        }
        end = next;
    }
    let queue = queues.get(&key[..end])?;
    let rest = &key[end + 1..];
    let mut parts = rest.split('.');
    let first = parts.next().unwrap_or_default();
    if SETTINGS.contains(&first) || first == "*" || queue.auto_create.enabled {
        return None;
    }
    Some(if parts.any(|p| SETTINGS.contains(&p)) {
        format!("{}.queues does not list '{first}': ignored", queue.path)
    } else {
        "is no setting of a queue: ignored".to_owned()
    })
}
