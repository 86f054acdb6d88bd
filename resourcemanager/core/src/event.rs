//! Everything that can happen to the ResourceManager: the closed list of inputs of [`crate::Rm::apply`].
//! May touch: `yarn-types`.
//! Must not: carry bytes of the wire, secrets or launch contexts (the shell keeps those by id).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use yarn_types::{
    ApplicationAttemptId, ApplicationId, ContainerId, ContainerState, FinalStatus, NodeId,
    Resource,
    gpu::{DeviceChange, DeviceGrant, DeviceReport},
};

use crate::{
    acl::{AppAcls, Caller},
    conf::SchedConf,
    labels::NodeLabels,
};

/// Who waits for an answer; the shell's table maps it to the connection.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct CallId(pub u64);

/// One input. Every variant says who sends it and when it is legal.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Event {
    /// The driver, whenever [`crate::Rm::next_wake`] has passed. Always legal.
    Tick,
    /// The driver, at start and when the wall clock jumps: wall milliseconds at this event's `now`.
    /// Used for display and ids only.
    WallClock {
        /// Milliseconds since 1970.
        wall_ms: i64,
    },
    /// The store: everything up to `seq` lasts. Sequence numbers arrive in order.
    Stored {
        /// Number of the last record that is stored.
        seq: u64,
    },
    /// The token service: NMTokens are signed with a new key from now on, so every attempt needs
    /// fresh ones.
    NmKeyActivated,
    /// An administrator's refresh: validated against the state and applied in one step, or refused
    /// with the state unchanged. Answered by [`crate::effect::Reply::Done`].
    Reload {
        /// Who waits.
        call: CallId,
        /// The parsed capacity-scheduler.xml, and the maximum allocation of yarn-site.xml.
        conf: Box<SchedConf>,
    },
    /// A call of ApplicationClientProtocol that changes something.
    Client {
        /// Who waits.
        call: CallId,
        /// What is asked.
        request: ClientRequest,
    },
    /// A call of ApplicationMasterProtocol, from the attempt that its token names.
    Am {
        /// Who waits.
        call: CallId,
        /// Identity proven by the AMRMToken.
        attempt: ApplicationAttemptId,
        /// What is asked.
        request: AmRequest,
    },
    /// A call of ResourceTracker.
    Node {
        /// Who waits.
        call: CallId,
        /// What is said.
        request: NodeRequest,
    },
    /// The launcher: the NodeManager accepted the ApplicationMaster's container. Legal after
    /// [`crate::effect::Effect::LaunchAm`]; late ones are ignored.
    AmLaunched {
        /// Whose ApplicationMaster.
        attempt: ApplicationAttemptId,
    },
    /// The launcher: the ApplicationMaster could not be started.
    AmLaunchFailed {
        /// Whose ApplicationMaster.
        attempt: ApplicationAttemptId,
        /// Text for the attempt's diagnostics.
        diagnostics: String,
    },
    /// The shell, at start: the include/exclude lists, hosts that may register, hosts that must go.
    Hosts(HostLists),
    /// The shell, at start and before any node registers: the node labels that the store kept.
    Labels {
        /// Names and whether they are exclusive.
        labels: Vec<(Arc<str>, bool)>,
        /// Which hosts and nodes have them.
        nodes: NodeLabels,
    },
    /// The shell, at start: what dynamic-resources.xml says of nodes that are still to register.
    DynamicResources(Vec<NodeOption>),
    /// A call of ResourceManagerAdministrationProtocol, refused or done as a whole.
    Admin {
        /// Who waits.
        call: CallId,
        /// What is asked.
        request: AdminRequest,
    },
}

/// Calls of ResourceManagerAdministrationProtocol, each answered by `Done`.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub enum AdminRequest {
    /// `refreshNodes`, with the lists as they are now.
    RefreshNodes {
        /// The lists.
        lists: HostLists,
        /// How hosts go that are not allowed any more.
        how: Decommission,
    },
    /// `refreshNodes` FORCEFUL: every DECOMMISSIONING node goes now.
    DecommissionNow,
    /// `updateNodeResource`.
    UpdateNodeResource(Vec<NodeOption>),
    /// `refreshNodesResources`: dynamic-resources.xml as it is now.
    RefreshNodesResources(Vec<NodeOption>),
    /// `refreshClusterMaxPriority`: the highest priority of an application from now on.
    ClusterMaxPriority(i32),
    /// Calls that change node labels; answered once stored.
    Labels(LabelRequest),
}

/// A change of node labels.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum LabelRequest {
    /// `addToClusterNodeLabels`: names and whether they are exclusive.
    Add(Vec<(Arc<str>, bool)>),
    /// `removeFromClusterNodeLabels`.
    Remove(BTreeSet<Arc<str>>),
    /// `replaceLabelsOnNodes`.
    Replace {
        /// The new labels of hosts and nodes; without one they go to the default partition.
        nodes: Vec<(LabelTarget, BTreeSet<Arc<str>>)>,
        /// Nodes that are not there are refused.
        known_only: bool,
    },
}

/// What a label is given to.
#[derive(
    Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum LabelTarget {
    /// Every node of a host (port 0 on the wire).
    Host(Arc<str>),
    /// One node.
    Node(NodeId),
}

impl LabelTarget {
    /// The host, or that of the node.
    pub fn host(&self) -> &str {
        match self {
            Self::Host(host) => host,
            Self::Node(node) => &node.host,
        }
    }
}

impl std::fmt::Display for LabelTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host(host) => write!(f, "{host}:0"),
            Self::Node(node) => write!(f, "{node}"),
        }
    }
}

/// `DecommissionType` of a refresh of the lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Decommission {
    /// NORMAL: at once.
    Normal,
    /// GRACEFUL: once what runs there has ended, or at the timeout.
    Graceful {
        /// Seconds for hosts without a timeout of their own; negative waits for ever.
        timeout_s: i32,
    },
}

/// `ResourceOption` of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct NodeOption {
    /// Which node.
    pub node: NodeId,
    /// What it offers from now on, whatever it registered.
    pub total: Resource,
    /// Milliseconds until containers beyond `total` are ended; negative lets them run on.
    pub overcommit_timeout_ms: i32,
}

/// `yarn.resourcemanager.nodes.{include,exclude}-path` as read.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct HostLists {
    /// Allowed hosts; empty allows every host.
    pub include: Vec<Arc<str>>,
    /// Refused hosts.
    pub exclude: Vec<Arc<str>>,
    /// Refused hosts that have a time of their own to go gracefully, in seconds; negative for ever.
    pub timeouts_s: BTreeMap<Arc<str>, i32>,
}

/// Calls of ApplicationClientProtocol that change something.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub enum ClientRequest {
    /// `getNewApplication`: answered by [`crate::effect::Reply::NewApplication`].
    NewApplication,
    /// `submitApplication`; a known id is answered as if it were new. Answered once stored.
    Submit(Box<Submission>),
    /// `forceKillApplication`: answered by [`crate::effect::Reply::KillCompleted`].
    Kill {
        /// Which application.
        app: ApplicationId,
        /// Caller, for the diagnostics.
        user: Arc<str>,
        /// Peer address, for the diagnostics.
        peer: String,
        /// The caller's own words, may be empty.
        diagnostics: String,
    },
    /// `failApplicationAttempt`: answered by `Done`.
    FailAttempt {
        /// Which attempt.
        attempt: ApplicationAttemptId,
        /// Caller.
        user: Arc<str>,
    },
    /// `moveApplicationAcrossQueues`: answered by `Done` once stored.
    Move {
        /// Which application.
        app: ApplicationId,
        /// Name or path of the queue.
        queue: String,
    },
    /// `updateApplicationPriority`: answered by [`crate::effect::Reply::Priority`] once stored.
    SetPriority {
        /// Which application.
        app: ApplicationId,
        /// The new priority.
        priority: i32,
        /// Who asks, where access lists count.
        caller: Option<Who>,
    },
    /// `updateApplicationTimeouts` for LIFETIME: answered by `Done` once stored.
    SetExpiry {
        /// Which application.
        app: ApplicationId,
        /// Wall milliseconds at which it must have ended.
        expiry_wall_ms: i64,
    },
    /// `signalToContainer`: passed to the node with its next heartbeat. Answered by `Done`.
    SignalContainer {
        /// Which container.
        container: ContainerId,
        /// What to send.
        command: SignalCommand,
    },
}

/// A user with its groups, as they were when it called.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Who {
    /// Short name.
    pub user: Arc<str>,
    /// Groups, the primary one first.
    pub groups: Vec<String>,
}

impl Who {
    /// For access lists.
    pub fn caller(&self) -> Caller<'_> {
        Caller {
            user: &self.user,
            groups: &self.groups,
        }
    }
}

/// `SignalContainerCommand`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum SignalCommand {
    /// SIGQUIT.
    OutputThreadDump,
    /// SIGTERM.
    GracefulShutdown,
    /// SIGKILL.
    ForcefulShutdown,
}

/// `ApplicationSubmissionContext` without its launch context (the shell keeps that by id).
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Submission {
    /// Id from `getNewApplication`.
    pub app: ApplicationId,
    /// Submitter.
    pub user: Arc<str>,
    /// Its groups, the primary one first.
    pub groups: Vec<String>,
    /// The user that its tag names, where tags are believed: placed in its stead if that one may
    /// submit there.
    pub tag_user: Option<Who>,
    /// Who else may see and change it.
    pub acls: Arc<AppAcls>,
    /// `N/A` when the client gave none.
    pub name: String,
    /// Queue as the client wrote it; empty means `default`.
    pub queue: String,
    /// `YARN` when the client gave none.
    pub application_type: String,
    /// Tags in the order given.
    pub tags: Vec<String>,
    /// Application priority, when given.
    pub priority: Option<i32>,
    /// The ApplicationMaster runs outside the cluster.
    pub unmanaged: bool,
    /// Most attempts; 0 means the RM's default.
    pub max_attempts: u32,
    /// Failures older than this do not count; `None` counts all.
    pub attempt_failures_validity_ms: Option<u64>,
    /// Seconds after its submission at which it must have ended; below 1 for its queue's default.
    pub lifetime_s: i64,
    /// `keep_containers_across_application_attempts`.
    pub keep_containers: bool,
    /// What the ApplicationMaster's container needs, as asked (not yet normalised).
    pub am_resource: Resource,
    /// Label of the ApplicationMaster's container, when given; once the application was accepted that
    /// of its partition.
    pub am_label: Option<String>,
    /// Default label of the application's containers, when given.
    pub label: Option<String>,
    /// A resource type that the RM does not know was asked with a value above 0: its name.
    pub unknown_resource: Option<String>,
}

impl Submission {
    /// Label that its ApplicationMaster's container is asked for with: its own, or the cluster's
    /// `default`, or the application's (`RMAppManager.validateAndCreateResourceRequest`).
    pub fn asked_am_label<'a>(&'a self, default: Option<&'a str>) -> Option<&'a str> {
        let given = |label: &&str| !label.trim().is_empty();
        let own = self.am_label.as_deref().filter(given);
        own.or(default.filter(given)).or(self.label.as_deref())
    }
}

/// Calls of ApplicationMasterProtocol.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub enum AmRequest {
    /// `registerApplicationMaster`: answered by [`crate::effect::Reply::Registered`].
    Register {
        /// Where the ApplicationMaster listens; `N/A` when empty.
        host: String,
        /// Its port, -1 for none.
        rpc_port: i32,
        /// Its web page, may be empty.
        tracking_url: String,
    },
    /// `allocate`: answered after the next pass by [`crate::effect::Reply::Allocated`] or
    /// [`crate::effect::Reply::AllocatedAgain`].
    Allocate(Box<Allocate>),
    /// `finishApplicationMaster`: answered by [`crate::effect::Reply::Unregistered`].
    Finish {
        /// Outcome in the ApplicationMaster's words.
        status: FinalStatus,
        /// Its diagnostics.
        diagnostics: String,
        /// Where its history is, may be empty.
        tracking_url: String,
    },
}

/// Body of `allocate`.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Allocate {
    /// Response id of the last answer that the ApplicationMaster got.
    pub response_id: i32,
    /// 0 to 1.
    pub progress: f32,
    /// New absolute counts by key.
    pub asks: Vec<Ask>,
    /// Containers given back.
    pub releases: Vec<ContainerId>,
    /// Hosts or racks to avoid from now on.
    pub blacklist_additions: Vec<Arc<str>>,
    /// Hosts or racks to use again.
    pub blacklist_removals: Vec<Arc<str>>,
    /// Containers whose size or execution type should change.
    pub updates: Vec<Update>,
    /// A `SchedulingRequest` was in the call.
    pub scheduling_requests: bool,
    /// Where the ApplicationMaster's page is from now on, when the call says so.
    pub tracking_url: Option<String>,
}

/// One `ResourceRequest`.
pub use crate::sched::RawAsk as Ask;

/// One `UpdateContainerRequest`.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Update {
    /// Which container.
    pub container: ContainerId,
    /// Its version as the ApplicationMaster knows it.
    pub version: i32,
    /// What shall change.
    pub kind: UpdateKind,
    /// OPPORTUNISTIC is wanted.
    pub opportunistic: bool,
    /// The size wanted, where one is.
    pub capability: Option<Resource>,
    /// Lanes that `capability` names, beside memory and vcores; the others stay as they are.
    pub named: BTreeSet<usize>,
    /// A resource type that the RM does not know was asked with a value above 0: its name.
    pub unknown_resource: Option<String>,
}

/// `ContainerUpdateType`.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum UpdateKind {
    /// `INCREASE_RESOURCE`.
    Increase,
    /// `DECREASE_RESOURCE`.
    Decrease,
    /// `PROMOTE_EXECUTION_TYPE`.
    Promote,
    /// `DEMOTE_EXECUTION_TYPE`.
    Demote,
}

/// Calls of ResourceTracker.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub enum NodeRequest {
    /// `registerNodeManager`: answered by [`crate::effect::Reply::NodeRegistered`].
    Register(Box<NodeRegistration>),
    /// `nodeHeartbeat`: answered by [`crate::effect::Reply::Heartbeat`] or `HeartbeatAgain`.
    Heartbeat(Box<Heartbeat>),
    /// `unRegisterNodeManager`: answered by `Done`.
    Unregister {
        /// Which node.
        node: NodeId,
    },
}

/// Body of `registerNodeManager`.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct NodeRegistration {
    /// Identity everywhere, tokens included.
    pub node: NodeId,
    /// Web port.
    pub http_port: u16,
    /// From the topology mapping, `/default-rack` when there is none.
    pub rack: Arc<str>,
    /// What it offers.
    pub total: Resource,
    /// Its version text.
    pub version: String,
    /// Containers it still knows.
    pub containers: Vec<NodeContainer>,
    /// Applications it still knows.
    pub running_apps: Vec<ApplicationId>,
    /// Its health, when it sent a status.
    pub health: Option<NodeHealth>,
    /// Its labels as it says itself, when it says any (`nodeLabels`).
    pub labels: Option<BTreeSet<Arc<str>>>,
    /// Its devices with the number of the change that the list stands for, when it sent a list.
    pub gpus: Option<(u64, Vec<DeviceReport>)>,
}

/// Body of `nodeHeartbeat`.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Heartbeat {
    /// Which node.
    pub node: NodeId,
    /// Response id of the last answer that the node got.
    pub response_id: i32,
    /// Running and newly completed containers.
    pub containers: Vec<NodeContainer>,
    /// Containers that grew there since, with their size now (`increased_containers`).
    pub increased: Vec<(ContainerId, Resource)>,
    /// Its health.
    pub health: NodeHealth,
    /// Its labels as it says itself, when they changed.
    pub labels: Option<BTreeSet<Arc<str>>>,
    /// Changes of its devices that were not echoed, with the number of the last, when it sends any.
    pub gpus: Option<(u64, Vec<DeviceChange>)>,
}

/// `NodeHealthStatus`.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct NodeHealth {
    /// Whether it can run containers.
    pub healthy: bool,
    /// Its words.
    pub report: String,
    /// Wall milliseconds of the check.
    pub reported_wall_ms: i64,
}

/// A container as its node sees it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct NodeContainer {
    /// Which container.
    pub id: ContainerId,
    /// Its state there.
    pub state: ContainerState,
    /// Its size.
    pub resource: Resource,
    /// Its priority (registration only).
    pub priority: i32,
    /// Exit status, meaningful when complete.
    pub exit_status: i32,
    /// The node's words.
    pub diagnostics: String,
    /// Wall milliseconds of its grant (registration only).
    pub created_wall_ms: i64,
    /// Its devices (registration only).
    pub gpus: Vec<DeviceGrant>,
}
