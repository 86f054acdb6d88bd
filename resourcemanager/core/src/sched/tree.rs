//! The queue tree with its accounts: shares of the cluster, use and demand of every queue.
//! May touch: its own arena.
//! Must not: change an account (only `commit.rs` calls the crate-private changers).

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use yarn_types::{Resource, ResourceTypes};

use super::ids::{AppIdx, QueueIdx, UserIdx};
use crate::{
    conf::{QueueConf, QueuesConf},
    num,
};

/// Order of applications in a leaf: priority, then submission.
pub(super) type AppOrder = (Reverse<i32>, u64);

/// A queue and its accounts.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Queue {
    pub conf: QueueConf,
    /// Path, shared with reasons.
    pub path: Arc<str>,
    pub parent: Option<QueueIdx>,
    pub children: Vec<QueueIdx>,
    /// Share of the cluster that is guaranteed.
    pub share: f32,
    /// Share of the cluster that is the maximum.
    pub maximum_share: f32,
    /// Held by containers below.
    pub used: Resource,
    /// Containers below.
    pub containers: u32,
    /// Outstanding asks of active applications below.
    pub pending: Resource,
    /// Outstanding containers below.
    pub pending_containers: u32,
    /// What only leaves have.
    pub leaf: Leaf,
}

/// The applications and users of a leaf.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Leaf {
    /// Applications whose ApplicationMaster may run.
    pub active: BTreeMap<AppOrder, AppIdx>,
    /// Applications waiting for that.
    pub waiting: BTreeMap<AppOrder, AppIdx>,
    /// Applications submitted and not ended.
    pub apps: u32,
    /// Held by ApplicationMasters.
    pub am_used: Resource,
    /// ApplicationMasters counted.
    pub ams: u32,
    pub users: BTreeMap<UserIdx, LeafUser>,
    /// Change number of the last grant or change of demand here.
    pub changed_at: u64,
}

/// One user's part of a leaf.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct LeafUser {
    pub used: Resource,
    pub am_used: Resource,
    pub ams: u32,
    /// Applications submitted and not ended.
    pub apps: u32,
    /// Active applications with outstanding asks.
    pub demanding: u32,
    /// Applications waiting for their ApplicationMaster's turn.
    pub waiting: u32,
}

/// All queues, parents before children.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tree {
    pub queues: Vec<Queue>,
}

impl Tree {
    /// A tree without use.
    pub fn new(conf: &QueuesConf) -> Self {
        let mut queues: Vec<Queue> = Vec::with_capacity(conf.queues.len());
        for (index, q) in conf.queues.iter().enumerate() {
            let idx = QueueIdx(u16::try_from(index).unwrap_or(u16::MAX));
            let parent = q.parent.and_then(|p| u16::try_from(p).ok()).map(QueueIdx);
            let (share, maximum_share) = match parent {
                None => (1.0, 1.0),
                Some(p) => {
                    let parent = &mut queues[p.at()];
                    parent.children.push(idx);
                    (
                        q.capacity * parent.share,
                        q.maximum_capacity * parent.maximum_share,
                    )
                }
            };
            queues.push(Queue {
                conf: q.clone(),
                path: Arc::from(q.path.as_str()),
                parent,
                children: Vec::new(),
                share,
                maximum_share,
                used: Resource::ZERO,
                containers: 0,
                pending: Resource::ZERO,
                pending_containers: 0,
                leaf: Leaf::default(),
            });
        }
        Self { queues }
    }

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

    /// The queue that a client means: a full path, or a last part that is unique among leaves
    /// (Hadoop keeps short names), or among all queues.
    pub fn find(&self, name: &str) -> Option<QueueIdx> {
        let name = name.trim();
        let found = |test: &dyn Fn(&Queue) -> bool| {
            let mut hits = (0_u16..).zip(&self.queues).filter(|(_, q)| test(q));
            let first = hits.next()?;
            hits.next().is_none().then_some(QueueIdx(first.0))
        };
        found(&|q| q.conf.path == name)
            .or_else(|| found(&|q| q.conf.name == name && !q.conf.is_parent))
            .or_else(|| found(&|q| q.conf.name == name))
    }

    /// More than one queue ends in `name`.
    pub fn is_ambiguous(&self, name: &str) -> bool {
        self.queues.iter().filter(|q| q.conf.name == name).count() > 1
    }

    /// What `idx` is guaranteed of `cluster`.
    pub fn guaranteed(&self, idx: QueueIdx, cluster: Resource, types: &ResourceTypes) -> Resource {
        num::share_of(cluster, self.get(idx).share, types)
    }

    /// The most that `idx` may hold of `cluster`.
    pub fn maximum(&self, idx: QueueIdx, cluster: Resource, types: &ResourceTypes) -> Resource {
        num::share_of(cluster, self.get(idx).maximum_share, types)
    }

    /// Adds (or takes, with negative figures) demand on the whole path.
    pub fn change_pending(&mut self, idx: QueueIdx, by: Resource, containers: i64) {
        let mut at = Some(idx);
        while let Some(q) = at {
            let queue = self.get_mut(q);
            queue.pending = queue.pending.plus(by);
            let count = i64::from(queue.pending_containers).saturating_add(containers);
            queue.pending_containers = u32::try_from(count.max(0)).unwrap_or(u32::MAX);
            at = queue.parent;
        }
    }
}
