//! One application on this node, from its first container to the deletion of its directories.
//! May touch: its own state.
//! Must not: know containers' inner states (`nm` says when none is left).

use std::sync::Arc;

/// Where an application is (`ApplicationState` of the NodeManager).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AppState {
    /// Takes containers.
    Running,
    /// Ended; some of its containers are still being killed.
    FinishingContainersWait,
    /// Its directories are being deleted.
    ResourcesCleaningUp,
}

impl AppState {
    /// Hadoop's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::FinishingContainersWait => "FINISHING_CONTAINERS_WAIT",
            Self::ResourcesCleaningUp => "APPLICATION_RESOURCES_CLEANINGUP",
        }
    }
}

/// An application of this node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct App {
    /// Submitter.
    pub user: Arc<str>,
    pub(crate) state: AppState,
}

impl App {
    pub(crate) fn new(user: Arc<str>) -> Self {
        Self {
            user,
            state: AppState::Running,
        }
    }

    /// Where it is in its life.
    pub fn state(&self) -> AppState {
        self.state
    }
}
