//! Hadoop's configuration files, exactly as Hadoop 3.5 reads them, and what Heddle makes of each key.
//! May touch: the files of one configuration directory and what they include.
//! Must not: log, read the environment, resolve external entities, or panic on any input.

mod calculator;
mod defaults;
mod deprecated;
mod error;
mod executor_cfg;
mod expand;
pub mod gate;
mod gpu;
pub mod keys;
mod load;
mod node_labels;
mod node_resources;
pub mod report;
mod resource_types;
mod table;
mod units;
mod values;
mod xml;

pub use calculator::{Calculator, resource_calculator};
pub use error::{LoadError, Origin, Problem, XmlError};
pub use executor_cfg::{ExecutorCfg, LaunchUsers, launch_users};
pub use gpu::gpu_plugin;
pub use load::{Daemon, Files, LoadOptions, resolve_dir, system_properties};
pub use node_labels::{NodeLabelSettings, node_labels};
pub use node_resources::{NodeAmount, node_resources};
pub use resource_types::resource_types;
pub use table::Configuration;
pub use units::convert as convert_units;
pub use values::{HostPort, TimeUnit};
