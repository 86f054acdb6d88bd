//! The NodeManager's core: container life cycles, applications, and the link to the
//! ResourceManager, as one deterministic state machine ([`Nm::apply`]).
//! May touch: `yarn-types`.
//! Must not: know sockets, files, clocks, randomness, threads, async or configuration files.

pub mod app;
mod calls;
mod check;
pub mod container;
pub mod diagnostics;
pub mod disks;
pub mod effect;
pub mod event;
pub mod gpu;
pub mod labels;
pub mod launch;
pub mod link;
pub mod localize;
mod nm;
mod nm_gpu;
mod nm_health;
mod nm_stop;
pub mod outbox;
pub mod reject;
mod update;

pub use app::{App, AppState};
pub use container::Container;
pub use effect::{Action, ContainerReport, Effect, GpuList, Reply, SubState, ToRm};
pub use event::{
    CallId, Event, Health, HeartbeatAnswer, NodeAction, Signal, StartSpec, UpdateSpec,
};
pub use link::{Link, LinkConf, LinkState};
pub use nm::{Nm, NmConf};
pub use reject::Reject;
