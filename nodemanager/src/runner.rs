//! Containers as tasks: brings their resources, starts them, waits for them, cleans up.
//! May touch: `exec`, the inbox, launch contexts by container id.
//! Must not: decide what happens next (the core does), or log a launch context.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use dashmap::DashMap;
use nm_core::{
    Event, Signal,
    disks::{DiskReport, DiskRules},
    launch::{NodeFacts, diagnostics::Tails},
    localize::LocalResource,
};
use tokio::{runtime::Handle as Runtime, task::AbortHandle};
use yarn_types::{ApplicationId, ContainerId, Resource, ResourceTypes, exit};

use crate::{
    acls::NodeAcls,
    driver::Inbox,
    exec::{
        account::{Account, AccountRules, account_for},
        deletion::{Deleter, Deletion},
        dirs::{self, ContainerPaths},
        launch::{self, Binaries, Handle, LaunchRequest, Waiter},
        localizer::{Localized, Localizer, Needs},
        monitor::{Limits, Monitor, beyond_memory, vmem_limit},
        tails::read_tails,
    },
    gpu::{self, GpuEnv, LastReading},
    isolation::{Guard, Isolated},
    keys::TokenKeys,
    settings::{LaunchSettings, MonitorSettings},
};

/// Most bytes of a log's end in diagnostics, whatever the configuration says.
const TAIL_BYTES_MAX: u64 = 64 * 1024;

/// A launch context taken apart. It has secrets: no `Debug` of its content.
#[derive(Clone)]
pub struct Launch {
    /// Submitter.
    pub user: String,
    /// Size of the container.
    pub resource: Resource,
    /// Environment.
    pub env: BTreeMap<String, String>,
    /// Command tokens.
    pub commands: Vec<String>,
    /// Resources by key.
    pub resources: Vec<(String, LocalResource)>,
    /// Credentials in Hadoop's storage format, written by this node.
    pub tokens: Vec<u8>,
}

impl std::fmt::Debug for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// What a container has while it lives.
#[derive(Debug)]
struct Slot {
    launch: Arc<Launch>,
    /// Its size now.
    size: Resource,
    localizing: Option<AbortHandle>,
    site: Option<Arc<Site>>,
    handle: Option<Handle>,
    accepted: Instant,
    /// UUIDs of its devices, from its launch on.
    gpus: Vec<Arc<str>>,
}

/// Where and as whom a container runs, once its resources are there.
#[derive(Debug)]
struct Site {
    paths: ContainerPaths,
    account: Account,
    localized: Localized,
}

/// What the runner works with.
#[derive(Debug)]
pub struct Tools {
    /// The core.
    pub inbox: Inbox,
    /// Where tasks run.
    pub runtime: Runtime,
    /// Programs that the node starts.
    pub binaries: Binaries,
    /// The cache of resources.
    pub localizer: Arc<Localizer>,
    /// Who may see applications.
    pub acls: Arc<NodeAcls>,
    /// Deletes in the background.
    pub deleter: Deleter,
    /// The same for logs.
    pub log_deleter: Deleter,
    /// When disks are good enough to start something.
    pub disk_rules: DiskRules,
    /// Memory watch.
    pub monitor: Arc<Mutex<Monitor>>,
    /// Keys, of which those of ended applications go.
    pub keys: Arc<TokenKeys>,
    /// Facts of the node for launch scripts.
    pub node: NodeFacts,
    /// Who runs containers.
    pub accounts: AccountRules,
    /// Launch settings.
    pub launch: LaunchSettings,
    /// Memory limits.
    pub limits: MonitorSettings,
    /// All configured local directories.
    pub local_dirs: Vec<PathBuf>,
    /// All configured log directories.
    pub log_dirs: Vec<PathBuf>,
    /// Resource lanes, for texts.
    pub types: ResourceTypes,
    /// Isolation of containers.
    pub guard: Arc<Guard>,
    /// Variables about devices; `None` where containers' own are left alone.
    pub gpu_env: Option<GpuEnv>,
    /// The cards as read last.
    pub cards: LastReading,
}

/// Containers as tasks. Share it in an `Arc`.
#[derive(Debug)]
pub struct Runner {
    tools: Tools,
    slots: DashMap<ContainerId, Slot>,
    disks: Mutex<DiskReport>,
    turn: AtomicU64,
}

impl Runner {
    /// A node without containers, with the directories of `disks` in use.
    pub fn new(tools: Tools, disks: DiskReport) -> Self {
        Self {
            tools,
            slots: DashMap::new(),
            disks: Mutex::new(disks),
            turn: AtomicU64::new(0),
        }
    }

    /// Directories in use from now on.
    pub fn set_disks(&self, disks: DiskReport) {
        *self.lock_disks() = disks;
    }

    /// What was found of the disks last.
    pub fn disks(&self) -> DiskReport {
        self.lock_disks().clone()
    }

    /// The cache of resources.
    pub fn localizer(&self) -> &Arc<Localizer> {
        &self.tools.localizer
    }

    /// Log directories to look for logs in, full ones included.
    pub fn log_dirs(&self) -> &[PathBuf] {
        &self.tools.log_dirs
    }

    /// `Action::Localize`.
    pub fn localize(self: &Arc<Self>, id: ContainerId, launch: Launch) {
        let slot = Slot {
            size: launch.resource,
            launch: Arc::new(launch),
            localizing: None,
            site: None,
            handle: None,
            accepted: Instant::now(),
            gpus: Vec::new(),
        };
        let launch = Arc::clone(&slot.launch);
        self.slots.insert(id, slot);
        let this = Arc::clone(self);
        let task = self.tools.runtime.spawn(async move {
            let event = match this.bring(id, &launch).await {
                Ok(site) => {
                    if let Some(mut slot) = this.slots.get_mut(&id) {
                        slot.site = Some(Arc::new(site));
                    }
                    Event::Localized { container: id }
                }
                Err(diagnostics) => {
                    tracing::warn!(container = %id, reason = diagnostics, "localisation failed");
                    Event::LocalizationFailed {
                        container: id,
                        diagnostics,
                    }
                }
            };
            this.tools.inbox.event(event);
        });
        if let Some(mut slot) = self.slots.get_mut(&id) {
            slot.localizing = Some(task.abort_handle());
        }
    }

    async fn bring(&self, id: ContainerId, launch: &Launch) -> Result<Site, String> {
        let account = {
            let (user, rules) = (launch.user.clone(), self.tools.accounts.clone());
            tokio::task::spawn_blocking(move || account_for(&user, &rules)).await
        };
        let account = account
            .map_err(|e| e.to_string())?
            .map_err(|e| e.to_string())?;
        let disks = self.lock_disks().clone();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let none = |what: &str| format!("No space available in any of the {what} directories.");
        let local_dir = disks
            .local
            .pick(turn)
            .ok_or_else(|| none("local"))?
            .to_owned();
        let log_root = disks.log.pick(turn).ok_or_else(|| none("log"))?.to_owned();
        let paths = ContainerPaths {
            local_dir,
            log_root,
            local_dirs: disks.local.good_paths(),
            log_roots: disks.log.good_paths(),
            user: launch.user.clone(),
            app_id: id.app().to_string(),
            container_id: id.to_string(),
        };
        let needs = Needs {
            user: launch.user.clone(),
            app_id: id.app().to_string(),
            container_id: id.to_string(),
            account: account.clone(),
            resources: launch.resources.clone(),
            local: disks.local,
        };
        let localized = self
            .tools
            .localizer
            .localize(&needs)
            .await
            .map_err(|e| e.to_string())?;
        Ok(Site {
            paths,
            account,
            localized,
        })
    }

    /// `Action::CancelLocalization`.
    pub fn cancel_localization(&self, id: ContainerId) {
        if let Some(task) = self
            .slots
            .get_mut(&id)
            .and_then(|mut slot| slot.localizing.take())
        {
            task.abort();
        }
    }

    /// `Action::Launch`.
    pub fn launch(self: &Arc<Self>, id: ContainerId, gpus: Vec<Arc<str>>) {
        let this = Arc::clone(self);
        if let Some(mut slot) = self.slots.get_mut(&id) {
            slot.gpus.clone_from(&gpus);
        }
        self.tools.runtime.spawn(async move {
            let started = match this.disk_fault() {
                Some(fault) => Err((exit::DISKS_FAILED, fault)),
                None => this.start(id, gpus).await.map_err(|text| (-1, text)),
            };
            match started {
                Ok((site, waiter)) => {
                    this.tools.inbox.event(Event::Launched { container: id });
                    for event in this.wait(id, &site, waiter).await {
                        this.tools.inbox.event(event);
                    }
                }
                Err((exit_code, diagnostics)) => {
                    tracing::warn!(container = %id, reason = diagnostics, "launch failed");
                    this.tools.inbox.event(Event::LaunchFailed {
                        container: id,
                        exit_code,
                        diagnostics,
                    });
                }
            }
        });
    }

    /// Why nothing is started now (`ContainerLaunch.call`).
    fn disk_fault(&self) -> Option<String> {
        let (disks, rules) = (self.lock_disks(), &self.tools.disk_rules);
        (!disks.healthy(rules)).then(|| format!("Most of the disks failed. {}", disks.text(rules)))
    }

    async fn start(
        self: &Arc<Self>,
        id: ContainerId,
        gpus: Vec<Arc<str>>,
    ) -> Result<(Arc<Site>, Waiter), String> {
        let found = self.slots.get(&id).map(|slot| {
            (
                Arc::clone(&slot.launch),
                slot.size,
                slot.site.clone(),
                slot.accepted,
            )
        });
        let Some((launch, size, Some(site), accepted)) = found else {
            return Err("the container is not known any more".to_owned());
        };
        let prepared = {
            let (this, site) = (Arc::clone(self), Arc::clone(&site));
            tokio::task::spawn_blocking(move || {
                let isolated = this.isolate(id, &gpus, size)?;
                let counters = site.localized.counters.text();
                let env = this.tools.gpu_env.as_ref();
                launch::prepare(&LaunchRequest {
                    paths: &site.paths,
                    account: &site.account,
                    node: &this.tools.node,
                    env: &launch.env,
                    commands: &launch.commands,
                    links: &site.localized.links,
                    tokens: &launch.tokens,
                    localization_counters: &counters,
                    aux_metadata: &BTreeMap::new(),
                    debug_info: this.tools.launch.debug_info,
                    nice: this.tools.launch.nice,
                    devices: &env.map(|e| e.variables(&gpus)).unwrap_or_default(),
                    cgroup_procs: &isolated.procs,
                })
                .map_err(|e| e.to_string())
            })
            .await
        };
        let prepared = prepared.map_err(|e| e.to_string())??;
        let (handle, waiter) = launch::start(&self.tools.binaries, &prepared)
            .await
            .map_err(|e| e.to_string())?;
        tracing::info!(
            target: "latency", event = "exec", container = %id, pid = handle.pid(),
            since_accept_ms = accepted.elapsed().as_millis(), wall_ms = crate::driver::wall_ms()
        );
        let limits = self.memory_limits(size);
        let (pid, launcher) = (handle.pid(), handle.launcher_pid());
        self.lock_monitor()
            .start(&id.to_string(), pid, launcher, limits);
        let now = self.slots.get_mut(&id).map(|mut slot| {
            slot.handle = Some(handle);
            slot.size
        });
        if now.is_some_and(|now| now != size) {
            // It changed on the way here.
            self.keep_to_size(id);
        }
        Ok((site, waiter))
    }

    /// Rules and limits of the container, before anything of it runs. Blocking.
    fn isolate(
        &self,
        id: ContainerId,
        gpus: &[Arc<str>],
        resource: Resource,
    ) -> Result<Isolated, String> {
        let minors = gpu::minors(&self.tools.cards, gpus)?;
        let isolated = self.tools.guard.apply(id, &minors, resource)?;
        if !isolated.missing.is_empty() {
            let text = format!("devices that are closed: {}", isolated.missing.join(", "));
            let container = id;
            self.tools.inbox.event(Event::Note { container, text });
        }
        Ok(isolated)
    }

    /// What is to be said of the end of a container.
    async fn wait(self: &Arc<Self>, id: ContainerId, site: &Site, waiter: Waiter) -> Vec<Event> {
        let pid = waiter.pid();
        let (exit_code, message) = match waiter.wait().await {
            Ok(status) => (status.code, status.message),
            // The system does not tell how it ended: a failure that is nobody's number.
            Err(e) => (-1, e.to_string()),
        };
        tracing::info!(container = %id, exit_code, "container ended");
        let dead = nm_core::launch::diagnostics::is_kill(exit_code);
        let tails = if exit_code == 0 || dead {
            Tails::default()
        } else {
            let settings = self.tools.launch.clone();
            let (app, container) = (id.app().to_string(), id.to_string());
            let root = site.paths.log_root.clone();
            let read = move || {
                let bytes = settings.stderr_tail_bytes.min(TAIL_BYTES_MAX);
                read_tails(&root, &app, &container, bytes, &settings.stderr_pattern)
            };
            tokio::task::spawn_blocking(read).await.unwrap_or_default()
        };
        let over = if exit_code == 0 {
            None
        } else {
            self.out_of_memory(id, pid).await
        };
        let exited = Event::Exited {
            container: id,
            exit_code,
            message,
            tails,
        };
        over.into_iter().chain([exited]).collect()
    }

    /// The container's end is the kernel's doing, for want of memory: Hadoop's sentence.
    async fn out_of_memory(self: &Arc<Self>, id: ContainerId, pid: i32) -> Option<Event> {
        let guard = Arc::clone(&self.tools.guard);
        let killed = tokio::task::spawn_blocking(move || guard.oom_killed(id)).await;
        if !killed.unwrap_or(false) {
            return None;
        }
        let Limits { pmem: limit, vmem } =
            self.memory_limits(self.slots.get(&id).map_or(Resource::ZERO, |slot| slot.size));
        Some(Event::OverLimit {
            container: id,
            exit_code: exit::KILLED_EXCEEDED_PMEM,
            diagnostics: beyond_memory(&id.to_string(), pid, limit, vmem),
        })
    }

    /// `Action::Resize`.
    pub fn resize(self: &Arc<Self>, id: ContainerId, size: Resource) {
        let starts = {
            let Some(mut slot) = self.slots.get_mut(&id) else {
                return;
            };
            slot.size = size;
            slot.handle.is_none()
        };
        // One that is being started looks at its size once it runs.
        if !starts {
            self.keep_to_size(id);
        }
    }

    /// The watch of memory and the limits of the kernel follow the container's size.
    fn keep_to_size(self: &Arc<Self>, id: ContainerId) {
        let this = Arc::clone(self);
        self.tools.runtime.spawn_blocking(move || {
            let size = || this.slots.get(&id).map(|slot| slot.size);
            let set = this.tools.guard.resize(id, size);
            if let Some(size) = size() {
                let limits = this.memory_limits(size);
                this.lock_monitor().change(&id.to_string(), limits);
                let size = this.tools.types.show(size);
                match set {
                    Ok(()) => tracing::info!(container = %id, size, "has another size"),
                    Err(e) => {
                        tracing::warn!(container = %id, size, error = %e, "limits stay");
                        let text = format!("limits of the container are those of before: {e}");
                        this.tools.inbox.event(Event::Note {
                            container: id,
                            text,
                        });
                    }
                }
            }
        });
    }

    fn memory_limits(&self, size: Resource) -> Limits {
        let pmem = u64::try_from(size.memory_mb()).unwrap_or(0) << 20;
        Limits {
            pmem,
            vmem: vmem_limit(pmem, self.tools.limits.vmem_ratio),
        }
    }

    /// `Action::Signal`.
    pub fn signal(&self, id: ContainerId, signal: Signal) {
        use nix::sys::signal::Signal as Kernel;
        let signal = match signal {
            Signal::Quit => Kernel::SIGQUIT,
            Signal::Term => Kernel::SIGTERM,
            Signal::Kill => Kernel::SIGKILL,
        };
        let Some(handle) = self.slots.get(&id).and_then(|slot| slot.handle.clone()) else {
            return;
        };
        match handle.signal(signal) {
            Ok(_) => tracing::info!(container = %id, %signal, "signalled"),
            Err(e) => tracing::warn!(container = %id, %signal, error = %e, "not signalled"),
        }
    }

    /// `Action::Teardown`: the launcher reaped the tree; what is left is directories and tables.
    pub fn tear_down(self: &Arc<Self>, id: ContainerId) {
        let container = id.to_string();
        self.lock_monitor().stop(&container);
        self.tools.localizer.release(&container);
        let mut gpus = Vec::new();
        if let Some((_, slot)) = self.slots.remove(&id) {
            gpus = slot.gpus;
            let app = id.app().to_string();
            let work = dirs::app_dir(&slot.launch.user, &app).join(&container);
            for root in &self.tools.local_dirs {
                self.delete(root, work.clone());
                self.delete(root, dirs::private_dir(&app, &container));
            }
        }
        let (guard, inbox) = (Arc::clone(&self.tools.guard), self.tools.inbox.clone());
        let torn_down = move |dirty| Event::TornDown {
            container: id,
            dirty,
        };
        if guard.holds(id) {
            // The devices are free again when nothing of the container is left.
            let undo = move || inbox.event(torn_down(guard.undo(id, gpus)));
            self.tools.runtime.spawn_blocking(undo);
        } else {
            inbox.event(torn_down(None));
        }
    }

    /// `Action::Forget`.
    pub fn forget(&self, id: ContainerId) {
        self.slots.remove(&id);
    }

    /// `Action::CleanApp`.
    pub fn clean_app(&self, app: ApplicationId, user: &str) {
        let id = app.to_string();
        self.tools.keys.forget(app);
        self.tools.localizer.application_finished(user, &id);
        for root in &self.tools.local_dirs {
            self.delete(root, dirs::app_dir(user, &id));
            self.delete(root, PathBuf::from(dirs::NM_PRIVATE).join(&id));
        }
        self.tools.inbox.event(Event::AppCleaned { app });
    }

    /// `Action::DeleteLogs`.
    pub fn delete_logs(&self, app: ApplicationId) {
        self.tools.acls.forget(app);
        let _inside = self.tools.runtime.enter();
        for root in &self.tools.log_dirs {
            self.tools.log_deleter.delete(Deletion {
                root: root.clone(),
                rel: app.to_string().into(),
            });
        }
    }

    /// SIGKILL to every container, at the very end.
    pub fn kill_all(&self) {
        for slot in &self.slots {
            if let Some(handle) = &slot.handle {
                let _ = handle.signal(nix::sys::signal::Signal::SIGKILL);
            }
        }
    }

    fn delete(&self, root: &std::path::Path, rel: PathBuf) {
        // Effects come from the driver's thread, which is no tokio thread.
        let _inside = self.tools.runtime.enter();
        self.tools.deleter.delete(Deletion {
            root: root.to_owned(),
            rel,
        });
    }

    fn lock_disks(&self) -> MutexGuard<'_, DiskReport> {
        // Nothing panics while it holds a lock.
        self.disks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_monitor(&self) -> MutexGuard<'_, Monitor> {
        self.tools
            .monitor
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
