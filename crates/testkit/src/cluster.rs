//! `Cluster`: a fluent scenario around one RM core, with a perfect network and store.
//! May touch: the core's public face only.
//! Must not: grow overloads; one builder with defaults.

use std::collections::BTreeMap;

use rm_core::{
    Action, CallId, Effect, Event, Reject, Reply, Rm,
    effect::{Allocated, Grant, NodeAction, Note},
    event::{AdminRequest, AmRequest, ClientRequest, NodeRequest, Submission},
    view::AppReport,
};
use yarn_types::{ApplicationAttemptId, ApplicationId, ContainerId, FinalStatus, Millis, Resource};

use crate::{
    conf::{boot, resource, settings},
    laws,
    model_master::ModelMaster,
    model_node::{ModelNode, gpu_device},
};

/// A cluster in one process. Every event is followed by the core's own check.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The core.
    pub rm: Rm,
    /// Time now.
    pub now: Millis,
    /// Nodes, in the order added; called n1, n2, ….
    pub nodes: Vec<ModelNode>,
    /// Masters of every attempt that was launched.
    pub masters: BTreeMap<ApplicationAttemptId, ModelMaster>,
    /// Applications by name.
    pub apps: BTreeMap<String, ApplicationId>,
    /// Records wait for [`Self::store_now`] instead of lasting at once.
    pub store_held: bool,
    /// Launches wait for [`Self::launch_now`].
    pub launches_held: bool,
    /// Every effect that was carried out, in order.
    pub log: Vec<Action>,
    settings: BTreeMap<String, String>,
    shrunk: bool,
    seq: u64,
    held_effects: Vec<Effect>,
    held_launches: Vec<(ApplicationAttemptId, Grant)>,
    replies: BTreeMap<CallId, Result<Reply, Reject>>,
    last_call: u64,
    current: String,
}

impl Default for Cluster {
    fn default() -> Self {
        Self::new()
    }
}

impl Cluster {
    /// A cluster with one queue, `default`, and no nodes.
    pub fn new() -> Self {
        Self::with(settings("default:100"))
    }

    fn with(settings: BTreeMap<String, String>) -> Self {
        Self {
            rm: Rm::new(boot(&settings)),
            now: Millis(0),
            nodes: Vec::new(),
            masters: BTreeMap::new(),
            apps: BTreeMap::new(),
            store_held: false,
            launches_held: false,
            log: Vec::new(),
            settings,
            shrunk: false,
            seq: 0,
            held_effects: Vec::new(),
            held_launches: Vec::new(),
            replies: BTreeMap::new(),
            last_call: 0,
            current: String::new(),
        }
    }

    /// The same with other queues, e.g. `a:60 b:40`. Before nodes and applications.
    #[must_use]
    pub fn queues(self, queues: &str) -> Self {
        assert!(self.nodes.is_empty(), "queues come before nodes");
        let mut table = settings(queues);
        table.extend(
            self.settings
                .into_iter()
                .filter(|(k, _)| !k.contains("capacity.root.")),
        );
        Self::with(table)
    }

    /// The same with one setting changed. Before nodes and applications.
    #[must_use]
    pub fn set(mut self, key: &str, value: &str) -> Self {
        assert!(self.nodes.is_empty(), "settings come before nodes");
        self.settings.insert(key.to_owned(), value.to_owned());
        Self::with(self.settings)
    }

    /// `count` more nodes of `size`, registered.
    #[must_use]
    pub fn nodes(mut self, count: usize, size: &str) -> Self {
        for _ in 0..count {
            let host = format!("n{}", self.nodes.len() + 1);
            self.nodes.push(ModelNode::new(&host, resource(size)));
            self.register(self.nodes.len() - 1);
        }
        self
    }

    /// `count` more nodes of `size` with `cards` GPUs each, whose lists they send.
    #[must_use]
    pub fn gpu_nodes(mut self, count: usize, size: &str, cards: u32) -> Self {
        for _ in 0..count {
            let host = format!("n{}", self.nodes.len() + 1);
            let cards = (0..cards).map(|n| gpu_device(&host, n)).collect();
            self.nodes
                .push(ModelNode::new(&host, resource(size)).with_gpus(cards));
            self.register(self.nodes.len() - 1);
        }
        self
    }

    /// An application called `name` in the first queue that takes it, driven until its master has
    /// registered, if it gets that far.
    #[must_use]
    pub fn app(self, name: &str) -> Self {
        self.app_in(name, "default")
    }

    /// [`Self::app`] in `queue`.
    #[must_use]
    pub fn app_in(mut self, name: &str, queue: &str) -> Self {
        let submission = self.submission(queue);
        self.submit(name, submission);
        self
    }

    /// The current application asks for `count` more containers of `size`.
    #[must_use]
    pub fn ask(mut self, count: i32, size: &str) -> Self {
        let size = resource(size);
        self.master().ask(count, size);
        self
    }

    /// `rounds` rounds of one second: every node sends a heartbeat, every master calls, the clock
    /// ticks.
    #[must_use]
    pub fn run(mut self, rounds: usize) -> Self {
        for _ in 0..rounds {
            self.round();
        }
        self
    }

    /// The current application's containers, its master's left out, as `n1:2 n2:1`.
    pub fn placement(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let id = self.apps[&self.current];
        let master = self.masters.values().rfind(|m| m.attempt.app == id);
        for grant in master.iter().flat_map(|m| m.held.values()) {
            *counts.entry(&*grant.node.host).or_default() += 1;
        }
        let words: Vec<String> = counts
            .iter()
            .map(|(host, n)| format!("{host}:{n}"))
            .collect();
        words.join(" ")
    }

    /// Asserts [`Self::placement`].
    #[must_use]
    #[track_caller]
    pub fn expect(self, placement: &str) -> Self {
        assert_eq!(
            self.placement(),
            placement,
            "containers of '{}'",
            self.current
        );
        self
    }

    /// What `submitApplication` needs at least, for `queue`.
    pub fn submission(&mut self, queue: &str) -> Submission {
        let reply = self.client(ClientRequest::NewApplication);
        let Ok(Reply::NewApplication { app, .. }) = reply else {
            panic!("getNewApplication answered {reply:?}")
        };
        Submission {
            lifetime_s: -1,
            app,
            user: "alice".into(),
            groups: Vec::new(),
            tag_user: None,
            acls: std::sync::Arc::default(),
            name: "test".to_owned(),
            queue: queue.to_owned(),
            application_type: "YARN".to_owned(),
            tags: Vec::new(),
            priority: None,
            unmanaged: false,
            max_attempts: 0,
            attempt_failures_validity_ms: None,
            keep_containers: false,
            am_resource: Resource::new(1024, 1),
            am_label: None,
            label: None,
            unknown_resource: None,
        }
    }

    /// Submits and drives the launch.
    pub fn submit(&mut self, name: &str, submission: Submission) {
        self.apps.insert(name.to_owned(), submission.app);
        name.clone_into(&mut self.current);
        let reply = self.client(ClientRequest::Submit(Box::new(submission)));
        assert!(
            matches!(reply, Ok(Reply::Done)),
            "submitApplication answered {reply:?}"
        );
    }

    /// Makes `name` the current application.
    #[must_use]
    pub fn with_app(mut self, name: &str) -> Self {
        name.clone_into(&mut self.current);
        self
    }

    /// Id of the current application.
    pub fn id(&self) -> ApplicationId {
        self.apps[&self.current]
    }

    /// Report of the current application.
    pub fn report(&self) -> AppReport {
        self.rm.app(self.id()).expect("the application is known")
    }

    /// Id of the current application's current attempt.
    pub fn attempt(&self) -> ApplicationAttemptId {
        self.report()
            .current_attempt
            .expect("the application has an attempt")
    }

    /// Master of the current application's current attempt.
    pub fn master(&mut self) -> &mut ModelMaster {
        let attempt = self.attempt();
        self.masters
            .get_mut(&attempt)
            .expect("the attempt was launched")
    }

    /// A call of a client.
    pub fn client(&mut self, request: ClientRequest) -> Result<Reply, Reject> {
        let call = self.call();
        self.event(Event::Client { call, request });
        self.replies.remove(&call).unwrap_or(Ok(Reply::Done))
    }

    /// A call of an administrator.
    pub fn admin(&mut self, request: AdminRequest) -> Result<Reply, Reject> {
        let call = self.call();
        // A node may hold more than it offers from now on.
        self.shrunk |= matches!(request, AdminRequest::UpdateNodeResource(_));
        self.event(Event::Admin { call, request });
        self.replies.remove(&call).expect("every call is answered")
    }

    /// A call of the current application's master.
    pub fn am(&mut self, request: AmRequest) -> Result<Reply, Reject> {
        let attempt = self.attempt();
        self.am_of(attempt, request)
    }

    /// A call of some attempt's master.
    pub fn am_of(
        &mut self,
        attempt: ApplicationAttemptId,
        request: AmRequest,
    ) -> Result<Reply, Reject> {
        let call = self.call();
        self.event(Event::Am {
            call,
            attempt,
            request,
        });
        self.replies.remove(&call).expect("every call is answered")
    }

    /// A call of a node.
    pub fn node(&mut self, request: NodeRequest) -> Reply {
        let call = self.call();
        self.event(Event::Node { call, request });
        let reply = self.replies.remove(&call).expect("every call is answered");
        reply.expect("nodes are answered, not refused")
    }

    /// Node number `at` (from 0) registers.
    pub fn register(&mut self, at: usize) {
        let registration = self.nodes[at].registration();
        let reply = self.node(NodeRequest::Register(Box::new(registration)));
        let Reply::NodeRegistered {
            action, gpu_seq, ..
        } = reply
        else {
            panic!("registerNodeManager answered {reply:?}")
        };
        self.nodes[at].on_registered(action, gpu_seq);
    }

    /// Node number `at` (from 0) sends a heartbeat.
    pub fn heartbeat(&mut self, at: usize) {
        let heartbeat = self.nodes[at].heartbeat();
        let reply = self.node(NodeRequest::Heartbeat(Box::new(heartbeat)));
        let Reply::Heartbeat(reply) = reply else {
            panic!("nodeHeartbeat answered {reply:?}")
        };
        if reply.action == NodeAction::Resync {
            self.nodes[at].registered = false;
        } else {
            self.nodes[at].on_heartbeat(&reply);
        }
    }

    /// The current application's master calls `allocate`; its answer.
    pub fn allocate(&mut self) -> Allocated {
        let attempt = self.attempt();
        self.allocate_of(attempt).expect("allocate is answered")
    }

    fn allocate_of(&mut self, attempt: ApplicationAttemptId) -> Result<Allocated, Reject> {
        let request = AmRequest::Allocate(Box::new(self.masters[&attempt].allocate()));
        let reply = self.am_of(attempt, request)?;
        let Reply::Allocated(allocated) = reply else {
            panic!("allocate answered {reply:?}")
        };
        if let Some(master) = self.masters.get_mut(&attempt) {
            master.on_allocated(&allocated);
            assert_eq!(master.complaints, Vec::<String>::new());
        }
        for grant in &allocated.grants {
            self.start(grant);
        }
        Ok(*allocated)
    }

    fn start(&mut self, grant: &Grant) {
        let node = self.nodes.iter_mut().find(|n| n.id == grant.node);
        node.expect("grants are on nodes of the cluster").start(
            grant.container,
            grant.resource,
            &grant.gpus,
        );
    }

    /// The current application's master unregisters.
    pub fn finish(&mut self, status: FinalStatus, diagnostics: &str) -> Result<Reply, Reject> {
        self.am(AmRequest::Finish {
            status,
            diagnostics: diagnostics.to_owned(),
            tracking_url: String::new(),
        })
    }

    /// A container's process ends on whatever node has it; the node tells with its next heartbeat.
    pub fn exit(&mut self, container: ContainerId, exit_status: i32, diagnostics: &str) {
        for node in &mut self.nodes {
            node.end(container, exit_status, diagnostics);
        }
    }

    /// Container of the current attempt's master.
    pub fn am_container(&self) -> ContainerId {
        let report = self
            .rm
            .attempt(self.attempt())
            .expect("the attempt is known");
        report.am_container.expect("the attempt has a container")
    }

    /// One second passes: heartbeats, allocates, a tick.
    pub fn round(&mut self) {
        self.now = self.now.plus(1000);
        for at in 0..self.nodes.len() {
            if self.nodes[at].stopped {
                continue;
            }
            if !self.nodes[at].registered {
                self.register(at);
            }
            self.heartbeat(at);
        }
        let live: Vec<ApplicationAttemptId> = self
            .masters
            .values()
            .filter(|m| m.registered)
            .map(|m| m.attempt)
            .collect();
        for attempt in live {
            if self.allocate_of(attempt).is_err()
                && let Some(master) = self.masters.get_mut(&attempt)
            {
                master.registered = false;
            }
        }
        self.tick();
    }

    /// The driver's tick, when one is due.
    pub fn tick(&mut self) {
        if self.rm.next_wake().is_some_and(|at| at <= self.now) {
            self.event(Event::Tick);
        }
    }

    /// Time passes without anybody being heard of.
    pub fn silence(&mut self, ms: u64) {
        let end = self.now.plus(ms);
        // Ticks come when due: a late one would be taken for an absence of the RM.
        while let Some(at) = self.rm.next_wake().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.event(Event::Tick);
        }
        self.now = end;
    }

    /// Everything given to the store lasts.
    pub fn store_now(&mut self) {
        let seq = self.seq;
        self.event(Event::Stored { seq });
        let held = std::mem::take(&mut self.held_effects);
        for effect in held {
            self.carry_out(effect, seq);
        }
    }

    /// The launcher succeeds with everything it was given.
    pub fn launch_now(&mut self) {
        for (attempt, grant) in std::mem::take(&mut self.held_launches) {
            self.launch(attempt, &grant);
        }
    }

    fn launch(&mut self, attempt: ApplicationAttemptId, grant: &Grant) {
        self.start(grant);
        self.event(Event::AmLaunched { attempt });
        self.register_master(attempt);
    }

    /// The master of `attempt` registers.
    pub fn register_master(&mut self, attempt: ApplicationAttemptId) {
        let reply = self.am_of(
            attempt,
            AmRequest::Register {
                host: "am-host".to_owned(),
                rpc_port: 4711,
                tracking_url: "http://am-host:4040".to_owned(),
            },
        );
        let mut master = ModelMaster::new(attempt);
        master.registered = reply.is_ok();
        self.masters.insert(attempt, master);
    }

    fn call(&mut self) -> CallId {
        self.last_call += 1;
        CallId(self.last_call)
    }

    /// Applies one event as the driver does, carries out the effects and checks the core.
    pub fn event(&mut self, event: Event) {
        let mut effects = Vec::new();
        self.rm.apply(self.now, event, &mut effects);
        while self.rm.pass(self.now, &mut effects) {}
        self.rm.check().expect("the core's invariants");
        if !self.shrunk {
            laws::never_over_allocates(&self.rm).expect("law");
        }
        let mut stored = false;
        let mut launches = Vec::new();
        for effect in effects {
            match &effect.action {
                Action::Store { seq, .. } => {
                    self.seq = *seq;
                    stored = true;
                }
                Action::LaunchAm { attempt, grant, .. } => {
                    launches.push((*attempt, (**grant).clone()));
                }
                _ => {}
            }
            let lasting = if self.store_held { 0 } else { u64::MAX };
            self.carry_out(effect, lasting);
        }
        if stored && !self.store_held {
            self.store_now();
        }
        for (attempt, grant) in launches {
            if self.launches_held {
                self.held_launches.push((attempt, grant));
            } else {
                self.launch(attempt, &grant);
            }
        }
    }

    fn carry_out(&mut self, effect: Effect, lasting: u64) {
        if effect.when.is_some_and(|seq| seq > lasting) {
            self.held_effects.push(effect);
            return;
        }
        if let Action::Reply { call, reply } = &effect.action {
            let reply = reply.clone().map(|reply| *reply);
            let again = self.replies.insert(*call, reply);
            assert!(again.is_none(), "{call:?} was answered twice");
        }
        self.log.push(effect.action);
    }

    /// The answer to `call`, when it has come.
    pub fn answer(&mut self, call: CallId) -> Option<Result<Reply, Reject>> {
        self.replies.remove(&call)
    }

    /// Number of effects in the log for which `f` is true.
    pub fn count(&self, f: impl Fn(&Action) -> bool) -> usize {
        self.log.iter().filter(|action| f(action)).count()
    }

    /// Containers granted so far, by the notes to the operator.
    pub fn granted(&self) -> usize {
        self.count(|action| matches!(action, Action::Note(Note::Granted { .. })))
    }
}
