//! What a scenario is run against: the core in process, our ResourceManager or the stock one.
//! May touch: names used in case files.
//! Must not: compare anything.

use std::collections::BTreeMap;

use crate::{
    facts::{AppKey, NodeKey, QueueKey, UserKey},
    steps::{Ask, AskList, Cluster, Complete, Node, Resize, State, Step, Stubs, Submit},
    value::Actual,
};

/// Why a step could not be done: the text of a refusal, or what this way of running lacks.
pub type Done<T = ()> = Result<T, String>;

/// What a scenario starts with.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Labels and nodes.
    pub cluster: &'a Cluster,
    /// Configuration with the runner's own defaults.
    pub conf: &'a BTreeMap<String, String>,
    /// Injected values.
    pub stubs: &'a Stubs,
    /// The steps that will follow.
    pub steps: &'a [Step],
}

/// A cluster that a scenario drives. Applications, nodes and queues are named as in the case.
pub trait Target {
    /// Whether keys and steps that exist in process only can be used.
    fn inproc(&self) -> bool;

    /// Starts with a configuration and registers the nodes.
    fn start(&mut self, setup: Setup<'_>) -> Done;

    /// Submits an application. One that is refused is there, too, and FAILED.
    fn submit(&mut self, submit: &Submit) -> Done;

    /// Diagnostics of an application.
    fn diagnostics(&mut self, app: &str) -> Done<String>;

    /// Heartbeats `node` until the AM's container exists, acquires and registers it.
    fn launch_am(&mut self, app: &str, node: &str) -> Done;

    /// One allocate call with one line.
    fn ask(&mut self, ask: &Ask) -> Done;

    /// One allocate call with several lines.
    fn ask_list(&mut self, asks: &AskList) -> Done;

    /// Adds to and removes from the blacklist.
    fn blacklist(&mut self, app: &str, add: &[String], remove: &[String]) -> Done;

    /// One heartbeat of a node.
    fn heartbeat(&mut self, node: &str) -> Done;

    /// Containers end.
    fn complete(&mut self, complete: &Complete) -> Done;

    /// An application ends.
    fn finish(&mut self, app: &str) -> Done;

    /// Replaces the configuration by `conf` and refreshes the queues.
    fn refresh(&mut self, conf: &BTreeMap<String, String>) -> Done;

    /// A node registers.
    fn add_node(&mut self, node: &Node) -> Done;

    /// A node is lost.
    fn remove_node(&mut self, node: &str) -> Done;

    /// Replaces a node's label; empty for none.
    fn set_label(&mut self, node: &str, label: &str) -> Done;

    /// Moves an application.
    fn move_app(&mut self, app: &str, queue: &str) -> Done;

    /// Changes the priority of an application.
    fn set_priority(&mut self, app: &str, priority: i32) -> Done;

    /// Asks for another size of a container.
    fn resize(&mut self, resize: &Resize) -> Done;

    /// Creates a queue as a submission to it would.
    fn create_queue(&mut self, path: &str) -> Done;

    /// Runs the preemption monitor once.
    fn preempt_tick(&mut self) -> Done;

    /// Time passes.
    fn advance(&mut self, ms: u64) -> Done;

    /// Sets the state of a queue directly.
    fn queue_state(&mut self, queue: &str, state: State) -> Done;

    /// The cluster's maximum allocation follows the largest node from now on.
    fn dynamic_max_allocation(&mut self) -> Done;

    /// Runs the multi-node sorter.
    fn resort_nodes(&mut self) -> Done;

    /// A fact of a queue in a partition (empty for the default one); [`Actual::Nothing`] for a
    /// queue that is not there.
    fn queue(&mut self, path: &str, label: &str, key: QueueKey) -> Done<Actual>;

    /// A fact of an application; of all partitions without a label.
    fn app(&mut self, app: &str, label: Option<&str>, key: AppKey) -> Done<Actual>;

    /// A fact of a node.
    fn node(&mut self, node: &str, key: NodeKey) -> Done<Actual>;

    /// A fact of a user in a queue; of all partitions without a label.
    fn user(&mut self, queue: &str, user: &str, label: Option<&str>, key: UserKey) -> Done<Actual>;

    /// A fact of the whole.
    fn whole(&mut self, key: WholeKey) -> Done<Actual>;
}

/// Facts of the whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WholeKey {
    /// What the latest heartbeat did, as text.
    LastAssignment,
    /// Maximum allocation of the cluster.
    MaxAllocation,
    /// Capacity warnings, each as `TYPE queue`.
    Warnings,
    /// Order of the multi-node sorter.
    NodeOrder,
    /// Killable containers by queue.
    Killable,
    /// Killable containers by application.
    KillableApps,
    /// Containers marked now.
    ToPreempt,
    /// By application.
    ToPreemptApps,
    /// By node.
    ToPreemptNodes,
}
