//! The isolation of this node's containers: set before a launch, watched, taken down after the end.
//! May touch: the isolator library, its ledger directory.
//! Must not: choose devices, or let a container start that is not isolated as ordered.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use isolator::{
    cgroup::{Mounts, mounts::Mode},
    isolation::{Applied, Difference, Facts, Isolation, Plan, Spec, available},
    limits::{CpuLimit, CpuQuota, LimitSpec, MemoryLimit},
};
use nm_core::Event;
use tokio::time::MissedTickBehavior;
use yarn_types::{ContainerId, Resource, exit};

use crate::{
    driver::Inbox,
    settings::{CgroupChoice, CgroupSettings, CpuSettings, MemorySettings},
};

/// How often the rules of running containers are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// `CGroupsCpuResourceHandlerImpl`: longest period and quota, shortest period, in microseconds.
const QUOTA_US_MAX: u32 = 1_000_000;
const PERIOD_US_MIN: u32 = 1000;
/// Directory of the ledger in the first local directory.
const LEDGER: &str = "isolation";

/// Whether containers are isolated here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// They are, by device rules of this version.
    On(Mode),
    /// They cannot be; why, and what helps.
    Unavailable(String),
    /// `--unsafe-no-isolation`.
    Unsafe,
    /// The node counts GPUs without managing them, so containers see all of them.
    Off,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On(Mode::V1) => f.write_str("cgroup v1 devices controller"),
            Self::On(Mode::V2) => f.write_str("cgroup v2 device program"),
            Self::Unavailable(text) => f.write_str(text),
            Self::Unsafe => {
                f.write_str("off (--unsafe-no-isolation): containers can reach every GPU")
            }
            Self::Off => {
                f.write_str("off (yarn.nodemanager.resource-plugins names no yarn.io/gpu)")
            }
        }
    }
}

/// What a launch gets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Isolated {
    /// `cgroup.procs` files to join before the program starts.
    pub procs: Vec<PathBuf>,
    /// Device nodes that it lacks, with the reason.
    pub missing: Vec<String>,
}

/// Containers that could not be taken down, with their devices.
type Stuck = BTreeMap<ContainerId, (Applied, Vec<Arc<str>>)>;

/// Isolation of one node. Its calls block: keep them off the async threads.
pub struct Guard {
    state: State,
    isolation: Option<Isolation>,
    conf: CgroupSettings,
    simulated: bool,
    /// Vcores of the node, and processors of the machine.
    node_vcores: u32,
    processors: u32,
    applied: Mutex<BTreeMap<ContainerId, Applied>>,
    /// Containers that could not be taken down, with their devices; tried again.
    stuck: Mutex<Stuck>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// What the guard must know of the node.
#[derive(Clone, Debug)]
pub struct NodeShape {
    /// First local directory.
    pub local_dir: PathBuf,
    /// `--unsafe-no-isolation`.
    pub unsafe_no_isolation: bool,
    /// GPUs are counted without the plugin.
    pub counted: bool,
    /// The cards are simulated.
    pub simulated: bool,
    /// What the node offers.
    pub total: Resource,
    /// What the machine has.
    pub physical: Resource,
}

impl Guard {
    /// Tries out whether containers can be isolated, after what a dead NodeManager left is
    /// taken down.
    pub fn open(conf: CgroupSettings, node: &NodeShape) -> Self {
        let (state, isolation) = if node.unsafe_no_isolation {
            (State::Unsafe, None)
        } else if node.counted {
            (State::Off, None)
        } else {
            match enable(&conf, &node.local_dir) {
                Ok((mode, isolation)) => (State::On(mode), Some(isolation)),
                Err(text) => (State::Unavailable(text), None),
            }
        };
        let count = |n: i64| u32::try_from(n).unwrap_or(1).max(1);
        Self {
            state,
            isolation,
            conf,
            simulated: node.simulated,
            node_vcores: count(node.total.vcores()),
            processors: count(node.physical.vcores()),
            applied: Mutex::default(),
            stuck: Mutex::default(),
        }
    }

    /// A guard that isolates nothing.
    #[cfg(test)]
    pub(crate) fn off() -> Self {
        Self {
            state: State::Off,
            isolation: None,
            conf: CgroupSettings {
                choice: CgroupChoice::Auto,
                hierarchy: String::new(),
                patience: isolator::cgroup::dir::RemovalPatience::default(),
                nodes: Vec::new(),
                memory: None,
                cpu: None,
                pids_max: None,
            },
            simulated: false,
            node_vcores: 1,
            processors: 1,
            applied: Mutex::default(),
            stuck: Mutex::default(),
        }
    }

    /// Whether containers are isolated here.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// GPUs can be offered.
    pub fn allows_gpus(&self) -> bool {
        matches!(self.state, State::On(_) | State::Unsafe)
    }

    /// Isolates a container before it starts.
    ///
    /// # Errors
    /// The container must not be started; the text says why.
    pub fn apply(
        &self,
        id: ContainerId,
        minors: &[u32],
        resource: Resource,
    ) -> Result<Isolated, String> {
        let (State::On(mode), Some(isolation)) = (&self.state, &self.isolation) else {
            return Ok(Isolated::default());
        };
        let spec = Spec {
            container: id.to_string(),
            hierarchy: self.conf.hierarchy.clone(),
            mode: *mode,
            gpu_minors: minors.to_vec(),
            simulated_gpus: self.simulated,
            nodes: self.conf.nodes.clone(),
            limits: self.limits(resource, *mode),
        };
        let fault = |e: &dyn fmt::Display| format!("the container cannot be isolated: {e}");
        let plan = Plan::new(&spec, &Facts::read(&spec.nodes)).map_err(|e| fault(&e))?;
        let applied = isolation.apply(&plan).map_err(|e| fault(&e))?;
        let isolated = Isolated {
            procs: applied.procs_files(),
            missing: applied.missing().to_vec(),
        };
        self.lock().insert(id, applied);
        Ok(isolated)
    }

    /// Gives a running container the limits of the size that `size` tells; nothing where it is
    /// not isolated here. Calls take turns, so that the last size told is the one that stays.
    ///
    /// # Errors
    /// The kernel keeps to the limits of before; the text says why.
    pub fn resize(
        &self,
        id: ContainerId,
        size: impl FnOnce() -> Option<Resource>,
    ) -> Result<(), String> {
        let (State::On(mode), Some(isolation)) = (&self.state, &self.isolation) else {
            return Ok(());
        };
        // Held to the end: the watch would restore what is being changed.
        let mut table = self.lock();
        let (Some(applied), Some(size)) = (table.get_mut(&id), size()) else {
            return Ok(());
        };
        let limits = self.limits(size, *mode);
        isolation
            .resize(applied, &limits)
            .map_err(|e| e.to_string())
    }

    fn limits(&self, resource: Resource, mode: Mode) -> LimitSpec {
        let memory = u64::try_from(resource.memory_mb()).unwrap_or(0) << 20;
        let vcores = u32::try_from(resource.vcores()).unwrap_or(1).max(1);
        LimitSpec {
            memory: self.conf.memory.and_then(|m| memory_limit(m, memory, mode)),
            cpu: self.conf.cpu.map(|c| CpuLimit {
                vcores,
                quota: quota(c, vcores, self.node_vcores, self.processors),
            }),
            pids_max: self.conf.pids_max,
        }
    }

    /// The kernel has killed a process of the container for want of memory.
    pub fn oom_killed(&self, id: ContainerId) -> bool {
        let applied = self.lock().get(&id).cloned();
        applied.is_some_and(|a| matches!(a.oom_kills(), Ok(Some(n)) if n > 0))
    }

    /// The container's own cgroup directories.
    pub fn cgroups(&self, id: ContainerId) -> Vec<String> {
        let table = self.lock();
        let dirs = table.get(&id).map(Applied::cgroups).unwrap_or_default();
        dirs.iter().map(|d| d.display().to_string()).collect()
    }

    /// Whether something of the container is to be taken down.
    pub fn holds(&self, id: ContainerId) -> bool {
        self.lock().contains_key(&id)
    }

    /// Kills what is left of the container and takes its isolation down. What cannot be is the
    /// answer, and tried again by [`Guard::watch`]; its devices stay dirty until then.
    pub fn undo(&self, id: ContainerId, gpus: Vec<Arc<str>>) -> Option<String> {
        let applied = self.lock().remove(&id)?;
        let isolation = self.isolation.as_ref()?;
        let e = isolation.undo(&applied).err()?;
        tracing::warn!(container = %id, error = %e, "isolation is not taken down, tried again");
        lock(&self.stuck).insert(id, (applied, gpus));
        Some(format!("{id} is not gone: {e}"))
    }

    /// Checks rules and limits of every container, restores what was removed, and takes down
    /// what could not be before; every two seconds, for ever.
    pub async fn watch(self: Arc<Self>, inbox: Inbox) {
        if self.isolation.is_none() {
            return;
        }
        let mut ticks = tokio::time::interval(CHECK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let (guard, inbox) = (Arc::clone(&self), inbox.clone());
            let look = move || {
                guard.check(&inbox);
                guard.clean(&inbox);
            };
            let _ = tokio::task::spawn_blocking(look).await;
        }
    }

    fn check(&self, inbox: &Inbox) {
        let Some(isolation) = &self.isolation else {
            return;
        };
        let all: Vec<(ContainerId, Applied)> = {
            let table = self.lock();
            table.iter().map(|(id, a)| (*id, a.clone())).collect()
        };
        for (container, applied) in all {
            let found = isolation.verify(&applied);
            if found.is_empty() {
                continue;
            }
            let mut table = self.lock();
            // Taken down meanwhile: that is the difference.
            let Some(current) = table.get_mut(&container) else {
                continue;
            };
            let what = texts(&found);
            match isolation.restore(current) {
                Ok(()) => tracing::warn!(%container, what, "isolation was changed, restored"),
                Err(e) => {
                    tracing::error!(%container, what, error = %e, "isolation is lost");
                    inbox.event(Event::OverLimit {
                        container,
                        exit_code: exit::ABORTED,
                        diagnostics: format!("gpu unavailable: isolation is lost: {e}"),
                    });
                }
            }
        }
    }

    fn clean(&self, inbox: &Inbox) {
        let Some(isolation) = &self.isolation else {
            return;
        };
        let stuck = lock(&self.stuck).clone();
        for (container, (applied, uuids)) in stuck {
            if isolation.undo(&applied).is_ok() {
                tracing::info!(%container, "isolation is taken down at last");
                lock(&self.stuck).remove(&container);
                inbox.event(Event::GpuCleaned { uuids });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ContainerId, Applied>> {
        lock(&self.applied)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds a lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn texts(differences: &[Difference]) -> String {
    let texts: Vec<String> = differences.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// Opens the ledger, takes down what it names, and tries isolation out.
fn enable(conf: &CgroupSettings, local_dir: &Path) -> Result<(Mode, Isolation), String> {
    if !nix::unistd::Uid::effective().is_root() {
        return Err(
            "unavailable (the NodeManager is not root, start the NodeManager as root)".to_owned(),
        );
    }
    let mode = mode(conf.choice, &Mounts::read());
    let isolation = Isolation::new(&local_dir.join(LEDGER), conf.patience)
        .map_err(|e| format!("unavailable ({e}, make the directory writable)"))?;
    match isolation.recover(&BTreeSet::new()) {
        Ok(done) => {
            for entry in done {
                let container = entry.container;
                match entry.result {
                    Ok(()) => tracing::info!(container, "isolation left behind is taken down"),
                    Err(e) => tracing::warn!(container, error = %e, "isolation is left behind"),
                }
            }
        }
        Err(e) => tracing::warn!(error = %e, "the ledger of isolation cannot be read"),
    }
    let facts = Facts::read(&conf.nodes);
    available(mode, &conf.hierarchy, &facts, &isolation).map_err(|e| e.to_string())?;
    Ok((mode, isolation))
}

fn mode(choice: CgroupChoice, mounts: &Mounts) -> Mode {
    match choice {
        CgroupChoice::V2 => Mode::V2,
        CgroupChoice::Auto if mounts.devices(Mode::V1).is_none() && mounts.v2.is_some() => Mode::V2,
        CgroupChoice::Auto | CgroupChoice::V1 => Mode::V1,
    }
}

/// `CGroupsMemoryResourceHandlerImpl.preStart`.
fn memory_limit(conf: MemorySettings, bytes: u64, mode: Mode) -> Option<MemoryLimit> {
    if !conf.enforced && mode == Mode::V2 {
        return None;
    }
    let percent = f64::from(conf.soft_percent) / 100.0;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    #[allow(clippy::cast_precision_loss)] // a soft limit need not be exact
    let soft = (bytes as f64 * percent) as u64;
    Some(MemoryLimit {
        hard_bytes: if conf.enforced {
            bytes
        } else {
            i64::MAX.unsigned_abs()
        },
        soft_bytes: Some(soft),
        swappiness: Some(conf.swappiness),
    })
}

/// `CGroupsCpuResourceHandlerImpl.getOverallLimits`: the container's part of the processors, as
/// time in a period; `None` where it may use more than the kernel can express, or all it finds.
fn quota(conf: CpuSettings, vcores: u32, node_vcores: u32, processors: u32) -> Option<CpuQuota> {
    if !conf.strict {
        return None;
    }
    // In hundredths of a processor.
    let node = u64::from(conf.node_percent) * u64::from(processors);
    let part = (node * u64::from(vcores) / u64::from(node_vcores)).max(1);
    let max = u64::from(QUOTA_US_MAX);
    let (quota, period) = if part < 100 {
        (max * part / 100, max)
    } else {
        (max, max * 100 / part)
    };
    let us = |n: u64| u32::try_from(n).unwrap_or(QUOTA_US_MAX);
    (us(period) >= PERIOD_US_MIN).then(|| CpuQuota {
        quota_us: us(quota).max(PERIOD_US_MIN),
        period_us: us(period),
    })
}

#[cfg(test)]
#[path = "isolation_test.rs"]
mod tests;
