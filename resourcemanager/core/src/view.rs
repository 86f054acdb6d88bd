//! The read model: what readers see of the state, as plain values.
//! May touch: `yarn-types`.
//! Must not: share mutable state with the core.

use std::sync::Arc;

use yarn_types::{
    ApplicationAttemptId, ApplicationId, ApplicationState, AttemptState, ContainerId,
    ContainerState, FinalStatus, NodeId, NodeState, QueueState, Resource, gpu::GpuHealth,
};

use crate::acl::AppAcls;

pub use crate::{
    conf::{CapacityKind, CapacityVector, Templates},
    counters::Counters,
    sched::{ContainerCounts, LabelFigures as LabelReport, QueueUsage},
};

/// A consistent picture of the whole RM after some event.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Number of events applied when it was taken.
    pub seq: u64,
    /// Applications in submission order.
    pub apps: Vec<Arc<AppReport>>,
    /// Nodes in registration order, gone ones included.
    pub nodes: Vec<Arc<NodeReport>>,
    /// Queues in tree order, root first.
    pub queues: Vec<Arc<QueueReport>>,
    /// Sums.
    pub metrics: ClusterMetrics,
}

/// An application.
#[derive(Clone, PartialEq, Debug)]
pub struct AppReport {
    /// Its id.
    pub id: ApplicationId,
    /// Submitter.
    pub user: Arc<str>,
    /// Full path of its queue; as the client wrote it until it was accepted.
    pub queue: String,
    /// Its name.
    pub name: String,
    /// Who else may see and change it.
    pub acls: Arc<AppAcls>,
    /// Its type.
    pub application_type: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its state.
    pub state: ApplicationState,
    /// Outcome.
    pub final_status: FinalStatus,
    /// In words.
    pub diagnostics: String,
    /// The attempt that counts now; `None` before the first.
    pub current_attempt: Option<ApplicationAttemptId>,
    /// Where the ApplicationMaster listens; `N/A` before it registers.
    pub host: String,
    /// Its port; -1 before it registers.
    pub rpc_port: i32,
    /// The ApplicationMaster's own tracking URL; empty before it registers. The shell makes the
    /// proxy URL of it.
    pub original_tracking_url: String,
    /// 0 to 1.
    pub progress: f32,
    /// Wall milliseconds.
    pub submitted_wall_ms: i64,
    /// Wall milliseconds (`startTime`).
    pub started_wall_ms: i64,
    /// Wall milliseconds of the first ApplicationMaster's launch; 0 before.
    pub launched_wall_ms: i64,
    /// Wall milliseconds; 0 while it lives.
    pub finished_wall_ms: i64,
    /// Its current attempt got a container: from then on Hadoop counts it as running.
    pub granted: bool,
    /// Priority now.
    pub priority: i32,
    /// The ApplicationMaster runs outside the cluster.
    pub unmanaged: bool,
    /// Label of its containers, when given.
    pub label: Option<String>,
    /// Label of its ApplicationMaster, when given.
    pub am_label: Option<String>,
    /// Size of its ApplicationMaster.
    pub am_resource: Resource,
    /// Held now.
    pub used: Resource,
    /// Containers held now.
    pub used_containers: u32,
    /// Outstanding asks.
    pub pending: Resource,
    /// Outstanding containers.
    pub pending_containers: u32,
    /// Held by its reservations.
    pub reserved: Resource,
    /// Its reservations.
    pub reserved_containers: u32,
    /// Used share of its queue, percent.
    pub queue_usage_percent: f32,
    /// Used share of the cluster, percent.
    pub cluster_usage_percent: f32,
    /// Amount × seconds by lane, all attempts.
    pub resource_seconds: Resource,
    /// Containers taken by preemption, ApplicationMasters' not counted.
    pub preempted_containers: u32,
    /// ApplicationMasters taken by preemption.
    pub preempted_masters: u32,
    /// Sizes of all that preemption took.
    pub preempted: Resource,
    /// Amount × seconds by lane of what preemption took.
    pub preempted_seconds: Resource,
    /// Wall milliseconds at which it must have ended, when there is such a time.
    pub expires_wall_ms: Option<i64>,
    /// What it holds and wants by partition, while it lives.
    pub partitions: Vec<AppPartition>,
}

/// An application in one partition.
#[derive(Clone, PartialEq, Debug)]
pub struct AppPartition {
    /// The label; empty for the default partition.
    pub label: Arc<str>,
    /// Held by containers.
    pub used: Resource,
    /// Held by reservations.
    pub reserved: Resource,
    /// Outstanding.
    pub pending: Resource,
    /// Size of its ApplicationMaster, in the partition that this counts in.
    pub am: Resource,
}

/// What an application asks for under one key at one place (`ResourceRequest`).
#[derive(Clone, PartialEq, Debug)]
pub struct AskReport {
    /// Larger is less urgent.
    pub priority: i32,
    /// The client's own key; -1 for an ApplicationMaster's container.
    pub allocation_request_id: i64,
    /// `*`, a host or a rack.
    pub place: Arc<str>,
    /// Size of each container.
    pub size: Resource,
    /// Containers outstanding there.
    pub count: i32,
    /// Whether the next wider place may be used.
    pub relax: bool,
    /// Its node label; empty for none.
    pub label: Arc<str>,
}

/// An attempt.
#[derive(Clone, PartialEq, Debug)]
pub struct AttemptReport {
    /// Its id.
    pub id: ApplicationAttemptId,
    /// Its state.
    pub state: AttemptState,
    /// Where its ApplicationMaster listens; `N/A` before it registers.
    pub host: String,
    /// Its port; -1 before it registers.
    pub rpc_port: i32,
    /// The ApplicationMaster's own tracking URL.
    pub original_tracking_url: String,
    /// In words.
    pub diagnostics: String,
    /// Its ApplicationMaster's container.
    pub am_container: Option<ContainerId>,
    /// Node of that container.
    pub am_node: Option<(NodeId, String)>,
    /// Wall milliseconds.
    pub started_wall_ms: i64,
    /// Wall milliseconds; 0 while it lives.
    pub finished_wall_ms: i64,
    /// Hosts and racks that its ApplicationMaster avoids, while it lives (`blacklistedNodes`).
    pub blacklisted_nodes: Vec<Arc<str>>,
    /// Hosts that the next ApplicationMaster of the application is kept off
    /// (`nodesBlacklistedBySystem`).
    pub nodes_blacklisted_by_system: Vec<Arc<str>>,
}

/// A container.
#[derive(Clone, PartialEq, Debug)]
pub struct ContainerReport {
    /// Its id.
    pub id: ContainerId,
    /// Its size.
    pub resource: Resource,
    /// Where.
    pub node: NodeId,
    /// Web address of the node, host:port.
    pub node_http_address: String,
    /// Submitter of its application.
    pub user: Arc<str>,
    /// Priority of its ask.
    pub priority: i32,
    /// Wall milliseconds.
    pub created_wall_ms: i64,
    /// Wall milliseconds; 0 while it lives.
    pub finished_wall_ms: i64,
    /// In words.
    pub diagnostics: String,
    /// Exit status; 0 while it lives, as Hadoop shows it.
    pub exit_status: i32,
    /// Its state.
    pub state: ContainerState,
}

/// A node.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeReport {
    /// Its id.
    pub id: NodeId,
    /// Web address, host:port.
    pub http_address: String,
    /// Its rack.
    pub rack: Arc<str>,
    /// Its state.
    pub state: NodeState,
    /// What it offers.
    pub total: Resource,
    /// What is granted of it.
    pub used: Resource,
    /// Containers on it.
    pub containers: u32,
    /// Its health, in its words.
    pub health_report: String,
    /// Wall milliseconds of the last health check.
    pub health_wall_ms: i64,
    /// Wall milliseconds of the last heartbeat.
    pub last_heartbeat_wall_ms: i64,
    /// Its version text.
    pub version: String,
    /// Seconds that it has to go, while it is DECOMMISSIONING; negative for ever.
    pub decommissioning_timeout_s: Option<i32>,
    /// Its node label, if any.
    pub label: Option<Arc<str>>,
    /// Its devices, when it sent a list.
    pub gpus: Vec<GpuReport>,
}

/// A device of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GpuReport {
    /// `GPU-…`.
    pub uuid: Arc<str>,
    /// Position in NVML's list.
    pub index: u32,
    /// N of `/dev/nvidiaN`.
    pub minor: u32,
    /// Product name.
    pub model: String,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Whether it can be used.
    pub health: GpuHealth,
    /// What a former holder left behind.
    pub dirty: Option<String>,
    /// The container that has it, or whose end its node has not confirmed.
    pub holder: Option<ContainerId>,
}

/// A queue.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueReport {
    /// Last part of the path.
    pub name: String,
    /// Full path.
    pub path: String,
    /// Path of the parent; `None` for root.
    pub parent: Option<String>,
    /// No children.
    pub is_leaf: bool,
    /// Its state.
    pub state: QueueState,
    /// Configured share of the parent, 0 to 1.
    pub capacity: f32,
    /// Configured maximum share of the parent, 0 to 1.
    pub maximum_capacity: f32,
    /// Share of the cluster, 0 to 1.
    pub absolute_capacity: f32,
    /// Maximum share of the cluster, 0 to 1.
    pub absolute_maximum_capacity: f32,
    /// Used share of its guarantee, 0 to ….
    pub used_capacity: f32,
    /// Used share of the cluster, 0 to 1.
    pub absolute_used_capacity: f32,
    /// Held now.
    pub used: Resource,
    /// Outstanding asks.
    pub pending: Resource,
    /// Guaranteed now.
    pub guaranteed: Resource,
    /// Maximum now.
    pub maximum: Resource,
    /// Applications whose ApplicationMaster may run.
    pub active_apps: u32,
    /// Applications waiting for that.
    pub pending_apps: u32,
    /// Containers held, reservations included, in all partitions.
    pub containers: u32,
    /// Held by ApplicationMasters.
    pub am_used: Resource,
    /// Most that ApplicationMasters may hold.
    pub am_limit: Resource,
    /// `minimum-user-limit-percent`.
    pub user_limit_percent: f32,
    /// `user-limit-factor`.
    pub user_limit_factor: f32,
    /// Most applications.
    pub max_applications: u32,
    /// Labels that its applications may ask for, in ascending order; `*` for any
    /// (`accessible-node-labels`).
    pub accessible_labels: Vec<String>,
    /// `default-node-label-expression`, when there is one.
    pub default_label: Option<String>,
    /// Applications submitted and not ended, below it too.
    pub apps: u32,
    /// Containers in the default partition, below it too.
    pub counts: ContainerCounts,
    /// Users with outstanding asks (leaf).
    pub active_users: u32,
    /// Most applications of one user (leaf).
    pub max_applications_per_user: u32,
    /// What happened since the start, below it too.
    pub counters: Counters,
    /// What is configured, inherited or resolved.
    pub settings: QueueSettings,
    /// Its figures by partition, those that it has settings for or holds something in; the default
    /// one first.
    pub partitions: Vec<PartitionReport>,
}

/// What a queue is set to, for readers.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueSettings {
    /// How its capacity is written, in Hadoop's words: `percentage`, `weight`, `absolute`, `mixed`
    /// (`CapacitySchedulerInfoHelper.getMode`).
    pub mode: &'static str,
    /// Its capacity is written in amounts (`CapacityConfigType.ABSOLUTE_RESOURCE`).
    pub is_absolute: bool,
    /// Made for an application.
    pub dynamic: bool,
    /// Children may be made for applications.
    pub creates_queues: bool,
    /// Settings of those children.
    pub templates: Templates,
    /// `max-parallel-apps`; `i32::MAX` for no limit.
    pub max_parallel_apps: i32,
    /// `ordering-policy` by its configured name.
    pub ordering_policy: &'static str,
    /// `priority` among its siblings.
    pub priority: i32,
    /// `default-application-priority`.
    pub default_application_priority: i32,
    /// The largest container.
    pub maximum_allocation: Resource,
    /// `maximum-application-lifetime` in seconds; -1 for none.
    pub max_lifetime_s: i64,
    /// `default-application-lifetime` in seconds; -1 for none.
    pub default_lifetime_s: i64,
    /// Preemption takes nothing from it; true too while no monitor runs.
    pub preemption_disabled: bool,
    /// The same inside the queue.
    pub intra_preemption_disabled: bool,
    /// `acl_submit_applications`.
    pub acl_submit: String,
    /// `acl_administer_queue`.
    pub acl_administer: String,
    /// `acl_application_max_priority`, as written.
    pub acl_priority: String,
    /// Class of the policy that sorts nodes for it.
    pub multi_node_policy: Option<String>,
}

impl Default for QueueSettings {
    /// Hadoop's defaults for a leaf by percentage.
    fn default() -> Self {
        Self {
            mode: "percentage",
            is_absolute: false,
            dynamic: false,
            creates_queues: false,
            templates: Templates::default(),
            max_parallel_apps: i32::MAX,
            ordering_policy: "fifo",
            priority: 0,
            default_application_priority: 0,
            maximum_allocation: Resource::ZERO,
            max_lifetime_s: -1,
            default_lifetime_s: -1,
            preemption_disabled: true,
            intra_preemption_disabled: true,
            acl_submit: " ".to_owned(),
            acl_administer: " ".to_owned(),
            acl_priority: "*".to_owned(),
            multi_node_policy: None,
        }
    }
}

/// A user of a leaf, computed when asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct UserReport {
    /// Its name.
    pub name: Arc<str>,
    /// Its weight.
    pub weight: f32,
    /// It counts among the active users: it has outstanding asks.
    pub active: bool,
    /// Applications whose ApplicationMaster may run.
    pub active_apps: u32,
    /// Applications waiting for that.
    pub pending_apps: u32,
    /// Most that it may hold in the default partition.
    pub limit: Resource,
    /// By partition: those where it holds anything, the default one always.
    pub partitions: Vec<UserPartition>,
}

/// A user of a leaf in one partition.
#[derive(Clone, PartialEq, Debug)]
pub struct UserPartition {
    /// The label; empty for the default partition.
    pub label: Arc<str>,
    /// Held by containers and reservations.
    pub used: Resource,
    /// Held by ApplicationMasters.
    pub am_used: Resource,
    /// Most that its ApplicationMasters may hold.
    pub am_limit: Resource,
}

/// A queue in one partition.
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionReport {
    /// The label; empty for the default partition.
    pub label: Arc<str>,
    /// `capacity` lane by lane; `None` where nothing is configured for the partition.
    pub vector: Option<CapacityVector>,
    /// Shares and amounts there.
    pub usage: QueueUsage,
}

/// Sums over the cluster.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClusterMetrics {
    /// Nodes by state, in the order of `NodeState::ALL`.
    pub nodes: [u32; 8],
    /// Applications by state, in the order of `ApplicationState::ALL`.
    pub apps: [u32; 8],
    /// Offered by usable nodes.
    pub total: Resource,
    /// Granted.
    pub used: Resource,
    /// Outstanding asks.
    pub pending: Resource,
    /// Containers granted.
    pub containers: u32,
    /// Containers outstanding.
    pub pending_containers: u32,
}
