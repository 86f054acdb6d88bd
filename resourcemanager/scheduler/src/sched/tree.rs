//! The queue tree: shares, use and demand of every queue by partition; applications of leaves.
//! May touch: its own arena.
//! Must not: change an account (only `commit.rs` calls the crate-private changers).

use std::{collections::BTreeMap, sync::Arc};

use yarn_types::{Millis, QueueState, Resource};

use super::{
    ids::{AppIdx, LabelIdx, QueueIdx, UserIdx},
    policy::AppOrder,
    users::{LeafUser, UserSums},
};
use crate::{capacity::Shares, conf::QueueConf};

/// What a queue holds and wants in one partition.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Usage {
    /// Held by containers and reservations below.
    pub used: Resource,
    /// The reservations' part of it.
    pub reserved: Resource,
    /// Outstanding asks below.
    pub pending: Resource,
    /// Held by ApplicationMasters, or granted to them by the limit.
    pub am_used: Resource,
}

/// A queue and its accounts.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Queue {
    pub conf: Arc<QueueConf>,
    /// Path, shared with reasons.
    pub path: Arc<str>,
    pub parent: Option<QueueIdx>,
    /// In the order of configuration, created ones after them.
    pub children: Vec<QueueIdx>,
    /// False for a slot whose queue is gone.
    pub live: bool,
    /// Made for an application (flexible auto-creation).
    pub dynamic: bool,
    pub state: QueueState,
    /// Last submission to it, or creation below it.
    pub used_at: Millis,
    /// Shares of the cluster by partition.
    pub shares: Vec<Shares>,
    /// Accounts by partition.
    pub usage: Vec<Usage>,
    /// Containers and reservations below.
    pub containers: u32,
    /// Runnable applications below (`max-parallel-apps`).
    pub runnable: u32,
    /// Outstanding containers below, all partitions.
    pub pending_containers: u32,
    /// What only leaves have.
    pub leaf: Leaf,
}

/// The applications and users of a leaf.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Leaf {
    /// Applications whose ApplicationMaster may run.
    pub active: BTreeMap<AppOrder, AppIdx>,
    /// Applications waiting for that.
    pub pending: BTreeMap<AppOrder, AppIdx>,
    /// Attempts that wait for `max-parallel-apps`, in order of submission.
    pub not_runnable: BTreeMap<u64, AppIdx>,
    /// Applications submitted and not ended.
    pub apps: u32,
    pub users: BTreeMap<UserIdx, LeafUser>,
    pub sums: UserSums,
    /// Limit that the last walk or the last change of the cluster left to this queue
    /// (`cachedResourceLimitsForHeadroom`).
    pub headroom_limit: Resource,
    /// What AM limits and headroom were last told of it (`queueResourceLimitsInfo`).
    pub current_limit: Resource,
}

impl Queue {
    pub fn new(conf: QueueConf, parent: Option<QueueIdx>) -> Self {
        Self {
            path: Arc::from(conf.path.as_str()),
            conf: Arc::new(conf),
            parent,
            children: Vec::new(),
            live: true,
            dynamic: false,
            state: QueueState::Running,
            used_at: Millis::default(),
            shares: Vec::new(),
            usage: Vec::new(),
            containers: 0,
            runnable: 0,
            pending_containers: 0,
            leaf: Leaf::default(),
        }
    }

    /// A parent by configuration, or one that may get children.
    pub fn is_parent(&self) -> bool {
        self.conf.is_parent
    }

    pub fn usage(&self, label: LabelIdx) -> Usage {
        self.usage.get(label.at()).copied().unwrap_or_default()
    }

    pub fn usage_mut(&mut self, label: LabelIdx) -> &mut Usage {
        if self.usage.len() <= label.at() {
            self.usage.resize(label.at() + 1, Usage::default());
        }
        &mut self.usage[label.at()]
    }

    pub fn share(&self, label: LabelIdx) -> Shares {
        self.shares.get(label.at()).copied().unwrap_or_default()
    }

    /// Guaranteed in `label` now (`getEffectiveCapacity`).
    pub fn guaranteed(&self, label: LabelIdx) -> Resource {
        self.share(label).effective_min
    }

    /// The most that may be held in `label` now (`getEffectiveMaxCapacity`).
    pub fn maximum(&self, label: LabelIdx) -> Resource {
        self.share(label).effective_max
    }
}

/// All queues. The root is the first slot.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Tree {
    pub queues: Vec<Queue>,
}

/// The root queue.
pub(super) const ROOT: QueueIdx = QueueIdx(0);

impl Tree {
    pub fn get(&self, idx: QueueIdx) -> &Queue {
        &self.queues[idx.at()]
    }

    pub fn get_mut(&mut self, idx: QueueIdx) -> &mut Queue {
        &mut self.queues[idx.at()]
    }

    /// `idx` and its ancestors, upward.
    pub fn chain(&self, idx: QueueIdx) -> impl Iterator<Item = QueueIdx> + '_ {
        std::iter::successors(Some(idx), |q| self.get(*q).parent)
    }

    /// Live queues by slot.
    pub fn iter(&self) -> impl Iterator<Item = (QueueIdx, &Queue)> {
        (0..=u16::MAX)
            .map(QueueIdx)
            .zip(&self.queues)
            .filter(|(_, q)| q.live)
    }

    /// Live queues, parents before children, children in their order.
    pub fn in_order(&self) -> Vec<QueueIdx> {
        let mut out = Vec::with_capacity(self.queues.len());
        let mut stack = vec![ROOT];
        while let Some(idx) = stack.pop() {
            out.push(idx);
            stack.extend(self.get(idx).children.iter().rev());
        }
        out
    }

    /// The same queues are in the same places, with other settings at most.
    pub fn is_laid_out_as(&self, other: &Self) -> bool {
        let same = |(a, b): (&Queue, &Queue)| {
            a.live == b.live
                && a.parent == b.parent
                && a.children == b.children
                && a.is_parent() == b.is_parent()
        };
        let pairs = self.queues.iter().zip(&other.queues);
        self.queues.len() == other.queues.len() && pairs.into_iter().all(same)
    }

    /// Puts a queue into a free slot, below its parent; `None` when there are too many.
    pub fn insert(&mut self, queue: Queue) -> Option<QueueIdx> {
        let parent = queue.parent;
        let slot = self.queues.iter().position(|q| !q.live);
        let idx = match slot {
            Some(slot) => QueueIdx(u16::try_from(slot).ok()?),
            None => QueueIdx(u16::try_from(self.queues.len()).ok()?),
        };
        match slot {
            Some(slot) => self.queues[slot] = queue,
            None => self.queues.push(queue),
        }
        if let Some(parent) = parent {
            self.get_mut(parent).children.push(idx);
        }
        Some(idx)
    }

    /// Takes a queue without children out.
    pub fn remove(&mut self, idx: QueueIdx) {
        if let Some(parent) = self.get(idx).parent {
            self.get_mut(parent).children.retain(|c| *c != idx);
        }
        let q = self.get_mut(idx);
        q.live = false;
        q.children.clear();
        q.leaf = Leaf::default();
    }

    /// The queue of a full path.
    pub fn by_path(&self, path: &str) -> Option<QueueIdx> {
        self.iter().find(|(_, q)| &*q.path == path).map(|(i, _)| i)
    }

    /// The queue that a client means: a full path, or a last part that is unique among leaves
    /// (Hadoop keeps short names), or among all queues.
    pub fn find(&self, name: &str) -> Option<QueueIdx> {
        let name = name.trim();
        let unique = |test: &dyn Fn(&Queue) -> bool| {
            let mut hits = self.iter().filter(|(_, q)| test(q));
            let first = hits.next()?;
            hits.next().is_none().then_some(first.0)
        };
        self.by_path(name)
            .or_else(|| unique(&|q| q.conf.name == name && !q.is_parent()))
            .or_else(|| unique(&|q| q.conf.name == name))
    }

    /// More than one queue ends in `name`.
    pub fn is_ambiguous(&self, name: &str) -> bool {
        self.iter().filter(|(_, q)| q.conf.name == name).count() > 1
    }

    /// Adds (or takes, with negative figures) demand on the whole path.
    pub fn change_pending(&mut self, idx: QueueIdx, label: LabelIdx, by: Resource) {
        let mut at = Some(idx);
        while let Some(q) = at {
            let queue = self.get_mut(q);
            let usage = queue.usage_mut(label);
            usage.pending = usage.pending.plus(by);
            at = queue.parent;
        }
    }

    /// Adds (or takes) outstanding containers on the whole path.
    pub fn change_pending_containers(&mut self, idx: QueueIdx, by: i64) {
        let mut at = Some(idx);
        while let Some(q) = at {
            let queue = self.get_mut(q);
            let count = i64::from(queue.pending_containers).saturating_add(by);
            queue.pending_containers = u32::try_from(count.max(0)).unwrap_or(u32::MAX);
            at = queue.parent;
        }
    }
}
