//! Configuration of a case to a scheduler.
//! May touch: `yarn_conf`, `capacity_scheduler::conf`.
//! Must not: add settings of its own beyond the mode.

use std::collections::BTreeMap;

use capacity_scheduler::{
    conf::{Calculator, ConfProblem, LoadContext, QueuesConf, SchedConf},
    placement::{RawRules, WorkflowPriorities},
    sched::Sched,
};
use yarn_conf::Configuration;

use crate::target::Done;

const PACING: &str = "yarn.scheduler.capacity.heddle.pacing";

/// A scheduler with its configuration.
pub(super) struct Loaded {
    pub sched: Sched,
}

impl Loaded {
    pub fn new(conf: &BTreeMap<String, String>, event: bool) -> Done<Self> {
        let conf = read(conf, event)?;
        Ok(Self {
            sched: Sched::new(conf),
        })
    }

    pub fn refresh(&mut self, conf: &BTreeMap<String, String>, event: bool) -> Done {
        let table = table(conf, event);
        let types = yarn_conf::resource_types(&table).map_err(|problem| problem.text)?;
        let standing = self.sched.standing();
        let context = LoadContext {
            types: &types,
            calculator: self.sched.calculator(),
            cluster: standing.cluster,
            created_parents: &standing.created_parents,
        };
        let queues = QueuesConf::load(&table, &context).map_err(|problems| joined(&problems))?;
        let conf = SchedConf {
            max_application_priority: queues.cluster.max_application_priority,
            calculator: self.sched.calculator(),
            types,
            queues,
            heartbeat_ms: 1000,
            labels_enabled: true,
            // cases of placement bring their rules with them
            rules: RawRules::default(),
            workflow: WorkflowPriorities::default(),
        };
        self.sched.reload(conf).map_err(|refused| refused.message)
    }
}

/// As a ResourceManager sees both files.
fn table(conf: &BTreeMap<String, String>, event: bool) -> Configuration {
    let pacing = if event { "event" } else { "heartbeat" };
    let pairs = conf.iter().map(|(k, v)| (k.as_str(), v.as_str()));
    Configuration::of(pairs.chain([(PACING, pacing)]))
}

fn joined(problems: &[ConfProblem]) -> String {
    let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// As a ResourceManager reads both files at start.
fn read(conf: &BTreeMap<String, String>, event: bool) -> Done<SchedConf> {
    let conf = table(conf, event);
    let types = yarn_conf::resource_types(&conf).map_err(|problem| problem.text)?;
    let (calculator, _) =
        yarn_conf::resource_calculator(&conf, &types).map_err(|problem| problem.text)?;
    let calculator = match calculator {
        yarn_conf::Calculator::Default => Calculator::Default,
        yarn_conf::Calculator::Dominant => Calculator::Dominant,
    };
    SchedConf::from_lookup(&conf, types, calculator).map_err(|problems| joined(&problems))
}
