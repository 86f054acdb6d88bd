//! `--check`: everything that a start would say of the configuration, found without starting.
//! May touch: the configuration, the host lists it names.
//! Must not: open a port, or stop at the first finding.

use rm_core::{RmConf, conf::Calculator};
use yarn_conf::{Configuration, Daemon, LoadOptions, Problem, report::Report};
use yarn_types::ResourceTypes;

use super::{
    core_calculator, lanes,
    reload::{dynamic_resources, load_queues, placement_problems, read_rules},
};
use crate::{hosts, settings::Settings};

/// Which RM of a pair this is follows from the machine where the key is not set.
const RM_ID: &str = "yarn.resourcemanager.ha.id";

/// Reads `conf` as a start does and keeps every finding. What the machine decides, host lists and the
/// id of an RM, is only warned of with `lenient`: for files that are looked at elsewhere.
pub fn check(conf: &Configuration, lenient: bool) -> Report {
    let mut report = Report::new(Daemon::ResourceManager, conf);
    match Settings::read(conf) {
        Ok(settings) => {
            let (include, exclude) = (settings.include_path, settings.exclude_path);
            if let Err(e) = hosts::read(include.as_deref(), exclude.as_deref()) {
                let problem = conf.problem(e.key(), e.to_string());
                if lenient {
                    report.warnings.push(problem);
                } else {
                    report.refuse(conf, problem);
                }
            }
        }
        Err(problem) if lenient && problem.key == RM_ID && problem.value.is_none() => {
            report.warnings.push(problem);
        }
        Err(problem) => report.refuse(conf, problem),
    }
    if let Some(dir) = conf.dir() {
        let options = LoadOptions::new(dir, Daemon::ResourceManager);
        if let Err(e) = dynamic_resources(conf, options) {
            let problem = conf.problem(
                "yarn.resource.dynamic.nodes",
                format!("dynamic-resources.xml: {e}"),
            );
            report.refuse(conf, problem);
        }
    }
    let core = match lanes(conf) {
        Ok((types, calculator)) => {
            let read = RmConf::from_lookup(conf, types, core_calculator(calculator));
            read.and_then(|mut read| {
                read_rules(&mut read.sched);
                let wrong = placement_problems(conf, &read.sched);
                if wrong.is_empty() { Ok(()) } else { Err(wrong) }
            })
        }
        Err(problem) => {
            report.refuse(conf, problem);
            let types = ResourceTypes::memory_and_vcores();
            load_queues(conf, &types, Calculator::Default).map(|_| ())
        }
    };
    for found in core.err().unwrap_or_default() {
        let problem = conf.problem(&found.key, found.reason);
        let value = problem.value.clone().map(|v| v.trim().to_owned());
        report.refuse(conf, Problem { value, ..problem });
    }
    report
}

#[cfg(test)]
#[path = "check_test.rs"]
mod tests;
