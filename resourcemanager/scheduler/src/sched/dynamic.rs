//! Queues made for applications (flexible auto-creation, v2) and removed when nobody needs them.
//! May touch: the queue tree.
//! Must not: decide which queue an application goes to (`placement` does).

use std::sync::Arc;

use yarn_types::{Millis, QueueState};

use super::{Sched, ids::QueueIdx};
use crate::{
    conf::{CapacityKind, QueueConf, QueuesConf},
    reject::{Reject, RejectKind},
};

fn refuse<T>(text: String) -> Result<T, Reject> {
    Err(Reject::new(RejectKind::Yarn, text))
}

impl Sched {
    /// Makes the leaf `path` and the parents that it lacks, if its first existing parent allows it
    /// (`CapacitySchedulerQueueManager.createQueue`).
    ///
    /// # Errors
    /// Hadoop's text; nothing was made then.
    pub fn create_queue(&mut self, now: Millis, path: &str) -> Result<QueueIdx, Reject> {
        if let Some(idx) = self.tree.by_path(path) {
            if self.tree.get(idx).is_parent() {
                return refuse(format!(
                    "Could not auto create leaf queue {path}, it is a ParentQueue"
                ));
            }
            return Ok(idx);
        }
        let Some((first, missing)) = self.missing_parents(path)? else {
            return refuse(format!(
                "Could not auto-create queue {path} parent queue does not exist."
            ));
        };
        // making queues changes nothing but the tree
        let before = self.tree.clone();
        let mut made = Ok(first);
        for (at, step) in missing.iter().enumerate() {
            let is_leaf = at + 1 == missing.len();
            made = made.and_then(|parent| self.create_child(now, parent, step, is_leaf));
        }
        if made.is_ok() {
            self.cluster_changed();
        } else {
            self.tree = before;
        }
        made
    }

    /// The first existing parent, and the paths below it that must be made, the leaf last.
    fn missing_parents(&self, path: &str) -> Result<Option<(QueueIdx, Vec<String>)>, Reject> {
        let mut missing = vec![path.to_owned()];
        let mut at = path;
        let first = loop {
            let Some((parent, _)) = at.rsplit_once('.') else {
                return Ok(None);
            };
            if let Some(idx) = self.tree.by_path(parent) {
                break idx;
            }
            missing.push(parent.to_owned());
            at = parent;
        };
        missing.reverse();
        let q = self.tree.get(first);
        if !q.is_parent() {
            let parent = path.rsplit_once('.').map_or(path, |(parent, _)| parent);
            return refuse(format!(
                "Could not auto create hierarchy of {path}. Queue {parent} is not a ParentQueue."
            ));
        }
        // levels between the leaf and the first static parent
        let above = self
            .tree
            .chain(first)
            .take_while(|idx| self.tree.get(*idx).dynamic)
            .count();
        let distance = missing.len() + above;
        let limit = self.depth_limit(first);
        if distance > limit {
            return refuse(format!(
                "Could not auto create queue {path}. The distance of the LeafQueue from the first static ParentQueue is {distance}, which is above the limit."
            ));
        }
        if !q.conf.auto_create.enabled {
            return refuse(format!(
                "Auto creation of queue {path} is not enabled under parent {}",
                q.path
            ));
        }
        Ok(Some((first, missing)))
    }

    fn depth_limit(&self, queue: QueueIdx) -> usize {
        self.tree.get(queue).conf.auto_create.max_depth as usize
    }

    /// `AbstractParentQueue.addDynamicChildQueue`.
    fn create_child(
        &mut self,
        now: Millis,
        parent: QueueIdx,
        path: &str,
        is_leaf: bool,
    ) -> Result<QueueIdx, Reject> {
        let p = self.tree.get(parent);
        let most = p.conf.auto_create.max_queues as usize;
        if p.children.len() >= most {
            return refuse(format!(
                "Cannot auto create queue {path}. Max Child Queue limit exceeded which is configured as: {most} and number of child queues is: {}",
                p.children.len()
            ));
        }
        if self.conf.queues.cluster.legacy_mode && !self.weighted(parent) {
            return refuse(format!(
                "Trying to create new queue={path} but not all the queues under parent={} are using weight-based capacity. Failed to created queue",
                p.path
            ));
        }
        let conf = self.created(&self.conf.queues, &p.conf, path, !is_leaf)?;
        let idx = self.add_queue(conf, Some(parent), true)?;
        self.tree.get_mut(idx).state = QueueState::Running;
        self.tree.get_mut(idx).used_at = now;
        self.tree.get_mut(parent).used_at = now;
        Ok(idx)
    }

    /// Every child has its capacity as a weight.
    fn weighted(&self, parent: QueueIdx) -> bool {
        self.tree.get(parent).children.iter().all(|c| {
            let conf = self.tree.get(*c).conf.default_partition();
            conf.vector.uniform == Some(CapacityKind::Weight) || conf.weight >= 0.0
        })
    }

    /// Created queues take their settings from a new configuration.
    pub(super) fn refresh_dynamic(
        &mut self,
        queues: &QueuesConf,
        fixed: &[QueueIdx],
    ) -> Result<(), Reject> {
        for idx in self.tree.in_order() {
            let q = self.tree.get(idx);
            let Some(parent) = q.parent.filter(|_| q.dynamic && !fixed.contains(&idx)) else {
                continue;
            };
            let above = self.tree.get(parent).conf.clone();
            let (path, is_parent) = (q.path.clone(), q.conf.is_parent);
            let conf = self.created(queues, &above, &path, is_parent)?;
            self.tree.get_mut(idx).conf = Arc::new(conf);
        }
        Ok(())
    }

    /// The settings of a created queue.
    fn created(
        &self,
        queues: &QueuesConf,
        parent: &QueueConf,
        path: &str,
        is_parent: bool,
    ) -> Result<QueueConf, Reject> {
        let (types, calculator) = (&self.conf.types, self.conf.calculator);
        let made = queues.created_queue(parent, path, is_parent, types, calculator);
        made.or_else(|problems| {
            let reasons: Vec<String> = problems.iter().map(ToString::to_string).collect();
            refuse(reasons.join("; "))
        })
    }

    /// Created queues that were not used for `auto-queue-creation-v2.queue-expiration-time` and
    /// hold nothing go (`AutoCreatedQueueDeletionPolicy`); answers their paths.
    pub fn expire_queues(&mut self, now: Millis) -> Vec<String> {
        let after = self
            .conf
            .queues
            .cluster
            .queue_expiration_s
            .saturating_mul(1000);
        let mut gone = Vec::new();
        for idx in self.tree.in_order().into_iter().rev() {
            let q = self.tree.get(idx);
            if self.deletable(idx) && now.since(q.used_at) > after {
                gone.push(q.path.to_string());
                self.tree.remove(idx);
            }
        }
        if !gone.is_empty() {
            self.cluster_changed();
        }
        gone
    }

    /// A created queue without applications and children that may be removed.
    pub(super) fn deletable(&self, idx: QueueIdx) -> bool {
        let q = self.tree.get(idx);
        q.dynamic
            && q.conf.auto_create.auto_removal
            && q.children.is_empty()
            && q.leaf.apps == 0
            && q.containers == 0
    }
}
