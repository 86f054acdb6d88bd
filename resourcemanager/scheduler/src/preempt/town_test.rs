//! Small pictures for the tests of the monitor.
//! May touch: snapshots.
//! Must not: hold expectations.

use yarn_types::{Millis, Resource, ResourceType, ResourceTypes};

use super::{
    Action, App, AppShare, Container, Monitor, Node, Partition, Queue, QueueShare, Rules, Snapshot,
    User, UserShare,
};
use crate::{
    conf::{IntraOrder, IntraPreemption, PreemptionConf},
    num::Calculator,
};

/// A monitor that takes all at once: no dead zone but Hadoop's, nothing expected to end by itself.
pub(super) fn conf() -> PreemptionConf {
    PreemptionConf {
        enabled: true,
        observe_only: false,
        interval_ms: 3_000,
        max_wait_before_kill_ms: 10_000,
        total_per_round: 1.0,
        max_ignored_over_capacity: 0.1,
        natural_termination_factor: 1.0,
        select_reserved: false,
        balance_reserved: false,
        conservative_drf: false,
        balance_after_satisfied: false,
        balance_max_wait_before_kill_ms: 300_000,
        intra: IntraPreemption {
            enabled: false,
            minimum_threshold: 0.5,
            max_allowable_limit: 0.2,
            order: IntraOrder::UserLimitFirst,
            conservative_drf: true,
        },
        underutilized: false,
        underutilized_delay_ms: 60_000,
        underutilized_move_reservation: false,
    }
}

/// Memory, vcores and GPUs.
pub(super) fn types() -> ResourceTypes {
    let lane = |name: &str| ResourceType {
        name: name.to_owned(),
        units: String::new(),
        minimum_allocation: 1,
        maximum_allocation: 1_000_000,
    };
    ResourceTypes::new(vec![lane("memory-mb"), lane("vcores"), lane("yarn.io/gpu")]).unwrap()
}

/// Memory alone.
pub(super) fn mb(amount: i64) -> Resource {
    Resource::new(amount, 0)
}

/// Memory, vcores and whole devices.
pub(super) fn gpu(memory: i64, vcores: i64, devices: i64) -> Resource {
    Resource::new(memory, vcores).with(2, devices * 1000)
}

/// A picture under construction: one partition, one node, a root that owns all.
pub(super) struct Town {
    pub(super) snapshot: Snapshot,
}

impl Town {
    pub(super) fn new(total: Resource) -> Self {
        let root = QueueShare {
            guaranteed: total,
            max: total,
            ..QueueShare::default()
        };
        let snapshot = Snapshot {
            partitions: vec![Partition {
                total,
                exclusive: true,
            }],
            nodes: vec![Node {
                partition: 0,
                total,
            }],
            queues: vec![Queue {
                priority_order: true,
                shares: vec![root],
                ..Queue::default()
            }],
            minimum_allocation: Resource::new(1, 1),
            ..Snapshot::default()
        };
        Self { snapshot }
    }

    /// A queue of `parent`: what it is entitled to, and what it asks for.
    pub(super) fn queue(
        &mut self,
        parent: usize,
        leaf: bool,
        has: Resource,
        asks: Resource,
    ) -> usize {
        let max = self.snapshot.partitions[0].total;
        self.snapshot.queues.push(Queue {
            parent: Some(parent),
            leaf,
            priority_order: true,
            shares: vec![QueueShare {
                guaranteed: has,
                max,
                pending: asks,
                pending_less_reserved: asks,
                ..QueueShare::default()
            }],
            ..Queue::default()
        });
        self.snapshot.queues.len() - 1
    }

    /// A leaf below root.
    pub(super) fn leaf(&mut self, has: Resource, asks: Resource) -> usize {
        self.queue(0, true, has, asks)
    }

    /// A user of a leaf with a limit.
    pub(super) fn user(&mut self, limit: Resource) -> usize {
        self.snapshot.users.push(User {
            shares: vec![UserShare {
                used: Resource::ZERO,
                limit,
            }],
        });
        self.snapshot.users.len() - 1
    }

    /// An application of a leaf, with a user of its own.
    pub(super) fn app(&mut self, queue: usize) -> usize {
        let user = self.user(mb(1_000_000));
        self.app_of(queue, user, 0)
    }

    /// An application of a user.
    pub(super) fn app_of(&mut self, queue: usize, user: usize, priority: i32) -> usize {
        self.snapshot.apps.push(App {
            queue,
            user,
            priority,
            active: true,
            shares: vec![AppShare::default()],
            ..App::default()
        });
        self.snapshot.apps.len() - 1
    }

    /// What an application asks for, within its leaf's demand.
    pub(super) fn asks(&mut self, app: usize, asks: Resource) {
        self.snapshot.apps[app].shares[0].pending = asks;
    }

    /// `count` containers; all accounts follow.
    pub(super) fn holds(&mut self, app: usize, count: u32, size: Resource) {
        for _ in 0..count {
            self.put(app, size, |_| {});
        }
    }

    /// The AM.
    pub(super) fn am(&mut self, app: usize, size: Resource) {
        self.put(app, size, |container| container.am = true);
        self.snapshot.apps[app].am = Some((0, size));
    }

    /// One container, changed by `change`; all accounts follow. Its key tells application and place.
    pub(super) fn put(&mut self, app: usize, size: Resource, change: impl Fn(&mut Container)) {
        let facts = &mut self.snapshot.apps[app];
        let mut container = Container {
            key: key(app, facts.containers.len()),
            size,
            priority: 1,
            ..Container::default()
        };
        change(&mut container);
        facts.containers.push(container);
        let partition = self.snapshot.nodes[container.node].partition;
        if !container.reserved {
            let share = &mut facts.shares[partition];
            share.used = share.used.plus(size);
        }
        let user = &mut self.snapshot.users[facts.user].shares[partition];
        user.used = user.used.plus(size);
        let mut queue = Some(facts.queue);
        while let Some(index) = queue {
            let share = &mut self.snapshot.queues[index].shares[partition];
            share.used = share.used.plus(size);
            if container.reserved {
                share.reserved = share.reserved.plus(size);
            }
            queue = self.snapshot.queues[index].parent;
        }
    }

    /// How many containers of each application a fresh monitor marks, memory alone counting.
    pub(super) fn marks(&self, conf: &PreemptionConf) -> Vec<usize> {
        let types = types();
        let rules = Rules {
            calculator: Calculator::Default,
            types: &types,
            spare_cpu_only: false,
        };
        self.marks_by(conf, &rules)
    }

    /// The same with other rules.
    pub(super) fn marks_by(&self, conf: &PreemptionConf, rules: &Rules<'_>) -> Vec<usize> {
        let actions = Monitor::default().tick(Millis(0), &self.snapshot, conf, rules);
        let marked = |app: usize| {
            let of = |action: &&Action| matches!(action, Action::MarkPreemption(key) if key >> 32 == app as u64);
            actions.iter().filter(of).count()
        };
        (0..self.snapshot.apps.len()).map(marked).collect()
    }
}

/// The key of a container.
pub(super) fn key(app: usize, at: usize) -> u64 {
    ((app as u64) << 32) | at as u64
}
