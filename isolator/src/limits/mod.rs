//! Memory, processor and process-count limits of one container, behind one trait.
//! May touch: values it is given.
//! Must not: decide what the limits are; the NodeManager's configuration does.

mod kernel;

pub use kernel::KernelLimits;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Controllers for which there are limits.
pub const CONTROLLERS: [&str; 3] = ["memory", "cpu", "pids"];

/// Memory limits, in bytes (Hadoop's `CGroupsMemoryResourceHandlerImpl`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryLimit {
    /// Hard limit: `memory.limit_in_bytes`, `memory.max`.
    pub hard_bytes: u64,
    /// Soft limit: `memory.soft_limit_in_bytes`, `memory.low`.
    pub soft_bytes: Option<u64>,
    /// `memory.swappiness`, v1 only.
    pub swappiness: Option<u64>,
}

/// Share of the processors (Hadoop's `CGroupsCpuResourceHandlerImpl`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuLimit {
    /// Virtual cores: 1024 `cpu.shares` or a `cpu.weight` of 100 each.
    pub vcores: u32,
    /// At most this much time in each period, where the limit is strict.
    pub quota: Option<CpuQuota>,
}

/// Bandwidth of the completely fair scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuQuota {
    /// Processor time in each period, in microseconds; at least 1000.
    pub quota_us: u32,
    /// Length of a period, in microseconds; 1000 to 1000000.
    pub period_us: u32,
}

impl CpuLimit {
    /// `cpu.shares` of cgroup v1.
    pub fn shares(&self) -> u64 {
        1024 * u64::from(self.vcores.max(1))
    }

    /// `cpu.weight` of cgroup v2, at most the kernel's 10000.
    pub fn weight(&self) -> u64 {
        (100 * u64::from(self.vcores.max(1))).min(10_000)
    }
}

/// One limit of one controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Memory.
    Memory(MemoryLimit),
    /// Processors.
    Cpu(CpuLimit),
    /// Most processes and threads at once (`pids.max`).
    Pids(u32),
}

impl Limit {
    /// The controller that holds this limit.
    pub fn controller(&self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::Cpu(_) => "cpu",
            Self::Pids(_) => "pids",
        }
    }
}

/// All limits of a container; what is `None` is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSpec {
    /// Memory.
    pub memory: Option<MemoryLimit>,
    /// Processors.
    pub cpu: Option<CpuLimit>,
    /// Most processes and threads at once.
    pub pids_max: Option<u32>,
}

impl LimitSpec {
    /// The limits that are set, one per controller.
    pub fn each(&self) -> Vec<Limit> {
        let memory = self.memory.map(Limit::Memory);
        let cpu = self.cpu.map(Limit::Cpu);
        let pids = self.pids_max.map(Limit::Pids);
        memory.into_iter().chain(cpu).chain(pids).collect()
    }
}

/// Why a limit could not be set or read: the file is in the text.
#[derive(Debug, Error)]
#[error("{controller} limit of {cgroup}: {reason}")]
pub struct LimitError {
    /// Controller.
    pub controller: &'static str,
    /// Directory.
    pub cgroup: String,
    /// What went wrong.
    pub reason: String,
}

/// The limits of one cgroup directory. The face towards the kernel; tests and other ways of
/// limiting (a runtime, a later kernel interface) stand behind it.
pub trait Limits {
    /// Sets one limit.
    ///
    /// # Errors
    /// [`LimitError`].
    fn set(&self, limit: &Limit) -> Result<(), LimitError>;

    /// What differs between the kernel and `limit`, as `(file, held, wanted)`.
    ///
    /// # Errors
    /// [`LimitError`].
    fn differences(&self, limit: &Limit) -> Result<Vec<(String, String, String)>, LimitError>;

    /// How many processes the kernel has killed here for want of memory since the cgroup was
    /// made. (`memory.failcnt` stays 0 on recent kernels.)
    ///
    /// # Errors
    /// [`LimitError`].
    fn oom_kills(&self) -> Result<u64, LimitError>;
}
