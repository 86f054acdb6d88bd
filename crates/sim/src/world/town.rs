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
    event::{
        AdminRequest, AmRequest, Ask, ClientRequest, Decommission, HostLists, LabelRequest,
        LabelTarget, Submission, UpdateKind,
    },
    labels::NodeLabels,
};
use testkit::conf::{settings, types};
use yarn_types::{ApplicationAttemptId, ApplicationId, Resource};

use super::{Caller, Message, World};
use crate::{Options, Preemption, Rng};

const LEAVES: [&str; 4] = ["a", "b", "c.x", "c.y"];
const MONITORS: &str = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity";
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
    /// Some node goes or is gone because of the lists.
    pub decommissioned: bool,
    /// Time that the ResourceManager was away, and that it gives everybody for it.
    pub paused_ms: u64,
}

/// Keys of a town whose queues have these shares of root, the rest is that of `d`.
pub(super) fn keys(
    options: &Options,
    [a, b, c]: [u64; 3],
    share_of_x: u64,
) -> BTreeMap<String, String> {
    let (x, share_of_y) = (share_of_x, 100 - share_of_x);
    let rest = 100 - a - b - c;
    let mut table = settings(&format!(
        "a:{a} b:{b} c:{c} c.x:{x} c.y:{share_of_y} d:{rest}"
    ));
    let mut put = |key: String, value: &str| table.insert(key, value.to_owned());
    let pacing = if options.heartbeat_paced {
        "heartbeat"
    } else {
        "event"
    };
    put(format!("{PREFIX}heddle.pacing"), pacing);
    put("yarn.node-labels.enabled".to_owned(), "true");
    put(
        format!("{PREFIX}root.d.auto-queue-creation-v2.enabled"),
        "true",
    );
    let expiry = format!("{PREFIX}auto-queue-creation-v2.queue-expiration-time");
    put(expiry, "5");
    let shares = [
        ("root", 100),
        ("root.a", a + rest),
        ("root.b", b),
        ("root.c", c),
        ("root.c.x", x),
        ("root.c.y", share_of_y),
    ];
    for (path, share) in shares {
        let labels = format!("{PREFIX}{path}.accessible-node-labels");
        for (label, _) in LABELS {
            put(format!("{labels}.{label}.capacity"), &share.to_string());
        }
        put(labels, "fast,shared");
    }
    let most = c.max(60).to_string();
    put(format!("{PREFIX}root.c.maximum-capacity"), &most);
    // elsewhere a user may have all
    put(format!("{PREFIX}root.b.user-limit-factor"), "1");
    preemption_keys(options, &mut table);
    table
}

/// Who is asked back, and how soon.
fn preemption_keys(options: &Options, table: &mut BTreeMap<String, String>) {
    let mut put = |key: String, value: &str| table.insert(key, value.to_owned());
    let flag = |on: bool| if on { "true" } else { "false" };
    let lazy = options.preemption == Preemption::Lazy;
    let within = lazy || options.preemption == Preemption::WithinQueuesToo;
    let order = if lazy {
        "userlimit_first"
    } else {
        "priority_first"
    };
    put(
        "yarn.resourcemanager.scheduler.monitor.enable".to_owned(),
        flag(options.preemption != Preemption::Off),
    );
    put(
        "yarn.resourcemanager.scheduler.monitor.policies".to_owned(),
        &format!(
            "{MONITORS}.ProportionalCapacityPreemptionPolicy,\
             {MONITORS}.AutoCreatedQueueDeletionPolicy"
        ),
    );
    put(format!("{PREFIX}lazy-preemption-enabled"), flag(lazy));
    for (key, value) in [
        ("max_wait_before_kill", "4000"),
        ("total_preemption_per_round", "1.0"),
        ("natural_termination_factor", "1.0"),
        ("intra-queue-preemption.enabled", flag(within)),
        ("intra-queue-preemption.minimum-threshold", "0.1"),
        ("intra-queue-preemption.max-allowable-limit", "1.0"),
        ("intra-queue-preemption.preemption-order-policy", order),
    ] {
        let key = format!("yarn.resourcemanager.monitor.capacity.preemption.{key}");
        put(key, value);
    }
    for leaf in ["c.x", "c.y"].iter().filter(|_| lazy) {
        let key = format!("{PREFIX}root.{leaf}.minimum-user-limit-percent");
        put(key, "50");
    }
}

/// Keys of the town when everything is as it should be.
pub(super) fn calm_keys(options: &Options) -> BTreeMap<String, String> {
    keys(options, [45, 25, 20], 50)
}

/// What an application of a town is.
pub(super) fn submission(app: ApplicationId, plain: Submission) -> Submission {
    let number = app.id;
    let leaf = LEAVES[usize::try_from(number).unwrap_or(0) % LEAVES.len()];
    let queue = match number {
        // made for them
        4 => "root.d.alice",
        5 => "root.d.bob",
        _ => leaf.rsplit('.').next().unwrap_or(leaf),
    };
    Submission {
        queue: queue.to_owned(),
        lifetime_s: if number.is_multiple_of(7) { 45 } else { -1 },
        // leaves have applications of both
        user: if (number / 4).is_multiple_of(2) {
            "alice".into()
        } else {
            "bob".into()
        },
        priority: i32::try_from(number % 3).ok(),
        label: label_of(app).map(str::to_owned),
        ..plain
    }
}

/// The partition that an application asks for.
pub(super) fn label_of(app: ApplicationId) -> Option<&'static str> {
    (app.id % 5 == 1).then_some("fast")
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
            match self.rng.between(0, 9) {
                0 | 1 => self.refresh(),
                2 => self.refresh_refused(),
                3 => self.relabel(),
                4 => self.spare_label(),
                5 => self.move_app(),
                6 => self.decommission(),
                7 => self.limit_lifetime(),
                _ => self.change_app(),
            }
        }
    }

    /// Everything as it was at the start, until it was done.
    fn put_back(&mut self) {
        self.reload(&calm_keys(&self.options));
        self.admin(
            "lists put back",
            AdminRequest::RefreshNodes {
                lists: HostLists::default(),
                how: Decommission::Normal,
            },
        );
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
        self.admin(
            "labels put back",
            AdminRequest::Labels(LabelRequest::Replace {
                nodes,
                known_only: false,
            }),
        );
    }

    fn admin(&mut self, what: &'static str, request: AdminRequest) {
        let call = self.call(Caller::Admin(what));
        self.send(Message::Event(Event::Admin { call, request }));
    }

    fn reload(&mut self, table: &BTreeMap<String, String>) {
        let Ok(conf) = SchedConf::from_lookup(table, types(), Calculator::Dominant) else {
            // refused before it reaches the core
            return;
        };
        let call = self.call(Caller::Admin("refreshes"));
        let conf = Box::new(conf);
        self.send(Message::Event(Event::Reload { call, conf }));
    }

    fn refresh(&mut self) {
        let a = 10 + 5 * self.rng.between(0, 8);
        let b = 10 + 5 * self.rng.between(0, 8);
        let x = 10 * self.rng.between(1, 10);
        let mut table = keys(&self.options, [a, b, 95 - a - b], x);
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
        let mut table = keys(&self.options, [60, 40, 0], 50);
        match self.rng.between(0, 3) {
            0 => {
                table.insert(format!("{PREFIX}root.queues"), "a,b".to_owned());
            }
            1 => {
                table = calm_keys(&self.options);
                table.insert(format!("{PREFIX}root.a.queues"), "new".to_owned());
                for part in [
                    "",
                    "accessible-node-labels.fast.",
                    "accessible-node-labels.shared.",
                ] {
                    let key = format!("{PREFIX}root.a.new.{part}capacity");
                    table.insert(key, "100".to_owned());
                }
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
        self.admin(
            "labels moved",
            AdminRequest::Labels(LabelRequest::Replace {
                nodes: vec![(LabelTarget::Host(host), labels)],
                known_only,
            }),
        );
    }

    fn spare_label(&mut self) {
        let spare: Arc<str> = "spare".into();
        self.town.spare = !self.town.spare;
        let request = if self.town.spare {
            LabelRequest::Add(vec![(spare, true)])
        } else {
            LabelRequest::Remove(BTreeSet::from([spare]))
        };
        self.admin("labels made and removed", AdminRequest::Labels(request));
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
            let call = self.call(Caller::Admin("moves"));
            let request = ClientRequest::Move { app, queue };
            self.send(Message::Event(Event::Client { call, request }));
        }
    }

    /// A host goes at once or gracefully, or all may be there again.
    fn decommission(&mut self) {
        let mut lists = HostLists::default();
        if self.rng.chance(1, 2) {
            let at = usize::try_from(self.rng.between(0, self.nodes.len() as u64)).unwrap_or(0);
            lists
                .exclude
                .push(Arc::clone(&self.nodes[at].model.id.host));
        }
        let how = if self.rng.chance(1, 2) {
            Decommission::Normal
        } else {
            Decommission::Graceful { timeout_s: 20 }
        };
        self.admin("lists of hosts", AdminRequest::RefreshNodes { lists, how });
    }

    /// An application must have ended in a while.
    fn limit_lifetime(&mut self) {
        let Some(app) = self.some_app() else { return };
        let after = i64::try_from(self.now_ms + self.rng.between(5_000, 60_000)).unwrap_or(0);
        let call = self.call(Caller::Admin("lifetimes set"));
        let request = ClientRequest::SetExpiry {
            app,
            expiry_wall_ms: self.rm.started().0 + after,
        };
        self.send(Message::Event(Event::Client { call, request }));
    }

    /// What a master of a town wants besides containers of its size: places for some of them,
    /// hosts that it avoids, other sizes.
    pub(super) fn wish(&mut self, attempt: ApplicationAttemptId, request: &mut AmRequest) {
        let AmRequest::Allocate(call) = request else {
            return;
        };
        if !self.options.town {
            return;
        }
        let host = |at: u64| -> Arc<str> { format!("n{}", at + 1).into() };
        let nodes = self.nodes.len() as u64;
        if attempt.app.id % 4 == 3 {
            for ask in call.asks.clone() {
                let near = ask.count.min(2);
                let mut at = |place: Arc<str>| {
                    call.asks.insert(
                        0,
                        Ask {
                            place,
                            count: near,
                            ..ask.clone()
                        },
                    );
                };
                at("/default-rack".into());
                at(host(u64::from(attempt.app.id) % nodes));
            }
            self.report.count("asks near a host", 1);
        }
        if !self.faulty() {
            call.blacklist_removals = (0..nodes).map(host).collect();
            return;
        }
        if self.rng.chance(1, 40) {
            let at = host(self.rng.between(0, nodes));
            if self.rng.chance(1, 2) {
                call.blacklist_additions.push(at);
                self.report.count("hosts avoided", 1);
            } else {
                call.blacklist_removals.push(at);
            }
        }
        if self.rng.chance(1, 10) {
            self.wish_size(attempt);
            let master = self.masters.get(&attempt);
            call.updates = master.map_or(Vec::new(), |m| m.model.updates.clone());
        }
    }

    /// One of its containers shall grow or shrink by 1 GiB with the next call.
    fn wish_size(&mut self, attempt: ApplicationAttemptId) {
        let grows = self.rng.chance(2, 3);
        let which = self.rng.draw();
        let Some(master) = self.masters.get_mut(&attempt) else {
            return;
        };
        let held = &master.model.held;
        let nth = usize::try_from(which % (held.len().max(1) as u64)).unwrap_or(0);
        let Some((id, size)) = held.iter().nth(nth).map(|(id, g)| (*id, g.resource)) else {
            return;
        };
        let by = Resource::new(1024, 0);
        let (kind, to) = if grows {
            (UpdateKind::Increase, size.plus(by))
        } else {
            (UpdateKind::Decrease, size.minus(by))
        };
        if to.0[0] >= 1024 && to.0[0] <= size.0[0].max(container_size(attempt.app.id).0[0] + 1024) {
            master.model.resize(id, kind, to);
        }
    }

    /// A new priority, and now and then a kill.
    fn change_app(&mut self) {
        let Some(app) = self.some_app() else { return };
        let kill = self.rng.chance(1, 4);
        let call = self.call(Caller::Admin(if kill { "kills" } else { "priorities" }));
        let request = if kill {
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
