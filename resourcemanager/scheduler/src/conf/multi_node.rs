//! Node sorting policies (`getMultiNodePlacementPolicies`, `getMultiNodesSortingAlgorithmPolicy`).
//! May touch: the raw entries.
//! Must not: sort nodes.

use super::{MultiNodePolicy, PREFIX, number, queue::Place, read::Reader};

const LOOKUP: &str =
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.MultiNodeLookupPolicy";
const BY_USAGE: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.ResourceUsageMultiNodeLookupPolicy";
const KEY: &str = "multi-node-sorting.policy";

/// Every policy of `multi-node-sorting.policy.names`.
pub(super) fn all(reader: &mut Reader<'_>) -> Vec<MultiNodePolicy> {
    let names = reader
        .text(&format!("{PREFIX}{KEY}.names"))
        .unwrap_or_default();
    let mut policies: Vec<MultiNodePolicy> = Vec::new();
    for name in names.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        let default = (name == "default").then_some(BY_USAGE);
        let class = class_of(reader, name, default);
        let key = format!("{PREFIX}{KEY}.{name}.sorting-interval.ms");
        let interval = reader.parsed(&key, number::long).unwrap_or(1000);
        let Ok(interval_ms) = u64::try_from(interval) else {
            let reason = format!(
                "{name} multi-node policy is configured with invalid sorting-interval:{interval}"
            );
            reader.problem(&key, reason);
            continue;
        };
        let policy = class.map(|class| MultiNodePolicy { class, interval_ms });
        if let Some(policy) = policy.filter(|p| !policies.contains(p)) {
            policies.push(policy);
        }
    }
    policies
}

/// Class of the policy of one queue, else of the cluster.
pub(super) fn of_queue(reader: &mut Reader<'_>, place: Place<'_>) -> Option<String> {
    let own = reader.text(&place.key(KEY));
    let name = own.or_else(|| reader.text(&format!("{PREFIX}{KEY}")))?;
    if name.is_empty() {
        return None;
    }
    class_of(reader, name.trim(), None)
}

fn class_of(reader: &mut Reader<'_>, name: &str, default: Option<&str>) -> Option<String> {
    let key = format!("{PREFIX}{KEY}.{name}.class");
    let class = reader
        .text(&key)
        .map(str::trim)
        .or(default)
        .unwrap_or_default();
    match class {
        BY_USAGE => Some(class.to_owned()),
        "" => {
            let reason = format!("{name} Class is not configured or not an instance of {LOOKUP}");
            reader.problem(&key, reason);
            None
        }
        _ => {
            let reason = format!("Could not instantiate NodesSortingPolicy: {class}");
            reader.problem(&key, reason);
            None
        }
    }
}
