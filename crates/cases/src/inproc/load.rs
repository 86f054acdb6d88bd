//! Configuration of a case to a scheduler.
//! May touch: `yarn_conf`, `capacity_scheduler::conf`.
//! Must not: add settings of its own beyond the mode.

use std::collections::BTreeMap;

use capacity_scheduler::{
    conf::{Calculator, SchedConf},
    sched::Sched,
};
use yarn_conf::Configuration;

use crate::target::Done;

const PACING: &str = "yarn.scheduler.capacity.heddle.pacing";

/// A scheduler with its configuration.
pub(super) struct Loaded {
    pub sched: Sched,
    pub conf: SchedConf,
}

impl Loaded {
    pub fn new(conf: &BTreeMap<String, String>, event: bool) -> Done<Self> {
        let conf = read(conf, event)?;
        let sched = Sched::new(conf.clone());
        Ok(Self { sched, conf })
    }

    pub fn refresh(&mut self, conf: &BTreeMap<String, String>, event: bool) -> Done {
        let conf = read(conf, event)?;
        self.sched
            .reload(conf.queues.clone())
            .map_err(|refused| refused.message)?;
        self.conf = conf;
        Ok(())
    }
}

/// As a ResourceManager reads both files.
pub(super) fn read(conf: &BTreeMap<String, String>, event: bool) -> Done<SchedConf> {
    let pacing = if event { "event" } else { "heartbeat" };
    let pairs = conf.iter().map(|(k, v)| (k.as_str(), v.as_str()));
    let conf = Configuration::of(pairs.chain([(PACING, pacing)]));
    let types = yarn_conf::resource_types(&conf).map_err(|problem| problem.text)?;
    let (calculator, _) =
        yarn_conf::resource_calculator(&conf, &types).map_err(|problem| problem.text)?;
    let calculator = match calculator {
        yarn_conf::Calculator::Default => Calculator::Default,
        yarn_conf::Calculator::Dominant => Calculator::Dominant,
    };
    SchedConf::from_lookup(&conf, types, calculator).map_err(|problems| {
        let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
        texts.join("; ")
    })
}
