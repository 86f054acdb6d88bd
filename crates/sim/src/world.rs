//! `World`: the core, its driver, the network, nodes and masters, in steps of 50 milliseconds.
//! May touch: everything of a run.
//! Must not: read clocks.

use std::collections::{BTreeMap, BTreeSet};

use rm_core::{
    Action, CallId, Effect, Event, Reject, Reply, Rm,
    effect::{Grant, Note, Record},
    event::{ClientRequest, Submission},
};
use testkit::{ModelNode, boot, conf::settings, laws, resource};
use yarn_types::{
    ApplicationAttemptId, ApplicationId, ApplicationState, FinalStatus, Millis, NodeState, Resource,
};

use crate::{
    Failure, Mutant, Options, Report, Rng,
    master::SimMaster,
    node::{CALL_TIMEOUT_MS, SimNode},
};

mod answers;
mod gpus;
mod judge;
mod tape;
mod town;

const STEP_MS: u64 = 50;
/// What the core gives everybody after a pause of its own.
const LATE_TICK_MS: u64 = 6_000;

/// Who made a call.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Caller {
    Client(ApplicationId),
    Admin(&'static str),
    Node(usize),
    Master(ApplicationAttemptId),
}

/// What is under way.
enum Message {
    Event(Event),
    Reply(Caller, CallId, Result<Reply, Reject>),
}

pub(crate) struct World {
    seed: u64,
    options: Options,
    rng: Rng,
    now_ms: u64,
    rm: Rm,
    nodes: Vec<SimNode>,
    masters: BTreeMap<ApplicationAttemptId, SimMaster>,
    /// Applications to submit, with when to (once more).
    submissions: BTreeMap<ApplicationId, (u64, Submission, usize)>,
    submitted: BTreeSet<ApplicationId>,
    messages: BTreeMap<(u64, u64), Message>,
    callers: BTreeMap<CallId, Caller>,
    last_call: u64,
    last_message: u64,
    /// Records in the store, and records that last from some time on.
    stored: u64,
    storing: BTreeMap<u64, u64>,
    records: BTreeMap<u64, Record>,
    held: Vec<Effect>,
    last_answers: BTreeMap<Caller, Reply>,
    paused_until_ms: u64,
    report: Report,
    told: gpus::Told,
    town: town::Town,
    tape: tape::Tape,
}

impl World {
    pub(crate) fn new(seed: u64, options: Options) -> Self {
        let mut table = if options.town {
            town::calm_keys(&options)
        } else {
            settings("default:100")
        };
        for (key, value) in [
            ("yarn.am.liveness-monitor.expiry-interval-ms", "20000"),
            ("yarn.nm.liveness-monitor.expiry-interval-ms", "15000"),
            (
                "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms",
                "30000",
            ),
            ("yarn.resourcemanager.am.max-attempts", "20"),
        ] {
            table.insert(key.to_owned(), value.to_owned());
        }
        let mut rng = Rng::new(seed);
        let node = |at: usize| {
            let host = format!("n{}", at + 1);
            let model = ModelNode::new(&host, resource("8gb 8vc"));
            SimNode::new(match options.gpus {
                0 => model,
                cards => model.with_gpus(gpus::all_cards(&host, cards)),
            })
        };
        let boot = boot(&table);
        let cluster_timestamp = boot.cluster_timestamp;
        let submissions = (1..=options.apps).map(|number| {
            let id = u32::try_from(number).unwrap_or(u32::MAX);
            let id = ApplicationId {
                cluster_timestamp,
                id,
            };
            let at = rng.between(0, options.faulty_ms / 2);
            let want = usize::try_from(rng.between(1, 12)).unwrap_or(1);
            let plain = submission(id);
            let submission = if options.town {
                town::submission(id, plain)
            } else {
                plain
            };
            (id, (at, submission, want))
        });
        let submissions = submissions.collect();
        let mut rm = Rm::new(boot);
        if let Some(mutant) = options.core_mutant {
            rm.plant(mutant);
        }
        Self {
            submissions,
            rm,
            nodes: (0..options.nodes).map(node).collect(),
            seed,
            options,
            rng,
            now_ms: 0,
            masters: BTreeMap::new(),
            submitted: BTreeSet::new(),
            messages: BTreeMap::new(),
            callers: BTreeMap::new(),
            last_call: 0,
            last_message: 0,
            stored: 0,
            storing: BTreeMap::new(),
            records: BTreeMap::new(),
            held: Vec::new(),
            last_answers: BTreeMap::new(),
            paused_until_ms: 0,
            report: Report::default(),
            told: gpus::Told::default(),
            town: town::Town::default(),
            tape: tape::Tape::default(),
        }
    }

    pub(crate) fn run(mut self) -> (Result<Report, Failure>, Vec<u8>) {
        let done = self.run_all();
        let proof = self.prove_tape();
        let done = match (done, proof) {
            (Ok(_), Err(what)) => Err(self.failure(what)),
            (done, _) => done,
        };
        (done, self.tape.into_bytes())
    }

    fn begin(&mut self) -> Result<(), String> {
        self.tape = tape::Tape::begin(&self.rm, self.seed, self.options.mutant)?;
        if self.options.town {
            self.apply(town::first_labels())?;
        }
        Ok(())
    }

    fn run_all(&mut self) -> Result<Report, Failure> {
        self.begin().map_err(|what| self.failure(what))?;
        let end = self.options.faulty_ms + self.options.healing_ms;
        while self.now_ms < end {
            self.now_ms += STEP_MS;
            let step = self.step();
            step.map_err(|what| self.failure(what))?;
            if self.now_ms > self.options.faulty_ms && self.unhealed().is_none() {
                break;
            }
        }
        if let Some(what) = self.unhealed() {
            return Err(self.failure(format!("not healed: {what}")));
        }
        for app in self.rm.apps() {
            self.report.preempted += u64::from(app.preempted_containers);
            match app.final_status {
                FinalStatus::Succeeded => self.report.succeeded += 1,
                _ => self.report.failed += 1,
            }
        }
        if self.options.town {
            self.count_ends();
        }
        self.report.events = self.rm.seq();
        self.report.digest = self.rm.digest();
        Ok(self.report.clone())
    }

    fn failure(&self, what: String) -> Failure {
        Failure {
            seed: self.seed,
            at_ms: self.now_ms,
            what,
        }
    }

    /// What is still wrong, when the faults have stopped.
    fn unhealed(&self) -> Option<String> {
        if let Some((app, _)) = self.submissions.iter().next() {
            return Some(format!("{app} is not submitted"));
        }
        let app = self.rm.apps().into_iter().find(|app| {
            !matches!(
                app.state,
                ApplicationState::Finished | ApplicationState::Failed | ApplicationState::Killed
            ) || app.used_containers > 0
        });
        if let Some(app) = app {
            return Some(format!(
                "{} is {} and holds {:?}",
                app.id, app.state, app.used
            ));
        }
        if let Some(node) = self
            .rm
            .nodes()
            .iter()
            .find(|n| n.state != NodeState::Running)
        {
            return Some(format!("{} is {}", node.id, node.state));
        }
        let left = self.nodes.iter().find(|n| !n.model.containers.is_empty());
        left.map(|n| format!("{} still knows {:?}", n.model.id, n.model.containers.keys()))
            .or_else(|| self.unreturned_device())
    }

    fn faulty(&self) -> bool {
        self.now_ms < self.options.faulty_ms
    }

    fn step(&mut self) -> Result<(), String> {
        self.make_faults();
        self.make_gpu_faults();
        self.make_admin_faults();
        self.maybe_restart()?;
        self.make_calls();
        if self.now_ms < self.paused_until_ms {
            return Ok(());
        }
        // The inbox is drained before a tick.
        while let Some(entry) = self.messages.first_entry() {
            if entry.key().0 > self.now_ms {
                break;
            }
            match entry.remove() {
                Message::Event(event) => self.apply(event)?,
                Message::Reply(caller, call, reply) => self.deliver(&caller, call, &reply)?,
            }
        }
        self.store_step()?;
        if self.rm.next_wake().is_some_and(|at| at.0 <= self.now_ms) {
            self.apply(Event::Tick)?;
        }
        if self.options.town {
            self.keeps_lifetimes()?;
            self.count_decommissioned();
        }
        self.check_holders()?;
        self.check_ledgers_agree()
    }

    fn make_faults(&mut self) {
        if !self.faulty() {
            return;
        }
        let now = self.now_ms;
        if self.options.faults.nodes && self.rng.chance(1, 400) {
            let at = usize::try_from(self.rng.between(0, self.nodes.len() as u64)).unwrap_or(0);
            let until = now + self.rng.between(500, 40_000);
            self.node_dies(at, until);
        }
        if self.options.faults.masters && self.rng.chance(1, 300) {
            let at = self.rng.between(0, self.masters.len() as u64);
            let stuck = self.rng.chance(1, 4);
            let nth = usize::try_from(at).unwrap_or(0);
            if let Some(master) = self.masters.values_mut().nth(nth)
                && master.exited.is_none()
            {
                self.report.deaths += 1;
                if stuck {
                    master.stuck = true;
                } else {
                    master.exited = Some(1);
                }
            }
        }
        if self.options.faults.pauses && self.rng.chance(1, 2_000) {
            let pause = self.rng.between(1_000, 60_000);
            self.paused_until_ms = now + pause;
            self.town.paused_ms += pause + LATE_TICK_MS;
        }
    }

    /// A node ends with all that runs there, and comes back at `until_ms`.
    fn node_dies(&mut self, at: usize, until_ms: u64) {
        self.nodes[at].die(until_ms);
        let id = self.nodes[at].model.id.clone();
        self.report.deaths += 1;
        let rm = &self.rm;
        for (attempt, master) in &mut self.masters {
            let am = rm.attempt(*attempt).and_then(|a| a.am_node);
            if am.is_some_and(|(node, _)| node == id) {
                master.exited = Some(137);
            }
        }
    }

    /// Everybody makes the calls that are due.
    fn make_calls(&mut self) {
        let now = self.now_ms;
        let due: Vec<ApplicationId> = self
            .submissions
            .iter()
            .filter(|(_, (at, _, _))| *at <= now)
            .map(|(app, _)| *app)
            .collect();
        for app in due {
            let call = self.call(Caller::Client(app));
            let Some((at, submission, _)) = self.submissions.get_mut(&app) else {
                continue;
            };
            *at = now + CALL_TIMEOUT_MS;
            let request = ClientRequest::Submit(Box::new(submission.clone()));
            self.send(Message::Event(Event::Client { call, request }));
        }
        for at in 0..self.nodes.len() {
            if self.nodes[at].model.stopped {
                // told to shut down; somebody starts it again
                self.node_dies(at, now + 3_000);
            }
            if let Some(request) = self.nodes[at].due(now) {
                let call = self.call(Caller::Node(at));
                self.nodes[at].in_flight = Some((call, now + CALL_TIMEOUT_MS));
                self.send(Message::Event(Event::Node { call, request }));
            }
        }
        let attempts: Vec<ApplicationAttemptId> = self.masters.keys().copied().collect();
        for attempt in attempts {
            self.master_exits(attempt);
            let due = self.masters.get_mut(&attempt).and_then(|m| m.due(now));
            if let Some(mut request) = due {
                self.wish(attempt, &mut request);
                let call = self.call(Caller::Master(attempt));
                if let Some(master) = self.masters.get_mut(&attempt) {
                    master.called(call, now);
                }
                self.send(Message::Event(Event::Am {
                    call,
                    attempt,
                    request,
                }));
            }
        }
    }

    /// A master's process and its container end together.
    fn master_exits(&mut self, attempt: ApplicationAttemptId) {
        let Some(master) = self.masters.get_mut(&attempt) else {
            return;
        };
        let container = attempt.container(0, 1);
        let runs = self.nodes.iter().any(|n| n.model.runs(container));
        match master.exited {
            Some(status) => {
                for node in &mut self.nodes {
                    node.model.end(container, status, "");
                }
            }
            None if !runs => master.exited = Some(137),
            None => {}
        }
        if master.exited.is_some() && !runs {
            self.masters.remove(&attempt);
        }
    }

    fn call(&mut self, caller: Caller) -> CallId {
        self.last_call += 1;
        let call = CallId(self.last_call);
        self.callers.insert(call, caller);
        call
    }

    /// Puts a message on the network.
    fn send(&mut self, message: Message) {
        let mut late = self.rng.between(0, 20);
        if self.faulty() && self.options.faults.network {
            if self.rng.chance(1, 20) {
                self.report.disturbed += 1;
                return;
            }
            if self.rng.chance(1, 20) {
                self.report.disturbed += 1;
                late += self.rng.between(0, 6_000);
            }
            let again = match &message {
                Message::Event(event) => Some(Message::Event(event.clone())),
                Message::Reply(..) => None,
            };
            if let Some(again) = again.filter(|_| self.rng.chance(1, 20)) {
                self.report.disturbed += 1;
                let late = self.rng.between(0, 3_000);
                self.put(late, again);
            }
        }
        self.put(late, message);
    }

    fn put(&mut self, late_ms: u64, message: Message) {
        self.last_message += 1;
        self.messages
            .insert((self.now_ms + late_ms, self.last_message), message);
    }

    /// The driver: one event, the pass, the laws, the effects.
    fn apply(&mut self, event: Event) -> Result<(), String> {
        let what = rm_journal::describe(&event);
        self.apply_event(event)
            .map_err(|broken| format!("{broken}, after {what}"))
    }

    fn apply_event(&mut self, event: Event) -> Result<(), String> {
        let now = Millis(self.now_ms);
        let mut effects = Vec::new();
        let before = town::before(&self.rm, &event);
        let placing = judge::places(&event, &self.options);
        let mut seen = self.look();
        self.tape.event(now, &event);
        self.rm.apply(now, event, &mut effects);
        self.rm.check()?;
        if let (Some(before), [.., effect]) = (before, &effects[..]) {
            self.judge_refresh(&before, &effect.action)?;
        }
        if placing && !self.options.heartbeat_paced {
            // what was given back in the call is not placed yet
            seen = self.look();
        }
        loop {
            self.tape.pass(now);
            if !self.rm.pass(now, &mut effects) {
                break;
            }
        }
        self.tape.finish(&self.rm)?;
        self.rm.check()?;
        laws::never_over_allocates(&self.rm)?;
        if let Some(seen) = seen {
            self.judge(&seen, placing, &effects)?;
        }
        for effect in effects {
            self.carry_out(effect)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), String> {
        let early = self.options.mutant == Some(Mutant::ReplyBeforeStore);
        if effect.when.is_some_and(|seq| seq > self.stored) && !early {
            self.held.push(effect);
            return Ok(());
        }
        match effect.action {
            Action::Reply { call, reply } => self.answer(call, reply.map(|reply| *reply))?,
            Action::Store { seq, record } => {
                self.records.insert(seq, record);
                let slow = self.faulty() && self.options.faults.store;
                let late = if slow { self.rng.between(0, 2_000) } else { 0 };
                let forgets = self.options.mutant == Some(Mutant::StoreForgets);
                if !(forgets && seq % 8 == 0) {
                    self.storing.insert(seq, self.now_ms + late);
                }
            }
            Action::LaunchAm { attempt, grant, .. } => {
                self.note_told(&grant)?;
                self.launch(attempt, &grant);
            }
            Action::StopAm { container, .. } => {
                for node in &mut self.nodes {
                    node.model.end(container, 143, "stopped");
                }
            }
            Action::Note(Note::Granted { .. }) => self.report.granted += 1,
            _ => {}
        }
        Ok(())
    }

    /// The store completes records in order, each in its time.
    fn store_step(&mut self) -> Result<(), String> {
        while let Some((seq, at)) = self.storing.first_key_value().map(|(s, a)| (*s, *a)) {
            if at > self.now_ms || seq != self.stored + 1 {
                break;
            }
            self.storing.remove(&seq);
            self.stored = seq;
            self.apply(Event::Stored { seq })?;
            let held = std::mem::take(&mut self.held);
            for effect in held {
                self.carry_out(effect)?;
            }
        }
        Ok(())
    }

    fn launch(&mut self, attempt: ApplicationAttemptId, grant: &Grant) {
        let now = self.now_ms;
        let up = self
            .nodes
            .iter_mut()
            .find(|n| n.model.id == grant.node && n.is_up(now));
        let Some(node) = up else {
            let diagnostics = "connection refused".to_owned();
            self.put(
                1_000,
                Message::Event(Event::AmLaunchFailed {
                    attempt,
                    diagnostics,
                }),
            );
            return;
        };
        node.start(grant, None);
        let number = attempt.app.id;
        let many = if self.options.town {
            number % 6 * 3 + 3
        } else {
            number % 5 + 1
        };
        let want = usize::try_from(many).unwrap_or(1);
        let start = now + self.rng.between(100, 3_000);
        let size = self.container_size(number);
        let master = SimMaster::new(attempt, want, size, start);
        self.masters.insert(attempt, master);
        self.put(50, Message::Event(Event::AmLaunched { attempt }));
    }
}

fn submission(app: ApplicationId) -> Submission {
    Submission {
        lifetime_s: -1,
        app,
        user: "alice".into(),
        groups: Vec::new(),
        tag_user: None,
        acls: std::sync::Arc::default(),
        name: "sim".to_owned(),
        queue: "default".to_owned(),
        application_type: "YARN".to_owned(),
        tags: Vec::new(),
        priority: None,
        unmanaged: false,
        max_attempts: 0,
        attempt_failures_validity_ms: None,
        keep_containers: app.id.is_multiple_of(3),
        am_resource: Resource::new(1024, 1),
        am_label: None,
        label: None,
        unknown_resource: None,
    }
}
