//! Reads configuration again for `yarn rmadmin -refreshQueues` and `-refreshNodes`.
//! May touch: the configuration directory.
//! Must not: change anything of what runs.

use rm_core::{conf::QueuesConf, event::HostLists};
use yarn_conf::{Configuration, LoadOptions};

use crate::{hosts, rpc::Reload, settings::Settings};

/// The files that the daemon was started from.
pub struct FromFiles(pub LoadOptions);

impl FromFiles {
    fn load(&self) -> Result<Configuration, String> {
        Configuration::load(&self.0).map_err(|e| e.to_string())
    }
}

impl Reload for FromFiles {
    fn queues(&self) -> Result<QueuesConf, String> {
        queues(&self.load()?)
    }

    fn hosts(&self) -> Result<HostLists, String> {
        lists(&self.load()?)
    }
}

/// A configuration without files behind it: a refresh finds what was there at start.
pub struct Unchanging(pub Configuration);

impl Reload for Unchanging {
    fn queues(&self) -> Result<QueuesConf, String> {
        queues(&self.0)
    }

    fn hosts(&self) -> Result<HostLists, String> {
        lists(&self.0)
    }
}

fn queues(conf: &Configuration) -> Result<QueuesConf, String> {
    QueuesConf::from_lookup(conf).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        problems.join("; ")
    })
}

fn lists(conf: &Configuration) -> Result<HostLists, String> {
    let settings = Settings::read(conf).map_err(|e| e.to_string())?;
    hosts::read(
        settings.include_path.as_deref(),
        settings.exclude_path.as_deref(),
    )
    .map_err(|e| e.to_string())
}
