//! Settings whose behaviour is not built yet: refused by name.
//! May touch: the raw entries.
//! Must not: refuse a value that changes nothing (Hadoop's default, or a feature switched off).

use yarn_types::Lookup;

use super::{ConfProblem, PREFIX, QueueConf, number, read::Reader};

/// Settings outside the scheduler's prefix: key, values that change nothing, and the feature.
const ELSEWHERE: &[(&str, &[&str], &str)] = &[
    (
        "yarn.resourcemanager.placement-constraints.handler",
        &["disabled"],
        "placement constraints are",
    ),
    (
        "yarn.resourcemanager.opportunistic-container-allocation.enabled",
        &["false"],
        "opportunistic containers are",
    ),
    (
        "yarn.nodemanager.distributed-scheduling.enabled",
        &["false"],
        "distributed scheduling is",
    ),
    (
        "yarn.resourcemanager.reservation-system.enable",
        &["false"],
        "the reservation system is",
    ),
    (
        "yarn.scheduler.configuration.store.class",
        &["file"],
        "a scheduler configuration that is changed over REST is",
    ),
];

/// Monitors that are built; others are refused.
pub(super) const POLICIES: &[&str] = &[
    "ProportionalCapacityPreemptionPolicy",
    "QueueConfigurationAutoRefreshPolicy",
    "AutoCreatedQueueDeletionPolicy",
];

/// What the whole scheduler cannot do.
pub(super) fn cluster(conf: &dyn Lookup, reader: &mut Reader<'_>) {
    for (key, harmless, feature) in ELSEWHERE {
        let Some(value) = conf.get(key) else { continue };
        let text = value.trim();
        if text.is_empty() || harmless.iter().any(|h| h.eq_ignore_ascii_case(text)) {
            continue;
        }
        let instead = harmless.first().copied().unwrap_or_default();
        let reason = format!("{feature} not built yet; leave the key out or set it to {instead}");
        reader
            .problems
            .push(ConfProblem::new(*key, Some(value), reason));
    }
    let key = format!("{PREFIX}heddle.gpu-rounding");
    match reader.text(&key).map(str::trim) {
        None | Some("whole") => {}
        Some(_) => reader.problem(
            &key,
            "only whole devices are built yet; leave the key out or set it to whole",
        ),
    }
}

/// What one queue cannot be.
pub(super) fn queue(reader: &mut Reader<'_>, queue: &QueueConf) {
    let key = |suffix: &str| format!("{PREFIX}{}.{suffix}", queue.path);
    let on =
        |reader: &Reader<'_>, key: &str| reader.text(key).and_then(number::boolean) == Some(true);
    let managed = key("auto-create-child-queue.enabled");
    if on(reader, &managed) {
        reader.problem(
            &managed,
            "managed parents (auto-created queues of the first kind) are not built yet; use auto-queue-creation-v2.enabled",
        );
    }
    let reservable = key("reservable");
    if on(reader, &reservable) {
        let reason = if queue.is_parent {
            format!("Only Leaf Queues can be reservable for {}", queue.path)
        } else {
            "the reservation system is not built yet; leave the key out or set it to false"
                .to_owned()
        };
        reader.problem(&reservable, reason);
    }
}
