//! Runs the steps of a scenario against a target and compares.
//! May touch: a `Target`.
//! Must not: know what the target is.

use std::collections::BTreeMap;

use crate::{
    case::ScenarioBody,
    facts::{Expect, Facts, Key},
    report::Failure,
    steps::{Refusal, Step, Submit},
    target::{Done, Setup, Target, WholeKey},
    value::{Actual, Expected, Tolerance, matches},
};

const CAPACITY: &str = "yarn.scheduler.capacity.root.capacity";
const ACL_ROOT: &str = "yarn.scheduler.capacity.root.acl_submit_applications";
const MINIMUM_MB: &str = "yarn.scheduler.minimum-allocation-mb";
const LABELS: &str = "yarn.node-labels.enabled";
const MINIMUM_VCORES: &str = "yarn.scheduler.minimum-allocation-vcores";

/// Runs a scenario; stops at the first difference unless `all`.
pub fn run(body: &ScenarioBody, target: &mut dyn Target, all: bool) -> Vec<Failure> {
    let mut run = Run {
        target,
        conf: with_defaults(body),
        failures: Vec::new(),
        all,
    };
    run.body(body);
    run.failures
}

/// What the runner sets where a case says nothing.
fn with_defaults(body: &ScenarioBody) -> BTreeMap<String, String> {
    let mut conf = body.conf.clone();
    let mut default = |key: &str, value: &str| {
        conf.entry(key.to_owned())
            .or_insert_with(|| value.to_owned());
    };
    default(CAPACITY, "100");
    default(ACL_ROOT, "*");
    default(MINIMUM_MB, "1024");
    default(MINIMUM_VCORES, "1");
    if !body.cluster.labels.is_empty() {
        default(LABELS, "true");
    }
    conf
}

/// Reads a fact, in a partition or over all.
type Read<'a, K> = dyn Fn(&mut dyn Target, Option<&str>, K) -> Done<Actual> + 'a;

struct Run<'a> {
    target: &'a mut dyn Target,
    /// As it is in force.
    conf: BTreeMap<String, String>,
    failures: Vec<Failure>,
    all: bool,
}

impl Run<'_> {
    fn body(&mut self, body: &ScenarioBody) {
        let conf = self.conf.clone();
        let started = self.target.start(Setup {
            cluster: &body.cluster,
            conf: &conf,
            stubs: &body.stubs,
            steps: &body.steps,
        });
        let mut steps = body.steps.iter().enumerate();
        let load = match body.steps.first() {
            Some(Step::Load(load)) => {
                steps.next();
                load.clone().unwrap_or_default()
            }
            _ => crate::steps::Load::default(),
        };
        self.judge("step 1 (load)", started.clone(), load.error.as_ref());
        if started.is_err() {
            return;
        }
        for (i, step) in steps {
            if !self.step(&(i + 1).to_string(), step) {
                return;
            }
        }
    }

    /// Runs one step; whether to go on.
    fn step(&mut self, number: &str, step: &Step) -> bool {
        let place = format!("step {number} ({})", step.name());
        match step {
            Step::Repeat { times, steps } => {
                for round in 1..=*times {
                    for (i, step) in steps.iter().enumerate() {
                        let number = format!("{number}[{round}].{}", i + 1);
                        if !self.step(&number, step) {
                            return false;
                        }
                    }
                }
            }
            Step::Expect(expect) => self.expect(&place, expect),
            Step::Submit(submit) => {
                let done = self.submit(&place, submit);
                self.judge(&place, done, None);
            }
            Step::Heartbeat { node, times } => {
                for _ in 0..times.unwrap_or(1) {
                    let done = self.target.heartbeat(node);
                    self.judge(&place, done, None);
                }
            }
            Step::Refresh { set, unset, error } => self.refresh(&place, set, unset, error.as_ref()),
            _ => {
                let (done, error) = self.call(step);
                self.judge(&place, done, error);
            }
        }
        self.all || self.failures.is_empty()
    }

    /// Steps that are one call.
    fn call<'s>(&mut self, step: &'s Step) -> (Done, Option<&'s Refusal>) {
        let target = &mut *self.target;
        match step {
            Step::LaunchAm { app, node } => (target.launch_am(app, node), None),
            Step::Ask(ask) => (target.ask(ask), ask.error.as_ref()),
            Step::AskList(asks) => (target.ask_list(asks), None),
            Step::Blacklist { app, add, remove } => (target.blacklist(app, add, remove), None),
            Step::Complete(complete) => (target.complete(complete), None),
            Step::Finish { app } => (target.finish(app), None),
            Step::AddNode(node) => (target.add_node(node), None),
            Step::RemoveNode { node } => (target.remove_node(node), None),
            Step::SetLabel { node, label } => (target.set_label(node, plain(label)), None),
            Step::Move { app, queue, error } => (target.move_app(app, queue), error.as_ref()),
            Step::SetPriority { app, priority } => (target.set_priority(app, *priority), None),
            Step::Resize(resize) => (target.resize(resize), None),
            Step::CreateQueue { path, error } => (target.create_queue(path), error.as_ref()),
            Step::PreemptTick(_) => (target.preempt_tick(), None),
            Step::Advance { ms } => (target.advance(*ms), None),
            Step::QueueState { queue, state } => (target.queue_state(queue, *state), None),
            Step::DynamicMaxAllocation(_) => (target.dynamic_max_allocation(), None),
            Step::ResortNodes(_) => (target.resort_nodes(), None),
            // handled by the caller
            Step::Load(_) => (Err("load stands first".to_owned()), None),
            Step::Repeat { .. }
            | Step::Expect(_)
            | Step::Submit(_)
            | Step::Heartbeat { .. }
            | Step::Refresh { .. } => (Ok(()), None),
        }
    }

    /// A step that must succeed, or be refused.
    fn judge(&mut self, place: &str, done: Done, error: Option<&Refusal>) {
        match (done, error) {
            (Ok(()), None) => {}
            (Ok(()), Some(refusal)) => {
                let text = refusal.message.as_deref().unwrap_or("any text");
                self.fail(place, format!("a refusal with {text}"), "success");
            }
            (Err(text), None) => self.fail(place, "success", text),
            (Err(text), Some(refusal)) => {
                let part = refusal.message.as_deref().unwrap_or_default();
                if !squeezed(&text).contains(&squeezed(part)) {
                    self.fail(place, format!("a refusal with {part}"), text);
                }
            }
        }
    }

    fn fail(
        &mut self,
        place: impl Into<String>,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) {
        self.failures.push(Failure::new(place, expected, got));
    }

    fn submit(&mut self, place: &str, submit: &Submit) -> Done {
        self.target.submit(submit)?;
        let got = self
            .target
            .app(&submit.app, None, crate::facts::AppKey::State)?;
        if let Some(state) = &submit.state {
            self.compare(
                format!("{place} state"),
                &Expected::Text(state.clone()),
                &got,
                Tolerance::default(),
            );
        } else if got == Actual::Text("FAILED".to_owned()) {
            let diagnostics = self.target.diagnostics(&submit.app)?;
            self.fail(place, "an accepted application", diagnostics);
        }
        if let Some(part) = &submit.message {
            let text = self.target.diagnostics(&submit.app)?;
            if !squeezed(&text).contains(&squeezed(part)) {
                self.fail(format!("{place} message"), part, text);
            }
        }
        Ok(())
    }

    fn refresh(
        &mut self,
        place: &str,
        set: &BTreeMap<String, String>,
        unset: &[String],
        error: Option<&Refusal>,
    ) {
        let mut conf = self.conf.clone();
        conf.extend(set.clone());
        for key in unset {
            conf.remove(key);
        }
        let done = self.target.refresh(&conf);
        if done.is_ok() {
            self.conf = conf;
        }
        self.judge(place, done, error);
    }

    fn compare(&mut self, place: String, expected: &Expected, got: &Actual, tolerance: Tolerance) {
        if !matches(expected, got, tolerance) {
            self.fail(place, expected.to_string(), got.to_string());
        }
    }

    fn expect(&mut self, place: &str, expect: &Expect) {
        let mut tolerance = Tolerance::default();
        if let Some(absolute) = expect.tolerance {
            tolerance = Tolerance {
                absolute,
                relative: 0.0,
            };
        }
        for (queue, facts) in &expect.queues {
            let read = |t: &mut dyn Target, label: Option<&str>, key| {
                t.queue(queue, label.unwrap_or_default(), key)
            };
            self.facts(&format!("{place} queues.{queue}"), facts, tolerance, &read);
        }
        for (app, facts) in &expect.apps {
            let read = |t: &mut dyn Target, label: Option<&str>, key| t.app(app, label, key);
            self.facts(&format!("{place} apps.{app}"), facts, tolerance, &read);
        }
        for (node, facts) in &expect.nodes {
            let read = |t: &mut dyn Target, _: Option<&str>, key| t.node(node, key);
            self.facts(&format!("{place} nodes.{node}"), facts, tolerance, &read);
        }
        for (queue, users) in &expect.users {
            for (user, facts) in users {
                let read =
                    |t: &mut dyn Target, label: Option<&str>, key| t.user(queue, user, label, key);
                let place = format!("{place} users.{queue}.{user}");
                self.facts(&place, facts, tolerance, &read);
            }
        }
        self.whole(place, expect, tolerance);
    }

    fn facts<K: Key>(
        &mut self,
        place: &str,
        facts: &Facts<K>,
        tolerance: Tolerance,
        read: &Read<'_, K>,
    ) {
        self.facts_of(place, None, facts, tolerance, read);
        for (label, facts) in &facts.by_label {
            let place = format!("{place}@{label}");
            self.facts_of(&place, Some(plain(label)), facts, tolerance, read);
        }
    }

    fn facts_of<K: Key>(
        &mut self,
        place: &str,
        label: Option<&str>,
        facts: &Facts<K>,
        tolerance: Tolerance,
        read: &Read<'_, K>,
    ) {
        for (key, expected) in &facts.facts {
            let (name, _, inproc_only) = key.row();
            if inproc_only && !self.target.inproc() {
                continue;
            }
            let place = format!("{place}.{name}");
            match read(self.target, label, *key) {
                Ok(Actual::Unread) if !self.target.inproc() => {}
                Ok(got) => self.compare(place, &sorted(name, expected), &got, tolerance),
                Err(text) => self.fail(place, expected.to_string(), text),
            }
        }
    }

    fn whole(&mut self, place: &str, expect: &Expect, tolerance: Tolerance) {
        use WholeKey as W;
        let counts = |map: &BTreeMap<String, i64>| {
            let values = map.iter().map(|(k, v)| (k.clone(), Expected::Int(*v)));
            (!map.is_empty()).then(|| Expected::Map(values.collect()))
        };
        let max = expect.max_allocation.as_ref().map(|res| {
            let dims = res.dims().into_iter();
            Expected::Map(dims.map(|(k, v)| (k, Expected::Int(v))).collect())
        });
        let wanted = [
            (
                "last_assignment",
                W::LastAssignment,
                expect.last_assignment.clone().map(Expected::Text),
            ),
            ("max_allocation", W::MaxAllocation, max),
            (
                "node_order",
                W::NodeOrder,
                expect.node_order.clone().map(Expected::List),
            ),
            ("killable", W::Killable, counts(&expect.killable)),
            (
                "killable_apps",
                W::KillableApps,
                counts(&expect.killable_apps),
            ),
            (
                "to_preempt",
                W::ToPreempt,
                expect.to_preempt.map(Expected::Int),
            ),
            (
                "to_preempt_apps",
                W::ToPreemptApps,
                counts(&expect.to_preempt_apps),
            ),
            (
                "to_preempt_nodes",
                W::ToPreemptNodes,
                counts(&expect.to_preempt_nodes),
            ),
        ];
        for (name, key, expected) in wanted {
            let Some(expected) = expected else { continue };
            let place = format!("{place} {name}");
            match self.target.whole(key) {
                Ok(Actual::Unread) if !self.target.inproc() => {}
                Ok(got) => self.compare(place, &expected, &got, tolerance),
                Err(text) => self.fail(place, expected.to_string(), text),
            }
        }
        if let Some(warnings) = &expect.warnings {
            self.warnings(place, warnings);
        }
    }

    fn warnings(&mut self, place: &str, wanted: &[(String, String)]) {
        let place = format!("{place} warnings");
        let got = match self.target.whole(WholeKey::Warnings) {
            Ok(Actual::Names(names)) => names,
            Ok(other) => vec![other.to_string()],
            Err(text) => return self.fail(place, "warnings", text),
        };
        let wanted: Vec<_> = wanted
            .iter()
            .map(|(kind, queue)| format!("{kind} {queue}"))
            .collect();
        let missing = wanted.iter().any(|warning| !got.contains(warning));
        if missing || (wanted.is_empty() && !got.is_empty()) {
            self.fail(place, wanted.join(", "), got.join(", "));
        }
    }
}

/// `default` is how case files write the empty label.
fn plain(label: &str) -> &str {
    if label == "default" { "" } else { label }
}

/// Lists of queue facts are sets.
fn sorted(name: &str, expected: &Expected) -> Expected {
    match expected {
        Expected::List(list) => {
            let mut list: Vec<String> = list
                .iter()
                .map(|item| {
                    if name.ends_with("labels") {
                        plain(item)
                    } else {
                        item
                    }
                })
                .map(str::to_owned)
                .collect();
            list.sort();
            Expected::List(list)
        }
        other => other.clone(),
    }
}

/// Texts are compared without regard to runs of blanks: YAML folds long ones.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
