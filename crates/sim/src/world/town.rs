//! The town: queues, labels, preemption, refreshes, moves; what an administrator does during a run.
//! May touch: the world.
//! Must not: ask for what the product refuses, unless the refusal is the point.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rm_core::{
    Event, Reject, Reply,
    conf::{Calculator, SchedConf},
    event::{AdminRequest, ClientRequest, LabelRequest, LabelTarget, Submission},
    labels::NodeLabels,
};
use testkit::conf::{settings, types};
use yarn_types::{ApplicationId, Resource};

use super::{Caller, Message, World};
use crate::{Options, Rng};

const LEAVES: [&str; 4] = ["a", "b", "c.x", "c.y"];
const PREFIX: &str = "yarn.scheduler.capacity.";
/// An exclusive partition and one that others may use while it idles.
const LABELS: [(&str, bool); 2] = [("fast", true), ("shared", false)];

/// What a run remembers of its town.
#[derive(Default)]
pub(super) struct Town {
    /// The administrator has put everything back.
    calm: bool,
    /// The label that nobody uses is there.
    spare: bool,
}

/// Keys of a town whose queues have these shares of root.
pub(super) fn keys(options: &Options, shares: [u64; 3], x: u64) -> BTreeMap<String, String> {
    let [a, b, c] = shares;
    let mut table = settings(&format!("a:{a} b:{b} c:{c} c.x:{x} c.y:{}", 100 - x));
    let mut put = |key: &str, value: &str| table.insert(key.to_owned(), value.to_owned());
    put("yarn.node-labels.enabled", "true");
    put(
        "yarn.resourcemanager.scheduler.monitor.enable",
        if options.preempts { "true" } else { "false" },
    );
    let preemption = "yarn.resourcemanager.monitor.capacity.preemption.";
    for (key, value) in [
        ("max_wait_before_kill", "4000"),
        ("total_preemption_per_round", "1.0"),
        ("natural_termination_factor", "1.0"),
        ("intra-queue-preemption.enabled", "true"),
    ] {
        put(&format!("{preemption}{key}"), value);
    }
    let pacing = if options.heartbeat_paced {
        "heartbeat"
    } else {
        "event"
    };
    put(&format!("{PREFIX}heddle.pacing"), pacing);
    for path in ["root", "root.a", "root.b", "root.c", "root.c.x", "root.c.y"] {
        put(
            &format!("{PREFIX}{path}.accessible-node-labels"),
            "fast,shared",
        );
        for (label, _) in LABELS {
            let share = match path {
                "root" => 100,
                "root.a" => a,
                "root.b" => b,
                "root.c" => c,
                "root.c.x" => x,
                _ => 100 - x,
            };
            put(
                &format!("{PREFIX}{path}.accessible-node-labels.{label}.capacity"),
                &share.to_string(),
            );
        }
    }
    table
}

/// Keys of the town when everything is as it should be.
pub(super) fn calm_keys(options: &Options) -> BTreeMap<String, String> {
    keys(options, [50, 30, 20], 50)
}

/// What an application of a town is.
pub(super) fn submission(app: ApplicationId, plain: Submission) -> Submission {
    let number = app.id;
    let leaf = LEAVES[usize::try_from(number).unwrap_or(0) % LEAVES.len()];
    Submission {
        queue: leaf.rsplit('.').next().unwrap_or(leaf).to_owned(),
        user: if number.is_multiple_of(2) {
            "alice".into()
        } else {
            "bob".into()
        },
        priority: i32::try_from(number % 3).ok(),
        label: (number % 5 == 1).then(|| "fast".to_owned()),
        ..plain
    }
}

/// Size of a container of application `number`: the large ones need reservations.
pub(super) fn container_size(number: u32) -> Resource {
    let gb = [1, 2, 5, 3, 6][usize::try_from(number).unwrap_or(0) % 5];
    Resource::new(gb * 1024, 1)
}

/// The labels that the store kept, and which node has one.
pub(super) fn first_labels() -> Event {
    let mut nodes = NodeLabels::default();
    nodes.hosts.insert("n1".into(), "fast".into());
    Event::Labels {
        labels: LABELS
            .iter()
            .map(|(name, exclusive)| (Arc::from(*name), *exclusive))
            .collect(),
        nodes,
    }
}

impl World {
    /// What the administrator does in this step.
    pub(super) fn make_admin_faults(&mut self) {
        if !self.options.town {
            return;
        }
        if !self.faulty() {
            // what was sent before may still arrive
            let late = self.now_ms < self.options.faulty_ms + super::gpus::LATE_MS;
            if !late && !std::mem::replace(&mut self.town.calm, true) {
                self.put_back();
            }
            return;
        }
        if self.options.faults.admin && self.rng.chance(1, 60) {
            match self.rng.between(0, 7) {
                0 | 1 => self.refresh(),
                2 => self.refresh_refused(),
                3 => self.relabel(),
                4 => self.spare_label(),
                5 => self.move_app(),
                _ => self.change_app(),
            }
        }
    }

    /// Everything as it was at the start, until it was done.
    fn put_back(&mut self) {
        self.reload(&calm_keys(&self.options));
        let hosts: Vec<Arc<str>> = self
            .nodes
            .iter()
            .map(|n| Arc::clone(&n.model.id.host))
            .collect();
        let nodes = hosts.into_iter().map(|host| {
            let label = (&*host == "n1").then(|| Arc::from("fast"));
            (LabelTarget::Host(host), label.into_iter().collect())
        });
        let nodes = nodes.collect();
        self.admin(AdminRequest::Labels(LabelRequest::Replace {
            nodes,
            known_only: false,
        }));
    }

    fn admin(&mut self, request: AdminRequest) {
        let call = self.call(Caller::Admin);
        self.send(Message::Event(Event::Admin { call, request }));
    }

    fn reload(&mut self, table: &BTreeMap<String, String>) {
        let Ok(conf) = SchedConf::from_lookup(table, types(), Calculator::Dominant) else {
            // refused before it reaches the core
            return;
        };
        let call = self.call(Caller::Admin);
        let conf = Box::new(conf);
        self.send(Message::Event(Event::Reload { call, conf }));
    }

    fn refresh(&mut self) {
        let a = 10 + 5 * self.rng.between(0, 8);
        let b = 10 + 5 * self.rng.between(0, 8);
        let x = 10 * self.rng.between(1, 10);
        let mut table = keys(&self.options, [a, b, 100 - a - b], x);
        let leaf = self.leaf();
        let (key, value) = match self.rng.between(0, 6) {
            0 => ("state", "STOPPED"),
            1 => ("disable_preemption", "true"),
            2 => ("user-limit-factor", "1"),
            3 => ("maximum-capacity", "60"),
            4 => ("ordering-policy", "fair"),
            _ => ("minimum-user-limit-percent", "50"),
        };
        table.insert(format!("{PREFIX}root.{leaf}.{key}"), value.to_owned());
        self.reload(&table);
    }

    /// Refreshes that the state does not allow: a queue that runs is gone, or became a parent.
    fn refresh_refused(&mut self) {
        let mut table = keys(&self.options, [50, 50, 0], 50);
        match self.rng.between(0, 3) {
            0 => {
                table.insert(format!("{PREFIX}root.queues"), "a,b".to_owned());
            }
            1 => {
                table = calm_keys(&self.options);
                table.insert(format!("{PREFIX}root.a.queues"), "new".to_owned());
                table.insert(format!("{PREFIX}root.a.new.capacity"), "100".to_owned());
            }
            _ => {
                table.insert(format!("{PREFIX}root.a.capacity"), "40".to_owned());
            }
        }
        self.reload(&table);
    }

    fn relabel(&mut self) {
        let at = usize::try_from(self.rng.between(0, self.nodes.len() as u64)).unwrap_or(0);
        let host = Arc::clone(&self.nodes[at].model.id.host);
        let labels: BTreeSet<Arc<str>> = match self.rng.between(0, 4) {
            0 | 1 => BTreeSet::new(),
            2 => BTreeSet::from(["fast".into()]),
            _ => BTreeSet::from(["shared".into()]),
        };
        let known_only = self.rng.chance(1, 2);
        self.admin(AdminRequest::Labels(LabelRequest::Replace {
            nodes: vec![(LabelTarget::Host(host), labels)],
            known_only,
        }));
    }

    fn spare_label(&mut self) {
        let spare: Arc<str> = "spare".into();
        self.town.spare = !self.town.spare;
        self.admin(AdminRequest::Labels(if self.town.spare {
            LabelRequest::Add(vec![(spare, true)])
        } else {
            LabelRequest::Remove(BTreeSet::from([spare]))
        }));
    }

    fn leaf(&mut self) -> &'static str {
        let at = self.rng.between(0, LEAVES.len() as u64);
        LEAVES[usize::try_from(at).unwrap_or(0)]
    }

    fn some_app(&mut self) -> Option<ApplicationId> {
        let at = self.rng.between(0, self.submitted.len().max(1) as u64);
        let nth = usize::try_from(at).unwrap_or(0);
        self.submitted.iter().nth(nth).copied()
    }

    fn move_app(&mut self) {
        let leaf = self.leaf();
        let queue = leaf.rsplit('.').next().unwrap_or(leaf).to_owned();
        if let Some(app) = self.some_app() {
            let call = self.call(Caller::Admin);
            let request = ClientRequest::Move { app, queue };
            self.send(Message::Event(Event::Client { call, request }));
        }
    }

    /// A new priority, and now and then a kill.
    fn change_app(&mut self) {
        let Some(app) = self.some_app() else { return };
        let call = self.call(Caller::Admin);
        let request = if self.rng.chance(1, 4) {
            ClientRequest::Kill {
                app,
                user: "admin".into(),
                peer: String::new(),
                diagnostics: String::new(),
            }
        } else {
            let priority = i32::try_from(self.rng.between(0, 5)).unwrap_or(0);
            ClientRequest::SetPriority {
                app,
                priority,
                caller: None,
            }
        };
        self.send(Message::Event(Event::Client { call, request }));
    }
}

impl World {
    /// Judges the answer to a refresh.
    pub(super) fn judge_refresh(
        &mut self,
        before: &Before,
        answer: &rm_core::Action,
    ) -> Result<(), String> {
        let rm_core::Action::Reply { reply, .. } = answer else {
            return Err("a refresh is not answered".to_owned());
        };
        match reply {
            Ok(_) => self.report.refreshed += 1,
            Err(_) => self.report.refused += 1,
        }
        refresh_keeps(before, &self.rm, reply)
    }
}

/// What the state was before an event that may be refused as a whole.
pub(super) struct Before {
    queues: u64,
    containers: u64,
}

fn queues(rm: &rm_core::Rm) -> u64 {
    let mut hash = Rng::new(1);
    let mut sum = 0_u64;
    rm.sched().digest(&mut |word| {
        sum = sum.rotate_left(5) ^ word.wrapping_mul(hash.draw() | 1);
    });
    sum
}

/// Remembers what a refresh must not touch.
pub(super) fn before(rm: &rm_core::Rm, event: &Event) -> Option<Before> {
    matches!(event, Event::Reload { .. }).then(|| Before {
        queues: queues(rm),
        containers: containers(rm),
    })
}

fn containers(rm: &rm_core::Rm) -> u64 {
    rm.nodes().iter().map(|n| u64::from(n.containers)).sum()
}

/// A refused refresh changes nothing, and no refresh ends a container.
pub(super) fn refresh_keeps(
    before: &Before,
    rm: &rm_core::Rm,
    reply: &Result<Box<Reply>, Reject>,
) -> Result<(), String> {
    if containers(rm) != before.containers {
        return Err("a refresh changed the number of containers".to_owned());
    }
    if reply.is_err() && queues(rm) != before.queues {
        return Err("a refused refresh changed the queues".to_owned());
    }
    Ok(())
}
