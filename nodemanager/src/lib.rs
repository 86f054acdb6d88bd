//! The NodeManager's shell around `nm-core`.
//! May touch: everything its modules name.
//! Must not: decide what the core decides.

pub mod acls;
pub mod boot;
mod devices;
pub mod driver;
pub mod exec;
pub mod gpu;
pub mod health;
pub mod isolation;
pub mod keys;
pub mod labels;
pub mod monitor;
pub mod offer;
pub mod rpc;
pub mod runner;
pub mod script;
pub mod settings;
pub mod tracker;
pub mod web;
