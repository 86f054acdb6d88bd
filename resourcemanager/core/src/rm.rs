//! `Rm`: the whole ResourceManager as one value; `apply` takes an event, `pass` schedules.
//! May touch: everything in this crate.
//! Must not: read a clock or draw a random number (both come with events).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use yarn_types::{ApplicationId, ContainerId, Lookup, Millis, NodeId, Resource, ResourceTypes};

use crate::{
    app::App,
    attempt::Waiting,
    conf::{Calculator, ConfProblem, Pacing, SchedConf},
    conf_life::LifeConf,
    container::{Container, EndCause, Ended},
    counters::QueueCounters,
    effect::{Action, Effect, Reply},
    event::{Decommission, Event, HostLists},
    health::Health,
    labels::NodeLabels,
    liveness::{Deadlines, Watched},
    node::{Node, NodeEvent},
    sched::{AppIdx, ContainerIdx, NodeIdx, Sched, Told},
    store::{After, StoreQueue},
};

/// A Tick this late, in milliseconds, means that the RM itself was away: nobody's silence counts.
pub const LATE_TICK_MS: u64 = 5_000;
/// Passes that an allocate's answer waits for, while passes stop at their budget.
const PASSES_HELD_MAX: u32 = 4;

/// What an RM is made of.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Boot {
    /// Start of this RM, wall milliseconds: part of the ids it makes.
    pub cluster_timestamp: i64,
    /// Number of starts with the same store, from 0: part of the container ids it makes.
    pub epoch: u32,
    /// Seed of tie-breaks. Nothing draws from it yet: every order is by index.
    pub seed: u64,
    /// Settings.
    pub conf: RmConf,
}

/// Settings of the core.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct RmConf {
    /// Of the scheduler.
    pub sched: SchedConf,
    /// Of the life cycles.
    pub life: LifeConf,
}

impl RmConf {
    /// Reads both parts.
    ///
    /// # Errors
    /// Every setting that cannot be used.
    pub fn from_lookup(
        conf: &dyn Lookup,
        types: ResourceTypes,
        calculator: Calculator,
    ) -> Result<Self, Vec<ConfProblem>> {
        let sched = SchedConf::from_lookup(conf, types, calculator);
        let life = LifeConf::from_lookup(conf);
        match (sched, life) {
            (Ok(sched), Ok(life)) => Ok(Self { sched, life }),
            (Err(mut problems), Err(more)) => {
                problems.extend(more);
                Err(problems)
            }
            (Err(problems), _) | (_, Err(problems)) => Err(problems),
        }
    }
}

/// The ResourceManager's state. A clone is a fork: it goes its own way with the same past.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Rm {
    pub(crate) cluster_timestamp: i64,
    pub(crate) epoch: u32,
    pub(crate) conf: LifeConf,
    pub(crate) sched: Sched,
    pub(crate) now: Millis,
    /// Wall milliseconds minus `now`.
    pub(crate) wall_offset_ms: i64,
    /// Events applied.
    pub(crate) events: u64,
    pub(crate) last_app: u32,
    pub(crate) next_app: u32,
    pub(crate) store: StoreQueue,
    /// In order of submission.
    pub(crate) apps: BTreeMap<AppIdx, App>,
    pub(crate) app_by_id: BTreeMap<ApplicationId, AppIdx>,
    /// Ended applications, oldest first.
    pub(crate) completed: VecDeque<AppIdx>,
    /// In order of registration, gone ones included.
    pub(crate) nodes: Vec<Node>,
    pub(crate) node_by_id: BTreeMap<NodeId, NodeIdx>,
    pub(crate) counters: QueueCounters,
    pub(crate) health: Health,
    pub(crate) hosts: HostLists,
    pub(crate) labels: NodeLabels,
    /// What dynamic-resources.xml says, by node.
    pub(crate) dynamic: BTreeMap<NodeId, Resource>,
    /// Live containers.
    pub(crate) containers: BTreeMap<ContainerId, Container>,
    /// Their ids by their accounts.
    pub(crate) by_account: BTreeMap<ContainerIdx, ContainerId>,
    /// Accounts that the scheduler closed itself, until their container ends.
    pub(crate) released: BTreeSet<ContainerIdx>,
    pub(crate) deadlines: Deadlines,
    /// Allocates to answer after the pass, in order of arrival.
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) passes_held: u32,
    /// A bug planted by the simulation.
    #[cfg(feature = "mutants")]
    #[serde(skip)]
    pub(crate) mutant: Option<crate::mutant::Mutant>,
}

impl Rm {
    /// An RM without nodes and applications.
    pub fn new(boot: Boot) -> Self {
        let mut rm = Self {
            cluster_timestamp: boot.cluster_timestamp,
            epoch: boot.epoch,
            sched: Sched::new(boot.conf.sched),
            conf: boot.conf.life,
            now: Millis::default(),
            wall_offset_ms: boot.cluster_timestamp,
            events: 0,
            last_app: 0,
            next_app: 0,
            store: StoreQueue::default(),
            apps: BTreeMap::new(),
            app_by_id: BTreeMap::new(),
            completed: VecDeque::new(),
            nodes: Vec::new(),
            node_by_id: BTreeMap::new(),
            counters: QueueCounters::default(),
            health: Health::default(),
            hosts: HostLists::default(),
            labels: NodeLabels::default(),
            dynamic: BTreeMap::new(),
            containers: BTreeMap::new(),
            by_account: BTreeMap::new(),
            released: BTreeSet::new(),
            deadlines: Deadlines::default(),
            waiting: Vec::new(),
            passes_held: 0,
            #[cfg(feature = "mutants")]
            mutant: None,
        };
        rm.follow_monitors();
        rm
    }

    /// Takes one event. No sequence of events panics, whatever ids it names; what is not legal is
    /// refused or ignored. `now` never goes back: an earlier one is read as the last.
    pub fn apply(&mut self, now: Millis, event: Event, effects: &mut Vec<Effect>) {
        self.now = self.now.max(now);
        self.events += 1;
        match event {
            Event::Tick => self.on_tick(effects),
            Event::WallClock { wall_ms } => {
                let now = i64::try_from(self.now.0).unwrap_or(i64::MAX);
                self.wall_offset_ms = wall_ms.saturating_sub(now);
            }
            Event::Stored { seq } => self.on_stored(seq, effects),
            Event::NmKeyActivated => {
                for attempt in self
                    .apps
                    .values_mut()
                    .filter_map(|app| app.attempts.last_mut())
                {
                    attempt.nm_tokens.clear();
                }
            }
            Event::Reload { call, conf } => {
                let reply = self.sched.reload(*conf).map(|()| Box::new(Reply::Done));
                self.follow_monitors();
                effects.push(Effect::now(Action::Reply { call, reply }));
            }
            Event::Client { call, request } => self.on_client(call, request, effects),
            Event::Am {
                call,
                attempt,
                request,
            } => self.on_am(call, attempt, request, effects),
            Event::Node { call, request } => self.on_node(call, request, effects),
            Event::AmLaunched { attempt } => self.on_am_launched(attempt),
            Event::AmLaunchFailed {
                attempt,
                diagnostics,
            } => {
                self.on_am_launch_failed(attempt, diagnostics, effects);
            }
            Event::Hosts(lists) => self.refresh_nodes(lists, Decommission::Normal, effects),
            Event::Labels { labels, nodes } => self.recover_labels(&labels, nodes),
            Event::DynamicResources(options) => self.remember_dynamic(options),
            Event::Admin { call, request } => self.on_admin(call, request, effects),
        }
    }

    /// Schedules, then answers the allocates that came since the last pass. True: the budget of
    /// the pass is used up and there is more to place; serve the inbox and call again.
    pub fn pass(&mut self, now: Millis, effects: &mut Vec<Effect>) -> bool {
        self.now = self.now.max(now);
        let more = self.sched.pacing() == Pacing::Event && self.sched.pass(self.now);
        self.on_told(effects);
        if self.sched.pacing() == Pacing::Event {
            self.scheduler_ran(false);
        }
        if more && self.passes_held < PASSES_HELD_MAX && !self.waiting.is_empty() {
            self.passes_held += 1;
        } else {
            self.passes_held = 0;
            self.answer_waiting(effects);
        }
        more
    }

    /// With heartbeat pacing a node gets containers in its turn; else it has them already.
    pub(crate) fn node_turn(&mut self, node: NodeIdx, out: &mut Vec<Effect>) {
        if self.sched.pacing() == Pacing::Heartbeat {
            self.sched.node_update(self.now, node);
            self.on_told(out);
            self.scheduler_ran(true);
        } else {
            self.scheduler_looked();
        }
    }

    /// What the scheduler did since it was last asked.
    pub(crate) fn on_told(&mut self, out: &mut Vec<Effect>) {
        for told in self.sched.take_told() {
            match told {
                Told::Granted(granted) => self.on_granted(&granted, out),
                Told::Preempt { container, .. } => self.on_preempt(container, out),
                Told::Kill {
                    container,
                    released,
                    ..
                } => self.on_preempted(container, released, out),
                Told::Resized {
                    container,
                    resource,
                    ..
                } => self.on_grown(container, resource),
                Told::Runnable(_) => {}
            }
        }
    }

    /// When the next Tick is due: the earliest deadline or locality wait.
    pub fn next_wake(&self) -> Option<Millis> {
        match (self.deadlines.next(), self.sched.next_wake(self.now)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The scheduler, for reports.
    pub fn sched(&self) -> &Sched {
        &self.sched
    }

    /// The life cycles' settings.
    pub fn life_conf(&self) -> &LifeConf {
        &self.conf
    }

    /// Wall milliseconds now.
    pub(crate) fn wall_now(&self) -> i64 {
        self.wall_at(self.now)
    }

    pub(crate) fn wall_at(&self, at: Millis) -> i64 {
        i64::try_from(at.0)
            .unwrap_or(i64::MAX)
            .saturating_add(self.wall_offset_ms)
    }

    fn on_tick(&mut self, out: &mut Vec<Effect>) {
        if let Some(due) = self.deadlines.next() {
            let late = self.now.since(due);
            if late > LATE_TICK_MS {
                // Beyond the lateness itself everybody gets a moment to be heard.
                self.deadlines.shift(late + LATE_TICK_MS);
            }
        }
        while let Some(who) = self.deadlines.expired(self.now) {
            match who {
                Watched::Master(attempt) => self.on_master_expired(attempt, out),
                Watched::Node(node) => self.node_leaves(node, NodeEvent::Expire, "expired", out),
                Watched::Decommission(node) => self.on_decommission_timeout(node, out),
                Watched::Overcommit(node) => self.end_overcommit(node, out),
                Watched::Lifetime(id) => self.on_lifetime_over(id, out),
                Watched::Monitor(monitor) => self.on_monitor(monitor, out),
                Watched::Container(id) => {
                    self.end_container(id, Ended::by_rm(EndCause::Expired), out);
                }
                Watched::Increase(id) => self.on_increase_expired(id),
            }
        }
    }

    fn on_stored(&mut self, seq: u64, out: &mut Vec<Effect>) {
        self.store.stored(seq);
        while let Some(after) = self.store.take_stored() {
            match after {
                After::AppSaved(app) => self.on_app_saved(app, out),
                After::AttemptSaved(attempt) => self.on_attempt_saved(attempt, out),
                After::AttemptEndSaved(attempt) => self.on_attempt_end_saved(attempt, out),
                After::AppEndSaved(app) => self.on_app_end_saved(app, out),
                After::ChangeSaved => {}
            }
        }
    }
}
