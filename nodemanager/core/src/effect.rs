//! Everything the NodeManager wants done: the closed list of outputs of [`crate::Nm::apply`].
//! May touch: `yarn-types`.
//! Must not: carry launch contexts, tokens or wire bytes (the shell has them by container id).

use std::sync::Arc;

use yarn_types::{
    ApplicationId, ContainerId, ContainerState, Resource,
    gpu::{DeviceChange, DeviceGrant, DeviceReport},
};

use crate::{
    event::{CallId, Health, Signal},
    labels::SaidLabels,
    reject::Reject,
};

/// One output; the driver carries them out in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Hold back until the store has said that record number `when` lasts. `None` where nothing
    /// is stored: `yarn.nodemanager.recovery.enabled=false`, Hadoop's default.
    pub when: Option<u64>,
    /// What to do.
    pub action: Action,
}

/// What to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Answer a waiting call.
    Reply {
        /// Who waits.
        call: CallId,
        /// The answer or the refusal of the whole call.
        reply: Result<Reply, Reject>,
    },
    /// Send something to the ResourceManager.
    Tell(ToRm),
    /// Bring what the container needs; answered by `Localized` or `LocalizationFailed`.
    Localize {
        /// Which container.
        container: ContainerId,
        /// Submitter.
        user: Arc<str>,
    },
    /// The container is no longer wanted: stop bringing its resources. Not answered.
    CancelLocalization {
        /// Which container.
        container: ContainerId,
    },
    /// Start the container's process; answered by `Launched` and `Exited`, or `LaunchFailed`.
    Launch {
        /// Which container.
        container: ContainerId,
        /// UUIDs of its devices.
        gpus: Vec<Arc<str>>,
    },
    /// The container has another size: its limits follow. Not answered.
    Resize {
        /// Which container.
        container: ContainerId,
        /// Its size now.
        resource: Resource,
    },
    /// Send a signal to the container's process tree. Not answered.
    Signal {
        /// Which container.
        container: ContainerId,
        /// Which signal.
        signal: Signal,
    },
    /// End what is left of the container's processes, undo its isolation and delete its work
    /// directory; answered by `TornDown` when no process is left.
    Teardown {
        /// Which container.
        container: ContainerId,
    },
    /// The container is forgotten: drop what the shell keeps of it. Not answered.
    Forget {
        /// Which container.
        container: ContainerId,
    },
    /// The application ended: delete its directories (not its logs) and the keys remembered for
    /// it; answered by `AppCleaned`.
    CleanApp {
        /// Which application.
        app: ApplicationId,
        /// Submitter.
        user: Arc<str>,
    },
    /// The time to keep the application's logs is over: delete them. Not answered.
    DeleteLogs {
        /// Which application.
        app: ApplicationId,
    },
    /// Everything is over: end the process.
    Exit {
        /// Exit code of the process.
        code: i32,
        /// Why, for the log.
        reason: String,
    },
}

/// What the ResourceManager is told; one is on its way at a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToRm {
    /// Register with the ResourceManager; answered by `Registered`, `RegistrationRefused` or
    /// `RmUnreachable`.
    Register {
        /// Every container still known, running or complete.
        containers: Vec<ContainerReport>,
        /// Applications that are not finished here.
        applications: Vec<ApplicationId>,
        /// Health to register with.
        health: Health,
        /// Devices; `None` on a node that manages none.
        gpus: Option<GpuList>,
        /// The node's label, where it says one itself.
        labels: Option<SaidLabels>,
    },
    /// Send a heartbeat; answered by `HeartbeatAnswered` or `RmUnreachable`.
    Heartbeat {
        /// Response id received last; 0 after a registration.
        response_id: i32,
        /// Running containers and those that completed since.
        containers: Vec<ContainerReport>,
        /// Containers that grew since.
        increased: Vec<ContainerReport>,
        /// Health of the node.
        health: Health,
        /// Changes of devices that were not echoed, with the number of the last.
        gpus: Option<(u64, Vec<DeviceChange>)>,
        /// The node's label, where it says one itself and it is time to.
        labels: Option<SaidLabels>,
    },
    /// Say goodbye; answered by `Unregistered`.
    Unregister,
}

/// The devices of a registration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GpuList {
    /// Number that the list stands for.
    pub seq: u64,
    /// Every device.
    pub devices: Vec<DeviceReport>,
    /// How many of them can be granted: what a stock ResourceManager counts with.
    pub usable: usize,
}

/// Answer of one call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// startContainers, stopContainers and updateContainer.
    Containers {
        /// Done.
        succeeded: Vec<ContainerId>,
        /// Refused, each with its reason.
        failed: Vec<(ContainerId, Reject)>,
    },
    /// getContainerStatuses.
    Statuses {
        /// Found.
        statuses: Vec<ContainerReport>,
        /// Refused, each with its reason.
        failed: Vec<(ContainerId, Reject)>,
    },
    /// signalToContainer.
    Done,
}

/// A container as the ResourceManager and its ApplicationMaster see it (`ContainerStatus`,
/// `NMContainerStatus`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContainerReport {
    /// Which container.
    pub container: ContainerId,
    /// RUNNING from the accepted start, COMPLETE at the end.
    pub state: ContainerState,
    /// Finer state.
    pub sub_state: SubState,
    /// Exit code; -1000 while not complete.
    pub exit_code: i32,
    /// Diagnostics so far.
    pub diagnostics: String,
    /// Size.
    pub resource: Resource,
    /// Priority of its ask.
    pub priority: i32,
    /// Wall milliseconds of its grant.
    pub created_wall_ms: i64,
    /// Echo of the ask.
    pub allocation_request_id: i64,
    /// Version of the container.
    pub version: i32,
    /// GUARANTEED, as opposed to OPPORTUNISTIC.
    pub guaranteed: bool,
    /// Devices that it holds; filled in for registrations.
    pub gpus: Vec<DeviceGrant>,
}

/// `ContainerSubState`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubState {
    /// Before its process runs.
    Scheduled,
    /// Its process runs.
    Running,
    /// Being ended or cleaned up.
    Completing,
    /// Over.
    Done,
}
