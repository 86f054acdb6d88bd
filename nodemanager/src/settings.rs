//! The NodeManager's configuration, read once and typed.
//! May touch: the configuration table, the host name, `/proc` for the size of the machine.
//! Must not: open a socket, or read a key again after start.

mod gpu;
mod health;
mod labels;

use std::path::{Path, PathBuf};

use nm_core::{LinkConf, NmConf, disks::DiskRules};
use yarn_conf::{Configuration, ExecutorCfg, HostPort, NodeAmount, Problem, TimeUnit};
use yarn_types::{Resource, ResourceTypes};

pub use gpu::{CgroupChoice, CgroupSettings, CpuSettings, GpuSettings, MemorySettings, Simulated};
pub use labels::{LabelSettings, LabelSource};

use crate::{acls::NodeAcls, exec::account::AccountRules, health::HealthScript, offer::Offer};

/// Everything the shell reads from the configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who may see applications.
    pub acls: std::sync::Arc<NodeAcls>,
    /// Host of the node id, as configured; the machine's name for the wildcard address.
    pub node_host: String,
    /// Where ContainerManagementProtocol listens (`yarn.nodemanager.address`, `bind-host`).
    pub rpc_bind: HostPort,
    /// Where the web server listens (`yarn.nodemanager.webapp.address`, `bind-host`).
    pub web_bind: HostPort,
    /// ResourceTracker of the ResourceManager, all of them with HA.
    pub tracker: Vec<HostPort>,
    /// What the core needs.
    pub core: NmConf,
    /// Resource lanes.
    pub types: ResourceTypes,
    /// What this node offers.
    pub total: Resource,
    /// What it offers now: the same, or what the ResourceManager says.
    pub offer: Offer,
    /// What the machine has.
    pub physical: Resource,
    /// `yarn.nodemanager.local-dirs`.
    pub local_dirs: Vec<PathBuf>,
    /// `yarn.nodemanager.log-dirs`.
    pub log_dirs: Vec<PathBuf>,
    /// Who runs containers.
    pub accounts: AccountRules,
    /// Disk limits.
    pub disks: DiskRules,
    /// `yarn.nodemanager.disk-health-checker.interval-ms`.
    pub disk_interval_ms: u64,
    /// Health scripts.
    pub scripts: Vec<HealthScript>,
    /// `yarn.nodemanager.health-checker.run-before-startup`.
    pub scripts_before_start: bool,
    /// Who says the node's label, where the node does.
    pub label: Option<LabelSettings>,
    /// Memory checks by poll.
    pub monitor: MonitorSettings,
    /// Localisation.
    pub localizer: LocalizerSettings,
    /// What the launch script and its surroundings need.
    pub launch: LaunchSettings,
    /// `ipc.maximum.data.length`.
    pub frame_bytes_max: usize,
    /// `yarn.nodemanager.resourcemanager.minimum.version`.
    pub rm_version_min: String,
    /// The GPU plugin, where it is on.
    pub gpu: Option<GpuSettings>,
    /// Device rules and limits.
    pub cgroups: CgroupSettings,
}

/// `yarn.nodemanager.container-monitor.*` and the checks it does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MonitorSettings {
    /// `yarn.nodemanager.container-monitor.enabled`.
    pub enabled: bool,
    /// `yarn.nodemanager.container-monitor.interval-ms`, default `resource-monitor.interval-ms`.
    pub interval_ms: u64,
    /// `yarn.nodemanager.pmem-check-enabled`.
    pub pmem_check: bool,
    /// `yarn.nodemanager.vmem-check-enabled`.
    pub vmem_check: bool,
    /// `yarn.nodemanager.vmem-pmem-ratio`.
    pub vmem_ratio: f32,
}

/// `yarn.nodemanager.localizer.*`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalizerSettings {
    /// `cache.target-size-mb`.
    pub cache_target_mb: u64,
    /// `cache.cleanup.interval-ms`.
    pub cleanup_interval_ms: u64,
    /// `fetch.thread-count`: fetches at the same time.
    pub fetch_threads: usize,
    /// `yarn.nodemanager.local-cache.max-files-per-directory`.
    pub files_per_directory_max: u32,
    /// `yarn.nodemanager.delete.debug-delay-sec`; below 0 nothing is ever deleted.
    pub delete_delay_s: i64,
    /// `yarn.nodemanager.delete.thread-count`.
    pub delete_threads: u32,
    /// `yarn.nodemanager.log.deletion-threads-count`.
    pub log_delete_threads: u32,
}

/// Keys of container launches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchSettings {
    /// `yarn.nodemanager.user-home-dir`.
    pub home_dir: String,
    /// `yarn.nodemanager.env-whitelist`.
    pub env_whitelist: Vec<String>,
    /// `yarn.nodemanager.admin-env`.
    pub admin_env: String,
    /// `yarn.nodemanager.force.path`.
    pub force_path: String,
    /// `yarn.nodemanager.log-container-debug-info.enabled`.
    pub debug_info: bool,
    /// `yarn.nodemanager.container-executor.os.sched.priority.adjustment`.
    pub nice: Option<i32>,
    /// `yarn.nodemanager.container.stderr.pattern`.
    pub stderr_pattern: String,
    /// `yarn.nodemanager.container.stderr.tail.bytes`.
    pub stderr_tail_bytes: u64,
}

impl Settings {
    /// Reads the shell's keys; `executor` is container-executor.cfg, empty where there is none.
    ///
    /// # Errors
    /// A value that Hadoop would refuse too; the text names file, key and value.
    pub fn read(conf: &Configuration, executor: &ExecutorCfg) -> Result<Self, Problem> {
        let types = yarn_conf::resource_types(conf)?;
        let physical = physical();
        let total = offered(conf, &types, physical)?;
        let address = conf.host_port("yarn.nodemanager.address", "0.0.0.0:0", 0)?;
        let web = conf.host_port("yarn.nodemanager.webapp.address", "0.0.0.0:8042", 8042)?;
        let bind_host = text(conf, "yarn.nodemanager.bind-host")?;
        let bind = |a: &HostPort| HostPort {
            host: bind_host.clone().unwrap_or_else(|| a.host.clone()),
            port: a.port,
        };
        let users = yarn_conf::launch_users(conf, executor)?;
        let gpu = gpu::gpu(conf)?;
        Ok(Self {
            acls: std::sync::Arc::new(NodeAcls::read(conf)?),
            node_host: node_host(&address.host),
            rpc_bind: bind(&address),
            web_bind: bind(&web),
            tracker: tracker(conf)?,
            core: core(conf)?,
            // with the plugin the amount of GPUs is that of the devices found
            offer: Offer::new(total, types.gpu_lane().filter(|_| gpu.is_some())),
            types,
            total,
            physical,
            local_dirs: dirs(conf, "yarn.nodemanager.local-dirs")?,
            log_dirs: dirs(conf, "yarn.nodemanager.log-dirs")?,
            accounts: AccountRules {
                limit_users: users.limit_users,
                local_user: users.local_user,
                min_user_id: users.min_user_id,
                banned_users: users.banned,
                allowed_system_users: users.allowed_system_users,
            },
            disks: health::disks(conf)?,
            label: labels::read(conf)?,
            scripts: health::scripts(conf)?,
            scripts_before_start: conf
                .bool("yarn.nodemanager.health-checker.run-before-startup", false)?,
            disk_interval_ms: conf
                .u64("yarn.nodemanager.disk-health-checker.interval-ms", 120_000)?
                .max(1000),
            monitor: monitor(conf)?,
            localizer: localizer(conf)?,
            launch: launch(conf)?,
            frame_bytes_max: usize::try_from(conf.u32("ipc.maximum.data.length", 134_217_728)?)
                .unwrap_or(134_217_728),
            rm_version_min: text(conf, "yarn.nodemanager.resourcemanager.minimum.version")?
                .unwrap_or_else(|| "NONE".to_owned()),
            gpu,
            cgroups: gpu::cgroups(conf)?,
        })
    }
}

/// The value of `key` unless it is unset or blank.
fn text(conf: &Configuration, key: &str) -> Result<Option<String>, Problem> {
    Ok(conf.get_trimmed(key)?.filter(|v| !v.is_empty()))
}

/// The configured host; for a wildcard the machine's name, as Hadoop's `getLocalHost`.
fn node_host(configured: &str) -> String {
    if !matches!(configured, "0.0.0.0" | "::" | "[::]" | "") {
        return configured.to_owned();
    }
    nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}

/// Addresses of the ResourceTracker; with HA those of every id, tried in turn.
fn tracker(conf: &Configuration) -> Result<Vec<HostPort>, Problem> {
    const KEY: &str = "yarn.resourcemanager.resource-tracker.address";
    if !conf.bool("yarn.resourcemanager.ha.enabled", false)? {
        return Ok(vec![conf.host_port(KEY, "0.0.0.0:8031", 8031)?]);
    }
    let mut found = Vec::new();
    for id in conf.trimmed_strings("yarn.resourcemanager.ha.rm-ids")? {
        let host = text(conf, &format!("yarn.resourcemanager.hostname.{id}"))?;
        let default = format!("{}:8031", host.as_deref().unwrap_or("0.0.0.0"));
        found.push(conf.host_port(&format!("{KEY}.{id}"), &default, 8031)?);
    }
    if found.is_empty() {
        return Err(conf.problem("yarn.resourcemanager.ha.rm-ids", "names no ResourceManager"));
    }
    Ok(found)
}

fn core(conf: &Configuration) -> Result<NmConf, Problem> {
    let diagnostics = conf.u32(
        "yarn.nodemanager.container-diagnostics-maximum-size",
        10_000,
    )?;
    Ok(NmConf {
        sigkill_delay_ms: conf.u64("yarn.nodemanager.sleep-delay-before-sigkill.ms", 250)?,
        kill_wait_ms: conf.u64("yarn.nodemanager.process-kill-wait.ms", 5000)?,
        log_retain_ms: conf
            .u64("yarn.nodemanager.log.retain-seconds", 10_800)?
            .saturating_mul(1000),
        diagnostics_bytes_max: usize::try_from(diagnostics).unwrap_or(10_000),
        track_stopped_ms: conf.u64(
            "yarn.nodemanager.duration-to-track-stopped-containers",
            600_000,
        )?,
        work_preserving: conf.bool(
            "yarn.resourcemanager.work-preserving-recovery.enabled",
            true,
        )?,
        gpus: yarn_conf::gpu_plugin(conf)?,
        label_resync_ms: labels::resync_ms(conf)?,
        link: LinkConf {
            connect_wait_ms_max: connect_ms(conf, "max-wait.ms", 900_000)?,
            retry_interval_ms: connect_ms(conf, "retry-interval.ms", 30_000)?.unwrap_or(30_000),
            quick_retries: conf.u32("ipc.client.connect.max.retries", 10)?,
            quick_interval_ms: conf.u64("ipc.client.connect.retry.interval", 1000)?.max(10),
        },
    })
}

/// `yarn.nodemanager.resourcemanager.connect.<name>`, else the ResourceManager's key of that
/// name; `None` for -1, which means without end.
fn connect_ms(conf: &Configuration, name: &str, default_ms: i64) -> Result<Option<u64>, Problem> {
    let own = format!("yarn.nodemanager.resourcemanager.connect.{name}");
    let common = format!("yarn.resourcemanager.connect.{name}");
    let key = if text(conf, &own)?.is_some() {
        own
    } else {
        common
    };
    Ok(u64::try_from(conf.duration_ms(&key, TimeUnit::Milliseconds, default_ms)?).ok())
}

fn dirs(conf: &Configuration, key: &str) -> Result<Vec<PathBuf>, Problem> {
    let list: Vec<PathBuf> = conf
        .trimmed_strings(key)?
        .into_iter()
        .filter(|d| !d.is_empty())
        .map(|d| PathBuf::from(d.strip_prefix("file://").unwrap_or(&d).to_owned()))
        .collect();
    match list.iter().find(|d| !d.is_absolute()) {
        Some(bad) => Err(conf.problem(key, format!("{} is not an absolute path", bad.display()))),
        None if list.is_empty() => Err(conf.problem(key, "names no directory")),
        None => Ok(list),
    }
}

fn monitor(conf: &Configuration) -> Result<MonitorSettings, Problem> {
    let interval = conf.u64("yarn.nodemanager.resource-monitor.interval-ms", 3000)?;
    let key = "yarn.nodemanager.container-monitor.interval-ms";
    let interval = if text(conf, key)?.is_some() {
        conf.u64(key, interval)?
    } else {
        interval
    };
    let ratio_key = "yarn.nodemanager.vmem-pmem-ratio";
    let vmem_ratio = conf.f32(ratio_key, 2.1)?;
    if vmem_ratio < 0.99 {
        return Err(conf.problem(ratio_key, "should be at least 1.0"));
    }
    Ok(MonitorSettings {
        enabled: conf.bool("yarn.nodemanager.container-monitor.enabled", true)?,
        interval_ms: interval.max(100),
        pmem_check: conf.bool("yarn.nodemanager.pmem-check-enabled", true)?,
        vmem_check: conf.bool("yarn.nodemanager.vmem-check-enabled", true)?,
        vmem_ratio,
    })
}

fn localizer(conf: &Configuration) -> Result<LocalizerSettings, Problem> {
    let key = |name: &str| format!("yarn.nodemanager.localizer.{name}");
    let threads = conf.u32(&key("fetch.thread-count"), 4)?.max(1);
    let per_dir = "yarn.nodemanager.local-cache.max-files-per-directory";
    let files_per_directory_max = conf.u32(per_dir, 8192)?;
    if files_per_directory_max <= 36 {
        return Err(conf.problem(
            per_dir,
            "should be above 36: so many directories lie beside",
        ));
    }
    Ok(LocalizerSettings {
        cache_target_mb: conf.u64(&key("cache.target-size-mb"), 10_240)?,
        cleanup_interval_ms: conf
            .u64(&key("cache.cleanup.interval-ms"), 600_000)?
            .max(1000),
        fetch_threads: usize::try_from(threads).unwrap_or(4),
        files_per_directory_max,
        delete_delay_s: conf.i64("yarn.nodemanager.delete.debug-delay-sec", 0)?,
        delete_threads: conf.u32("yarn.nodemanager.delete.thread-count", 4)?.max(1),
        log_delete_threads: conf
            .u32("yarn.nodemanager.log.deletion-threads-count", 4)?
            .max(1),
    })
}

fn launch(conf: &Configuration) -> Result<LaunchSettings, Problem> {
    let nice_key = "yarn.nodemanager.container-executor.os.sched.priority.adjustment";
    let nice = if text(conf, nice_key)?.is_some() {
        Some(conf.i32(nice_key, 0)?)
    } else {
        None
    };
    Ok(LaunchSettings {
        home_dir: text(conf, "yarn.nodemanager.user-home-dir")?
            .unwrap_or_else(|| "/home/".to_owned()),
        env_whitelist: conf.trimmed_strings("yarn.nodemanager.env-whitelist")?,
        admin_env: text(conf, "yarn.nodemanager.admin-env")?.unwrap_or_default(),
        force_path: text(conf, "yarn.nodemanager.force.path")?.unwrap_or_default(),
        debug_info: conf.bool("yarn.nodemanager.log-container-debug-info.enabled", true)?,
        nice,
        stderr_pattern: text(conf, "yarn.nodemanager.container.stderr.pattern")?
            .unwrap_or_else(|| "{*stderr*,*STDERR*}".to_owned()),
        stderr_tail_bytes: conf.u64("yarn.nodemanager.container.stderr.tail.bytes", 4096)?,
    })
}

/// What this node offers: configured amounts, or those of the machine where detection is on.
fn offered(
    conf: &Configuration,
    types: &ResourceTypes,
    physical: Resource,
) -> Result<Resource, Problem> {
    let (mut total, memory, vcores) = yarn_conf::node_resources(conf, types)?;
    total.0[0] = match memory {
        NodeAmount::Configured(mb) => mb,
        NodeAmount::Detect => detected_memory_mb(conf, physical.memory_mb())?,
    };
    total.0[1] = match vcores {
        NodeAmount::Configured(count) => count,
        NodeAmount::Detect => physical.vcores(),
    };
    Ok(total)
}

/// `NodeManagerHardwareUtils.getContainerMemoryMBInternal`: 80 % of what is left beside the
/// daemons' heaps (two of 1,000 MB), or the total less what is reserved.
fn detected_memory_mb(conf: &Configuration, physical_mb: i64) -> Result<i64, Problem> {
    let reserved = conf.i64("yarn.nodemanager.resource.system-reserved-memory-mb", -1)?;
    let left = if reserved < 0 {
        physical_mb.saturating_sub(2000) / 5 * 4
    } else {
        physical_mb.saturating_sub(reserved)
    };
    Ok(left.max(0))
}

/// Memory and processors of the machine.
fn physical() -> Resource {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kb = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| {
            rest.trim()
                .trim_end_matches("kB")
                .trim()
                .parse::<i64>()
                .ok()
        })
        .unwrap_or(0);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Resource::new(kb / 1024, i64::try_from(cores).unwrap_or(1))
}

/// container-executor.cfg beside the configuration files; empty where there is none.
///
/// # Errors
/// A file that is there and cannot be read or parsed; the text names it.
pub fn executor_cfg(dir: &Path) -> Result<ExecutorCfg, String> {
    let path = dir.join("container-executor.cfg");
    match std::fs::read_to_string(&path) {
        Ok(text) => ExecutorCfg::parse(&text).map_err(|e| format!("{}: {e}", path.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(ExecutorCfg::default()),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}

#[cfg(test)]
#[path = "settings_test.rs"]
mod tests;
