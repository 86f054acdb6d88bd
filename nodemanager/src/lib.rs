//! The NodeManager's shell around `nm-core`.
//! May touch: everything its modules name.
//! Must not: decide what the core decides.

pub mod boot;
pub mod driver;
pub mod exec;
pub mod health;
pub mod keys;
pub mod logging;
pub mod monitor;
pub mod rpc;
pub mod runner;
pub mod settings;
pub mod tracker;
pub mod web;
