//! Case files of the capacity scheduler and their runner.
//! May touch: case files, the scheduler's public face, and for some ways of running the network.
//! Must not: be part of a daemon.

pub mod case;
pub mod facts;
pub mod inproc;
pub mod known;
pub mod placement;
pub mod report;
pub mod rpc;
pub mod scenario;
pub mod snapshot;
pub mod snapshot_run;
pub mod steps;
pub mod target;
pub mod value;
pub mod vector;
