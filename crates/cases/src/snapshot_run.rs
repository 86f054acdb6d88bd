//! Runs the preemption monitor over a frozen picture.
//! May touch: `capacity_scheduler::{conf, preempt}`.
//! Must not: choose containers.

use std::collections::BTreeMap;

use capacity_scheduler::{
    conf::{Calculator, LoadContext, PreemptionConf, QueuesConf},
    preempt::{
        self, Action, App, AppShare, Container, ContainerKey, LeafOrder, Monitor, Node, Queue,
        QueueRow, QueueShare, Rules, Snapshot, User, UserShare,
    },
};
use yarn_conf::Configuration;
use yarn_types::{Millis, Resource, ResourceType, ResourceTypes};

use crate::{
    case::SnapshotBody,
    report::Failure,
    snapshot::{QueueTable, Snapshot as Picture, SnapshotApp, SoFar, Table, TickExpect},
    value::Res,
};

/// Share of the containers' key that counts within an application.
const KEY_BITS: u32 = 32;
/// What a user may hold where a case names no limit.
const NO_LIMIT: i64 = i64::MAX / 4;

/// Runs a case of this kind.
pub fn run(body: &SnapshotBody) -> Vec<Failure> {
    let conf = match monitor_conf(&body.conf) {
        Ok(conf) => conf,
        Err(text) => return vec![Failure::new("conf", "success", text)],
    };
    let mut run = Run {
        body,
        types: types_of(&body.snapshot),
        picture: body.snapshot.clone(),
        so_far: BTreeMap::new(),
        failures: Vec::new(),
    };
    let mut monitor = Monitor::default();
    for (number, tick) in body.ticks.iter().enumerate() {
        let step = format!("tick {}", number + 1);
        if tick.fresh_policy {
            monitor = Monitor::default();
        }
        if let Some(new) = &tick.replace_snapshot {
            run.replace(new);
        }
        let (snapshot, owners) = match run.snapshot() {
            Ok(built) => built,
            Err(text) => {
                run.failures.push(Failure::new(step, "a picture", text));
                return run.failures;
            }
        };
        let rules = Rules {
            calculator: if body.dominant {
                Calculator::Dominant
            } else {
                Calculator::Default
            },
            types: &run.types,
            spare_cpu_only: false,
        };
        let actions = monitor.tick(Millis(tick.at_ms), &snapshot, &conf, &rules);
        let done = Done::of(&actions, &owners);
        run.compare(&step, &tick.expect, &done, &monitor);
    }
    run.failures
}

/// The monitor's settings: those of the case over Hadoop's defaults.
fn monitor_conf(conf: &BTreeMap<String, String>) -> Result<PreemptionConf, String> {
    let fixed = [
        ("yarn.scheduler.capacity.root.queues", "default"),
        ("yarn.scheduler.capacity.root.default.capacity", "100"),
        ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
    ];
    let own = conf
        .iter()
        .filter(|(key, _)| !key.starts_with("yarn.scheduler.capacity.root."))
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let table = Configuration::of(fixed.into_iter().chain(own));
    let types = ResourceTypes::memory_and_vcores();
    let context = LoadContext {
        types: &types,
        calculator: Calculator::Default,
        cluster: Resource::ZERO,
        created_parents: &std::collections::BTreeSet::new(),
    };
    let queues = QueuesConf::load(&table, &context).map_err(|problems| {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        texts.join("; ")
    })?;
    Ok(queues.cluster.preemption)
}

/// Memory and vcores, and every other resource that the case names.
fn types_of(picture: &Picture) -> ResourceTypes {
    let mut names = vec!["memory-mb".to_owned(), "vcores".to_owned()];
    let mut note = |res: &Res| {
        for name in res.dims().into_keys() {
            if name != "memory" && !names.contains(&name) {
                names.push(name);
            }
        }
    };
    picture.partitions.iter().for_each(|p| note(&p.total));
    let of_queues = picture.queues.iter().flat_map(|q| q.partitions.values());
    of_queues.for_each(|a| {
        [&a.guaranteed, &a.max, &a.used, &a.pending]
            .into_iter()
            .for_each(&mut note);
    });
    let types = names.into_iter().map(|name| ResourceType {
        units: if name == "memory-mb" { "Mi" } else { "" }.to_owned(),
        name,
        minimum_allocation: 1,
        maximum_allocation: NO_LIMIT,
    });
    ResourceTypes::new(types.collect()).unwrap_or_else(|_| ResourceTypes::memory_and_vcores())
}

/// One case on its way through its rounds.
struct Run<'a> {
    body: &'a SnapshotBody,
    types: ResourceTypes,
    picture: Picture,
    /// Marks of all rounds by application.
    so_far: BTreeMap<String, i64>,
    failures: Vec<Failure>,
}

/// Whose a container is, and where.
type Owners = BTreeMap<ContainerKey, (String, String)>;

/// What a round did, counted.
#[derive(Default)]
struct Done {
    marked: BTreeMap<String, i64>,
    killed: BTreeMap<String, i64>,
    marked_on_node: BTreeMap<(String, String), i64>,
}

impl Done {
    fn of(actions: &[Action], owners: &Owners) -> Self {
        let mut done = Self::default();
        for action in actions {
            let (key, table) = match action {
                Action::MarkPreemption(key) => (key, &mut done.marked),
                Action::Kill(key) => (key, &mut done.killed),
                Action::DropReservation(_) | Action::MoveReservation { .. } => continue,
            };
            let Some((app, node)) = owners.get(key) else {
                continue;
            };
            *table.entry(app.clone()).or_default() += 1;
            if matches!(action, Action::MarkPreemption(_)) {
                let place = (app.clone(), node.clone());
                *done.marked_on_node.entry(place).or_default() += 1;
            }
        }
        done
    }
}

impl Run<'_> {
    fn replace(&mut self, new: &crate::snapshot::Replacement) {
        if let Some(queues) = &new.queues {
            self.picture.queues.clone_from(queues);
        }
        if let Some(apps) = &new.apps {
            self.picture.apps.clone_from(apps);
        }
        if let Some(partitions) = &new.partitions {
            self.picture.partitions.clone_from(partitions);
        }
        if let Some(nodes) = &new.nodes {
            self.picture.nodes.clone_from(nodes);
        }
    }

    fn res(&self, res: &Res) -> Resource {
        let mut out = Resource::ZERO;
        for (name, amount) in res.dims() {
            if let Some(lane) = self.types.lane(&name) {
                out.0[lane] = amount.saturating_mul(self.types.scale(lane));
            }
        }
        out
    }

    fn partition(&self, name: &str) -> Result<usize, String> {
        let at = self.picture.partitions.iter().position(|p| p.name == name);
        at.ok_or_else(|| format!("there is no partition {name}"))
    }

    /// Names, partitions and totals of the nodes; one per partition where the case has none.
    fn nodes(&self) -> Result<Vec<(String, Node)>, String> {
        if self.picture.nodes.is_empty() {
            let of = self.picture.partitions.iter().enumerate();
            return Ok(of
                .map(|(partition, p)| {
                    let total = self.res(&p.total);
                    (p.name.clone(), Node { partition, total })
                })
                .collect());
        }
        let nodes = self.picture.nodes.iter().map(|n| {
            let partition = self.partition(&n.partition)?;
            let whole = &self.picture.partitions[partition].total;
            let total = self.res(n.total.as_ref().unwrap_or(whole));
            Ok((n.name.clone(), Node { partition, total }))
        });
        nodes.collect()
    }

    /// `key` of a queue, or of one above it.
    fn inherited(&self, path: &str, key: &str) -> Option<bool> {
        let mut at = path;
        loop {
            let own = format!("yarn.scheduler.capacity.{at}.{key}");
            if let Some(value) = self.body.conf.get(&own) {
                return Some(value.trim() == "true");
            }
            at = at.rsplit_once('.')?.0;
        }
    }

    fn queues(&self) -> Result<Vec<Queue>, String> {
        let all = &self.picture.queues;
        let queue = |q: &crate::snapshot::SnapshotQueue| {
            let above = q.path.rsplit_once('.').map(|(above, _)| above);
            let parent = above.and_then(|above| all.iter().position(|p| p.path == above));
            let policy = format!("yarn.scheduler.capacity.{}.ordering-policy", q.path);
            let fair = self.body.conf.get(&policy).is_some_and(|p| p == "fair");
            let mut shares = vec![QueueShare::default(); self.picture.partitions.len()];
            for (name, a) in &q.partitions {
                let reserved = a.reserved.as_ref().map_or(Resource::ZERO, |r| self.res(r));
                let pending = self.res(&a.pending);
                shares[self.partition(name)?] = QueueShare {
                    guaranteed: self.res(&a.guaranteed),
                    max: self.res(&a.max),
                    used: self.res(&a.used),
                    reserved,
                    pending,
                    pending_less_reserved: pending.minus(reserved).at_least_zero(),
                    killable: Resource::ZERO,
                };
            }
            Ok(Queue {
                parent,
                leaf: q.leaf,
                priority: q.priority,
                priority_order: true,
                disabled: self.inherited(&q.path, "disable_preemption") == Some(true),
                intra_disabled: self
                    .inherited(&q.path, "intra-queue-preemption.disable_preemption")
                    == Some(true),
                max_am_percent: q.max_am_resource_percent,
                order: if fair {
                    LeafOrder::Fair {
                        size_based_weight: false,
                    }
                } else {
                    LeafOrder::Fifo
                },
                shares,
            })
        };
        all.iter().map(queue).collect()
    }

    fn snapshot(&self) -> Result<(Snapshot, Owners), String> {
        let nodes = self.nodes()?;
        let queues = self.queues()?;
        let partitions = self.picture.partitions.len();
        let mut owners = Owners::new();
        let mut users: Vec<User> = Vec::new();
        let mut user_at: BTreeMap<(usize, String), usize> = BTreeMap::new();
        let mut apps = Vec::new();
        for (number, app) in self.picture.apps.iter().enumerate() {
            let queue = self.picture.queues.iter().position(|q| q.path == app.queue);
            let queue = queue.ok_or_else(|| format!("there is no queue {}", app.queue))?;
            let built = self.app(app, number, &nodes, &mut owners)?;
            let name = app.user.clone().unwrap_or_default();
            let user = *user_at.entry((queue, name)).or_insert_with(|| {
                let limit = self.picture.queues[queue].user_limit.as_ref();
                let limit = limit.map_or(Resource([NO_LIMIT; yarn_types::LANES]), |l| self.res(l));
                let share = UserShare {
                    used: Resource::ZERO,
                    limit,
                };
                users.push(User {
                    shares: vec![share; partitions],
                });
                users.len() - 1
            });
            for (share, of_app) in users[user].shares.iter_mut().zip(&built.shares) {
                share.used = share.used.plus(of_app.used);
            }
            apps.push(App {
                queue,
                user,
                ..built
            });
        }
        let snapshot = Snapshot {
            partitions: self
                .picture
                .partitions
                .iter()
                .map(|p| preempt::Partition {
                    total: self.res(&p.total),
                    exclusive: p.exclusive,
                })
                .collect(),
            nodes: nodes.into_iter().map(|(_, node)| node).collect(),
            queues,
            users,
            apps,
            minimum_allocation: Resource::new(1, 1),
        };
        Ok((snapshot, owners))
    }

    fn app(
        &self,
        app: &SnapshotApp,
        number: usize,
        nodes: &[(String, Node)],
        owners: &mut Owners,
    ) -> Result<App, String> {
        let mut built = App {
            priority: app.priority,
            active: true,
            shares: vec![AppShare::default(); self.picture.partitions.len()],
            ..App::default()
        };
        for (name, pending) in &app.pending {
            built.shares[self.partition(name)?].pending = self.res(pending);
        }
        let first = u64::try_from(number).unwrap_or(u64::MAX) << KEY_BITS;
        for c in &app.containers {
            let asked = self.partition(c.label.as_deref().unwrap_or("default"))?;
            let at = match &c.node {
                Some(name) => nodes.iter().position(|(n, _)| n == name),
                None => nodes.iter().position(|(_, n)| n.partition == asked),
            };
            let node = at.ok_or("a container is on no node")?;
            let partition = nodes[node].1.partition;
            let size = self.res(&c.size);
            for _ in 0..c.count {
                let key = first + u64::try_from(built.containers.len()).unwrap_or(0);
                owners.insert(key, (app.id.clone(), nodes[node].0.clone()));
                if c.am {
                    built.am = Some((partition, size));
                }
                let share = &mut built.shares[partition];
                share.used = share.used.plus(size);
                built.containers.push(Container {
                    key,
                    size,
                    node,
                    asked,
                    priority: c.priority.unwrap_or(1),
                    am: c.am,
                    reserved: c.reserved,
                    ..Container::default()
                });
            }
        }
        Ok(built)
    }

    fn compare(&mut self, step: &str, expect: &TickExpect, done: &Done, monitor: &Monitor) {
        for (app, count) in &done.marked {
            *self.so_far.entry(app.clone()).or_default() += count;
        }
        let of = |table: &BTreeMap<String, i64>, app: &str| table.get(app).copied().unwrap_or(0);
        let sum = |table: &BTreeMap<String, i64>| table.values().sum::<i64>();
        let mut wants: Vec<(String, i64, i64)> = Vec::new();
        for (app, want) in &expect.marked {
            wants.push((format!("marked.{app}"), *want, of(&done.marked, app)));
        }
        for (app, want) in &expect.killed {
            wants.push((format!("killed.{app}"), *want, of(&done.killed, app)));
        }
        if let Some(want) = expect.total_marked {
            wants.push(("total_marked".to_owned(), want, sum(&done.marked)));
        }
        if let Some(want) = expect.total_events {
            let got = sum(&done.marked) + sum(&done.killed);
            wants.push(("total_events".to_owned(), want, got));
        }
        match &expect.marked_total_so_far {
            Some(SoFar::Total(want)) => {
                wants.push(("marked_total_so_far".to_owned(), *want, sum(&self.so_far)));
            }
            Some(SoFar::ByApp(by_app)) => {
                for (app, want) in by_app {
                    let name = format!("marked_total_so_far.{app}");
                    wants.push((name, *want, of(&self.so_far, app)));
                }
            }
            None => {}
        }
        for (app, by_node) in &expect.marked_on_node {
            for (node, want) in by_node {
                let got = done.marked_on_node.get(&(app.clone(), node.clone()));
                let name = format!("marked_on_node.{app}.{node}");
                wants.push((name, *want, got.copied().unwrap_or(0)));
            }
        }
        for (name, want, got) in wants.into_iter().filter(|(_, want, got)| want != got) {
            let step = format!("{step} {name}");
            self.failures
                .push(Failure::new(step, want.to_string(), got.to_string()));
        }
        for (path, table) in &expect.queues {
            self.compare_row(step, path, table, monitor);
        }
    }

    fn compare_row(&mut self, step: &str, path: &str, table: &QueueTable, monitor: &Monitor) {
        type Column = fn(&QueueRow) -> Resource;
        let columns: [(&str, &Option<Table>, Column); 3] = [
            ("ideal_assigned", &table.ideal_assigned, |r| {
                r.ideal_assigned
            }),
            ("preemptable_extra", &table.preemptable_extra, |r| {
                r.preemptable_extra
            }),
            ("untouchable_extra", &table.untouchable_extra, |r| {
                r.untouchable_extra
            }),
        ];
        let queue = self.picture.queues.iter().position(|q| q.path == path);
        for (name, want, column) in columns {
            let Some(want) = want else { continue };
            for (partition, want) in self.cells(want) {
                let row = queue.and_then(|q| monitor.row(q, partition));
                let got = row.map_or(Resource::ZERO, column);
                let wrong = want.dims().into_iter().find(|(dim, amount)| {
                    let lane = self.types.lane(dim);
                    lane.is_none_or(|lane| got.0[lane] != amount * self.types.scale(lane))
                });
                if wrong.is_some() {
                    let step = format!("{step} queues.{path}.{name}");
                    self.failures
                        .push(Failure::new(step, want.to_string(), self.types.show(got)));
                }
            }
        }
    }

    /// What a value says of which partition.
    fn cells(&self, table: &Table) -> Vec<(usize, Res)> {
        match table {
            Table::Memory(mb) => vec![(0, Res::Memory(*mb))],
            Table::Map(map) => {
                let by_partition = map.keys().all(|name| self.partition(name).is_ok());
                if by_partition {
                    let cell = |(name, res): (&String, &Res)| {
                        Some((self.partition(name).ok()?, res.clone()))
                    };
                    map.iter().filter_map(cell).collect()
                } else {
                    let dims = map.iter().filter_map(|(name, res)| match res {
                        Res::Memory(amount) => Some((name.clone(), *amount)),
                        Res::Dims(_) => None,
                    });
                    vec![(0, Res::Dims(dims.collect()))]
                }
            }
        }
    }
}
