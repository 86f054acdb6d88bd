//! Laws that hold after every step of random runs, in both ways of pacing.
//! May touch: the scheduler's public face.
//! Must not: use a random source other than its seed, or time other than a number.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use yarn_types::Resource;

use super::{
    ANY, AppIdx, ContainerIdx, LabelIdx, NodeIdx, QueueIdx, Sched, Told,
    ask::Noted,
    event::{
        Search,
        tests::{Cluster, conf, gib},
    },
};

/// xorshift64*: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % sides
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = self.roll(all.len() as u64);
        &all[usize::try_from(at).unwrap()]
    }
}

const KEYS: [(&str, &str); 16] = [
    ("root.p.d.maximum-am-resource-percent", "0.1"),
    ("lazy-preemption-enabled", "true"),
    ("root.queues", "a,b,p"),
    ("root.a.capacity", "30"),
    ("root.b.capacity", "30"),
    ("root.p.capacity", "40"),
    ("root.p.queues", "c,d"),
    ("root.p.c.capacity", "50"),
    ("root.p.d.capacity", "50"),
    ("root.p.c.user-limit-factor", "2"),
    ("root.b.maximum-capacity", "50"),
    ("root.accessible-node-labels", "*"),
    ("root.accessible-node-labels.x.capacity", "100"),
    ("root.a.accessible-node-labels.x.capacity", "60"),
    ("root.b.accessible-node-labels.x.capacity", "40"),
    ("root.p.accessible-node-labels.x.capacity", "0"),
];

struct Run {
    c: Cluster,
    dice: Dice,
    nodes: BTreeSet<NodeIdx>,
    apps: Vec<AppIdx>,
    live: Vec<(ContainerIdx, NodeIdx, AppIdx)>,
    event: bool,
    refreshed: bool,
}

impl Run {
    fn new(seed: u64, event: bool) -> Self {
        let mut c = Cluster::new(&KEYS);
        c.sched.add_labels(&[(Arc::from("x"), false)]).unwrap();
        let mut run = Self {
            c,
            dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            nodes: BTreeSet::new(),
            apps: Vec::new(),
            live: Vec::new(),
            event,
            refreshed: false,
        };
        for _ in 0..5 {
            run.join();
        }
        run
    }

    fn join(&mut self) {
        let gpus = i64::try_from(self.dice.roll(3)).unwrap() * 4;
        let label = *self.dice.of(&["", "", "x"]);
        let node = self.c.node(gib(16, 16, gpus), label);
        self.nodes.insert(node);
    }

    fn leave(&mut self) {
        let nodes: Vec<NodeIdx> = self.nodes.iter().copied().collect();
        if nodes.len() < 3 {
            return;
        }
        let node = *self.dice.of(&nodes);
        for (container, at, app) in std::mem::take(&mut self.live) {
            if at == node {
                assert!(self.c.sched.release(container));
            } else {
                self.live.push((container, at, app));
            }
        }
        self.c.sched.remove_node(node);
        self.nodes.remove(&node);
    }

    fn ask(&mut self) {
        if self.apps.is_empty() {
            return;
        }
        let app = *self.dice.of(&self.apps);
        let number = |dice: &mut Dice, most| 1 + i64::try_from(dice.roll(most)).unwrap();
        let size = gib(
            number(&mut self.dice, 6),
            number(&mut self.dice, 4),
            i64::try_from(self.dice.roll(3)).unwrap(),
        );
        let count = i32::try_from(self.dice.roll(6)).unwrap();
        let host = format!("h{}", self.dice.roll(8));
        let priority = i32::try_from(1 + self.dice.roll(3)).unwrap();
        let label = *self.dice.of(&["", "", "", "x"]);
        if self.dice.roll(3) == 0 && label.is_empty() {
            let relax = self.dice.roll(3) > 0;
            let places = [
                (host.as_str(), 1, true),
                ("/even", 1, relax),
                (ANY, count, relax),
            ];
            self.c.ask_for(app, priority, size, label, &places);
        } else {
            self.c
                .ask_for(app, priority, size, label, &[(ANY, count, true)]);
        }
    }

    fn release(&mut self) {
        if self.live.is_empty() {
            return;
        }
        let at = usize::try_from(self.dice.roll(self.live.len() as u64)).unwrap();
        let (container, ..) = self.live.swap_remove(at);
        assert!(self.c.sched.release(container));
    }

    fn end(&mut self) {
        if self.apps.len() < 2 {
            return;
        }
        let at = usize::try_from(self.dice.roll(self.apps.len() as u64)).unwrap();
        let app = self.apps.swap_remove(at);
        let held: Vec<ContainerIdx> = self
            .c
            .sched
            .app_figures(app)
            .unwrap()
            .containers
            .iter()
            .map(|c| c.idx)
            .collect();
        self.c.sched.end_attempt(app);
        for container in &held {
            assert!(self.c.sched.release(*container));
        }
        self.live.retain(|(c, ..)| !held.contains(c));
        self.c.sched.remove_app(app);
    }

    fn change(&mut self) {
        let nodes: Vec<NodeIdx> = self.nodes.iter().copied().collect();
        let node = *self.dice.of(&nodes);
        match self.dice.roll(10) {
            8 | 9 if !self.live.is_empty() => {
                let (container, ..) = *self.dice.of(&self.live);
                let killable = self.dice.roll(3) > 0;
                self.c.sched.set_killable(container, killable);
            }
            0 => self.c.sched.set_usable(node, false),
            1 => self.c.sched.set_usable(node, true),
            2 => {
                let label = *self.dice.of(&["", "x"]);
                let label = self.c.sched.label(label).unwrap();
                self.c.sched.set_label(node, label);
            }
            3 if !self.live.is_empty() => {
                let (container, ..) = *self.dice.of(&self.live);
                let size = self.c.sched.size_of(container).unwrap();
                let now = self.c.now;
                self.c
                    .sched
                    .increase(now, container, size.plus(gib(1, 1, 0)))
                    .unwrap();
            }
            4 if !self.apps.is_empty() => {
                let app = *self.dice.of(&self.apps);
                let to = *self.dice.of(&["root.a", "root.b", "root.p.c"]);
                let _full = self.c.sched.move_app(app, to);
            }
            5 if !self.apps.is_empty() => {
                let app = *self.dice.of(&self.apps);
                let host: Arc<str> = Arc::from(format!("h{}", self.dice.roll(6)));
                if self.dice.roll(2) == 0 {
                    self.c.sched.update_blacklist(app, &[host], &[]);
                } else {
                    self.c.sched.update_blacklist(app, &[], &[host]);
                }
            }
            6 => self.refresh(),
            _ => {
                if let Some(app) = self.apps.first() {
                    let priority = i32::try_from(self.dice.roll(5)).unwrap();
                    self.c.sched.set_priority(*app, priority);
                }
            }
        }
    }

    fn refresh(&mut self) {
        self.refreshed = !self.refreshed;
        let (a, b) = if self.refreshed {
            ("10", "50")
        } else {
            ("30", "30")
        };
        let mut keys = KEYS.to_vec();
        keys.extend([("root.a.capacity", a), ("root.b.capacity", b)]);
        self.c.sched.reload(conf(&keys)).unwrap();
    }

    fn step(&mut self) {
        match self.dice.roll(20) {
            0 | 1 => {
                let queue = *self.dice.of(&["root.a", "root.b", "root.p.c", "root.p.d"]);
                let user = *self.dice.of(&["u", "v", "w"]);
                let app = if self.dice.roll(2) == 0 {
                    self.c.managed(queue, user, gib(1, 1, 0))
                } else {
                    self.c.app(queue, user)
                };
                self.apps.push(app);
            }
            2..=7 => self.ask(),
            8..=12 => self.release(),
            13 => self.end(),
            14 => self.join(),
            15 => self.leave(),
            _ => self.change(),
        }
        let ms = self.dice.roll(800);
        self.c.later(ms);
    }

    fn place(&mut self) {
        let now = self.c.now;
        if self.event {
            let mut reference = self.c.sched.clone();
            let mut restored = self.c.sched.clone();
            restored.event = restored.event.as_in_a_snapshot();
            while self.c.sched.pass(now) {}
            while restored.pass(now) {}
            while reference.pass_by(now, Search::Scan, 512) {}
            let sched = &self.c.sched;
            assert_eq!(
                sched.told, reference.told,
                "the tables find what a scan finds"
            );
            assert_eq!(kept(sched), kept(&reference), "by tables and by a scan");
            assert_eq!(kept(sched), kept(&restored), "and of a snapshot");
            if self.dice.roll(4) == 0 {
                self.c.sched = restored;
            }
        } else {
            let nodes: Vec<NodeIdx> = self.nodes.iter().copied().collect();
            let node = *self.dice.of(&nodes);
            self.c.sched.node_update(now, node);
        }
        for told in self.c.sched.take_told() {
            match told {
                Told::Granted(g) => self.live.push((g.container, g.node, g.app)),
                Told::Kill { container, .. } => self.live.retain(|(c, ..)| *c != container),
                _ => {}
            }
        }
    }
}

/// All that a snapshot keeps, in words.
fn kept(sched: &Sched) -> String {
    let mut sched = sched.clone();
    sched.event = sched.event.as_in_a_snapshot();
    for app in sched.apps.iter_mut().flatten() {
        app.asks
            .values_mut()
            .for_each(|asks| asks.class = Noted::default());
    }
    format!("{sched:?}")
}

fn digest(sched: &Sched) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    sched.digest(&mut |word| {
        hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
    });
    hash
}

/// What each queue holds of the partition without a label, reservations included.
fn held(sched: &Sched) -> BTreeMap<QueueIdx, Resource> {
    let queues = sched.tree.iter();
    queues
        .map(|(idx, q)| (idx, q.usage(LabelIdx::DEFAULT).used))
        .collect()
}

/// Law: placing never makes a queue hold more than its maximum of a type that it got more of.
fn grows_within_its_maximum(sched: &Sched, before: &BTreeMap<QueueIdx, Resource>, at: &str) {
    for (idx, q) in sched.tree.iter() {
        let (used, most) = (
            q.usage(LabelIdx::DEFAULT).used,
            q.maximum(LabelIdx::DEFAULT),
        );
        let was = before.get(&idx).copied().unwrap_or(Resource::ZERO);
        for lane in 0..sched.types().len() {
            let grew = used.0[lane] > was.0[lane];
            assert!(
                !grew || used.0[lane] <= most.0[lane],
                "{at}: {} holds {used:?} of at most {most:?}",
                q.path
            );
        }
    }
}

fn run(seed: u64, event: bool, steps: u32) -> (u64, usize) {
    let mut run = Run::new(seed, event);
    let mut granted = 0;
    for step in 0..steps {
        let before = run.live.len();
        run.step();
        let stepped = run.c.sched.check();
        stepped.unwrap_or_else(|e| panic!("seed {seed} step {step}: {e}"));
        let held = held(&run.c.sched);
        run.place();
        grows_within_its_maximum(&run.c.sched, &held, &format!("seed {seed} step {step}"));
        granted += run.live.len().saturating_sub(before);
        let placed = run.c.sched.check();
        placed.unwrap_or_else(|e| panic!("seed {seed} step {step}, after placing: {e}"));
    }
    (digest(&run.c.sched), granted)
}

#[test]
fn accounts_add_up_after_every_step_event_driven() {
    let granted: usize = (1..=20).map(|seed| run(seed, true, 150).1).sum();
    assert!(granted > 500, "only {granted} containers were granted");
}

#[test]
fn accounts_add_up_after_every_step_heartbeat_paced() {
    let granted: usize = (1..=20).map(|seed| run(seed, false, 150).1).sum();
    assert!(granted > 200, "only {granted} containers were granted");
}

#[test]
fn a_round_of_preemption_is_the_same_with_all_containers_in_its_picture() {
    let mut actions = 0;
    for seed in 1..=12 {
        let mut run = Run::new(seed, true);
        for step in 0..120 {
            run.step();
            run.place();
            let mut sched = run.c.sched.clone();
            let p = &mut sched.conf.queues.cluster.preemption;
            (p.select_reserved, p.underutilized) = (true, true);
            (p.balance_after_satisfied, p.intra.enabled) = (seed % 3 == 0, true);
            p.underutilized_move_reservation = seed % 2 == 0;
            (p.total_per_round, p.natural_termination_factor) = (1.0, 1.0);
            p.max_ignored_over_capacity = 0.0;
            p.underutilized_delay_ms = 0;
            let wanted = sched.actions_of_a_round(run.c.now);
            actions += wanted.unwrap_or_else(|| panic!("seed {seed} step {step}"));
        }
    }
    assert!(actions > 100, "only {actions} actions");
}

#[test]
fn the_same_seed_gives_the_same_state() {
    assert_eq!(run(7, true, 300), run(7, true, 300));
    assert_ne!(run(7, true, 300), run(8, true, 300));
}
