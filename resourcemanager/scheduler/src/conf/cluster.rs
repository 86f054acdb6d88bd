//! Settings of the whole scheduler (`CapacitySchedulerConfiguration`), and of its monitors.
//! May touch: nothing.
//! Must not: hold what one queue is configured to be.

use crate::placement::{RawRules, WorkflowPriorities};

/// `yarn.scheduler.capacity.heddle.pacing`: when the scheduler places.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Pacing {
    /// As soon as something changes.
    Event,
    /// On a node's heartbeat, as Hadoop without asynchronous scheduling.
    Heartbeat,
}

/// A node sorting policy (`MultiNodePolicySpec`).
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct MultiNodePolicy {
    /// Full name of the class.
    pub class: String,
    /// `sorting-interval.ms`; 0 sorts on every use.
    pub interval_ms: u64,
}

/// `preemption-order-policy` inside a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum IntraOrder {
    /// `userlimit_first`.
    UserLimitFirst,
    /// `priority_first`.
    PriorityFirst,
}

/// `…preemption.intra-queue-preemption.*`.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct IntraPreemption {
    /// `enabled`.
    pub enabled: bool,
    /// `minimum-threshold`: use of the guarantee from which on a queue is looked at.
    pub minimum_threshold: f32,
    /// `max-allowable-limit`: most of the guarantee that is preempted.
    pub max_allowable_limit: f32,
    /// `preemption-order-policy`.
    pub order: IntraOrder,
    /// `conservative-drf`.
    pub conservative_drf: bool,
}

/// `yarn.resourcemanager.scheduler.monitor.*` and
/// `yarn.resourcemanager.monitor.capacity.preemption.*` (`ProportionalCapacityPreemptionPolicy`).
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct PreemptionConf {
    /// The monitor is on and `ProportionalCapacityPreemptionPolicy` is among its policies.
    pub enabled: bool,
    /// `observe_only`.
    pub observe_only: bool,
    /// `monitoring_interval`.
    pub interval_ms: u64,
    /// `max_wait_before_kill`.
    pub max_wait_before_kill_ms: u64,
    /// `total_preemption_per_round`, a share of the partition.
    pub total_per_round: f32,
    /// `max_ignored_over_capacity`.
    pub max_ignored_over_capacity: f64,
    /// `natural_termination_factor`.
    pub natural_termination_factor: f64,
    /// `select_based_on_reserved_containers`.
    pub select_reserved: bool,
    /// `additional_res_balance_based_on_reserved_containers`.
    pub balance_reserved: bool,
    /// `conservative-drf`.
    pub conservative_drf: bool,
    /// `preemption-to-balance-queue-after-satisfied.enabled`.
    pub balance_after_satisfied: bool,
    /// `preemption-to-balance-queue-after-satisfied.max-wait-before-kill`.
    pub balance_max_wait_before_kill_ms: u64,
    /// Inside queues.
    pub intra: IntraPreemption,
    /// `ordering-policy.priority-utilization.underutilized-preemption.enabled`.
    pub underutilized: bool,
    /// `….reserved-container-delay-ms`.
    pub underutilized_delay_ms: u64,
    /// `….allow-move-reservation`.
    pub underutilized_move_reservation: bool,
}

/// Keys of the scheduler that are no queue's.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct ClusterConf {
    /// `heddle.pacing`.
    pub pacing: Pacing,
    /// `legacy-queue-mode.enabled`: percent, weights and amounts may not be mixed.
    pub legacy_mode: bool,
    /// `node-locality-delay`, missed chances; below 0 never waits.
    pub node_locality_delay: i32,
    /// `rack-locality-additional-delay`; -1 is Hadoop's old count.
    pub rack_locality_additional_delay: i32,
    /// `rack-locality-full-reset`.
    pub rack_locality_full_reset: bool,
    /// `per-node-heartbeat.multiple-assignments-enabled`.
    pub assign_multiple: bool,
    /// `per-node-heartbeat.maximum-container-assignments`; below 0 no limit.
    pub max_assign_per_heartbeat: i32,
    /// `per-node-heartbeat.maximum-offswitch-assignments`, at least 1.
    pub offswitch_per_heartbeat: u32,
    /// `schedule-asynchronously.enable`.
    pub asynchronous: bool,
    /// `reservations-continue-look-all-nodes`.
    pub continue_looking: bool,
    /// `skip-allocate-on-nodes-with-reserved-containers`.
    pub skip_reserved_nodes: bool,
    /// `lazy-preemption-enabled`.
    pub lazy_preemption: bool,
    /// `application.fail-fast`.
    pub fail_fast: bool,
    /// `user-metrics.enable`.
    pub user_metrics: bool,
    /// `user.max-parallel-apps`; `i32::MAX` is no limit.
    pub user_max_parallel_apps: i32,
    /// `user.<name>.max-parallel-apps`, by name.
    pub max_parallel_apps_of_user: Vec<(String, i32)>,
    /// `multi-node-placement-enabled`.
    pub multi_node_placement: bool,
    /// `multi-node-sorting.policy.names` with their classes.
    pub multi_node_policies: Vec<MultiNodePolicy>,
    /// `queue.auto.refresh.monitoring-interval`, when that monitor is on.
    pub auto_refresh_interval_ms: Option<u64>,
    /// `auto-queue-creation-v2.queue-expiration-time`.
    pub queue_expiration_s: u64,
    /// `AutoCreatedQueueDeletionPolicy` is among the monitor's policies; its period.
    pub queue_deletion_interval_ms: Option<u64>,
    /// Preemption.
    pub preemption: PreemptionConf,
    /// `yarn.cluster.max-application-priority`.
    pub max_application_priority: i32,
    /// Placement rules, unparsed: they need the queue tree.
    pub placement: RawRules,
    /// `workflow-priority-mappings`.
    pub workflow_priorities: WorkflowPriorities,
}

impl ClusterConf {
    /// Most applications of `user` that may run at once.
    pub fn max_parallel_apps(&self, user: &str) -> i32 {
        let own = self
            .max_parallel_apps_of_user
            .iter()
            .find(|(name, _)| name == user);
        own.map_or(self.user_max_parallel_apps, |(_, limit)| *limit)
    }
}
