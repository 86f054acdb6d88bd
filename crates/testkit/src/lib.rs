//! Test support: a scripted cluster around the RM core, model nodes and masters, named laws.
//! May touch: the cores, `yarn-types`; panics are how a fixture reports misuse.
//! Must not: be linked into a daemon, read clocks or sleep.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a fixture that is misused stops the test with a message"
)]

pub mod cluster;
pub mod conf;
pub mod laws;
pub mod model_master;
pub mod model_node;

pub use cluster::Cluster;
pub use conf::{boot, resource};
pub use model_master::ModelMaster;
pub use model_node::{ModelNode, gpu_device};
