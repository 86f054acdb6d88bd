//! The ResourceManager as a pure state machine: `apply(now, event, effects)`, then `pass`.
//! May touch: `yarn-types` and small data-structure crates.
//! Must not: know sockets, files, clocks, randomness, threads, locks or async.

mod admin;
pub mod app;
pub mod attempt;
pub mod check;
pub mod conf_life;
pub mod container;
pub mod counters;
pub mod digest;
pub mod effect;
pub mod event;
pub mod figures;
pub mod gpu;
pub mod health;
pub mod labels;
pub mod liveness;
pub mod monitors;
#[cfg(feature = "mutants")]
pub mod mutant;
pub mod node;
pub mod queries;
pub mod rm;
pub mod store;
pub mod times;
pub mod view;

pub use capacity_scheduler::{acl, conf, placement, reject, sched};
pub use effect::{Action, Effect, Reply};
pub use event::{CallId, Event};
pub use reject::{Reject, RejectKind};
pub use rm::{Boot, Rm, RmConf};

/// The Hadoop version whose behaviour this RM has; `EqualToRM` means it.
pub const RM_VERSION: &str = "3.5.0";
