//! The small privileged part of the NodeManager: starting processes as a container's account.
//! May touch: processes, accounts, cgroup.procs files, pid and exit-code files.
//! Must not: know YARN objects, read configuration, open sockets.

pub mod apply;
pub mod cgroup;
pub mod devices;
pub mod isolation;
pub mod limits;
pub mod op;
pub mod plan;
pub mod spec;

pub use op::Op;
pub use plan::{PlanError, plan};
pub use spec::{AccountIds, LaunchSpec, SpecError};
