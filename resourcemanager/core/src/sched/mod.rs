//! The scheduler: queues, asks and nodes, and the one place that grants.
//! May touch: its own state; time comes with the call.
//! Must not: know attempts' or containers' life cycles (those call it).

mod apps;
mod check;
mod commit;
mod ids;
mod limits;
mod nodes;
mod pass;
mod reload;
mod report;
mod tree;

use std::{collections::BTreeMap, sync::Arc};

use yarn_types::{ApplicationId, Millis, Resource, ResourceTypes};

use crate::{
    ask::Asks,
    conf::{Calculator, SchedConf},
    why::Why,
};
use commit::Allocs;
pub use ids::{AllocIdx, AppIdx, NodeIdx, QueueIdx, UserIdx};
use nodes::Nodes;
use tree::{AppOrder, Tree};

pub use report::AppUsage;

/// The scheduler's whole state; a clone is a fork.
#[derive(Clone, PartialEq, Debug)]
pub struct Sched {
    conf: SchedConf,
    tree: Tree,
    nodes: Nodes,
    apps: Vec<Option<App>>,
    allocs: Allocs,
    users: Vec<Arc<str>>,
    user_ids: BTreeMap<Arc<str>, UserIdx>,
    /// Number of the last change; failures remember it.
    change: u64,
    /// Change number when room, a limit or a total last grew.
    grown_at: u64,
    /// Something may be placeable that was not tried yet.
    stirred: bool,
    /// A bug planted by the simulation.
    #[cfg(feature = "mutants")]
    pub(crate) mutant: Option<crate::mutant::Mutant>,
}

/// A submitted application.
#[derive(Clone, PartialEq, Debug)]
struct App {
    id: ApplicationId,
    queue: QueueIdx,
    user: UserIdx,
    order: AppOrder,
    used: Resource,
    containers: u32,
    asks: Asks,
    am: Am,
    /// Hosts and racks that it avoids.
    blacklist: std::collections::BTreeSet<Arc<str>>,
    /// Hosts that its ApplicationMaster is kept off.
    am_avoids: std::collections::BTreeSet<Arc<str>>,
    /// It counts among its user's demanding applications.
    demanding: bool,
    /// Outstanding as counted in the queues.
    counted: (Resource, u32),
}

/// Where an application is with its ApplicationMaster.
#[derive(Clone, PartialEq, Debug)]
enum Am {
    /// No attempt runs.
    None,
    /// Waits for room under the limits of ApplicationMasters.
    Waiting {
        size: Resource,
        asked_at: Millis,
        why: Option<Why>,
    },
    /// May run; its container is not placed yet.
    Asked {
        size: Resource,
        asked_at: Millis,
        failed_at: u64,
        why: Option<Why>,
    },
    /// Runs in a container of `size`; nothing for an unmanaged one.
    Placed { size: Resource },
}

/// One grant of a pass.
#[derive(Clone, PartialEq, Debug)]
pub struct Granted {
    /// To whom.
    pub app: AppIdx,
    /// Where.
    pub node: NodeIdx,
    /// The container in the accounts.
    pub alloc: AllocIdx,
    /// How much.
    pub resource: Resource,
    /// Priority of the ask.
    pub priority: i32,
    /// Key of the ask.
    pub allocation_request_id: i64,
    /// It is an ApplicationMaster's container.
    pub is_am: bool,
    /// When it was asked.
    pub asked_at: Millis,
}

impl Sched {
    /// A scheduler without nodes and applications.
    pub fn new(conf: SchedConf) -> Self {
        Self {
            tree: Tree::new(&conf.queues),
            conf,
            nodes: Nodes::default(),
            apps: Vec::new(),
            allocs: Allocs::default(),
            users: Vec::new(),
            user_ids: BTreeMap::new(),
            change: 1,
            grown_at: 1,
            stirred: false,
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }

    /// The lanes.
    pub fn types(&self) -> &ResourceTypes {
        &self.conf.types
    }

    /// How resources compare.
    pub fn calculator(&self) -> Calculator {
        self.conf.calculator
    }

    fn app(&self, app: AppIdx) -> Option<&App> {
        self.apps.get(app.at())?.as_ref()
    }

    fn app_mut(&mut self, app: AppIdx) -> Option<&mut App> {
        self.apps.get_mut(app.at())?.as_mut()
    }

    fn intern(&mut self, user: &Arc<str>) -> UserIdx {
        if let Some(idx) = self.user_ids.get(user) {
            return *idx;
        }
        let idx = UserIdx(u32::try_from(self.users.len()).unwrap_or(u32::MAX));
        self.users.push(Arc::clone(user));
        self.user_ids.insert(Arc::clone(user), idx);
        idx
    }

    /// Room, a limit or a total grew: everything may be tried again.
    fn grown(&mut self) {
        self.change += 1;
        self.grown_at = self.change;
        self.stirred = true;
    }

    /// Demand or use in `queue` changed: its user limits may have moved.
    fn leaf_changed(&mut self, queue: QueueIdx) {
        self.change += 1;
        let change = self.change;
        self.tree.get_mut(queue).leaf.changed_at = change;
        self.stirred = true;
    }
}

#[cfg(test)]
#[path = "sched_test.rs"]
mod tests;
