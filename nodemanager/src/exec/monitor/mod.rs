//! Watches the memory and CPU of containers by polling `/proc`.
//! May touch: `/proc`, read only.
//! Must not: kill; it says what is over its limit.

pub mod node;
pub mod procfs;
pub mod tree;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use node::{NodeUsage, node_usage};
pub use tree::{Limits, Over, Process, Sample, Tracker, beyond_memory, judge, vmem_limit};

/// Sum over all containers, as a heartbeat carries it (`ResourceUtilization`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Utilization {
    /// Physical memory, MiB.
    pub pmem_mb: i32,
    /// Virtual memory, MiB.
    pub vmem_mb: i32,
    /// CPU, in vcores of the node.
    pub cpu_vcores: f32,
}

/// What one poll found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Poll {
    /// Containers to kill, with exit status and diagnostics.
    pub over: Vec<Over>,
    /// Sum of what all containers use.
    pub used: Utilization,
    /// What each container uses, by container id.
    pub samples: BTreeMap<String, Sample>,
}

/// Which checks are on and what the node has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MonitorConf {
    /// `yarn.nodemanager.pmem-check-enabled`.
    pub check_pmem: bool,
    /// `yarn.nodemanager.vmem-check-enabled`.
    pub check_vmem: bool,
    /// `yarn.nodemanager.resource.cpu-vcores`.
    pub node_vcores: u32,
    /// Processors of the machine.
    pub processors: u32,
}

/// The containers under watch. Its calls block on `/proc`: keep them off the async threads.
#[derive(Debug)]
pub struct Monitor {
    conf: MonitorConf,
    proc_root: PathBuf,
    watched: BTreeMap<String, (Tracker, Limits)>,
}

impl Monitor {
    /// Watches nothing yet.
    pub fn new(conf: MonitorConf) -> Self {
        Self {
            conf,
            proc_root: PathBuf::from("/proc"),
            watched: BTreeMap::new(),
        }
    }

    /// Watches a container from the next poll on. `launcher_pid` is the parent of all that the
    /// container's processes leave behind.
    pub fn start(&mut self, container_id: &str, pid: i32, launcher_pid: i32, limits: Limits) {
        let tracker = Tracker::new(container_id.to_owned(), pid, launcher_pid);
        self.watched
            .insert(container_id.to_owned(), (tracker, limits));
    }

    /// Changes the limits of a watched container.
    pub fn change(&mut self, container_id: &str, limits: Limits) {
        if let Some((_, old)) = self.watched.get_mut(container_id) {
            *old = limits;
        }
    }

    /// Forgets a container.
    pub fn stop(&mut self, container_id: &str) {
        self.watched.remove(container_id);
    }

    /// Looks at all watched containers. `now_ms` is monotonic. A container that is over its limit
    /// is reported once and forgotten, as in stock.
    pub fn poll(&mut self, now_ms: u64) -> Poll {
        let mut poll = Poll::default();
        if self.watched.is_empty() {
            return poll;
        }
        let all = procfs::read_all(&self.proc_root);
        let proc_root = self.proc_root.clone();
        let command_line = move |pid| procfs::command_line(&proc_root, pid);
        for (id, (tracker, limits)) in &mut self.watched {
            let Some(sample) = tracker.update(now_ms, &all) else {
                continue;
            };
            add(&mut poll.used, &sample, &self.conf);
            let conf = &self.conf;
            poll.over
                .extend(judge(tracker, &sample, limits, conf, &command_line));
            poll.samples.insert(id.clone(), sample);
        }
        for over in &poll.over {
            self.watched.remove(&over.container_id);
        }
        poll
    }
}

/// `ContainersMonitorImpl.recordUsage`.
fn add(used: &mut Utilization, sample: &Sample, conf: &MonitorConf) {
    let mb = |bytes: u64| i32::try_from(bytes >> 20).unwrap_or(i32::MAX);
    used.pmem_mb = used.pmem_mb.saturating_add(mb(sample.pmem));
    used.vmem_mb = used.vmem_mb.saturating_add(mb(sample.vmem));
    let of_machine = sample.cpu_percent / conf.processors.max(1) as f32 / 100.0;
    used.cpu_vcores += of_machine * conf.node_vcores as f32;
}

#[cfg(test)]
#[path = "monitor_test.rs"]
mod tests;
