//! What clients submitted and the core does not need: launch contexts by application id.
//! May touch: records as they came.
//! Must not: log a context (it holds credentials), or keep one after its application ended.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use yarn_proto::yarn::{ContainerLaunchContextProto, LogAggregationContextProto};
use yarn_types::ApplicationId;

/// One application's launch context.
pub struct Submitted {
    /// Submitter.
    pub user: Arc<str>,
    /// Launch context of the ApplicationMaster as the client sent it.
    pub context: ContainerLaunchContextProto,
    /// Goes into container tokens.
    pub log_aggregation: Option<LogAggregationContextProto>,
}

impl fmt::Debug for Submitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitted")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// The table.
#[derive(Default, Debug)]
pub struct Submissions(Mutex<HashMap<ApplicationId, Arc<Submitted>>>);

impl Submissions {
    fn table(&self) -> MutexGuard<'_, HashMap<ApplicationId, Arc<Submitted>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what came first; true when this was it.
    pub fn insert(&self, app: ApplicationId, submitted: Submitted) -> bool {
        let mut table = self.table();
        let first = !table.contains_key(&app);
        if first {
            table.insert(app, Arc::new(submitted));
        }
        first
    }

    /// The context of `app`.
    pub fn get(&self, app: ApplicationId) -> Option<Arc<Submitted>> {
        self.table().get(&app).cloned()
    }

    /// Drops it with its credentials.
    pub fn remove(&self, app: ApplicationId) {
        self.table().remove(&app);
    }
}
