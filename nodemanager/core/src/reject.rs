//! Every refusal, as data, with Hadoop's text.
//! May touch: `yarn-types`.
//! Must not: know Java class names (the shell's table maps them).

use std::fmt;

use yarn_types::{ApplicationAttemptId, ApplicationId, ContainerId};

/// What a container token was brought for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenUse {
    /// To start its container.
    Start,
    /// To change its container's size.
    Update,
}

impl fmt::Display for TokenUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "Unauthorized request to start container. ",
            Self::Update => "Unauthorized request to increase container resource.",
        })
    }
}

/// Why a call or one container of it is refused (texts: ContainerManagerImpl).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reject {
    /// The node has not registered, or is registering again.
    NotYetReady,
    /// The node is ending.
    ShuttingDown,
    /// The container token is of another application than the NMToken.
    OtherApplication {
        /// What for.
        token: TokenUse,
        /// Attempt of the NMToken.
        caller: ApplicationAttemptId,
        /// Attempt of the container.
        owner: ApplicationAttemptId,
    },
    /// The container was started before.
    Relaunch(ContainerId),
    /// The token is too old.
    Expired {
        /// What for.
        token: TokenUse,
        /// Wall milliseconds now.
        now_wall_ms: i64,
        /// Wall milliseconds of the end of the token.
        expires_wall_ms: i64,
    },
    /// Granted by a ResourceManager other than the one this node is registered with.
    PreviousRm(ContainerId),
    /// An auxiliary service that this node does not run.
    AuxService(String),
    /// The application is ending on this node.
    AppFinishing(ApplicationId),
    /// The launch context lacks something.
    LaunchContext(String),
    /// The container has this size or a later one.
    OldVersion {
        /// Which container.
        container: ContainerId,
        /// Its version.
        current: i32,
        /// The token's.
        requested: i32,
    },
    /// A running container keeps its devices.
    Devices(ContainerId),
    /// A running container stays GUARANTEED.
    ExecutionType(ContainerId),
    /// No container changes while the node ends.
    NoUpdates,
    /// A call about a container of another application.
    Foreign {
        /// Attempt of the NMToken.
        caller: ApplicationAttemptId,
        /// `stop`, `get status for` or `signal`.
        verb: &'static str,
        /// Which container.
        container: ContainerId,
    },
    /// Ended a while ago and forgotten.
    RecentlyStopped(ContainerId),
    /// Never seen here.
    Unknown(ContainerId),
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYetReady => f.write_str(
                "Rejecting new containers as NodeManager has not yet connected with \
                 ResourceManager",
            ),
            Self::ShuttingDown => f.write_str(
                "Container start failed as the NodeManager is in the process of shutting down",
            ),
            Self::OtherApplication {
                token,
                caller,
                owner,
            } => write!(
                f,
                "{token}\nNMToken for application attempt : {caller} was used for starting \
                 container with container token issued for application attempt : {owner}"
            ),
            Self::Relaunch(id) => write!(
                f,
                "{}\n Attempt to relaunch the same container with id {id}.",
                TokenUse::Start
            ),
            Self::Expired {
                token,
                now_wall_ms,
                expires_wall_ms,
            } => write!(
                f,
                "{token}\nThis token is expired. current time is {now_wall_ms} found \
                 {expires_wall_ms}\nNote: System times on machines may be out of sync. Check \
                 system time and time zones."
            ),
            Self::PreviousRm(id) => write!(
                f,
                "\nContainer {id} rejected as it is allocated by a previous RM"
            ),
            Self::AuxService(name) => write!(f, "The auxService:{name} does not exist"),
            Self::AppFinishing(app) => {
                write!(f, "Container start failed as {app} has ended on this node")
            }
            Self::LaunchContext(text) => f.write_str(text),
            Self::OldVersion {
                container,
                current,
                requested,
            } => write!(
                f,
                "Container {container} has update version [{current}] >= requested version \
                 [{requested}]"
            ),
            Self::Devices(id) => write!(
                f,
                "Container {id} keeps its devices while it runs: the token names others"
            ),
            Self::ExecutionType(id) => write!(
                f,
                "Container {id} stays GUARANTEED: opportunistic containers are not built"
            ),
            Self::NoUpdates => f.write_str(
                "Unable to change container resource as the NodeManager is in the process of \
                 shutting down",
            ),
            Self::Foreign {
                caller,
                verb,
                container,
            } => write!(
                f,
                "{caller} attempted to {verb} non-application container : {container}"
            ),
            Self::RecentlyStopped(id) => {
                write!(f, "Container {id} was recently stopped on node manager.")
            }
            Self::Unknown(id) => write!(f, "Container {id} is not handled by this NodeManager"),
        }
    }
}
