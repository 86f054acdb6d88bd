//! Everything the ResourceManager wants done: the closed list of outputs of [`crate::Rm::apply`].
//! May touch: `yarn-types`.
//! Must not: carry keys, tokens or wire bytes (the shell mints and encodes).

use std::{borrow::Cow, sync::Arc};

use yarn_types::{
    ApplicationAttemptId, ApplicationId, ContainerId, FinalStatus, NodeId, NodeState, Resource,
    gpu::DeviceGrant,
};

use crate::{
    event::{CallId, SignalCommand, UpdateKind},
    labels::NodeLabels,
    reject::Reject,
    view::NodeReport,
};

/// One output; the driver carries them out in order, replies last.
#[derive(Clone, PartialEq, Debug)]
pub struct Effect {
    /// Hold back until the store has said `Stored(seq)` with at least this number.
    pub when: Option<u64>,
    /// What to do.
    pub action: Action,
}

/// What to do.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Answer a waiting call.
    Reply {
        /// Who waits.
        call: CallId,
        /// The answer or the refusal.
        reply: Result<Box<Reply>, Reject>,
    },
    /// Make `record` last, then send `Event::Stored { seq }`.
    Store {
        /// Number of the record, ascending by one.
        seq: u64,
        /// What to keep.
        record: Record,
    },
    /// The attempt may now authenticate: mint and accept its AMRMToken.
    AttemptStarted {
        /// Which attempt.
        attempt: ApplicationAttemptId,
        /// Its ApplicationMaster runs outside the cluster, so its token goes into the report.
        unmanaged: bool,
    },
    /// Start the ApplicationMaster in `grant` with the launch context kept for its application.
    LaunchAm {
        /// Which attempt.
        attempt: ApplicationAttemptId,
        /// Submitter, for the tokens.
        user: Arc<str>,
        /// Its container.
        grant: Box<Grant>,
        /// Wall milliseconds of submission (`APP_SUBMIT_TIME_ENV`).
        submitted_wall_ms: i64,
    },
    /// Ask the node to stop an ApplicationMaster's container at once.
    StopAm {
        /// Which attempt.
        attempt: ApplicationAttemptId,
        /// Its container.
        container: ContainerId,
        /// Where.
        node: NodeId,
    },
    /// The attempt's AMRMToken is no longer accepted.
    AttemptEnded {
        /// Which attempt.
        attempt: ApplicationAttemptId,
    },
    /// The application ended: drop its launch context and credentials.
    AppEnded {
        /// Which application.
        app: ApplicationId,
    },
    /// The application is forgotten (beyond `yarn.resourcemanager.max-completed-applications`).
    AppForgotten {
        /// Which application.
        app: ApplicationId,
    },
    /// A line for the operator's log.
    Note(Note),
}

/// What lasts over a restart, where a durable store is configured.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    /// An application was submitted; the shell adds its launch context.
    AppSubmitted {
        /// Which application.
        app: ApplicationId,
    },
    /// An attempt is about to be launched.
    AttemptStored {
        /// Which attempt.
        attempt: ApplicationAttemptId,
        /// Its ApplicationMaster's container; `None` when unmanaged.
        container: Option<ContainerId>,
    },
    /// An attempt ended.
    AttemptEnded {
        /// Which attempt.
        attempt: ApplicationAttemptId,
        /// How.
        status: FinalStatus,
        /// In words.
        diagnostics: String,
    },
    /// An application is in this queue, with this priority and this end, from now on.
    AppChanged {
        /// Which application.
        app: ApplicationId,
        /// Full path of its queue.
        queue: String,
        /// Its priority.
        priority: i32,
        /// When it is ended at the latest, when there is such a time.
        expires_wall_ms: Option<i64>,
    },
    /// The node labels are these from now on.
    Labels {
        /// Names and whether they are exclusive.
        labels: Vec<(Arc<str>, bool)>,
        /// Which hosts and nodes have them.
        nodes: NodeLabels,
    },
    /// An application ended.
    AppEnded {
        /// Which application.
        app: ApplicationId,
        /// How.
        status: FinalStatus,
        /// In words.
        diagnostics: String,
    },
}

/// Operator's log lines that the core knows best when to write.
#[derive(Clone, PartialEq, Debug)]
pub enum Note {
    /// A container was granted.
    Granted {
        /// Which container.
        container: ContainerId,
        /// Where.
        node: NodeId,
        /// How much.
        resource: Resource,
        /// Milliseconds from the ask's arrival to the grant, by the driver's clock.
        waited_ms: u64,
    },
    /// A node changed its state.
    Node {
        /// Which node.
        node: NodeId,
        /// To which state.
        state: NodeState,
        /// Why.
        reason: String,
    },
    /// Anything else worth a line.
    Text(String),
}

/// Answers.
#[derive(Clone, PartialEq, Debug)]
pub enum Reply {
    /// Nothing more to say.
    Done,
    /// `getNewApplication`.
    NewApplication {
        /// The new id.
        app: ApplicationId,
        /// Largest container that can be asked for.
        maximum_capability: Resource,
    },
    /// `forceKillApplication`.
    KillCompleted(bool),
    /// `updateApplicationPriority`: the priority now.
    Priority(i32),
    /// `registerApplicationMaster`.
    Registered(Box<Registered>),
    /// `allocate`.
    Allocated(Box<Allocated>),
    /// `allocate` repeated: send the bytes of the last answer to this attempt once more.
    AllocatedAgain,
    /// `finishApplicationMaster`.
    Unregistered(bool),
    /// `registerNodeManager`; the shell adds keys, rm_identifier and version.
    NodeRegistered {
        /// The labels that it sent were taken (`areNodeLabelsAcceptedByRM`).
        labels_accepted: bool,
        /// Number of the last GPU change applied, for a node that sent a list of devices.
        gpu_seq: Option<u64>,
        /// What the node must do.
        action: NodeAction,
        /// Why, for SHUTDOWN.
        diagnostics: String,
        /// What an administrator has the node offer instead of what it registered.
        resource: Option<Resource>,
    },
    /// `nodeHeartbeat`; the shell adds rolled keys and the interval.
    Heartbeat(Box<HeartbeatReply>),
    /// `nodeHeartbeat` repeated: send the bytes of the last answer to this node once more.
    HeartbeatAgain,
}

/// `NodeAction`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeAction {
    /// Carry on.
    Normal,
    /// Register again.
    Resync,
    /// Stop.
    Shutdown,
}

/// Body of the answer to `registerApplicationMaster`.
#[derive(Clone, PartialEq, Debug)]
pub struct Registered {
    /// Largest container that can be asked for.
    pub maximum_capability: Resource,
    /// Full path of the queue's last part, as Hadoop sends it.
    pub queue: String,
    /// Running containers that earlier attempts left behind (`keep_containers`).
    pub from_previous_attempts: Vec<Grant>,
    /// Nodes of those containers: each needs an NMToken in this answer.
    pub nm_tokens: Vec<NodeId>,
}

/// Body of the answer to `allocate`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Allocated {
    /// Request's response id plus one.
    pub response_id: i32,
    /// New containers.
    pub grants: Vec<Grant>,
    /// Nodes for which this attempt needs a (new) NMToken, as registered.
    pub nm_tokens: Vec<NodeId>,
    /// Ended containers.
    pub completed: Vec<Completed>,
    /// Headroom.
    pub limit: Resource,
    /// Usable nodes in the cluster.
    pub num_cluster_nodes: i32,
    /// Nodes whose state changed since the last answer, as they are now.
    pub updated_nodes: Vec<NodeReport>,
    /// Containers that are about to be taken, told once.
    pub preempting: Vec<ContainerId>,
    /// As many containers of the smallest size are as much as `preempting` hold, rounded up.
    pub preempting_units: i32,
    /// Containers that have a new size, with what changed it.
    pub updated: Vec<(UpdateKind, Grant)>,
    /// Update requests that were refused.
    pub update_errors: Vec<UpdateError>,
    /// Priority of the application now.
    pub application_priority: i32,
}

/// A refused `UpdateContainerRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct UpdateError {
    /// Its place in the call.
    pub at: usize,
    /// Hadoop's reason code (`RMServerUtils`), or a sentence where Hadoop has none.
    pub reason: Cow<'static, str>,
    /// Version of the container now, -1 where there is none.
    pub version: i32,
}

/// A container given to an attempt.
#[derive(Clone, PartialEq, Debug)]
pub struct Grant {
    /// Its id.
    pub container: ContainerId,
    /// Where, exactly as the node registered.
    pub node: NodeId,
    /// Web address of the node, host:port.
    pub node_http_address: String,
    /// Its size.
    pub resource: Resource,
    /// Priority of its ask.
    pub priority: i32,
    /// Key of its ask.
    pub allocation_request_id: i64,
    /// Wall milliseconds of the grant.
    pub created_wall_ms: i64,
    /// It is an ApplicationMaster's container.
    pub is_am: bool,
    /// Changes of its size so far.
    pub version: i32,
    /// Its devices, on a node that sent a list; for the container token.
    pub gpus: Vec<DeviceGrant>,
}

/// A container that ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Completed {
    /// Which container.
    pub container: ContainerId,
    /// Its exit status.
    pub exit_status: i32,
    /// In words.
    pub diagnostics: String,
    /// Its size.
    pub resource: Resource,
}

/// Body of the answer to `nodeHeartbeat`.
#[derive(Clone, PartialEq, Debug)]
pub struct HeartbeatReply {
    /// The labels that it sent were taken (`areNodeLabelsAcceptedByRM`).
    pub labels_accepted: bool,
    /// Next response id.
    pub response_id: i32,
    /// What the node must do.
    pub action: NodeAction,
    /// Why, for RESYNC and SHUTDOWN.
    pub diagnostics: String,
    /// Containers to kill.
    pub containers_to_cleanup: Vec<ContainerId>,
    /// Applications that ended.
    pub applications_to_cleanup: Vec<ApplicationId>,
    /// Completed containers that their ApplicationMaster has seen.
    pub containers_to_be_removed: Vec<ContainerId>,
    /// Signals to pass on.
    pub containers_to_signal: Vec<(ContainerId, SignalCommand)>,
    /// Containers that get another size, with what changed it.
    pub containers_to_update: Vec<(UpdateKind, Grant)>,
    /// Number of the last GPU change applied, for a node that sent a list of devices.
    pub gpu_seq: Option<u64>,
    /// What an administrator has the node offer, told once.
    pub resource: Option<Resource>,
}

impl Effect {
    /// An effect that waits for nothing.
    pub fn now(action: Action) -> Self {
        Self { when: None, action }
    }

    /// An effect that waits until record `seq` lasts; `None` waits for nothing.
    pub fn once_stored(seq: Option<u64>, action: Action) -> Self {
        Self { when: seq, action }
    }
}
