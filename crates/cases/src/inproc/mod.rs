//! Scenarios against the scheduler's core in this process.
//! May touch: `capacity_scheduler::sched`, `yarn_conf` for resource types.
//! Must not: schedule by itself; it does what the life cycles of a ResourceManager would.

mod apps;
mod load;
mod monitor;
mod read;

use std::{collections::BTreeMap, sync::Arc};

use capacity_scheduler::sched::{AppIdx, ContainerIdx, LabelIdx, Locality, NodeIdx, Sched, Told};
use yarn_types::{ApplicationId, Millis, Resource};

use crate::{
    facts::{AppKey, NodeKey, QueueKey, UserKey},
    steps::{Ask, AskList, Complete, Node, Resize, State, Submit},
    target::{Done, Setup, Target, WholeKey},
    value::{Actual, Res},
};
use load::Loaded;

/// Rack of nodes that name none.
const DEFAULT_RACK: &str = "/default-rack";
/// Heartbeats until an AM's container must exist.
const LAUNCH_HEARTBEATS_MAX: u32 = 10;
/// Between two heartbeats of a node where placing does not follow them
/// (`yarn.resourcemanager.nodemanagers.heartbeat-interval-ms`).
const HEARTBEAT_MS: u64 = 1000;

/// An application as a ResourceManager keeps it.
#[derive(Clone, Debug)]
struct App {
    idx: AppIdx,
    state: &'static str,
    diagnostics: String,
    /// Containers granted so far, in order: number 1 is the first.
    granted: Vec<ContainerIdx>,
}

/// The core with names.
pub struct InProcess {
    event: bool,
    loaded: Option<Loaded>,
    now: Millis,
    nodes: BTreeMap<String, NodeIdx>,
    nodes_made: u32,
    apps: BTreeMap<String, App>,
    by_idx: Vec<String>,
    last_assignment: Option<Locality>,
}

impl InProcess {
    /// Nothing is loaded yet. In event mode placing does not wait for heartbeats.
    pub fn new(event: bool) -> Self {
        Self {
            event,
            loaded: None,
            now: Millis(0),
            nodes: BTreeMap::new(),
            nodes_made: 0,
            apps: BTreeMap::new(),
            by_idx: Vec::new(),
            last_assignment: None,
        }
    }

    fn sched(&mut self) -> Done<&mut Sched> {
        let loaded = self.loaded.as_mut().ok_or("nothing is loaded")?;
        Ok(&mut loaded.sched)
    }

    fn loaded(&self) -> Done<&Loaded> {
        self.loaded
            .as_ref()
            .ok_or_else(|| "nothing is loaded".to_owned())
    }

    fn node_idx(&self, node: &str) -> Done<NodeIdx> {
        let idx = self.nodes.get(node).copied();
        idx.ok_or_else(|| format!("there is no node {node}"))
    }

    fn node_name(&self, idx: NodeIdx) -> String {
        let found = self.nodes.iter().find(|(_, i)| **i == idx);
        found.map_or_else(String::new, |(name, _)| name.clone())
    }

    fn known_app(&self, app: &str) -> Done<&App> {
        self.apps
            .get(app)
            .ok_or_else(|| format!("there is no application {app}"))
    }

    fn app_idx(&self, app: &str) -> Done<AppIdx> {
        self.known_app(app).map(|a| a.idx)
    }

    fn app_name(&self, idx: AppIdx) -> String {
        let at = usize::try_from(idx.0).unwrap_or(usize::MAX);
        self.by_idx.get(at).cloned().unwrap_or_default()
    }

    /// Amounts of lanes; a number alone comes with one vcore.
    fn resource(&self, res: &Res) -> Done<Resource> {
        let types = self.loaded()?.sched.types();
        let mut out = Resource::new(0, 1);
        for (name, amount) in res.dims() {
            let lane = types
                .lane(&name)
                .ok_or_else(|| format!("there is no resource type {name}"))?;
            out.0[lane] = amount.saturating_mul(types.scale(lane));
        }
        Ok(out)
    }

    fn label_idx(&mut self, label: &str) -> Done<LabelIdx> {
        let found = self.sched()?.label(label);
        found.ok_or_else(|| format!("there is no label {label}"))
    }

    /// Does what the scheduler said; in event mode places until nothing more can be placed.
    fn settle(&mut self) -> Done {
        let event = self.event;
        loop {
            let now = self.now;
            let sched = self.sched()?;
            let again = event && sched.pass(now);
            let told = sched.take_told();
            let any = !told.is_empty();
            for told in told {
                self.told(told)?;
            }
            if !again && !any {
                return Ok(());
            }
        }
    }

    fn told(&mut self, told: Told) -> Done {
        match told {
            Told::Granted(granted) => {
                let name = self.app_name(granted.app);
                if let Some(app) = self.apps.get_mut(&name) {
                    app.granted.push(granted.container);
                }
            }
            Told::Kill {
                container,
                released,
                ..
            } => {
                if !released {
                    self.sched()?.release(container);
                }
            }
            Told::Preempt { .. } | Told::Resized { .. } | Told::Runnable(_) => {}
        }
        Ok(())
    }

    fn register_node(&mut self, node: &Node) -> Done {
        let total = self.resource(&node.res)?;
        let label = plain(node.label.as_deref());
        let label = self.label_idx(label)?;
        let rack = Arc::from(node.rack.as_deref().unwrap_or(DEFAULT_RACK));
        let idx = NodeIdx(self.nodes_made);
        self.nodes_made += 1;
        self.nodes.insert(node.name.clone(), idx);
        let host = Arc::from(node.name.as_str());
        self.sched()?.add_node(idx, &host, &rack, total, label);
        Ok(())
    }
}

/// `default` is how case files write the empty label.
fn plain(label: Option<&str>) -> &str {
    label
        .filter(|label| *label != "default")
        .unwrap_or_default()
}

impl Target for InProcess {
    fn inproc(&self) -> bool {
        true
    }

    fn start(&mut self, setup: Setup<'_>) -> Done {
        let mut loaded = Loaded::new(setup.conf, self.event)?;
        let labels: Vec<(Arc<str>, bool)> = setup
            .cluster
            .labels
            .iter()
            .map(|label| (Arc::from(label.name.as_str()), label.exclusive))
            .collect();
        loaded
            .sched
            .add_labels(&labels)
            .map_err(|refused| refused.message)?;
        for (queue, users) in &setup.stubs.active_users {
            let users = u32::try_from(*users).map_err(|_| "active users below zero")?;
            let queue = loaded.sched.queue(queue).ok_or("no such queue")?.idx;
            loaded.sched.stub_active_users.insert(queue, users);
        }
        self.loaded = Some(loaded);
        for node in &setup.cluster.nodes {
            self.register_node(node)?;
        }
        self.settle()
    }

    fn submit(&mut self, submit: &Submit) -> Done {
        self.submit_app(submit)?;
        self.settle()
    }

    fn diagnostics(&mut self, app: &str) -> Done<String> {
        self.known_app(app).map(|a| a.diagnostics.clone())
    }

    fn launch_am(&mut self, app: &str, node: &str) -> Done {
        // where nodes are sorted, the order is that of this moment
        self.sched()?.resort_nodes();
        for _ in 0..LAUNCH_HEARTBEATS_MAX {
            self.heartbeat(node)?;
            let idx = self.app_idx(app)?;
            let figures = self.sched()?.app_figures(idx);
            if figures.is_some_and(|f| f.containers.iter().any(|c| c.is_am)) {
                if let Some(app) = self.apps.get_mut(app) {
                    app.state = "RUNNING";
                }
                return Ok(());
            }
        }
        Err(format!(
            "no container for its ApplicationMaster after {LAUNCH_HEARTBEATS_MAX} heartbeats"
        ))
    }

    fn ask(&mut self, ask: &Ask) -> Done {
        self.ask_once(ask)?;
        self.settle()
    }

    fn ask_list(&mut self, asks: &AskList) -> Done {
        self.ask_places(asks)?;
        self.settle()
    }

    fn blacklist(&mut self, app: &str, add: &[String], remove: &[String]) -> Done {
        let shared = |list: &[String]| -> Vec<Arc<str>> {
            list.iter().map(|place| Arc::from(place.as_str())).collect()
        };
        let idx = self.app_idx(app)?;
        self.sched()?
            .update_blacklist(idx, &shared(add), &shared(remove));
        self.settle()
    }

    fn heartbeat(&mut self, node: &str) -> Done {
        let idx = self.node_idx(node)?;
        if self.event {
            // no heartbeats to count: waits for a better place are times
            self.now = self.now.plus(HEARTBEAT_MS);
        } else {
            let now = self.now;
            self.last_assignment = self.sched()?.node_update(now, idx);
        }
        self.settle()
    }

    fn complete(&mut self, complete: &Complete) -> Done {
        for container in self.chosen(complete)? {
            self.sched()?.release(container);
        }
        self.settle()
    }

    fn finish(&mut self, app: &str) -> Done {
        self.finish_app(app)?;
        self.settle()
    }

    fn refresh(&mut self, conf: &BTreeMap<String, String>) -> Done {
        let event = self.event;
        let loaded = self.loaded.as_mut().ok_or("nothing is loaded")?;
        loaded.refresh(conf, event)?;
        self.settle()
    }

    fn add_node(&mut self, node: &Node) -> Done {
        self.register_node(node)?;
        self.settle()
    }

    fn remove_node(&mut self, node: &str) -> Done {
        self.lose_node(node)?;
        self.settle()
    }

    fn set_label(&mut self, node: &str, label: &str) -> Done {
        let (idx, label) = (self.node_idx(node)?, self.label_idx(label)?);
        self.sched()?.set_label(idx, label);
        self.settle()
    }

    fn move_app(&mut self, app: &str, queue: &str) -> Done {
        let idx = self.app_idx(app)?;
        self.sched()?
            .move_app(idx, queue)
            .map_err(|refused| refused.message)?;
        self.settle()
    }

    fn set_priority(&mut self, app: &str, priority: i32) -> Done {
        let idx = self.app_idx(app)?;
        self.sched()?.set_priority(idx, priority);
        self.settle()
    }

    fn resize(&mut self, resize: &Resize) -> Done {
        self.resize_container(resize)?;
        self.settle()
    }

    fn create_queue(&mut self, path: &str) -> Done {
        let now = self.now;
        self.sched()?
            .create_queue(now, path)
            .map_err(|refused| refused.message)?;
        self.settle()
    }

    fn preempt_tick(&mut self) -> Done {
        self.run_monitor()?;
        self.settle()
    }

    fn advance(&mut self, ms: u64) -> Done {
        self.now = self.now.plus(ms);
        self.settle()
    }

    fn queue_state(&mut self, queue: &str, state: State) -> Done {
        let sched = self.sched()?;
        let done = match state {
            State::Running => sched.activate_queue(queue),
            State::Stopped => sched.stop_queue(queue),
        };
        done.map_err(|refused| refused.message)?;
        self.settle()
    }

    fn dynamic_max_allocation(&mut self) -> Done {
        self.sched()?.follow_largest_node();
        self.settle()
    }

    fn resort_nodes(&mut self) -> Done {
        self.sched()?.resort_nodes();
        Ok(())
    }

    fn queue(&mut self, path: &str, label: &str, key: QueueKey) -> Done<Actual> {
        self.read_queue(path, label, key)
    }

    fn app(&mut self, app: &str, label: Option<&str>, key: AppKey) -> Done<Actual> {
        self.read_app(app, label, key)
    }

    fn node(&mut self, node: &str, key: NodeKey) -> Done<Actual> {
        self.read_node(node, key)
    }

    fn user(&mut self, queue: &str, user: &str, label: Option<&str>, key: UserKey) -> Done<Actual> {
        self.read_user(queue, user, label, key)
    }

    fn whole(&mut self, key: WholeKey) -> Done<Actual> {
        self.read_whole(key)
    }
}

/// The id of the application with this number.
fn application_id(number: u32) -> ApplicationId {
    ApplicationId {
        cluster_timestamp: 1,
        id: number,
    }
}
