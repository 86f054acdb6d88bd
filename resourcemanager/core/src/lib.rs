//! The ResourceManager as a pure state machine: `apply(now, event, effects)`, then `pass`.
//! May touch: `yarn-types` and small data-structure crates.
//! Must not: know sockets, files, clocks, randomness, threads, locks or async.

pub mod ask;
pub mod conf;
pub mod effect;
pub mod event;
pub mod num;
pub mod reject;
pub mod sched;
pub mod view;
pub mod why;

pub use effect::{Action, Effect, Reply};
pub use event::{CallId, Event};
pub use reject::{Reject, RejectKind};
