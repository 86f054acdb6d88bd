//! Everything that can happen to the NodeManager: the closed list of inputs of [`crate::Nm::apply`].
//! May touch: `yarn-types`.
//! Must not: carry wire bytes, secrets or launch contexts (the shell keeps those by container id).

use std::sync::Arc;

use yarn_types::{
    ApplicationAttemptId, ApplicationId, ContainerId, Resource,
    gpu::{DeviceGrant, GpuDevice},
};

use crate::{launch::diagnostics::Tails, reject::Reject};

/// Who waits for an answer; the shell's table maps it to the connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(pub u64);

/// One input. Every variant says who sends it and when it is legal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The driver, whenever [`crate::Nm::next_wake`] has passed. Always legal.
    Tick,
    /// The driver, at start and when the wall clock jumps: wall milliseconds at this event's `now`.
    /// Used for token expiry and for the times in diagnostics.
    WallClock {
        /// Milliseconds since 1970.
        wall_ms: i64,
    },
    /// Boot, once, when both ports are open: register with the ResourceManager.
    Begin,
    /// The tracker: the ResourceManager took the registration. Answers `ToRm::Register`.
    Registered {
        /// `rm_identifier` of the response: start time of the ResourceManager.
        rm_identifier: i64,
        /// Number of the device list that it took; `None` from one that knows no devices.
        gpu_seq: Option<u64>,
    },
    /// The tracker: the ResourceManager refused the registration (SHUTDOWN). Answers
    /// `ToRm::Register`.
    RegistrationRefused {
        /// Its reason.
        diagnostics: String,
    },
    /// The tracker: answer of `ToRm::Heartbeat`.
    HeartbeatAnswered(Box<HeartbeatAnswer>),
    /// The tracker: `ToRm::Register` or `ToRm::Heartbeat` got no answer.
    RmUnreachable {
        /// What went wrong, for the log and the exit reason.
        reason: String,
    },
    /// The tracker: `ToRm::Unregister` is over, well or not.
    Unregistered,
    /// The container protocol: start containers. Tokens are verified already.
    Start {
        /// Who waits.
        call: CallId,
        /// Identity proven by the NMToken.
        caller: ApplicationAttemptId,
        /// One entry a container.
        starts: Vec<StartSpec>,
    },
    /// The container protocol: give containers other sizes. Tokens are verified already.
    Update {
        /// Who waits.
        call: CallId,
        /// Identity proven by the NMToken.
        caller: ApplicationAttemptId,
        /// One entry a container.
        updates: Vec<UpdateSpec>,
    },
    /// The container protocol: stop containers.
    Stop {
        /// Who waits.
        call: CallId,
        /// Identity proven by the NMToken.
        caller: ApplicationAttemptId,
        /// Which.
        containers: Vec<ContainerId>,
    },
    /// The container protocol: statuses of containers.
    Statuses {
        /// Who waits.
        call: CallId,
        /// Identity proven by the NMToken.
        caller: ApplicationAttemptId,
        /// Which.
        containers: Vec<ContainerId>,
    },
    /// The container protocol: send a signal.
    SignalRequest {
        /// Who waits.
        call: CallId,
        /// Identity proven by the NMToken.
        caller: ApplicationAttemptId,
        /// To which container.
        container: ContainerId,
        /// Which signal.
        signal: Signal,
    },
    /// The localizer: everything the container needs is on disk. Answers `Action::Localize`.
    Localized {
        /// Which container.
        container: ContainerId,
    },
    /// The localizer: something could not be brought. Answers `Action::Localize`.
    LocalizationFailed {
        /// Which container.
        container: ContainerId,
        /// Why.
        diagnostics: String,
    },
    /// The launcher: the container's process runs its command. Answers `Action::Launch`.
    Launched {
        /// Which container.
        container: ContainerId,
    },
    /// The launcher: the process could not be started. Answers `Action::Launch`.
    LaunchFailed {
        /// Which container.
        container: ContainerId,
        /// -1, or -101 where the node's disks are at fault.
        exit_code: i32,
        /// Why.
        diagnostics: String,
    },
    /// The launcher: the container's process ended and is reaped.
    Exited {
        /// Which container.
        container: ContainerId,
        /// Exit code; 128 + signal when a signal ended it.
        exit_code: i32,
        /// What it said before it redirected its output; usually empty.
        message: String,
        /// Ends of its error logs; default where the exit code is 0 or that of a kill.
        tails: Tails,
    },
    /// The monitor: a container is beyond a limit, or its isolation is lost.
    OverLimit {
        /// Which container.
        container: ContainerId,
        /// -103, -104 or -100.
        exit_code: i32,
        /// Hadoop's sentence.
        diagnostics: String,
    },
    /// The shell: something that the container's diagnostics should say. Always legal.
    Note {
        /// Which container.
        container: ContainerId,
        /// What to say.
        text: String,
    },
    /// The launcher: nothing of the container's processes is left, or what is left holds its
    /// devices. Answers `Action::Teardown`.
    TornDown {
        /// Which container.
        container: ContainerId,
        /// Why its devices may not be granted again yet.
        dirty: Option<String>,
    },
    /// The probe: a reading of the managed cards. Always legal.
    GpuReading {
        /// Every card there is.
        devices: Vec<GpuDevice>,
    },
    /// The probe: the cards cannot be read; none is granted until the next reading.
    GpuProbeFailed {
        /// Why.
        reason: String,
    },
    /// The isolator: what a container left on these devices is gone at last.
    GpuCleaned {
        /// UUIDs.
        uuids: Vec<Arc<str>>,
    },
    /// The deletion service: the application's directories are gone. Answers `Action::CleanApp`.
    AppCleaned {
        /// Which application.
        app: ApplicationId,
    },
    /// A health checker, whenever it has looked.
    Health {
        /// Which: 0 looks at the disks, the others run scripts. Their reports are told in this
        /// order.
        reporter: usize,
        /// What it found.
        health: Health,
    },
    /// The provider of the node's label, whenever it has looked. Ignored by a node without one.
    LabelFound {
        /// What it found; `None` for no label.
        label: Option<Arc<str>>,
    },
    /// Boot, once: an earlier NodeManager left logs of these applications.
    LeftLogs {
        /// Each with the milliseconds since something was written to them.
        apps: Vec<(ApplicationId, u64)>,
    },
    /// A signal or an administrator: end containers, say goodbye, stop.
    Shutdown {
        /// Why, for the log.
        reason: String,
    },
}

/// `NodeHealthStatus`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Health {
    /// The node can take containers.
    pub healthy: bool,
    /// Why not; empty when healthy.
    pub report: String,
    /// Wall milliseconds of the check.
    pub checked_wall_ms: i64,
}

/// What a container token and its launch context say, without secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartSpec {
    /// Which container.
    pub container: ContainerId,
    /// Submitter of the application.
    pub user: Arc<str>,
    /// Size.
    pub resource: Resource,
    /// Priority of its ask.
    pub priority: i32,
    /// Wall milliseconds of its grant.
    pub created_wall_ms: i64,
    /// Wall milliseconds after which the token does not start it.
    pub expires_wall_ms: i64,
    /// Start time of the ResourceManager that granted it.
    pub rm_identifier: i64,
    /// Echo of the ask.
    pub allocation_request_id: i64,
    /// Version of the container (grows with resource updates).
    pub version: i32,
    /// GUARANTEED, as opposed to OPPORTUNISTIC.
    pub guaranteed: bool,
    /// Devices that the token names; empty where the granting ResourceManager names none.
    pub gpus: Vec<DeviceGrant>,
    /// Whole devices in `resource`.
    pub gpu_count: usize,
    /// Names of the auxiliary services that its launch context has data for.
    pub aux_services: Vec<String>,
    /// A fault of its launch context that the shell found; judged after the token.
    pub fault: Option<Reject>,
}

/// What a container token for a changed container says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UpdateSpec {
    /// Which container.
    pub container: ContainerId,
    /// Size.
    pub resource: Resource,
    /// Version of the container.
    pub version: i32,
    /// Wall milliseconds after which the token changes nothing.
    pub expires_wall_ms: i64,
    /// Start time of the ResourceManager that granted it.
    pub rm_identifier: i64,
    /// GUARANTEED, as opposed to OPPORTUNISTIC.
    pub guaranteed: bool,
    /// Devices that the token names.
    pub gpus: Vec<DeviceGrant>,
    /// Whole devices in `resource`.
    pub gpu_count: usize,
}

/// Signals of `SignalContainerCommand` and of killing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// OUTPUT_THREAD_DUMP: SIGQUIT.
    Quit,
    /// GRACEFUL_SHUTDOWN: SIGTERM.
    Term,
    /// FORCEFUL_SHUTDOWN: SIGKILL.
    Kill,
}

/// `NodeHeartbeatResponse`; master keys stay in the shell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeartbeatAnswer {
    /// Becomes the next request's response id.
    pub response_id: i32,
    /// What to do.
    pub action: NodeAction,
    /// Reason of RESYNC or SHUTDOWN.
    pub diagnostics: String,
    /// Milliseconds to the next heartbeat; 0 or less means 1,000.
    pub next_interval_ms: i64,
    /// Containers to kill.
    pub containers_to_cleanup: Vec<ContainerId>,
    /// Applications that ended.
    pub applications_to_cleanup: Vec<ApplicationId>,
    /// Completed containers whose status arrived for good.
    pub containers_to_be_removed: Vec<ContainerId>,
    /// Signals to send.
    pub containers_to_signal: Vec<(ContainerId, Signal)>,
    /// Containers that get another size.
    pub containers_to_update: Vec<UpdateSpec>,
    /// Number of the last change of devices that the ResourceManager applied.
    pub gpu_seq: Option<u64>,
}

/// `NodeAction`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NodeAction {
    /// Carry on.
    #[default]
    Normal,
    /// Register again.
    Resync,
    /// Stop.
    Shutdown,
}
