//! Everything by which the NodeManager touches disks and processes.
//! May touch: local and log directories, processes, `/proc`, accounts.
//! Must not: speak RPC, decide container life cycles, read configuration files.

pub mod account;
pub mod deletion;
pub mod dirs;
pub mod disks;
pub mod launch;
mod listing;
pub mod localizer;
pub mod monitor;
pub mod recover;
pub mod safe_fs;
pub mod tails;

#[cfg(test)]
mod test_support;
