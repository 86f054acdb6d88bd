//! Keys of GPUs and of cgroups.
//! May touch: the configuration table, the process environment by what it is given.
//! Must not: look at devices or cgroups.

use std::{path::PathBuf, time::Duration};

use gpu_probe::allowed::Allowed;
use isolator::cgroup::dir::RemovalPatience;
use yarn_conf::{Configuration, Problem, TimeUnit};

/// `yarn.nodemanager.resource-plugins=yarn.io/gpu` and what belongs to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GpuSettings {
    /// `yarn.nodemanager.resource-plugins.gpu.allowed-gpu-devices`.
    pub allowed: Allowed,
    /// `yarn.nodemanager.resource-plugins.gpu.discovery-timeout`.
    pub timeout: Duration,
    /// `yarn.nodemanager.resource-plugins.gpu.discovery-max-errors`; `None`: without end.
    pub errors_max: Option<u32>,
    /// `yarn.nodemanager.heddle.gpu.nvml-library`.
    pub library: String,
    /// Where nodes of simulated cards are made; `None` with real ones.
    pub simulated: Option<Simulated>,
}

/// Simulated cards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Simulated {
    /// `yarn.nodemanager.heddle.gpu.simulated-dev-dir`.
    pub dev_dir: PathBuf,
    /// `yarn.nodemanager.heddle.gpu.simulated-bin-dir`.
    pub bin_dir: Option<PathBuf>,
}

/// Where device rules are set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CgroupChoice {
    /// v1 where it has the devices controller, else v2.
    Auto,
    /// The devices controller.
    V1,
    /// An eBPF program on the unified hierarchy.
    V2,
}

/// Keys of cgroups.
#[derive(Clone, PartialEq, Debug)]
pub struct CgroupSettings {
    /// `yarn.nodemanager.heddle.devices.cgroup` and `…cgroups.v2.enabled`.
    pub choice: CgroupChoice,
    /// `yarn.nodemanager.linux-container-executor.cgroups.hierarchy`.
    pub hierarchy: String,
    /// `yarn.nodemanager.linux-container-executor.cgroups.delete-timeout-ms`, `.delete-delay-ms`.
    pub patience: RemovalPatience,
    /// `yarn.nodemanager.heddle.devices.allowed`.
    pub nodes: Vec<PathBuf>,
    /// Memory, `None` when `yarn.nodemanager.resource.memory.enabled` is false.
    pub memory: Option<MemorySettings>,
    /// Processors, `None` when they are not limited by cgroups.
    pub cpu: Option<CpuSettings>,
    /// `yarn.nodemanager.heddle.pids.max`.
    pub pids_max: Option<u32>,
}

/// Memory limits by cgroup.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MemorySettings {
    /// `yarn.nodemanager.resource.memory.enforced`: a hard limit, not a soft one alone.
    pub enforced: bool,
    /// `yarn.nodemanager.resource.memory.cgroups.soft-limit-percentage`.
    pub soft_percent: f32,
    /// `yarn.nodemanager.resource.memory.cgroups.swappiness`.
    pub swappiness: u64,
}

/// Processor limits by cgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuSettings {
    /// `yarn.nodemanager.linux-container-executor.cgroups.strict-resource-usage`.
    pub strict: bool,
    /// `yarn.nodemanager.resource.percentage-physical-cpu-limit`.
    pub node_percent: u32,
}

/// The GPU keys; `None` where the plugin is not on.
///
/// # Errors
/// A bad value; the text names file, key and value.
pub(super) fn gpu(conf: &Configuration) -> Result<Option<GpuSettings>, Problem> {
    if !yarn_conf::gpu_plugin(conf)? {
        return Ok(None);
    }
    let key = |name: &str| format!("yarn.nodemanager.resource-plugins.gpu.{name}");
    let allowed_key = key("allowed-gpu-devices");
    let allowed = super::text(conf, &allowed_key)?.unwrap_or_else(|| "auto".to_owned());
    let allowed = allowed.parse::<Allowed>();
    let timeout_ms = conf.duration_ms(&key("discovery-timeout"), TimeUnit::Milliseconds, 10_000)?;
    let errors_max = u32::try_from(conf.i64(&key("discovery-max-errors"), 10)?).ok();
    let path = |name: &str| -> Result<Option<PathBuf>, Problem> {
        let key = format!("yarn.nodemanager.heddle.gpu.{name}");
        match super::text(conf, &key)?.map(PathBuf::from) {
            Some(path) if !path.is_absolute() => {
                Err(conf.problem(&key, format!("{} is not an absolute path", path.display())))
            }
            path => Ok(path),
        }
    };
    let bin_dir = path("simulated-bin-dir")?;
    let dev_dir = path("simulated-dev-dir")?;
    if let Some(dir) = dev_dir.as_ref().filter(|d| d.starts_with("/dev")) {
        return Err(conf.problem(
            "yarn.nodemanager.heddle.gpu.simulated-dev-dir",
            format!("{} is in /dev, where real devices are", dir.display()),
        ));
    }
    Ok(Some(GpuSettings {
        allowed: allowed.map_err(|e| conf.problem(&allowed_key, e))?,
        timeout: Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(10_000).max(1)),
        errors_max,
        library: super::text(conf, "yarn.nodemanager.heddle.gpu.nvml-library")?
            .unwrap_or_else(|| "libnvidia-ml.so.1".to_owned()),
        simulated: dev_dir.map(|dev_dir| Simulated { dev_dir, bin_dir }),
    }))
}

/// The cgroup keys.
///
/// # Errors
/// A bad value; the text names file, key and value.
pub(super) fn cgroups(conf: &Configuration) -> Result<CgroupSettings, Problem> {
    let key = |name: &str| format!("yarn.nodemanager.linux-container-executor.cgroups.{name}");
    let choice_key = "yarn.nodemanager.heddle.devices.cgroup";
    let v2 = conf.bool(&key("v2.enabled"), false)?;
    let choice = match super::text(conf, choice_key)?.as_deref() {
        None | Some("auto") if v2 => CgroupChoice::V2,
        None | Some("auto") => CgroupChoice::Auto,
        Some("v1") => CgroupChoice::V1,
        Some("v2") => CgroupChoice::V2,
        Some(_) => return Err(conf.problem(choice_key, "is none of auto, v1, v2")),
    };
    let nodes_key = "yarn.nodemanager.heddle.devices.allowed";
    let nodes = conf.trimmed_strings(nodes_key)?.into_iter();
    let nodes: Vec<PathBuf> = nodes.filter(|n| !n.is_empty()).map(PathBuf::from).collect();
    if let Some(bad) = nodes.iter().find(|n| !n.is_absolute()) {
        let text = format!("{} is not an absolute path", bad.display());
        return Err(conf.problem(nodes_key, text));
    }
    let pids_key = "yarn.nodemanager.heddle.pids.max";
    let pids_max = match super::text(conf, pids_key)? {
        Some(_) => Some(conf.u32(pids_key, 0)?).filter(|n| *n > 0),
        None => None,
    };
    Ok(CgroupSettings {
        choice,
        hierarchy: super::text(conf, &key("hierarchy"))?
            .unwrap_or_else(|| "/hadoop-yarn".to_owned()),
        patience: RemovalPatience {
            timeout_ms: conf.u64(&key("delete-timeout-ms"), 1000)?,
            delay_ms: conf.u64(&key("delete-delay-ms"), 20)?.max(1),
        },
        nodes,
        memory: memory(conf)?,
        cpu: cpu(conf, &key("strict-resource-usage"))?,
        pids_max,
    })
}

fn memory(conf: &Configuration) -> Result<Option<MemorySettings>, Problem> {
    let key = |name: &str| format!("yarn.nodemanager.resource.memory.{name}");
    if !conf.bool(&key("enabled"), false)? {
        return Ok(None);
    }
    let percent_key = key("cgroups.soft-limit-percentage");
    let soft_percent = conf.f32(&percent_key, 90.0)?;
    if !(0.0..=100.0).contains(&soft_percent) {
        return Err(conf.problem(&percent_key, "should be between 0 and 100"));
    }
    Ok(Some(MemorySettings {
        enforced: conf.bool(&key("enforced"), true)?,
        soft_percent,
        swappiness: conf.u64(&key("cgroups.swappiness"), 0)?.min(100),
    }))
}

fn cpu(conf: &Configuration, strict_key: &str) -> Result<Option<CpuSettings>, Problem> {
    let named = |key: &str, class: &str| -> Result<bool, Problem> {
        let value = super::text(conf, key)?.unwrap_or_default();
        Ok(value.rsplit('.').next() == Some(class))
    };
    let by_handler = named(
        "yarn.nodemanager.container-executor.class",
        "LinuxContainerExecutor",
    )? && named(
        "yarn.nodemanager.linux-container-executor.resources-handler.class",
        "CgroupsLCEResourcesHandler",
    )?;
    if !by_handler && !conf.bool("yarn.nodemanager.resource.cpu.enabled", false)? {
        return Ok(None);
    }
    let percent_key = "yarn.nodemanager.resource.percentage-physical-cpu-limit";
    let node_percent = conf.u32(percent_key, 100)?;
    if !(1..=100).contains(&node_percent) {
        return Err(conf.problem(percent_key, "should be between 1 and 100"));
    }
    Ok(Some(CpuSettings {
        strict: conf.bool(strict_key, false)?,
        node_percent,
    }))
}
