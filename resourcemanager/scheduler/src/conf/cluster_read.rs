//! Reads the settings of the whole scheduler and its monitors.
//! May touch: the raw entries, `yarn_types::Lookup`.
//! Must not: read queues.

use yarn_types::Lookup;

use super::{
    ClusterConf, ConfProblem, IntraOrder, IntraPreemption, PREFIX, Pacing, PreemptionConf,
    multi_node, number, read::Reader, refused,
};
use crate::placement::{RawRules, WorkflowPriorities};

const PREEMPTION: &str = "yarn.resourcemanager.monitor.capacity.preemption.";
const MONITOR: &str = "yarn.resourcemanager.scheduler.monitor.";
const POLICY_PACKAGE: &str = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.";
const SCHEDULER_PACKAGE: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.";

/// Keys outside the scheduler's prefix that it reads, for the raw entries.
pub(super) const ELSEWHERE: &[&str] = &[
    "yarn.resourcemanager.monitor.capacity.",
    "yarn.resourcemanager.scheduler.monitor.",
    "yarn.cluster.max-application-priority",
];

fn key(suffix: &str) -> String {
    format!("{PREFIX}{suffix}")
}

/// Reads them; what is wrong stays in `reader`.
pub(super) fn read(conf: &dyn Lookup, reader: &mut Reader<'_>) -> ClusterConf {
    refused::cluster(conf, reader);
    let monitors = monitors(reader);
    let has = |name: &str| monitors.iter().any(|m| m == name);
    let offswitch_key = key("per-node-heartbeat.maximum-offswitch-assignments");
    let offswitch = reader.int(&offswitch_key, 1);
    if offswitch < 1 {
        reader.remark(&offswitch_key, format!("({offswitch}) < 1. Using 1."));
    }
    let interval = reader.time(
        "yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval",
        3000,
    );
    let refresh = reader.time(&key("queue.auto.refresh.monitoring-interval"), 5000);
    let auto_refresh_interval_ms = has("QueueConfigurationAutoRefreshPolicy").then_some(refresh);
    let queue_deletion_interval_ms = has("AutoCreatedQueueDeletionPolicy").then_some(interval);
    let preemption = preemption(
        reader,
        has("ProportionalCapacityPreemptionPolicy"),
        interval,
    );
    ClusterConf {
        pacing: pacing(reader),
        legacy_mode: reader.boolean(&key("legacy-queue-mode.enabled"), true),
        node_locality_delay: reader.int(&key("node-locality-delay"), 40),
        rack_locality_additional_delay: reader.int(&key("rack-locality-additional-delay"), -1),
        rack_locality_full_reset: reader.boolean(&key("rack-locality-full-reset"), true),
        assign_multiple: reader.boolean(
            &key("per-node-heartbeat.multiple-assignments-enabled"),
            true,
        ),
        max_assign_per_heartbeat: reader.int(
            &key("per-node-heartbeat.maximum-container-assignments"),
            100,
        ),
        offswitch_per_heartbeat: u32::try_from(offswitch.max(1)).unwrap_or(1),
        asynchronous: reader.boolean(&key("schedule-asynchronously.enable"), true),
        continue_looking: reader.boolean(&key("reservations-continue-look-all-nodes"), true),
        skip_reserved_nodes: reader.boolean(
            &key("skip-allocate-on-nodes-with-reserved-containers"),
            false,
        ),
        lazy_preemption: reader.boolean(&key("lazy-preemption-enabled"), false),
        fail_fast: reader.boolean(&key("application.fail-fast"), false),
        user_metrics: reader.boolean(&key("user-metrics.enable"), false),
        user_max_parallel_apps: reader.int(&key("user.max-parallel-apps"), i32::MAX),
        max_parallel_apps_of_user: parallel_of_users(reader),
        multi_node_placement: reader.boolean(&key("multi-node-placement-enabled"), false),
        multi_node_policies: multi_node::all(reader),
        auto_refresh_interval_ms,
        queue_expiration_s: reader.time(&key("auto-queue-creation-v2.queue-expiration-time"), 300),
        queue_deletion_interval_ms,
        preemption,
        max_application_priority: reader.int("yarn.cluster.max-application-priority", 0),
        placement: RawRules::read(conf),
        workflow_priorities: WorkflowPriorities::parse(conf).unwrap_or_else(|problem| {
            let value = conf.get(problem.key);
            reader
                .problems
                .push(ConfProblem::new(problem.key, value, problem.message));
            WorkflowPriorities::default()
        }),
    }
}

fn pacing(reader: &mut Reader<'_>) -> Pacing {
    let key = key("heddle.pacing");
    match reader.text(&key).map(str::trim) {
        None | Some("event") => Pacing::Event,
        Some("heartbeat") => Pacing::Heartbeat,
        Some(_) => {
            reader.problem(&key, "is neither event nor heartbeat");
            Pacing::Event
        }
    }
}

/// `user.<name>.max-parallel-apps`.
fn parallel_of_users(reader: &mut Reader<'_>) -> Vec<(String, i32)> {
    let prefix = key("user.");
    let keys = reader.conf.range(prefix.clone()..);
    let keys: Vec<String> = keys
        .take_while(|(key, _)| key.starts_with(&prefix))
        .map(|(key, _)| key.clone())
        .collect();
    let mut limits = Vec::new();
    for key in keys {
        let user = key[prefix.len()..].strip_suffix(".max-parallel-apps");
        let Some(user) = user.map(str::to_owned) else {
            continue;
        };
        if let Some(limit) = reader.parsed(&key, number::int) {
            limits.push((user, limit));
        }
    }
    limits
}

/// Short class names of the monitors that are on.
fn monitors(reader: &mut Reader<'_>) -> Vec<String> {
    if !reader.boolean(&format!("{MONITOR}enable"), false) {
        return Vec::new();
    }
    let key = format!("{MONITOR}policies");
    let default = format!("{POLICY_PACKAGE}ProportionalCapacityPreemptionPolicy");
    let text = reader.text(&key).map_or(default, str::to_owned);
    let mut found = Vec::new();
    for class in text.split(',').map(str::trim).filter(|c| !c.is_empty()) {
        let short = class
            .strip_prefix(POLICY_PACKAGE)
            .or_else(|| class.strip_prefix(SCHEDULER_PACKAGE))
            .unwrap_or(class);
        if refused::POLICIES.contains(&short) {
            found.push(short.to_owned());
        } else {
            reader.problem(
                &key,
                format!("the monitor {class} is not built; leave it out"),
            );
        }
    }
    found
}

fn preemption(reader: &mut Reader<'_>, enabled: bool, interval_ms: u64) -> PreemptionConf {
    let p = |suffix: &str| format!("{PREEMPTION}{suffix}");
    let pu = |suffix: &str| {
        key(&format!(
            "ordering-policy.priority-utilization.underutilized-preemption.{suffix}"
        ))
    };
    let mut double =
        |suffix: &str, default: f64| reader.parsed(&p(suffix), number::double).unwrap_or(default);
    let max_ignored_over_capacity = double("max_ignored_over_capacity", 0.1);
    let natural_termination_factor = double("natural_termination_factor", 0.2);
    PreemptionConf {
        enabled,
        observe_only: reader.boolean(&p("observe_only"), false),
        interval_ms,
        max_wait_before_kill_ms: reader.time(&p("max_wait_before_kill"), 15_000),
        total_per_round: reader.float(&p("total_preemption_per_round"), 0.1),
        max_ignored_over_capacity,
        natural_termination_factor,
        select_reserved: reader.boolean(&p("select_based_on_reserved_containers"), false),
        balance_reserved: reader.boolean(
            &p("additional_res_balance_based_on_reserved_containers"),
            false,
        ),
        conservative_drf: reader.boolean(&p("conservative-drf"), false),
        balance_after_satisfied: reader.boolean(
            &p("preemption-to-balance-queue-after-satisfied.enabled"),
            false,
        ),
        balance_max_wait_before_kill_ms: reader.time(
            &p("preemption-to-balance-queue-after-satisfied.max-wait-before-kill"),
            300_000,
        ),
        intra: intra(reader),
        underutilized: reader.boolean(&pu("enabled"), false),
        underutilized_delay_ms: reader.time(&pu("reserved-container-delay-ms"), 60_000),
        underutilized_move_reservation: reader.boolean(&pu("allow-move-reservation"), false),
    }
}

fn intra(reader: &mut Reader<'_>) -> IntraPreemption {
    let p = |suffix: &str| format!("{PREEMPTION}intra-queue-preemption.{suffix}");
    let order_key = p("preemption-order-policy");
    let order = match reader.text(&order_key).map(str::trim) {
        None => IntraOrder::UserLimitFirst,
        Some(t) if t.eq_ignore_ascii_case("userlimit_first") => IntraOrder::UserLimitFirst,
        Some(t) if t.eq_ignore_ascii_case("priority_first") => IntraOrder::PriorityFirst,
        Some(_) => {
            reader.problem(&order_key, "is neither userlimit_first nor priority_first");
            IntraOrder::UserLimitFirst
        }
    };
    IntraPreemption {
        enabled: reader.boolean(&p("enabled"), false),
        minimum_threshold: reader.float(&p("minimum-threshold"), 0.5),
        max_allowable_limit: reader.float(&p("max-allowable-limit"), 0.2),
        order,
        conservative_drf: reader.boolean(&p("conservative-drf"), true),
    }
}

#[cfg(test)]
#[path = "cluster_read_test.rs"]
mod tests;
