//! Starts the parts of the NodeManager in order, waits for the end, stops them.
//! May touch: everything once; signals, the endpoints file.
//! Must not: decide anything after the start.

use std::{
    collections::BTreeMap,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use hadoop_ipc::server::{AuthPolicy, Server, ServerOptions};
use nm_core::{Event, disks::DiskReport, launch::NodeFacts};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use yarn_conf::{
    Configuration, Daemon, HostPort, LoadError, LoadOptions, Problem, gate, report::Report,
};
use yarn_types::NodeId;

use crate::{
    devices::{Devices, devices},
    driver::{self, Hands, Inbox, wall_ms},
    exec::{
        account::account_for,
        deletion::Deleter,
        launch::Binaries,
        localizer::{Localizer, LocalizerConf},
        monitor::{Monitor, MonitorConf},
        recover,
    },
    health::{self, Disks},
    keys::TokenKeys,
    labels::Provider,
    monitor,
    rpc::Containers,
    runner::{Runner, Tools},
    settings::{self, Settings},
    tracker::{Facts, Tracker},
    web,
};

const RPC_KEY: &str = "yarn.nodemanager.address";
const WEB_KEY: &str = "yarn.nodemanager.webapp.address";

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `-D key=value`.
    pub overrides: Vec<(String, String)>,
    /// `--endpoints-file`.
    pub endpoints_file: Option<PathBuf>,
    /// The programs that the node starts; beside the executable when not given.
    pub binaries: Option<Binaries>,
    /// `--unsafe-no-isolation`.
    pub unsafe_no_isolation: bool,
}

/// Why the node does not start, in one sentence.
#[derive(Debug, Error)]
pub enum BootError {
    /// The configuration cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A key has a bad value.
    #[error(transparent)]
    Problem(#[from] Problem),
    /// Keys that this node refuses.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<Problem>),
    /// A port that is not to be had.
    #[error("cannot listen on {address} ({key}): {source}")]
    Listen {
        /// Where.
        address: String,
        /// Which key says so.
        key: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Anything else, with its place in the text.
    #[error("{0}")]
    Other(String),
}

/// A node that runs.
#[derive(Debug)]
pub struct Node {
    /// Id of the node.
    pub id: NodeId,
    /// Port of the web server.
    pub http_port: u16,
    inbox: Inbox,
    runner: Arc<Runner>,
    server: Server,
    web: actix_web::dev::ServerHandle,
    exit: mpsc::UnboundedReceiver<(i32, String)>,
    registered: oneshot::Receiver<()>,
    endpoints_file: Option<PathBuf>,
}

/// Reads the configuration, with another file in place of one of the directory's where `instead`
/// names both.
///
/// # Errors
/// What cannot be read.
pub fn load(
    options: &Options,
    instead: Option<(String, PathBuf)>,
) -> Result<Configuration, BootError> {
    let env: BTreeMap<String, String> = std::env::vars().collect();
    let dir = yarn_conf::resolve_dir(options.config.as_deref(), &env)?;
    let text = |name: &str| env.get(name).cloned().unwrap_or_default();
    let here = std::env::current_dir()
        .map(|d| d.display().to_string())
        .unwrap_or_default();
    let properties = yarn_conf::system_properties(&own_name(), &text("HOME"), "/tmp", &here);
    let load = LoadOptions {
        overrides: options.overrides.clone(),
        env,
        properties,
        instead,
        ..LoadOptions::new(dir, Daemon::NodeManager)
    };
    Ok(Configuration::load(&load)?)
}

/// Everything that a start would say of the configuration, found without starting.
pub fn check(conf: &Configuration) -> Report {
    let mut report = Report::new(Daemon::NodeManager, conf);
    let executor = conf.dir().map(settings::executor_cfg).transpose();
    match executor {
        Ok(executor) => {
            if let Err(problem) = Settings::read(conf, &executor.unwrap_or_default()) {
                report.refuse(conf, problem);
            }
        }
        Err(text) => report.refused.push(Problem::general(text)),
    }
    report
}

/// Reads the configuration and judges every key of it.
///
/// # Errors
/// What cannot be read, and keys that are refused.
fn configuration(options: &Options) -> Result<(Configuration, gate::Gate), BootError> {
    let conf = load(options, None)?;
    let gate = gate::check(Daemon::NodeManager, &conf);
    if gate.refused.is_empty() {
        Ok((conf, gate))
    } else {
        Err(BootError::Refused(gate.refused))
    }
}

/// Name of the account that this process runs as.
fn own_name() -> String {
    let uid = nix::unistd::Uid::effective();
    let user = nix::unistd::User::from_uid(uid).ok().flatten();
    user.map_or_else(|| uid.to_string(), |u| u.name)
}

/// Starts a node: configuration, directories, ports, threads; then it registers.
///
/// # Errors
/// The first thing that does not work, in one sentence.
pub async fn start(options: Options) -> Result<Node, BootError> {
    let (conf, gate) = configuration(&options)?;
    for warning in &gate.warnings {
        tracing::warn!("{warning}");
    }
    if !gate.without_effect.is_empty() {
        tracing::info!(
            keys = gate.without_effect.join(","),
            "keys without effect here"
        );
    }
    let executor = conf.dir().map(settings::executor_cfg).transpose();
    let executor = executor.map_err(BootError::Other)?.unwrap_or_default();
    let settings = Settings::read(&conf, &executor)?;
    let provider = provider(&settings, &options)?;
    let binaries = match options.binaries {
        Some(binaries) => binaries,
        None => Binaries::beside_executable().map_err(|e| BootError::Other(e.to_string()))?,
    };
    let unsafe_no_isolation = options.unsafe_no_isolation;
    open(
        settings,
        conf,
        binaries,
        options.endpoints_file,
        unsafe_no_isolation,
        provider,
    )
    .await
}

/// Who says the node's label, where the node does.
fn provider(settings: &Settings, options: &Options) -> Result<Option<Provider>, BootError> {
    let Some(label) = settings.label.clone() else {
        return Ok(None);
    };
    let options = options.clone();
    let reread = move || load(&options, None).map_err(|e| e.to_string());
    let provider = Provider::new(label, Arc::new(reread)).map_err(BootError::Other)?;
    Ok(Some(provider))
}

async fn open(
    settings: Settings,
    conf: Configuration,
    binaries: Binaries,
    endpoints_file: Option<PathBuf>,
    unsafe_no_isolation: bool,
    provider: Option<Provider>,
) -> Result<Node, BootError> {
    let started_wall_ms = wall_ms();
    // A local-user that does not exist is said now, not by the first container.
    account_for("nobody", &settings.accounts).map_err(|e| BootError::Other(e.to_string()))?;
    let (inbox, waiting) = driver::inbox();
    let keys = Arc::new(TokenKeys::new());
    // Ports first: a second node started by mistake must not end the containers of the first.
    let ports = Ports::open(&settings, &inbox, &keys).await?;
    let (id, http_port) = (ports.id.clone(), ports.http_port);
    let deleter = Deleter::new(
        settings.localizer.delete_threads,
        settings.localizer.delete_delay_s,
    );
    let (disks, report) = directories(&settings, &deleter, started_wall_ms).await?;
    let devices = devices(&settings, unsafe_no_isolation).await?;
    let (server, web) = ports.serve_web(&settings, conf, &inbox, started_wall_ms, &devices)?;
    let http = (&id, http_port);
    let tools = tools(&settings, http, &inbox, &keys, binaries, deleter, &devices);
    let watched = Arc::clone(&tools.monitor);
    let health = disks.health(&report);
    if !health.report.is_empty() {
        tracing::warn!(healthy = health.healthy, report = health.report, "disks");
    }
    let runner = Arc::new(Runner::new(tools, report));
    let (exit_sender, exit) = mpsc::unbounded_channel();
    let (work_sender, work) = mpsc::unbounded_channel();
    let (registered_sender, registered) = oneshot::channel();
    let hands = Hands {
        runner: Arc::clone(&runner),
        tracker: work_sender,
        exit: exit_sender,
    };
    waiting
        .start(settings.core.clone(), hands)
        .map_err(|e| BootError::Other(format!("cannot start the driver thread: {e}")))?;
    let usage = monitor::SharedUsage::default();
    let tracker = Tracker {
        facts: facts(&settings, &id, http_port),
        addresses: settings.tracker.clone(),
        keys,
        inbox: inbox.clone(),
        usage: Arc::clone(&usage),
        registered: Some(registered_sender),
    };
    tokio::spawn(tracker.run(work));
    loops(&settings, &inbox, &runner, (watched, usage), disks);
    inbox.event(Event::Health {
        reporter: health::DISKS,
        health,
    });
    scripts(&settings, &inbox).await;
    if let Some(provider) = provider {
        // The node registers with its label.
        provider.start(&inbox).await;
    }
    let log_dirs = settings.log_dirs.clone();
    let left = tokio::task::spawn_blocking(move || recover::left_logs(&log_dirs)).await;
    inbox.event(Event::LeftLogs {
        apps: left.unwrap_or_default(),
    });
    devices.watch(&settings, &inbox).await?;
    inbox.event(Event::Begin);
    Ok(Node {
        id,
        http_port,
        inbox,
        runner,
        server,
        web,
        exit,
        registered,
        endpoints_file,
    })
}

/// Both ports, open.
struct Ports {
    id: NodeId,
    server: Server,
    http_port: u16,
    listener: TcpListener,
}

impl Ports {
    async fn open(
        settings: &Settings,
        inbox: &Inbox,
        keys: &Arc<TokenKeys>,
    ) -> Result<Self, BootError> {
        let service = Containers {
            inbox: inbox.clone(),
            keys: Arc::clone(keys),
            types: settings.types.clone(),
            acls: Arc::clone(&settings.acls),
        };
        let bind = resolve(&settings.rpc_bind, RPC_KEY).await?;
        let mut options = ServerOptions::new(bind, AuthPolicy::TokenOnly(Arc::clone(keys) as _));
        options.frame_bytes_max = settings.frame_bytes_max;
        let server = Server::bind(options, Arc::new(service))
            .map_err(|e| listen(RPC_KEY, &settings.rpc_bind, e))?;
        let id = NodeId::new(settings.node_host.as_str(), server.local_addr().port());
        keys.set_node(id.clone());
        let (http_port, listener) = TcpListener::bind(resolve(&settings.web_bind, WEB_KEY).await?)
            .and_then(|l| Ok((l.local_addr()?.port(), l)))
            .map_err(|e| listen(WEB_KEY, &settings.web_bind, e))?;
        Ok(Self {
            id,
            server,
            http_port,
            listener,
        })
    }

    fn serve_web(
        self,
        settings: &Settings,
        conf: Configuration,
        inbox: &Inbox,
        started_wall_ms: i64,
        devices: &Devices,
    ) -> Result<(Server, actix_web::dev::ServerHandle), BootError> {
        let site = web::Site {
            conf,
            inbox: inbox.clone(),
            node: self.id,
            http_port: self.http_port,
            log_dirs: settings.log_dirs.clone(),
            offer: settings.offer.clone(),
            acls: Arc::clone(&settings.acls),
            types: settings.types.clone(),
            monitor: settings.monitor,
            started_wall_ms,
            guard: Arc::clone(&devices.guard),
            cards: Arc::clone(&devices.cards),
            manages_gpus: settings.gpu.is_some(),
        };
        let serving =
            web::server(site, self.listener).map_err(|e| listen(WEB_KEY, &settings.web_bind, e))?;
        let handle = serving.handle();
        tokio::spawn(serving);
        Ok((self.server, handle))
    }
}

fn listen(key: &'static str, address: &HostPort, source: std::io::Error) -> BootError {
    BootError::Listen {
        address: address.to_string(),
        key,
        source,
    }
}

fn facts(settings: &Settings, id: &NodeId, http_port: u16) -> Facts {
    Facts {
        node: id.clone(),
        http_port,
        offer: settings.offer.clone(),
        physical: settings.physical,
        types: settings.types.clone(),
        user: own_name(),
        rm_version_min: settings.rm_version_min.clone(),
    }
}

/// Ends what a predecessor left, clears and makes directories, and looks at them. Bad ones are a
/// matter of health, be they all: the node then says so to the ResourceManager.
async fn directories(
    settings: &Settings,
    deleter: &Deleter,
    wall_ms: i64,
) -> Result<(Disks, DiskReport), BootError> {
    let disks = Disks {
        local_dirs: settings.local_dirs.clone(),
        log_dirs: settings.log_dirs.clone(),
        rules: settings.disks,
    };
    let deleter = deleter.clone();
    let runtime = tokio::runtime::Handle::current();
    let made = tokio::task::spawn_blocking(move || {
        let _inside = runtime.enter();
        let before = recover::kill_predecessor(&disks.local_dirs);
        if !before.killed.is_empty() || !before.left.is_empty() {
            tracing::warn!(
                containers = before.containers.len(), killed = before.killed.len(),
                left = ?before.left, "ended what an earlier NodeManager left"
            );
        }
        recover::clear_local_dirs(&disks.local_dirs, wall_ms, &deleter);
        let report = disks.check(&DiskReport::default());
        (disks, report)
    });
    made.await.map_err(|e| BootError::Other(e.to_string()))
}

fn tools(
    settings: &Settings,
    (id, http_port): (&NodeId, u16),
    inbox: &Inbox,
    keys: &Arc<TokenKeys>,
    binaries: Binaries,
    deleter: Deleter,
    devices: &Devices,
) -> Tools {
    let force_path = &settings.launch.force_path;
    let force_path = match &devices.env {
        Some(env) => env.path_prefix(force_path),
        None => force_path.clone(),
    };
    let count = |n: i64| u32::try_from(n).unwrap_or(1).max(1);
    let monitor = Monitor::new(MonitorConf {
        check_pmem: settings.monitor.pmem_check,
        check_vmem: settings.monitor.vmem_check,
        node_vcores: count(settings.total.vcores()),
        processors: count(settings.physical.vcores()),
    });
    let cache = LocalizerConf {
        files_per_dir_max: settings.localizer.files_per_directory_max,
        target_bytes: settings.localizer.cache_target_mb << 20,
        ..LocalizerConf::default()
    };
    Tools {
        inbox: inbox.clone(),
        runtime: tokio::runtime::Handle::current(),
        localizer: Arc::new(Localizer::new(binaries.clone(), cache, deleter.clone())),
        binaries,
        log_deleter: Deleter::new(
            settings.localizer.log_delete_threads,
            settings.localizer.delete_delay_s,
        ),
        deleter,
        disk_rules: settings.disks,
        monitor: Arc::new(Mutex::new(monitor)),
        keys: Arc::clone(keys),
        node: NodeFacts {
            nm_host: id.host.to_string(),
            nm_port: id.port,
            nm_http_port: http_port,
            home_dir: settings.launch.home_dir.clone(),
            whitelist: settings.launch.env_whitelist.clone(),
            admin_env: settings.launch.admin_env.clone(),
            force_path,
            nm_env: std::env::vars().collect(),
        },
        accounts: settings.accounts.clone(),
        launch: settings.launch.clone(),
        limits: settings.monitor,
        acls: Arc::clone(&settings.acls),
        local_dirs: settings.local_dirs.clone(),
        log_dirs: settings.log_dirs.clone(),
        types: settings.types.clone(),
        guard: Arc::clone(&devices.guard),
        gpu_env: devices.env.clone(),
        cards: Arc::clone(&devices.cards),
    }
}

fn loops(
    settings: &Settings,
    inbox: &Inbox,
    runner: &Arc<Runner>,
    watched: (Arc<Mutex<Monitor>>, monitor::SharedUsage),
    disks: Disks,
) {
    if settings.monitor.enabled {
        let (watched, usage) = watched;
        tokio::spawn(monitor::watch(
            watched,
            usage,
            inbox.clone(),
            settings.monitor.interval_ms,
        ));
    }
    if settings.disks.enabled {
        let (runner, inbox) = (Arc::clone(runner), inbox.clone());
        tokio::spawn(health::watch(
            disks,
            runner,
            inbox,
            settings.disk_interval_ms,
        ));
    }
    let cache = Arc::clone(runner.localizer());
    let interval_ms = settings.localizer.cleanup_interval_ms;
    tokio::spawn(monitor::fit_cache(
        cache,
        settings.local_dirs.clone(),
        interval_ms,
    ));
}

/// Starts the health scripts; where the configuration wants it, each has run before the node
/// registers.
async fn scripts(settings: &Settings, inbox: &Inbox) {
    let usable = settings.scripts.iter().filter(|s| s.is_usable());
    for (script, reporter) in usable.zip(health::DISKS + 1..) {
        let before = settings.scripts_before_start;
        if before {
            let health = script.check().await;
            inbox.event(Event::Health { reporter, health });
        }
        let watch = health::watch_script(script.clone(), reporter, inbox.clone(), before);
        tokio::spawn(watch);
    }
}

async fn resolve(address: &HostPort, key: &'static str) -> Result<SocketAddr, BootError> {
    let text = address.to_string();
    let fault = |source| BootError::Listen {
        address: text.clone(),
        key,
        source,
    };
    let mut found = tokio::net::lookup_host(&text).await.map_err(fault)?;
    found.next().ok_or_else(|| {
        fault(std::io::Error::new(
            std::io::ErrorKind::NotFound,
            "the host has no address",
        ))
    })
}

/// Asks a node to end; cheap to copy.
#[derive(Clone, Debug)]
pub struct Stopper(Inbox);

impl Stopper {
    /// Ends containers, says goodbye, then [`Node::ended`] returns.
    pub fn stop(&self, reason: &str) {
        let reason = reason.to_owned();
        self.0.event(Event::Shutdown { reason });
    }
}

impl Node {
    /// By which the node is asked to end its containers and itself.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.inbox.clone())
    }

    /// Waits for the first registration, then writes the endpoints file; or for the end, whose
    /// exit code and reason it gives.
    pub async fn registered(&mut self) -> Option<(i32, String)> {
        tokio::select! {
            end = self.exit.recv() => return Some(end.unwrap_or_else(dead)),
            Ok(()) = &mut self.registered => {}
        }
        if let Some(path) = &self.endpoints_file {
            let NodeId { host, port } = &self.id;
            let text = format!("rpc={host}:{port}\nhttp={host}:{}\n", self.http_port);
            if let Err(e) = write_whole(path, &text) {
                tracing::error!(path = %path.display(), error = %e, "no endpoints file");
            }
        }
        None
    }

    /// Waits for the end: exit code of the process and the reason.
    pub async fn ended(&mut self) -> (i32, String) {
        self.exit.recv().await.unwrap_or_else(dead)
    }

    /// Closes ports and ends what is left.
    pub async fn close(self) {
        self.runner.kill_all();
        self.web.stop(false).await;
        self.server.shutdown().await;
    }
}

/// The end of a node whose core ended without a word.
fn dead() -> (i32, String) {
    (1, "the driver thread ended".to_owned())
}

/// Writes a file so that readers see all of it or none.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let mut tmp = path.as_os_str().to_owned();
    tmp.push(".tmp");
    std::fs::write(&tmp, text)?;
    std::fs::rename(&tmp, path)
}
