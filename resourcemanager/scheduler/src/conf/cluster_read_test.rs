//! Settings of the whole scheduler.
//! May touch: the module under test.
//! Must not: read files.

use std::collections::BTreeMap;

use yarn_types::ResourceTypes;

use super::*;
use crate::conf::{Calculator, QueuesConf, SchedConf};

/// One queue `a`, and `pairs`; keys without `yarn.` get the scheduler's prefix.
fn try_load(pairs: &[(&str, &str)]) -> Result<QueuesConf, Vec<ConfProblem>> {
    let base = [("root.queues", "a"), ("root.a.capacity", "100")];
    let mut conf: BTreeMap<String, String> = BTreeMap::new();
    for (key, value) in base.iter().chain(pairs) {
        let scheduler = if key.starts_with("yarn.") { "" } else { PREFIX };
        conf.insert(format!("{scheduler}{key}"), (*value).to_owned());
    }
    let types = ResourceTypes::memory_and_vcores();
    SchedConf::from_lookup(&conf, types, Calculator::Default).map(|conf| conf.queues)
}

fn plain(pairs: &[(&str, &str)]) -> QueuesConf {
    try_load(pairs).unwrap()
}

fn refusal(pairs: &[(&str, &str)]) -> String {
    let problems = try_load(pairs).unwrap_err();
    let reasons: Vec<&str> = problems.iter().map(|p| p.reason.as_str()).collect();
    reasons.join(" | ")
}

#[test]
fn monitors_and_preemption_are_read_from_either_file() {
    let conf = plain(&[
        ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
        (
            "yarn.resourcemanager.scheduler.monitor.policies",
            "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy, org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedQueueDeletionPolicy",
        ),
        (
            "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round",
            "0.5",
        ),
        (
            "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.preemption-order-policy",
            "priority_first",
        ),
        (
            "ordering-policy.priority-utilization.underutilized-preemption.enabled",
            "true",
        ),
        ("user.ann.max-parallel-apps", "2"),
        ("user.max-parallel-apps", "5"),
    ]);
    let c = &conf.cluster;
    assert!(c.preemption.enabled && c.preemption.underutilized);
    assert_eq!(c.queue_deletion_interval_ms, Some(3000));
    assert_eq!(c.auto_refresh_interval_ms, None);
    assert!((c.preemption.total_per_round - 0.5).abs() < f32::EPSILON);
    assert_eq!(c.preemption.intra.order, IntraOrder::PriorityFirst);
    assert_eq!(
        (c.max_parallel_apps("ann"), c.max_parallel_apps("bob")),
        (2, 5)
    );
    let other = [
        ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
        (
            "yarn.resourcemanager.scheduler.monitor.policies",
            "com.example.Monitor",
        ),
    ];
    assert!(refusal(&other).contains("com.example.Monitor is not built"));
}

#[test]
fn node_sorting_policies_need_a_known_class() {
    const CLASS: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.ResourceUsageMultiNodeLookupPolicy";
    let conf = plain(&[
        ("multi-node-placement-enabled", "true"),
        ("multi-node-sorting.policy.names", "use"),
        ("multi-node-sorting.policy", "use"),
        ("multi-node-sorting.policy.use.class", CLASS),
        ("multi-node-sorting.policy.use.sorting-interval.ms", "0"),
    ]);
    assert_eq!(conf.cluster.multi_node_policies[0].interval_ms, 0);
    assert_eq!(conf.queues[1].multi_node_policy.as_deref(), Some(CLASS));
    let names = [("multi-node-sorting.policy.names", "use")];
    assert!(refusal(&names).starts_with("use Class is not configured or not an instance of"));
}
