//! Scenarios through real RPC: simulated NodeManagers, ApplicationMasters and clients against a
//! ResourceManager of its own for each case.
//! May touch: loopback sockets and one child process.
//! Must not: be used for keys that exist in process only.

mod apps;
mod node;
mod read;
mod rest;
mod rm;
mod submission;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use hadoop_ipc::client::{Auth, CallError, Client, ClientOptions};
use tokio::{runtime::Runtime, sync::mpsc};
use yarn_proto::yarn::{
    AddToClusterNodeLabelsRequestProto, AddToClusterNodeLabelsResponseProto, NodeIdProto,
    NodeIdToLabelsProto, NodeLabelProto, RefreshQueuesRequestProto, RefreshQueuesResponseProto,
    ReplaceLabelsOnNodeRequestProto, ReplaceLabelsOnNodeResponseProto, ResourceInformationProto,
    ResourceProto,
};

use crate::{
    facts::{AppKey, NodeKey, QueueKey, UserKey},
    steps::{Ask, AskList, Complete, Node, Resize, State, Step, Submit},
    target::{Done, Setup, Target, WholeKey},
    value::{Actual, Res},
};
use apps::SimApp;
use node::{SimNode, Started};
use rm::Rm;

const CLIENT: &str = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";
const ADMIN: &str = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB";
/// Key of the wait before the maximum allocation follows the largest node.
const MAXIMUM_WAIT: &str = "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms";
const DEFAULT_RACK: &str = "/default-rack";
const ADMINISTRATOR: &str = "yarn";
/// Longest wait for an active stock ResourceManager.
const ACTIVE_S: u64 = 60;
/// Heartbeats until an AM's container must exist.
const LAUNCH_HEARTBEATS_MAX: u32 = 10;

/// A running cluster.
struct Cluster {
    rm: Rm,
    admin: Client,
    http: reqwest::Client,
    nodes: BTreeMap<String, SimNode>,
    started: mpsc::UnboundedReceiver<Started>,
    starts: mpsc::UnboundedSender<Started>,
}

/// The target of `--via rpc` and `--via stock`.
pub struct Remote {
    runtime: Runtime,
    stock: bool,
    cluster: Option<Cluster>,
    /// Host of each node's name, an address of this machine.
    hosts: BTreeMap<String, String>,
    apps: BTreeMap<String, SimApp>,
    /// Queues as last read, until something changes.
    tree: Option<serde_json::Value>,
    /// When the maximum allocation follows the largest node, after the start.
    maximum_wait: Duration,
    active_at: Option<Instant>,
}

impl Remote {
    /// Nothing runs yet.
    ///
    /// # Errors
    /// No runtime for sockets.
    pub fn new(stock: bool) -> Done<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|e| format!("start a runtime: {e}"))?;
        Ok(Self {
            runtime,
            stock,
            cluster: None,
            hosts: BTreeMap::new(),
            apps: BTreeMap::new(),
            tree: None,
            maximum_wait: Duration::from_secs(0),
            active_at: None,
        })
    }

    fn cluster(&mut self) -> Done<&mut Cluster> {
        self.cluster
            .as_mut()
            .ok_or_else(|| "nothing is loaded".to_owned())
    }

    fn host(&self, node: &str) -> Done<String> {
        let found = self.hosts.get(node).cloned();
        found.ok_or_else(|| format!("there is no node {node}"))
    }

    /// A host, a rack or `*` as the ResourceManager calls it.
    fn place(&self, place: &str) -> String {
        self.hosts
            .get(place)
            .cloned()
            .unwrap_or_else(|| place.to_owned())
    }

    fn node_named(&self, host: &str) -> String {
        let found = self.hosts.iter().find(|(_, own)| *own == host);
        found.map_or_else(|| host.to_owned(), |(name, _)| name.clone())
    }

    /// Addresses for the nodes of the case, also of those that come later.
    fn choose_hosts(&mut self, setup: &Setup<'_>) -> Vec<(String, String)> {
        let mut nodes: Vec<&Node> = setup.cluster.nodes.iter().collect();
        later_nodes(setup.steps, &mut nodes);
        let own = std::process::id() % 250 + 1;
        let mut racks = Vec::new();
        for node in nodes {
            let number = self.hosts.len() + 2;
            let host = self
                .hosts
                .entry(node.name.clone())
                .or_insert_with(|| format!("127.{own}.{}.{}", number / 250, number % 250 + 1))
                .clone();
            let rack = node.rack.as_deref().unwrap_or(DEFAULT_RACK);
            racks.push((host, rack.to_owned()));
        }
        racks
    }

    async fn connect(
        address: std::net::SocketAddr,
        protocol: &'static str,
        user: &str,
    ) -> Done<Client> {
        let auth = Auth::Simple {
            user: user.to_owned(),
        };
        Client::connect(
            address.to_string(),
            protocol,
            auth,
            ClientOptions::default(),
        )
        .await
        .map_err(text)
    }

    fn register(&mut self, node: &Node) -> Done {
        let host = self.host(&node.name)?;
        let offers = resource_proto(&node.res);
        let runtime = self.runtime.handle().clone();
        let cluster = self.cluster()?;
        let (tracker, starts) = (cluster.rm.at("rm.tracker")?, cluster.starts.clone());
        let sim = runtime.block_on(SimNode::register(
            &node.name, &host, tracker, offers, starts,
        ))?;
        cluster.nodes.insert(node.name.clone(), sim);
        match node.label.as_deref().filter(|label| *label != "default") {
            Some(label) => self.label(&node.name, label),
            None => Ok(()),
        }
    }

    fn label(&mut self, node: &str, label: &str) -> Done {
        let host = self.host(node)?;
        let labels = if label.is_empty() {
            Vec::new()
        } else {
            vec![label.to_owned()]
        };
        let request = ReplaceLabelsOnNodeRequestProto {
            node_to_labels: vec![NodeIdToLabelsProto {
                node_id: Some(NodeIdProto {
                    host: Some(host),
                    port: Some(0),
                }),
                node_labels: labels,
            }],
            ..Default::default()
        };
        let runtime = self.runtime.handle().clone();
        let admin = &self.cluster()?.admin;
        let _: ReplaceLabelsOnNodeResponseProto = runtime
            .block_on(admin.call("replaceLabelsOnNodes", &request))
            .map_err(text)?;
        Ok(())
    }

    fn add_labels(&mut self, setup: &Setup<'_>) -> Done {
        let node_labels: Vec<NodeLabelProto> = setup
            .cluster
            .labels
            .iter()
            .map(|label| NodeLabelProto {
                name: Some(label.name.clone()),
                is_exclusive: Some(label.exclusive),
            })
            .collect();
        if node_labels.is_empty() {
            return Ok(());
        }
        let request = AddToClusterNodeLabelsRequestProto {
            node_labels,
            ..Default::default()
        };
        let runtime = self.runtime.handle().clone();
        let admin = &self.cluster()?.admin;
        let _: AddToClusterNodeLabelsResponseProto = runtime
            .block_on(admin.call("addToClusterNodeLabels", &request))
            .map_err(text)?;
        Ok(())
    }

    /// Waits until the stock ResourceManager, whose ports open earlier, does its work.
    fn wait_active(&mut self) -> Done {
        if !self.stock {
            return Ok(());
        }
        let deadline = Instant::now() + Duration::from_secs(ACTIVE_S);
        loop {
            let info = self.get("/info");
            let state = info.map(|info| info["clusterInfo"]["haState"].clone());
            if state.as_ref().is_ok_and(|state| state == "ACTIVE") {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("not active after {ACTIVE_S} s: {state:?}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the ResourceManager has done what it was told, and acquires what was granted.
    fn settle(&mut self) -> Done {
        self.quiet()?;
        for name in self.apps.keys().cloned().collect::<Vec<_>>() {
            self.pull(&name)?;
        }
        Ok(())
    }
}

fn later_nodes<'a>(steps: &'a [Step], nodes: &mut Vec<&'a Node>) {
    for step in steps {
        match step {
            Step::AddNode(node) => nodes.push(node),
            Step::Repeat { steps, .. } => later_nodes(steps, nodes),
            _ => {}
        }
    }
}

fn has_dynamic_maximum(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::DynamicMaxAllocation(_) => true,
        Step::Repeat { steps, .. } => has_dynamic_maximum(steps),
        _ => false,
    })
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The message of an exception, without its class.
fn refusal(error: CallError) -> String {
    match error {
        CallError::Remote { message, .. } => message,
        other => other.to_string(),
    }
}

fn resource_proto(res: &Res) -> ResourceProto {
    let dims = res.dims();
    let amount = |name: &str, none| dims.get(name).copied().unwrap_or(none);
    let others = dims
        .iter()
        .filter(|(name, _)| !["memory", "vcores"].contains(&name.as_str()));
    let info = |key: &str, value: i64, units: &str| ResourceInformationProto {
        key: key.to_owned(),
        value: Some(value),
        units: Some(units.to_owned()),
        r#type: Some(0),
        ..Default::default()
    };
    let (memory, vcores) = (amount("memory", 0), amount("vcores", 1));
    let mut map = vec![info("memory-mb", memory, "Mi"), info("vcores", vcores, "")];
    map.extend(others.map(|(name, value)| info(name, *value, "")));
    ResourceProto {
        memory: Some(memory),
        virtual_cores: i32::try_from(vcores).ok(),
        resource_value_map: map,
    }
}

fn dims(proto: &ResourceProto) -> BTreeMap<String, i64> {
    let mut dims = BTreeMap::from([
        ("memory".to_owned(), proto.memory()),
        ("vcores".to_owned(), i64::from(proto.virtual_cores())),
    ]);
    for entry in &proto.resource_value_map {
        if entry.key != "memory-mb" && entry.key != "vcores" {
            dims.insert(entry.key.clone(), entry.value());
        }
    }
    dims
}

impl Target for Remote {
    fn inproc(&self) -> bool {
        false
    }

    fn start(&mut self, setup: Setup<'_>) -> Done {
        let racks = self.choose_hosts(&setup);
        let mut conf = setup.conf.clone();
        self.maximum_wait = if has_dynamic_maximum(setup.steps) {
            Duration::from_secs(10)
        } else {
            Duration::from_hours(1)
        };
        let wait = self.maximum_wait.as_millis().to_string();
        conf.entry(MAXIMUM_WAIT.to_owned()).or_insert(wait);
        let rm = Rm::start(self.stock, &conf, &racks)?;
        let runtime = self.runtime.handle().clone();
        let admin = runtime.block_on(Self::connect(rm.at("rm.admin")?, ADMIN, ADMINISTRATOR))?;
        let (starts, started) = mpsc::unbounded_channel();
        self.cluster = Some(Cluster {
            rm,
            admin,
            http: reqwest::Client::new(),
            nodes: BTreeMap::new(),
            started,
            starts,
        });
        self.wait_active()?;
        self.active_at = Some(Instant::now());
        self.add_labels(&setup)?;
        for node in &setup.cluster.nodes {
            self.register(node)?;
        }
        self.settle()
    }

    fn submit(&mut self, submit: &Submit) -> Done {
        self.submit_app(submit)?;
        self.settle()
    }

    fn diagnostics(&mut self, app: &str) -> Done<String> {
        Ok(self.report(app)?.diagnostics().to_owned())
    }

    fn launch_am(&mut self, app: &str, node: &str) -> Done {
        for _ in 0..LAUNCH_HEARTBEATS_MAX {
            self.beat(node)?;
            if self.master_started(app)? {
                return self.settle();
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
        self.change_blacklist(app, add, remove)?;
        self.settle()
    }

    fn heartbeat(&mut self, node: &str) -> Done {
        self.beat(node)?;
        self.settle()
    }

    fn complete(&mut self, complete: &Complete) -> Done {
        self.end_containers(complete)?;
        self.settle()
    }

    fn finish(&mut self, app: &str) -> Done {
        self.kill(app)?;
        self.settle()
    }

    fn refresh(&mut self, conf: &BTreeMap<String, String>) -> Done {
        let mut conf = conf.clone();
        let wait = self.maximum_wait.as_millis().to_string();
        conf.entry(MAXIMUM_WAIT.to_owned()).or_insert(wait);
        let runtime = self.runtime.handle().clone();
        let cluster = self.cluster()?;
        cluster.rm.rewrite(&conf)?;
        let request = RefreshQueuesRequestProto::default();
        let call = cluster.admin.call("refreshQueues", &request);
        let _: RefreshQueuesResponseProto = runtime.block_on(call).map_err(refusal)?;
        self.settle()
    }

    fn add_node(&mut self, node: &Node) -> Done {
        self.register(node)?;
        self.settle()
    }

    fn remove_node(&mut self, node: &str) -> Done {
        let runtime = self.runtime.handle().clone();
        let cluster = self.cluster()?;
        if let Some(sim) = cluster.nodes.remove(node) {
            runtime.block_on(sim.leave())?;
        }
        self.settle()
    }

    fn set_label(&mut self, node: &str, label: &str) -> Done {
        self.label(node, label)?;
        self.settle()
    }

    fn move_app(&mut self, app: &str, queue: &str) -> Done {
        self.move_to(app, queue)?;
        self.settle()
    }

    fn set_priority(&mut self, app: &str, priority: i32) -> Done {
        self.change_priority(app, priority)?;
        self.settle()
    }

    fn resize(&mut self, resize: &Resize) -> Done {
        self.resize_container(resize)?;
        self.settle()
    }

    fn create_queue(&mut self, path: &str) -> Done {
        self.create_by_submission(path)?;
        self.settle()
    }

    fn preempt_tick(&mut self) -> Done {
        Err("the monitor runs by its own clock there".to_owned())
    }

    fn advance(&mut self, ms: u64) -> Done {
        std::thread::sleep(Duration::from_millis(ms));
        self.settle()
    }

    fn queue_state(&mut self, _: &str, _: State) -> Done {
        Err("the state of a queue can only be refreshed there".to_owned())
    }

    fn dynamic_max_allocation(&mut self) -> Done {
        let wait = self.maximum_wait + Duration::from_secs(1);
        let passed = self.active_at.map_or(Duration::ZERO, |at| at.elapsed());
        std::thread::sleep(wait.saturating_sub(passed));
        self.settle()
    }

    fn resort_nodes(&mut self) -> Done {
        // the sorter runs once a second
        std::thread::sleep(Duration::from_millis(1100));
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

    fn user(&mut self, _: &str, _: &str, _: Option<&str>, _: UserKey) -> Done<Actual> {
        Ok(Actual::Unread)
    }

    fn whole(&mut self, key: WholeKey) -> Done<Actual> {
        match key {
            WholeKey::MaxAllocation => self.read_maximum(),
            _ => Ok(Actual::Unread),
        }
    }
}
