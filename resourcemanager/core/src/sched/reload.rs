//! Refresh of the queues: validated against the state, applied in one step or not at all.
//! May touch: the queue tree.
//! Must not: lose a container or an application.

use std::collections::BTreeMap;

use super::{Sched, ids::QueueIdx, tree::Tree};
use crate::{
    conf::QueuesConf,
    reject::{Reject, RejectKind},
};

impl Sched {
    /// Replaces the hierarchy; use, demand and applications move to the queue of the same path.
    ///
    /// # Errors
    /// Hadoop's text when a queue that is still in use or not stopped would go; nothing changed.
    pub fn reload(&mut self, queues: QueuesConf) -> Result<(), Reject> {
        let mut tree = Tree::new(&queues);
        let by_path: BTreeMap<String, QueueIdx> = (0_u16..)
            .map(QueueIdx)
            .zip(&tree.queues)
            .map(|(idx, q)| (q.conf.path.clone(), idx))
            .collect();
        self.check_reload(&tree, &by_path)?;
        for old in &self.tree.queues {
            let Some(&idx) = by_path.get(&old.conf.path) else {
                continue;
            };
            let new = tree.get_mut(idx);
            new.used = old.used;
            new.containers = old.containers;
            new.pending = old.pending;
            new.pending_containers = old.pending_containers;
            new.leaf = old.leaf.clone();
        }
        let path_of = |idx: QueueIdx| self.tree.get(idx).conf.path.clone();
        let moved = |idx: QueueIdx| by_path.get(&path_of(idx)).copied();
        let app_queues: Vec<Option<QueueIdx>> = self
            .apps
            .iter()
            .map(|a| a.as_ref().and_then(|a| moved(a.queue)))
            .collect();
        let allocs: Vec<Option<QueueIdx>> = self.allocs.iter().map(|a| moved(a.queue)).collect();
        for (app, queue) in self.apps.iter_mut().zip(app_queues) {
            if let (Some(app), Some(queue)) = (app, queue) {
                app.queue = queue;
            }
        }
        for (alloc, queue) in self.allocs.iter_mut().zip(allocs) {
            if let Some(queue) = queue {
                alloc.queue = queue;
            }
        }
        self.tree = tree;
        self.conf.queues = queues;
        self.grown();
        self.activate_everywhere();
        Ok(())
    }

    fn check_reload(
        &self,
        tree: &Tree,
        by_path: &BTreeMap<String, QueueIdx>,
    ) -> Result<(), Reject> {
        let refuse = |text: String| {
            Err(Reject::new(
                RejectKind::Yarn,
                format!("Failed to re-init queues : {text}"),
            ))
        };
        for old in &self.tree.queues {
            let path = &old.conf.path;
            let busy = old.leaf.apps > 0 || old.containers > 0;
            let state = if old.conf.stopped && busy {
                "DRAINING"
            } else if old.conf.stopped {
                "STOPPED"
            } else {
                "RUNNING"
            };
            match by_path.get(path).map(|idx| &tree.get(*idx).conf) {
                None if state != "STOPPED" => {
                    return refuse(format!(
                        "{path} cannot be deleted from the capacity scheduler configuration, as the queue is not yet in stopped state. Current State : {state}"
                    ));
                }
                Some(new)
                    if new.is_parent
                        && !old.conf.is_parent
                        && (state == "RUNNING" && !new.stopped || busy) =>
                {
                    return refuse(format!(
                        "Can not convert the leaf queue: {path} to parent queue since it is not yet in stopped state. Current State : {state}"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
