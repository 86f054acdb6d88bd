//! The shell's part of the configuration, read once and typed: addresses, intervals, files.
//! May touch: the configuration table, the host name.
//! Must not: open a socket, or read a key again after start.

use std::{net::IpAddr, path::PathBuf};

use crate::journal::JournalOptions;
use hadoop_ipc::token::KeyRingOptions;
use yarn_conf::{Configuration, HostPort, NodeLabelSettings, Problem, TimeUnit};

/// A port of the RM: which key says where, and what it says.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Name in the endpoints file, e.g. `rm.client`.
    pub name: &'static str,
    /// Key whose value holds, with the suffix of this RM when there is one.
    pub key: String,
    /// What the key says.
    pub address: HostPort,
    /// Where to listen instead of `address.host` (`yarn.resourcemanager.bind-host`).
    pub bind_host: Option<String>,
}

/// All ports of the RM.
#[derive(Clone, Debug)]
pub struct Endpoints {
    /// ApplicationClientProtocol.
    pub client: Endpoint,
    /// ApplicationMasterProtocol.
    pub scheduler: Endpoint,
    /// ResourceTracker.
    pub tracker: Endpoint,
    /// ResourceManagerAdministrationProtocol.
    pub admin: Endpoint,
    /// HTTP.
    pub web: Endpoint,
}

/// How nodes find their rack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RackMapping {
    /// Every node is in `/default-rack`.
    None,
    /// `net.topology.script.file.name`, called with at most so many names.
    Script(PathBuf),
    /// `net.topology.table.file.name`: lines of name and rack.
    Table(PathBuf),
}

/// Everything the shell reads from the configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Ports.
    pub endpoints: Endpoints,
    /// `yarn.web-proxy.address`, when a proxy of its own is configured.
    pub web_proxy: Option<HostPort>,
    /// Rolling of AMRM keys.
    pub amrm_keys: KeyRingOptions,
    /// Rolling of NMToken keys.
    pub nm_keys: KeyRingOptions,
    /// Rolling of container token keys.
    pub container_keys: KeyRingOptions,
    /// How long a granted container may wait for its start.
    pub container_expiry_ms: i64,
    /// `yarn.resourcemanager.nodemanagers.heartbeat-interval-ms`.
    pub heartbeat_interval_ms: i64,
    /// AM launches at the same time.
    pub launcher_threads: usize,
    /// How long the launcher tries to reach a node.
    pub node_connect_wait_ms: u64,
    /// Pause between two tries.
    pub node_connect_retry_ms: u64,
    /// How nodes find their rack.
    pub racks: RackMapping,
    /// `yarn.resourcemanager.nodes.include-path`.
    pub include_path: Option<PathBuf>,
    /// `yarn.resourcemanager.nodes.exclude-path`.
    pub exclude_path: Option<PathBuf>,
    /// Node labels, where they are enabled.
    pub node_labels: Option<NodeLabelSettings>,
    /// `yarn.log-aggregation-enable`.
    pub log_aggregation: bool,
    /// `yarn.resourcemanager.cluster-id`, when set.
    pub cluster_id: Option<String>,
    /// The journal, where it is on.
    pub journal: Option<JournalOptions>,
    /// `ipc.maximum.data.length`.
    pub frame_bytes_max: usize,
}

impl Settings {
    /// Reads the shell's keys.
    ///
    /// # Errors
    /// A value that Hadoop would refuse too; the text names file, key and value.
    pub fn read(conf: &Configuration) -> Result<Self, Problem> {
        let am_key = "yarn.am.liveness-monitor.expiry-interval-ms";
        let am_expiry = conf.duration_ms(am_key, TimeUnit::Milliseconds, 900_000)?;
        let am_expiry =
            u64::try_from(am_expiry).map_err(|_| conf.problem(am_key, "must not be below 0"))?;
        let nm_expiry = conf.u64("yarn.nm.liveness-monitor.expiry-interval-ms", 600_000)?;
        let launcher_key = "yarn.resourcemanager.amlauncher.thread-count";
        Ok(Self {
            endpoints: Endpoints::read(conf)?,
            web_proxy: web_proxy(conf)?,
            amrm_keys: rolling(conf, "am-rm-tokens", am_expiry)?,
            nm_keys: rolling(conf, "nm-tokens", nm_expiry)?,
            container_keys: rolling(conf, "container-tokens", nm_expiry)?,
            container_expiry_ms: conf.i64(
                "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms",
                600_000,
            )?,
            heartbeat_interval_ms: heartbeat_interval_ms(conf)?,
            launcher_threads: usize::try_from(conf.u32(launcher_key, 50)?.max(1)).unwrap_or(50),
            node_connect_wait_ms: connect_ms(conf, "max-wait-ms", 180_000)?,
            node_connect_retry_ms: connect_ms(conf, "retry-interval-ms", 10_000)?.max(100),
            racks: racks(conf)?,
            include_path: path(conf, "yarn.resourcemanager.nodes.include-path")?,
            exclude_path: path(conf, "yarn.resourcemanager.nodes.exclude-path")?,
            node_labels: yarn_conf::node_labels(conf)?,
            log_aggregation: conf.bool("yarn.log-aggregation-enable", false)?,
            cluster_id: text(conf, "yarn.resourcemanager.cluster-id")?,
            journal: journal(conf)?,
            frame_bytes_max: usize::try_from(conf.u32("ipc.maximum.data.length", 134_217_728)?)
                .unwrap_or(134_217_728),
        })
    }
}

/// `yarn.resourcemanager.heddle.journal.*`.
fn journal(conf: &Configuration) -> Result<Option<JournalOptions>, Problem> {
    let key = |name: &str| format!("yarn.resourcemanager.heddle.journal.{name}");
    let mode = text(conf, &key("mode"))?.unwrap_or_else(|| "off".to_owned());
    let segments = conf.u32(&key("segments"), 8)?.max(1);
    let segments = usize::try_from(segments).unwrap_or(usize::MAX);
    let segments = match mode.as_str() {
        "off" => return Ok(None),
        "ring" => Some(segments),
        "full" => None,
        _ => return Err(conf.problem(&key("mode"), "is neither off, ring nor full")),
    };
    let Some(dir) = path(conf, &key("dir"))? else {
        return Err(conf.problem(&key("dir"), "must be set where the journal is on"));
    };
    Ok(Some(JournalOptions {
        dir,
        segment_bytes: conf.u64(&key("segment-bytes"), 64 << 20)?.max(1 << 20),
        segments,
    }))
}

/// The value of `key` unless it is unset or blank.
fn text(conf: &Configuration, key: &str) -> Result<Option<String>, Problem> {
    Ok(conf.get_trimmed(key)?.filter(|v| !v.is_empty()))
}

fn path(conf: &Configuration, key: &str) -> Result<Option<PathBuf>, Problem> {
    Ok(text(conf, key)?.map(PathBuf::from))
}

fn heartbeat_interval_ms(conf: &Configuration) -> Result<i64, Problem> {
    let key = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms";
    let ms = conf.i64(key, 1000)?;
    if ms <= 0 {
        return Err(conf.problem(key, "should be larger than 0"));
    }
    Ok(ms)
}

fn connect_ms(conf: &Configuration, name: &str, default_ms: i64) -> Result<u64, Problem> {
    let key = format!("yarn.client.nodemanager-connect.{name}");
    let ms = conf.duration_ms(&key, TimeUnit::Milliseconds, default_ms)?;
    // Hadoop takes -1 for "no end"; a launch that never ends would hide a dead node, so an hour.
    Ok(u64::try_from(ms).unwrap_or(3_600_000))
}

fn rolling(conf: &Configuration, tokens: &str, expiry_ms: u64) -> Result<KeyRingOptions, Problem> {
    let key = format!("yarn.resourcemanager.{tokens}.master-key-rolling-interval-secs");
    let roll_interval_ms = conf.u64(&key, 86_400)?.saturating_mul(1000);
    // 1.5 × expiry: every AM or node has called in by then.
    let activation_delay_ms = expiry_ms.saturating_add(expiry_ms / 2);
    if roll_interval_ms <= activation_delay_ms.saturating_mul(2) {
        let text = format!("should be more than 3 times the expiry interval of {expiry_ms} ms");
        return Err(conf.problem(&key, text));
    }
    Ok(KeyRingOptions {
        roll_interval_ms,
        activation_delay_ms,
    })
}

fn web_proxy(conf: &Configuration) -> Result<Option<HostPort>, Problem> {
    let key = "yarn.web-proxy.address";
    match text(conf, key)? {
        Some(_) => conf.host_port(key, "", 0).map(Some),
        None => Ok(None),
    }
}

fn racks(conf: &Configuration) -> Result<RackMapping, Problem> {
    let class_key = "net.topology.node.switch.mapping.impl";
    let class = text(conf, class_key)?.unwrap_or_default();
    match class.rsplit('.').next().unwrap_or_default() {
        "" | "ScriptBasedMapping" => Ok(path(conf, "net.topology.script.file.name")?
            .map_or(RackMapping::None, RackMapping::Script)),
        "TableMapping" => Ok(path(conf, "net.topology.table.file.name")?
            .map_or(RackMapping::None, RackMapping::Table)),
        _ => Err(conf.problem(class_key, "is a class that is not built in: want ScriptBasedMapping or TableMapping of org.apache.hadoop.net")),
    }
}

impl Endpoints {
    fn read(conf: &Configuration) -> Result<Self, Problem> {
        let id = own_id(conf)?;
        let one = |name, key, port| endpoint(conf, id.as_deref(), name, key, port);
        Ok(Self {
            client: one("rm.client", "yarn.resourcemanager.address", 8032)?,
            scheduler: one(
                "rm.scheduler",
                "yarn.resourcemanager.scheduler.address",
                8030,
            )?,
            tracker: one(
                "rm.tracker",
                "yarn.resourcemanager.resource-tracker.address",
                8031,
            )?,
            admin: one("rm.admin", "yarn.resourcemanager.admin.address", 8033)?,
            web: one("rm.http", "yarn.resourcemanager.webapp.address", 8088)?,
        })
    }
}

/// Which of `yarn.resourcemanager.ha.rm-ids` this RM is; `None` without HA.
fn own_id(conf: &Configuration) -> Result<Option<String>, Problem> {
    if !conf.bool("yarn.resourcemanager.ha.enabled", false)? {
        return Ok(None);
    }
    let ids_key = "yarn.resourcemanager.ha.rm-ids";
    let ids = conf.trimmed_strings(ids_key)?;
    if let Some(id) = text(conf, "yarn.resourcemanager.ha.id")? {
        if ids.contains(&id) {
            return Ok(Some(id));
        }
        let text = format!("is not one of {ids_key} = '{}'", ids.join(","));
        return Err(conf.problem("yarn.resourcemanager.ha.id", text));
    }
    // As HAUtil does: the one id whose address is this machine's.
    let host = host_name();
    let mine = ids.into_iter().filter(|id| {
        ["address", "hostname"].iter().any(|key| {
            let value = text(conf, &format!("yarn.resourcemanager.{key}.{id}"));
            let value = value.ok().flatten().unwrap_or_default();
            value
                .split(':')
                .next()
                .is_some_and(|h| h.eq_ignore_ascii_case(&host))
        })
    });
    match mine.collect::<Vec<_>>().as_slice() {
        [one] => Ok(Some(one.clone())),
        _ => Err(conf.problem(
            "yarn.resourcemanager.ha.id",
            format!("must be set: not exactly one of {ids_key} has an address on host {host}"),
        )),
    }
}

fn endpoint(
    conf: &Configuration,
    id: Option<&str>,
    name: &'static str,
    key: &str,
    port: u16,
) -> Result<Endpoint, Problem> {
    let mut chosen = key.to_owned();
    let mut fallback = String::new();
    if let Some(id) = id {
        let own = format!("{key}.{id}");
        if text(conf, &own)?.is_some() {
            chosen = own;
        } else if let Some(host) = text(conf, &format!("yarn.resourcemanager.hostname.{id}"))? {
            fallback = format!("{host}:{port}");
            chosen = own;
        }
    }
    let bind_host = match id {
        Some(id) => text(conf, &format!("yarn.resourcemanager.bind-host.{id}"))?,
        None => None,
    };
    let bind_host = match bind_host {
        Some(host) => Some(host),
        None => text(conf, "yarn.resourcemanager.bind-host")?,
    };
    Ok(Endpoint {
        name,
        address: conf.host_port(&chosen, &fallback, port)?,
        key: chosen,
        bind_host,
    })
}

/// Name of this machine, `localhost` when it has none.
pub fn host_name() -> String {
    nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}

/// `host`, or this machine's name when it stands for every address.
pub fn reachable_host(host: &str) -> String {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(ip) if ip.is_unspecified() => host_name(),
        _ => host.to_owned(),
    }
}

#[cfg(test)]
#[path = "settings_test.rs"]
mod tests;
