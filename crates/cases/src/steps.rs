//! Scenario files: cluster, configuration and steps.
//! May touch: text of case files.
//! Must not: run anything.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{facts::Expect, value::Res};

/// `cluster`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Node labels of the cluster.
    #[serde(default)]
    pub labels: Vec<Label>,
    /// Nodes, registered before the first step.
    pub nodes: Vec<Node>,
}

/// A node label.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Name.
    pub name: String,
    /// Whether only asks for it may use its nodes.
    #[serde(default = "yes")]
    pub exclusive: bool,
}

fn yes() -> bool {
    true
}

/// A node.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Host name.
    pub name: String,
    /// Total.
    pub res: Res,
    /// Rack; `/default-rack` if absent.
    pub rack: Option<String>,
    /// Label; none if absent.
    pub label: Option<String>,
}

/// Values that the source test injected.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stubs {
    /// Number of active users by queue.
    pub active_users: BTreeMap<String, i64>,
}

/// A refusal that is expected.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// What refuses.
    pub kind: RefusalKind,
    /// Part of the text.
    pub message: Option<String>,
}

/// What refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// Loading or refreshing the configuration.
    Config,
    /// Moving an application.
    Move,
    /// Creating a queue.
    Autocreate,
    /// An allocate call.
    Ask,
}

/// `submit`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// Name of the application in the case.
    pub app: String,
    /// Full path.
    pub queue: String,
    /// Submitter.
    pub user: String,
    /// Size of the AM; 0 for an unmanaged one.
    pub am: Res,
    /// Priority asked.
    pub priority: Option<i32>,
    /// Label that the AM asks for.
    pub am_label: Option<String>,
    /// State that it must have at once.
    pub state: Option<String>,
    /// Part of the diagnostics.
    pub message: Option<String>,
}

/// `ask`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Whose.
    pub app: String,
    /// Priority.
    pub priority: i32,
    /// Size of each container.
    pub size: Res,
    /// Containers wanted anywhere, absolute.
    pub count: i32,
    /// Label.
    pub label: Option<String>,
    /// Refusal expected.
    pub error: Option<Refusal>,
}

/// `ask_list`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskList {
    /// Whose.
    pub app: String,
    /// Priority.
    pub priority: i32,
    /// Size of each container.
    pub size: Res,
    /// Label of all of them; none: as the application has it. Stock YARN refuses one beside named
    /// places.
    pub label: Option<String>,
    /// By place.
    pub requests: Vec<Place>,
}

/// One place of an `ask_list`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Host, rack or `*`.
    pub at: String,
    /// Containers wanted there, absolute.
    pub count: i32,
    /// Whether wider places will do.
    pub relax: bool,
}

/// Which containers end.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Which {
    /// That many of the newest task containers.
    Newest(usize),
    /// `all` or `tasks`.
    Named(WhichName),
}

/// `all` or `tasks`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhichName {
    /// Every container.
    All,
    /// All but the AM's.
    Tasks,
}

/// `complete`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Complete {
    /// Whose.
    pub app: String,
    /// Which.
    pub containers: Option<Which>,
    /// Numbers within the application; 1 is the AM's.
    #[serde(default)]
    pub ids: Vec<u64>,
}

/// `resize`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resize {
    /// Whose.
    pub app: String,
    /// Number within the application; 1 is the AM's.
    pub container: u64,
    /// Direction.
    #[serde(rename = "type")]
    pub kind: ResizeKind,
    /// Size wanted.
    pub to: Res,
}

/// Direction of a resize.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub enum ResizeKind {
    /// Grow.
    #[serde(rename = "INCREASE_RESOURCE")]
    Increase,
    /// Shrink.
    #[serde(rename = "DECREASE_RESOURCE")]
    Decrease,
}

/// State of a queue that is set directly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// Takes applications.
    Running,
    /// Takes none.
    Stopped,
}

/// `load`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// Refusal expected.
    pub error: Option<Refusal>,
}

/// A step without fields.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bare {}

/// One step.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "fields and steps are named as in the format")]
pub enum Step {
    /// Starts the scheduler.
    Load(Option<Load>),
    /// Submits an application.
    Submit(Submit),
    /// Heartbeats until the AM's container exists; launches and registers it.
    LaunchAm { app: String, node: String },
    /// Asks for containers anywhere.
    Ask(Ask),
    /// Asks for containers at places.
    AskList(AskList),
    /// Changes the blacklist.
    Blacklist {
        app: String,
        #[serde(default)]
        add: Vec<String>,
        #[serde(default)]
        remove: Vec<String>,
    },
    /// Heartbeats of a node.
    Heartbeat { node: String, times: Option<u32> },
    /// Steps that repeat.
    Repeat { times: u32, steps: Vec<Step> },
    /// Containers end.
    Complete(Complete),
    /// An application ends.
    Finish { app: String },
    /// Changes the configuration and refreshes the queues.
    Refresh {
        set: BTreeMap<String, String>,
        #[serde(default)]
        unset: Vec<String>,
        error: Option<Refusal>,
    },
    /// A node registers.
    AddNode(Node),
    /// A node is lost.
    RemoveNode { node: String },
    /// Replaces a node's label.
    SetLabel { node: String, label: String },
    /// Moves an application.
    Move {
        app: String,
        queue: String,
        error: Option<Refusal>,
    },
    /// Changes the priority of an application.
    SetPriority { app: String, priority: i32 },
    /// Asks for another size of a container.
    Resize(Resize),
    /// Creates a queue as a submission to it would.
    CreateQueue {
        path: String,
        error: Option<Refusal>,
    },
    /// Runs the preemption monitor once.
    PreemptTick(Option<Bare>),
    /// Time passes.
    Advance { ms: u64 },
    /// Sets the state of a queue directly.
    QueueState { queue: String, state: State },
    /// The cluster's maximum allocation follows the largest node from now on.
    DynamicMaxAllocation(Option<Bare>),
    /// Runs the multi-node sorter.
    ResortNodes(Option<Bare>),
    /// Compares.
    Expect(Box<Expect>),
}

impl Step {
    /// Its name in case files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Load(_) => "load",
            Self::Submit(_) => "submit",
            Self::LaunchAm { .. } => "launch_am",
            Self::Ask(_) => "ask",
            Self::AskList(_) => "ask_list",
            Self::Blacklist { .. } => "blacklist",
            Self::Heartbeat { .. } => "heartbeat",
            Self::Repeat { .. } => "repeat",
            Self::Complete(_) => "complete",
            Self::Finish { .. } => "finish",
            Self::Refresh { .. } => "refresh",
            Self::AddNode(_) => "add_node",
            Self::RemoveNode { .. } => "remove_node",
            Self::SetLabel { .. } => "set_label",
            Self::Move { .. } => "move",
            Self::SetPriority { .. } => "set_priority",
            Self::Resize(_) => "resize",
            Self::CreateQueue { .. } => "create_queue",
            Self::PreemptTick(_) => "preempt_tick",
            Self::Advance { .. } => "advance",
            Self::QueueState { .. } => "queue_state",
            Self::DynamicMaxAllocation(_) => "dynamic_max_allocation",
            Self::ResortNodes(_) => "resort_nodes",
            Self::Expect(_) => "expect",
        }
    }
}
