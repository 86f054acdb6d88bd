//! Reads configuration again for `yarn rmadmin -refreshQueues` and `-refreshNodes`.
//! May touch: the configuration directory.
//! Must not: change anything of what runs.

use std::io::ErrorKind;

use std::{collections::BTreeSet, time::SystemTime};

use rm_core::{
    acl::AccessList,
    conf::{Calculator, ConfProblem, LoadContext, QueuesConf, SchedConf, Standing},
    event::{HostLists, NodeOption},
    sched::Sched,
};
use yarn_conf::{Configuration, Files, LoadError, LoadOptions};
use yarn_types::{NodeId, Resource, ResourceTypes};

use super::{core_calculator, lanes};
use crate::{acls, hosts, rpc::Reload, settings::Settings};

/// The files that the daemon was started from.
pub struct FromFiles(pub LoadOptions);

impl FromFiles {
    fn load(&self) -> Result<Configuration, String> {
        Configuration::load(&self.0).map_err(|e| e.to_string())
    }
}

impl Reload for FromFiles {
    fn queues(&self, standing: &Standing) -> Result<SchedConf, String> {
        queues(&self.load()?, standing)
    }

    fn queues_changed_at(&self) -> Option<SystemTime> {
        let name = "capacity-scheduler.xml";
        let path = match &self.0.instead {
            Some((replaced, file)) if replaced == name => file.clone(),
            _ => self.0.dir.join(name),
        };
        path.metadata().and_then(|file| file.modified()).ok()
    }

    fn hosts(&self) -> Result<HostLists, String> {
        lists(&self.load()?)
    }

    fn graceful_timeout_s(&self) -> Result<i32, String> {
        graceful_timeout_s(&self.load()?)
    }

    fn dynamic_resources(&self) -> Result<Vec<NodeOption>, String> {
        dynamic_resources(&self.load()?, self.0.clone())
    }

    fn max_priority(&self) -> Result<i32, String> {
        max_priority(&self.load()?)
    }

    fn admins(&self) -> Result<AccessList, String> {
        self.load().map(|conf| acls::admins(&conf))
    }

    fn readable(&self) -> Result<(), String> {
        self.load().map(|_| ())
    }
}

/// A configuration without files behind it: a refresh finds what was there at start.
pub struct Unchanging(pub Configuration);

impl Reload for Unchanging {
    fn queues(&self, standing: &Standing) -> Result<SchedConf, String> {
        queues(&self.0, standing)
    }

    fn queues_changed_at(&self) -> Option<SystemTime> {
        None
    }

    fn hosts(&self) -> Result<HostLists, String> {
        lists(&self.0)
    }

    fn graceful_timeout_s(&self) -> Result<i32, String> {
        graceful_timeout_s(&self.0)
    }

    fn dynamic_resources(&self) -> Result<Vec<NodeOption>, String> {
        node_options(&self.0, &self.0)
    }

    fn max_priority(&self) -> Result<i32, String> {
        max_priority(&self.0)
    }

    fn admins(&self) -> Result<AccessList, String> {
        Ok(acls::admins(&self.0))
    }

    fn readable(&self) -> Result<(), String> {
        Ok(())
    }
}

fn queues(conf: &Configuration, standing: &Standing) -> Result<SchedConf, String> {
    let (types, calculator) = lanes(conf).map_err(|problem| problem.to_string())?;
    let calculator = core_calculator(calculator);
    let read = SchedConf::from_lookup_over(conf, types, calculator, standing);
    let mut read = read.map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        problems.join("; ")
    })?;
    read_rules(&mut read);
    Ok(read)
}

/// Reads the file that the placement rules stand in, where they do.
pub(super) fn read_rules(conf: &mut SchedConf) {
    let Some(file) = conf.rules.needs_file().map(str::to_owned) else {
        return;
    };
    let path = file.strip_prefix("file://").unwrap_or(&file);
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {path}: {e}"));
    conf.rules.json_file_text = Some(text);
}

/// What is wrong with the placement rules.
pub(super) fn placement_problems(conf: &Configuration, read: &SchedConf) -> Vec<ConfProblem> {
    let problems = Sched::placement_problems(read).into_iter();
    problems
        .map(|p| ConfProblem::new(p.key, yarn_types::Lookup::get(conf, p.key), p.message))
        .collect()
}

/// The queues as a scheduler without nodes would read them.
pub(super) fn load_queues(
    conf: &Configuration,
    types: &ResourceTypes,
    calculator: Calculator,
) -> Result<QueuesConf, Vec<ConfProblem>> {
    let context = LoadContext {
        types,
        calculator,
        cluster: Resource::ZERO,
        created_parents: &BTreeSet::new(),
    };
    QueuesConf::load(conf, &context)
}

fn lists(conf: &Configuration) -> Result<HostLists, String> {
    let settings = Settings::read(conf).map_err(|e| e.to_string())?;
    hosts::read(
        settings.include_path.as_deref(),
        settings.exclude_path.as_deref(),
    )
    .map_err(|e| e.to_string())
}

fn graceful_timeout_s(conf: &Configuration) -> Result<i32, String> {
    let key = "yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs";
    conf.i32(key, 3600).map_err(|e| e.to_string())
}

fn max_priority(conf: &Configuration) -> Result<i32, String> {
    let most = conf.i32("yarn.cluster.max-application-priority", 0);
    most.map(|most| most.max(0)).map_err(|e| e.to_string())
}

/// What dynamic-resources.xml beside the other files of `options` says; nothing when it is not there.
pub(super) fn dynamic_resources(
    conf: &Configuration,
    options: LoadOptions,
) -> Result<Vec<NodeOption>, String> {
    let file = LoadOptions {
        files: Files::Only(options.dir.join("dynamic-resources.xml")),
        ..options
    };
    match Configuration::load(&file) {
        Ok(dynamic) => node_options(&dynamic, conf),
        Err(LoadError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            node_options(conf, conf)
        }
        Err(e) => Err(e.to_string()),
    }
}

/// What dynamic-resources.xml says, over the rest of the configuration (`DynamicResourceConfiguration`).
/// Like Hadoop's file it knows memory and vcores; other types are 0 for a node that it names.
fn node_options(dynamic: &Configuration, conf: &Configuration) -> Result<Vec<NodeOption>, String> {
    let source = |key: &str| if dynamic.is_set(key) { dynamic } else { conf };
    let nodes_key = "yarn.resource.dynamic.nodes";
    let nodes = source(nodes_key).trimmed_strings(nodes_key);
    let option = |name: &String| {
        let node: NodeId = name
            .parse()
            .map_err(|e| format!("{nodes_key}: {e}, want host:port"))?;
        let number = |what: &str, default: i32| {
            let key = format!("yarn.resource.dynamic.{name}.{what}");
            let value = source(&key).i32(&key, default);
            value.map_err(|e| e.to_string())
        };
        let (memory_mb, vcores) = (number("memory", 8192)?, number("vcores", 8)?);
        Ok(NodeOption {
            node,
            total: Resource::new(memory_mb.into(), vcores.into()),
            overcommit_timeout_ms: number("overcommittimeout", -1)?,
        })
    };
    nodes
        .map_err(|e| e.to_string())?
        .iter()
        .map(option)
        .collect()
}

#[cfg(test)]
#[path = "reload_test.rs"]
mod tests;
