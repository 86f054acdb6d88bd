//! `Daemon`: everything built and connected in the right order, and taken down again.
//! May touch: all parts of the shell.
//! Must not: print or exit (`main` does); leave half a daemon behind when something fails.

mod check;
mod error;
mod follow;
mod reload;

use std::{
    net::{SocketAddr, TcpListener, ToSocketAddrs as _},
    path::Path,
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

use hadoop_ipc::server::{AuthPolicy, InputBudget, Server, ServerOptions, Service};
use rm_core::{
    Boot, Event, Rm, RmConf, conf::Calculator as CoreCalculator, event::HostLists,
    labels::NodeLabels, placement::TagPlacement,
};
use tokio::{runtime::Handle, task::JoinHandle as Task};
use yarn_conf::{
    Calculator, Configuration, HostPort, Problem, resource_calculator, resource_types,
};
use yarn_types::ResourceTypes;

pub use check::check;
pub use error::StartError;
pub use reload::{FromFiles, Unchanging};

use crate::{
    acls::Acls,
    auth::{AmrmSecrets, Auth, AuthOptions, keep_rolling},
    driver::{Driver, Run, wall_ms},
    hosts,
    journal::Journal,
    launcher::{Launcher, LauncherOptions},
    outside::Outside,
    rpc::{Context, Protocol, Reload, Replays},
    settings::{Endpoint, Settings, reachable_host},
    spellings::Spellings,
    store::{LabelFiles, LabelKeeper, MemoryStore, Store},
    submissions::Submissions,
    topology::Topology,
    web::{State, Web},
};

/// A running ResourceManager.
pub struct Daemon {
    driver: Driver,
    thread: JoinHandle<()>,
    roller: Task<()>,
    follower: Task<()>,
    servers: Vec<Server>,
    web: Web,
    endpoints: Vec<(&'static str, HostPort)>,
}

/// `host:port` to listen on.
fn resolve(endpoint: &Endpoint) -> Result<SocketAddr, StartError> {
    let host = endpoint
        .bind_host
        .as_deref()
        .unwrap_or(&endpoint.address.host);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let failed = |source| StartError::Resolve {
        key: endpoint.key.clone(),
        host: host.to_owned(),
        source,
    };
    let mut all = (bare, endpoint.address.port)
        .to_socket_addrs()
        .map_err(failed)?;
    let none = || failed(std::io::Error::other("the name has no address"));
    all.next().ok_or_else(none)
}

/// What others call the port that was bound at `bound`.
fn reachable(endpoint: &Endpoint, bound: SocketAddr) -> HostPort {
    HostPort {
        host: reachable_host(&endpoint.address.host),
        port: bound.port(),
    }
}

fn bind_error(endpoint: &Endpoint, address: SocketAddr, source: std::io::Error) -> StartError {
    StartError::Bind {
        key: endpoint.key.clone(),
        address,
        source,
    }
}

/// The calculator as the core calls it.
fn core_calculator(calculator: Calculator) -> CoreCalculator {
    match calculator {
        Calculator::Default => CoreCalculator::Default,
        Calculator::Dominant => CoreCalculator::Dominant,
    }
}

/// Lanes and calculator. The remark that may come with it is the gate's to make.
fn lanes(conf: &Configuration) -> Result<(ResourceTypes, Calculator), Problem> {
    let types = resource_types(conf)?;
    let (calculator, _) = resource_calculator(conf, &types)?;
    Ok((types, calculator))
}

/// All that can be said of a configuration without opening a port.
///
/// # Errors
/// What is wrong, in one sentence.
fn judge(
    conf: &Configuration,
) -> Result<(Settings, ResourceTypes, Calculator, RmConf, HostLists), StartError> {
    let settings = Settings::read(conf)?;
    let (types, calculator) = lanes(conf)?;
    let core_conf = RmConf::from_lookup(conf, types.clone(), core_calculator(calculator));
    let mut core_conf = core_conf.map_err(StartError::Core)?;
    reload::read_rules(&mut core_conf.sched);
    let wrong = reload::placement_problems(conf, &core_conf.sched);
    if !wrong.is_empty() {
        return Err(StartError::Core(wrong));
    }
    let lists = hosts::read(
        settings.include_path.as_deref(),
        settings.exclude_path.as_deref(),
    )?;
    Ok((settings, types, calculator, core_conf, lists))
}

impl Daemon {
    /// Starts everything; returns once all ports are open. `conf` has passed the gate. To be called
    /// inside a tokio runtime.
    ///
    /// # Errors
    /// The first thing that failed, in one sentence.
    pub fn start(conf: &Configuration, reload: Arc<dyn Reload>) -> Result<Self, StartError> {
        let (settings, types, calculator, mut core_conf, lists) = judge(conf)?;

        let dynamic = reload
            .dynamic_resources()
            .map_err(StartError::DynamicResources)?;

        let web_endpoint = &settings.endpoints.web;
        let web_address = resolve(web_endpoint)?;
        let listener =
            Web::listen(web_address).map_err(|e| bind_error(web_endpoint, web_address, e))?;
        let web_bound = listener
            .local_addr()
            .map_err(|e| bind_error(web_endpoint, web_address, e))?;
        let web_at = reachable(web_endpoint, web_bound);
        let web_url = format!("http://{web_at}");
        core_conf.life.web_url.clone_from(&web_url);

        let started_wall_ms = wall_ms();
        let auth = Arc::new(Auth::new(
            auth_options(&settings, started_wall_ms),
            types.clone(),
        ));
        let driver = Driver::default();
        let context = Arc::new(context(ContextParts {
            settings: &settings,
            acls: Acls::read(conf)?,
            tag_placement: TagPlacement::read(conf),
            driver: &driver,
            auth,
            reload,
            types,
            calculator,
            web_url,
        }));
        let rm = Rm::new(Boot {
            cluster_timestamp: started_wall_ms,
            epoch: 0,
            seed: rand::random(),
            conf: core_conf,
        });
        let store = open_store(&settings, &driver)?;
        driver.tell(Event::Hosts(lists));
        driver.tell(Event::DynamicResources(dynamic));
        let thread = spawn_driver(&settings, &context, rm, store)?;
        let roller = spawn_roller(&context);
        let follower = tokio::spawn(follow::follow_queues(
            driver.clone(),
            Arc::clone(&context.reload),
        ));
        match open_all(&settings, conf.clone(), context, listener, started_wall_ms) {
            Ok((ports, web)) => Ok(Self {
                driver,
                thread,
                roller,
                follower,
                servers: ports.servers,
                web,
                endpoints: ports
                    .endpoints
                    .into_iter()
                    .chain([(web_endpoint.name, web_at)])
                    .collect(),
            }),
            Err(e) => {
                // Ports that are open already close with their values; the driver ends here.
                driver.close();
                roller.abort();
                follower.abort();
                Err(e)
            }
        }
    }

    /// Names and addresses of all ports.
    pub fn endpoints(&self) -> &[(&'static str, HostPort)] {
        &self.endpoints
    }

    /// Writes the addresses as `name=host:port` lines, aside and renamed, so that whoever sees the file
    /// sees all of it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_endpoints(&self, path: &Path) -> Result<(), StartError> {
        let lines = self
            .endpoints
            .iter()
            .map(|(name, at)| format!("{name}={at}\n"));
        let text: String = lines.collect();
        let mut aside = path.as_os_str().to_owned();
        aside.push(".tmp");
        std::fs::write(&aside, text)
            .and_then(|()| std::fs::rename(&aside, path))
            .map_err(|source| StartError::Endpoints {
                path: path.to_owned(),
                source,
            })
    }

    /// Stops: no new connections, open answers out, then the driver and the pages.
    pub async fn stop(self) {
        self.roller.abort();
        self.follower.abort();
        let servers = self.servers.into_iter().map(|s| tokio::spawn(s.shutdown()));
        for server in servers.collect::<Vec<_>>() {
            if let Err(e) = server.await {
                tracing::warn!(error = %e, "a port ended badly");
            }
        }
        self.driver.close();
        self.web.stop().await;
        if self.thread.join().is_err() {
            tracing::error!("the driver ended with a panic");
        }
    }
}

/// Ports that are open while the rest is still being built.
#[derive(Default)]
struct Starting {
    servers: Vec<Server>,
    /// One for all ports.
    input: Arc<InputBudget>,
    endpoints: Vec<(&'static str, HostPort)>,
}

impl Starting {
    fn open_ports(
        &mut self,
        settings: &Settings,
        context: &Arc<Context>,
    ) -> Result<(), StartError> {
        let ports = &settings.endpoints;
        let amrm = AuthPolicy::TokenOnly(Arc::new(AmrmSecrets(Arc::clone(&context.auth))));
        let simple = AuthPolicy::SimpleOnly;
        let of = |protocol: fn(Arc<Context>) -> Arc<dyn Service>| protocol(Arc::clone(context));
        self.open(
            settings,
            &ports.client,
            simple.clone(),
            of(Protocol::client),
        )?;
        self.open(settings, &ports.scheduler, amrm, of(Protocol::app_master))?;
        self.open(
            settings,
            &ports.tracker,
            simple.clone(),
            of(Protocol::tracker),
        )?;
        self.open(settings, &ports.admin, simple, of(Protocol::admin))
    }

    fn open(
        &mut self,
        settings: &Settings,
        endpoint: &Endpoint,
        auth: AuthPolicy,
        service: Arc<dyn Service>,
    ) -> Result<(), StartError> {
        let address = resolve(endpoint)?;
        let mut options = ServerOptions::new(address, auth);
        options.frame_bytes_max = settings.frame_bytes_max;
        options.input = Arc::clone(&self.input);
        options.shutdown_grace = Duration::from_secs(1);
        let server =
            Server::bind(options, service).map_err(|e| bind_error(endpoint, address, e))?;
        let at = reachable(endpoint, server.local_addr());
        tracing::info!(name = endpoint.name, address = %server.local_addr(), "listening");
        self.endpoints.push((endpoint.name, at));
        self.servers.push(server);
        Ok(())
    }
}

/// The RPC ports, then the pages.
fn open_all(
    settings: &Settings,
    conf: Configuration,
    context: Arc<Context>,
    listener: TcpListener,
    started_wall_ms: i64,
) -> Result<(Starting, Web), StartError> {
    let mut starting = Starting::default();
    starting.open_ports(settings, &context)?;
    let state = State {
        context,
        started_wall_ms,
        conf,
    };
    let web = Web::start(listener, state).map_err(StartError::Thread)?;
    Ok((starting, web))
}

fn auth_options(settings: &Settings, started_wall_ms: i64) -> AuthOptions {
    AuthOptions {
        amrm: settings.amrm_keys,
        nm: settings.nm_keys,
        container: settings.container_keys,
        container_expiry_ms: settings.container_expiry_ms,
        rm_identifier: started_wall_ms,
        // Kerberos is refused at start until it is built.
        security: false,
    }
}

struct ContextParts<'a> {
    settings: &'a Settings,
    acls: Acls,
    tag_placement: TagPlacement,
    driver: &'a Driver,
    auth: Arc<Auth>,
    reload: Arc<dyn Reload>,
    types: ResourceTypes,
    calculator: Calculator,
    web_url: String,
}

fn context(parts: ContextParts<'_>) -> Context {
    let settings = parts.settings;
    let proxy_url = settings.web_proxy.as_ref().map_or_else(
        || parts.web_url.clone(),
        |at| format!("http://{}:{}", reachable_host(&at.host), at.port),
    );
    Context {
        driver: parts.driver.clone(),
        auth: parts.auth,
        submissions: Arc::new(Submissions::default()),
        replays: Arc::new(Replays::default()),
        acls: Arc::new(parts.acls),
        tag_placement: parts.tag_placement,
        topology: Topology::new(settings.racks.clone()),
        reload: parts.reload,
        spellings: Arc::new(Spellings::new(&parts.types)),
        types: parts.types,
        calculator: parts.calculator,
        web_url: parts.web_url,
        proxy_url,
        log_aggregation: settings.log_aggregation,
        cluster_id: settings.cluster_id.clone(),
        node_labels: settings.node_labels.clone(),
        heartbeat_interval_ms: settings.heartbeat_interval_ms,
        runtime: Handle::current(),
    }
}

fn spawn_driver(
    settings: &Settings,
    context: &Arc<Context>,
    rm: Rm,
    store: Box<dyn Store>,
) -> Result<JoinHandle<()>, StartError> {
    let driver = &context.driver;
    let options = LauncherOptions {
        threads: settings.launcher_threads,
        connect_wait: Duration::from_millis(settings.node_connect_wait_ms),
        connect_retry: Duration::from_millis(settings.node_connect_retry_ms),
    };
    let (auth, submissions) = (&context.auth, &context.submissions);
    let launcher = Launcher::new(
        driver.clone(),
        Arc::clone(auth),
        Arc::clone(submissions),
        options,
        Handle::current(),
    );
    let outside = Outside {
        auth: Arc::clone(auth),
        submissions: Arc::clone(submissions),
        replays: Arc::clone(&context.replays),
        spellings: Arc::clone(&context.spellings),
        launcher,
        types: context.types.clone(),
    };
    let journal = open_journal(settings)?;
    Run::spawn(driver, rm, store, Box::new(outside), journal).map_err(StartError::Thread)
}

fn open_journal(settings: &Settings) -> Result<Option<Journal>, StartError> {
    let Some(options) = &settings.journal else {
        return Ok(None);
    };
    let dir = options.dir.clone();
    tracing::info!(dir = %dir.display(), "journal on");
    let journal = Journal::start(options.clone());
    journal
        .map(Some)
        .map_err(|source| StartError::Journal { dir, source })
}

/// The store; what it kept goes to the core. Which node has which label is the nodes' to say where
/// they say it at all.
fn open_store(settings: &Settings, driver: &Driver) -> Result<Box<dyn Store>, StartError> {
    let told = driver.clone();
    let stored = move |seq| told.tell(Event::Stored { seq });
    let Some(settings) = &settings.node_labels else {
        return Ok(Box::new(MemoryStore::new(stored)));
    };
    let (files, kept) = LabelFiles::open(&settings.dir)?;
    tracing::info!(dir = %settings.dir.display(), labels = kept.labels.len(), "node labels read");
    driver.tell(Event::Labels {
        labels: kept.labels.into_iter().collect(),
        nodes: if settings.distributed {
            NodeLabels::default()
        } else {
            kept.nodes
        },
    });
    let store = LabelKeeper::start(files, stored).map_err(StartError::Thread)?;
    Ok(Box::new(store))
}

fn spawn_roller(context: &Arc<Context>) -> Task<()> {
    let driver = context.driver.clone();
    let activated = move || driver.tell(Event::NmKeyActivated);
    tokio::spawn(keep_rolling(Arc::clone(&context.auth), activated))
}
