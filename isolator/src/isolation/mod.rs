//! Isolation of one container: planned, applied, read back, restored, undone, recovered.
//! May touch: cgroups through the modules below, the ledger directory.
//! Must not: choose devices, know YARN objects, read configuration.

pub mod apply;
mod available;
mod error;
mod ledger;
pub mod plan;

pub use apply::{Applied, Isolation, Recovered};
pub use available::{Unavailable, available};
pub use error::{Difference, Error};
pub use plan::{Facts, Op, Plan, PlanError, Spec};
