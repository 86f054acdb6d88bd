//! The scheduler: queues, asks, nodes and containers, and the one place that grants.
//! May touch: its own state; time comes with the call.
//! Must not: know attempts' or containers' life cycles (its caller does).

mod activate;
mod admit;
mod app;
mod ask;
mod assign;
mod check;
mod cluster;
mod commit;
mod container;
mod dynamic;
mod event;
mod explain;
mod ids;
mod label;
mod limits;
mod monitor;
mod multi;
mod node;
mod parallel;
mod policy;
mod reload;
mod report;
mod resize;
mod shares;
mod show;
mod state;
mod submission;
mod tree;
mod users;
mod validate;

use std::{collections::BTreeMap, sync::Arc};

use yarn_types::{Millis, Resource, ResourceTypes};

use crate::{
    capacity::Warning,
    conf::{Pacing, SchedConf},
    num::Calculator,
    placement::Rules,
    preempt::Monitor,
};

pub use app::Submitted;
pub use ask::{ANY, Ask, AskKey, Locality};
pub use assign::Mode;
pub use ids::{AppIdx, ContainerIdx, LabelIdx, NodeIdx, QueueIdx, UserIdx};
pub use report::{
    AppFigures, AppUsage, ContainerFigures, EntryBytes, LabelFigures, NodeFigures, QueueFigures,
    QueueUsage, UserFigures,
};
pub use show::{AppShare, AskShown, ContainerCounts, Reservations, UserShare, UserShown};
pub use submission::denied;
pub use validate::RawAsk;

use app::App;
use container::Containers;
use label::Labels;
use node::Nodes;
use tree::Tree;

/// The scheduler's whole state; a clone is a fork.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Sched {
    conf: SchedConf,
    /// Where applications go, checked against the queues.
    rules: Rules,
    labels: Labels,
    nodes: Nodes,
    tree: Tree,
    apps: Vec<Option<App>>,
    containers: Containers,
    users: Vec<Arc<str>>,
    user_ids: BTreeMap<Arc<str>, UserIdx>,
    /// Runnable applications by user, in all queues.
    user_runnable: BTreeMap<UserIdx, u32>,
    /// Applications submitted: the order of submission.
    submitted: u64,
    /// Time of the call in progress.
    now: Millis,
    /// What the last sharing out found odd, by position in tree order.
    warnings: Vec<Warning>,
    /// Something may be placeable that was not tried yet.
    stirred: bool,
    /// What the preemption monitor remembers.
    monitor: Monitor,
    /// What the caller must be told of the call in progress.
    told: Vec<Told>,
    /// What event-driven assignment remembers.
    event: event::Event,
    /// Reservations made since the start.
    reservations: Reservations,
    /// Active users that a case says a leaf has.
    #[cfg(feature = "stubs")]
    #[serde(skip)]
    pub stub_active_users: BTreeMap<QueueIdx, u32>,
    /// A bug planted by a simulation.
    #[cfg(feature = "mutants")]
    #[serde(skip)]
    pub mutant: Option<Mutant>,
}

/// A bug put back on purpose, to prove that a simulation finds it.
#[cfg(feature = "mutants")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A grant is not counted in the root queue.
    SkipAncestor,
    /// A release is taken out of the accounts twice.
    DoubleRelease,
    /// A reservation that is given up stays in its queue's accounts.
    KeepReservation,
    /// A container's use stays in its old partition when its node changes it.
    StayInPartition,
    /// Queues may hold all of a partition, whatever their maximum.
    NoMaximum,
    /// A user may hold all of a leaf's maximum, whatever its user-limit-factor.
    NoUserFactor,
    /// An exclusive partition that idles serves everybody.
    NoExclusion,
    /// The preemption monitor takes queues for ones that may lose containers.
    TakeFromDisabled,
    /// The preemption monitor sees no guarantees.
    NoGuarantee,
    /// A refresh is laid over the queues before it is found good.
    MergeFirst,
}

/// What a call of the scheduler did that its caller must act on.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Told {
    /// A container was granted.
    Granted(Granted),
    /// A container has a new size: an increase was granted.
    Resized {
        /// Which.
        container: ContainerIdx,
        /// Whose.
        app: AppIdx,
        /// Its size now.
        resource: Resource,
    },
    /// The ApplicationMaster shall be asked to give this container back.
    Preempt {
        /// Which.
        container: ContainerIdx,
        /// Whose.
        app: AppIdx,
    },
    /// This container must end now (`PREEMPTED`); it was released already when `released`.
    Kill {
        /// Which.
        container: ContainerIdx,
        /// Whose.
        app: AppIdx,
        /// Its accounts are closed: its room was given on in the same step.
        released: bool,
    },
    /// An attempt that waited for `max-parallel-apps` may run now.
    Runnable(AppIdx),
}

/// One grant.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Granted {
    /// To whom.
    pub app: AppIdx,
    /// Where.
    pub node: NodeIdx,
    /// The container in the accounts.
    pub container: ContainerIdx,
    /// How much.
    pub resource: Resource,
    /// Key of the ask.
    pub key: AskKey,
    /// How close it is to where it was wanted.
    pub locality: Locality,
    /// It is an ApplicationMaster's container.
    pub is_am: bool,
    /// When it was asked.
    pub asked_at: Millis,
}

impl Sched {
    /// The lanes.
    pub fn types(&self) -> &ResourceTypes {
        &self.conf.types
    }

    /// How resources compare.
    pub fn calculator(&self) -> Calculator {
        self.conf.calculator
    }

    /// When containers are placed.
    pub fn pacing(&self) -> Pacing {
        self.conf.queues.cluster.pacing
    }

    /// What happened since the last call, in order.
    pub fn take_told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    /// [`Self::take_told`] into a list that the caller keeps.
    pub fn drain_told(&mut self, into: &mut Vec<Told>) {
        into.append(&mut self.told);
    }

    fn app(&self, app: AppIdx) -> Option<&App> {
        self.apps.get(app.at())?.as_ref()
    }

    fn app_mut(&mut self, app: AppIdx) -> Option<&mut App> {
        self.apps.get_mut(app.at())?.as_mut()
    }

    /// `yarn.cluster.max-application-priority`, for applications that come from now on.
    pub fn set_max_application_priority(&mut self, most: i32) {
        self.conf.max_application_priority = most;
    }

    /// Smallest container.
    fn minimum(&self) -> Resource {
        self.conf.types.minimum_allocation()
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

    /// Room, a limit, demand or use changed: something may be placeable.
    fn stir(&mut self) {
        self.stirred = true;
    }
}

#[cfg(test)]
#[path = "laws_test.rs"]
mod laws;
