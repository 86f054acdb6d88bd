//! The hierarchy is built and refreshed: validated against the state, applied in one step or not
//! at all.
//! May touch: the queue tree.
//! Must not: lose a container or an application.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use yarn_types::{Millis, QueueState, Resource, ResourceTypes};

use super::{
    Sched,
    container::Containers,
    ids::QueueIdx,
    label::Labels,
    node::Nodes,
    tree::{Queue, Tree},
};
use crate::{
    conf::{ConfiguredState, QueueConf, QueuesConf, SchedConf},
    placement::Rules,
    preempt::Monitor,
    reject::{Reject, RejectKind},
};

impl Sched {
    /// A scheduler without nodes and applications.
    pub fn new(conf: SchedConf) -> Self {
        let queues = conf.queues.clone();
        let mut sched = Self {
            conf,
            rules: Rules::default(),
            labels: Labels::default(),
            nodes: Nodes::default(),
            tree: Tree::default(),
            apps: Vec::new(),
            containers: Containers::default(),
            users: Vec::new(),
            user_ids: BTreeMap::new(),
            user_runnable: BTreeMap::new(),
            submitted: 0,
            now: Millis::default(),
            stirred: false,
            warnings: Vec::new(),
            monitor: Monitor::default(),
            told: Vec::new(),
            event: super::event::Event::default(),
            reservations: super::Reservations::default(),
            #[cfg(feature = "stubs")]
            stub_active_users: BTreeMap::new(),
            #[cfg(feature = "mutants")]
            mutant: None,
        };
        let merged = sched.merge(&queues, &[]);
        debug_assert!(
            merged.is_ok(),
            "the configuration was validated: {merged:?}"
        );
        // wrong rules were refused before (`placement_problems`)
        sched.rules = Rules::parse(&sched.conf.rules, &sched).unwrap_or_default();
        sched.cluster_changed();
        sched
    }

    /// Replaces the hierarchy and the maximum allocation; queues of the same path keep their use,
    /// demand and applications. Lanes, calculator and minimum allocation stay as at start.
    ///
    /// # Errors
    /// Hadoop's text; nothing changed then.
    pub fn reload(&mut self, conf: SchedConf) -> Result<(), Reject> {
        let refused = |e: Reject| {
            Reject::new(
                RejectKind::Yarn,
                format!("Failed to re-init queues : {}", e.message),
            )
        };
        let types = self.conf.types.clone().with_maxima_of(&conf.types);
        let mut queues = conf.queues;
        // chosen at start
        queues.cluster.pacing = self.pacing();
        let old: Vec<QueueIdx> = self.tree.iter().map(|(idx, _)| idx).collect();
        #[cfg(feature = "mutants")]
        if self.mutant == Some(super::Mutant::MergeFirst) {
            self.merge(&queues, &old).map_err(refused)?;
        }
        self.check_reload(&queues, &types).map_err(refused)?;
        // merging changes nothing but the tree
        let before = self.tree.clone();
        let types = std::mem::replace(&mut self.conf.types, types);
        let merged = self.merge(&queues, &old);
        if let Err(e) = merged.and_then(|()| self.take_rules(&conf.rules)) {
            self.tree = before;
            self.conf.types = types;
            return Err(refused(e));
        }
        self.conf.max_application_priority = conf.max_application_priority;
        self.conf.queues = queues;
        self.conf.rules = conf.rules;
        self.conf.workflow = conf.workflow;
        let leaf = |(idx, q): (QueueIdx, &Queue)| (!q.is_parent()).then_some(idx);
        let leaves: Vec<QueueIdx> = self.tree.iter().filter_map(leaf).collect();
        for idx in leaves {
            self.settle_weights(idx);
            self.reorder_all(idx);
        }
        self.layout_changed(!self.tree.is_laid_out_as(&before));
        self.run_all_that_may();
        Ok(())
    }

    /// Lays a configuration over the tree: new queues come, missing static ones go, the others
    /// take their new settings. Created queues stay where their parent does.
    fn merge(&mut self, queues: &QueuesConf, old: &[QueueIdx]) -> Result<(), Reject> {
        let mut slots: Vec<QueueIdx> = Vec::with_capacity(queues.queues.len());
        let mut old = old.to_vec();
        let all = self.tree.iter();
        let by_path: BTreeMap<Arc<str>, QueueIdx> =
            all.map(|(idx, q)| (q.path.clone(), idx)).collect();
        for conf in &queues.queues {
            let parent = conf.parent.and_then(|p| slots.get(p)).copied();
            let known = by_path.get(&*conf.path).copied();
            slots.push(match known {
                Some(idx) => {
                    if self.tree.get(idx).is_parent() != conf.is_parent {
                        // a leaf that becomes a parent, or the reverse, is a new queue
                        old.retain(|o| *o != idx);
                    }
                    self.retake(idx, conf.clone());
                    idx
                }
                None => self.add_queue(conf.clone(), parent, false)?,
            });
        }
        let kept: BTreeSet<QueueIdx> = slots.iter().copied().collect();
        let gone: Vec<QueueIdx> = self
            .tree
            .in_order()
            .into_iter()
            .rev()
            .filter(|idx| !kept.contains(idx) && !self.tree.get(*idx).dynamic)
            .collect();
        for idx in gone {
            self.remove_with_children(idx);
        }
        self.refresh_dynamic(queues, &slots)?;
        self.order_children(queues, &slots);
        self.take_states(&old)
    }

    fn retake(&mut self, idx: QueueIdx, conf: QueueConf) {
        let q = self.tree.get_mut(idx);
        q.dynamic = false;
        q.conf = Arc::new(conf);
    }

    /// Adds a queue below `parent`.
    pub(super) fn add_queue(
        &mut self,
        conf: QueueConf,
        parent: Option<QueueIdx>,
        dynamic: bool,
    ) -> Result<QueueIdx, Reject> {
        let mut queue = Queue::new(conf, parent);
        queue.dynamic = dynamic;
        self.tree.insert(queue).ok_or_else(|| {
            Reject::new(
                RejectKind::Yarn,
                format!("there are {} queues; one more is too many", u16::MAX),
            )
        })
    }

    fn remove_with_children(&mut self, idx: QueueIdx) {
        for child in self.tree.get(idx).children.clone() {
            self.remove_with_children(child);
        }
        self.tree.remove(idx);
    }

    /// Static children in the order of configuration, created ones after them.
    fn order_children(&mut self, queues: &QueuesConf, slots: &[QueueIdx]) {
        let places: BTreeMap<QueueIdx, usize> = slots.iter().copied().zip(0..).collect();
        for idx in slots {
            let of = |c: &QueueIdx| places.get(c).copied().unwrap_or(usize::MAX);
            self.tree.get_mut(*idx).children.sort_by_key(of);
        }
        debug_assert_eq!(slots.len(), queues.queues.len());
    }

    fn reorder_all(&mut self, leaf: QueueIdx) {
        let q = self.tree.get(leaf);
        let apps: Vec<_> = q
            .leaf
            .active
            .values()
            .chain(q.leaf.pending.values())
            .copied()
            .collect();
        for app in apps {
            self.reorder(app);
        }
    }

    /// `CapacitySchedulerQueueManager.validateQueueHierarchy` and the leaves' own rules.
    fn check_reload(&self, queues: &QueuesConf, types: &ResourceTypes) -> Result<(), Reject> {
        let refuse = |text: String| Err(Reject::new(RejectKind::Yarn, text));
        let by_path: BTreeMap<&str, &QueueConf> =
            queues.queues.iter().map(|q| (q.path.as_str(), q)).collect();
        for (idx, old) in self.tree.iter() {
            let (path, state) = (&old.path, old.state);
            // Hadoop takes a queue with applications out that is to stop; theirs would be lost
            let stops = || {
                (state == QueueState::Stopped || queues.stops(path)) && self.apps_below(idx) == 0
            };
            match by_path.get(&**path) {
                None if !old.dynamic && !stops() => {
                    return refuse(format!(
                        "{path} cannot be deleted from the capacity scheduler configuration, as the queue is not yet in stopped state. Current State : {}",
                        state.as_str()
                    ));
                }
                Some(new) if new.is_parent && !old.is_parent() && !old.dynamic && !stops() => {
                    return refuse(format!(
                        "Can not convert the leaf queue: {path} to parent queue since it is not yet in stopped state. Current State : {}",
                        state.as_str()
                    ));
                }
                Some(new) if !new.is_parent && !old.is_parent() => {
                    self.check_leaf(old, new, types)?;
                }
                Some(new) if new.is_parent && old.is_parent() => {
                    check_zero_sum(old, new, queues)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A leaf's largest container may not shrink.
    fn check_leaf(
        &self,
        old: &Queue,
        new: &QueueConf,
        types: &ResourceTypes,
    ) -> Result<(), Reject> {
        let of = |own: Option<Resource>, types: &ResourceTypes| {
            let cluster = types.maximum_allocation();
            own.map_or(cluster, |own| own.min(cluster))
        };
        let before = of(old.conf.maximum_allocation, &self.conf.types);
        let after = of(new.maximum_allocation, types);
        if before.fits(after) {
            return Ok(());
        }
        let types = &self.conf.types;
        Err(Reject::new(
            RejectKind::Yarn,
            format!(
                "Trying to reinitialize {} the maximum allocation size can not be decreased! Current setting: {}, trying to set it to: {}",
                old.path,
                types.show(before),
                types.show(after)
            ),
        ))
    }
}

/// Whether children may have nothing of a parent that has something is fixed when the parent is
/// made (`AbstractParentQueue.allowZeroCapacitySum`).
fn check_zero_sum(old: &Queue, new: &QueueConf, queues: &QueuesConf) -> Result<(), Reject> {
    let children = queues.queues.iter().filter(|q| {
        let parent = q.parent.and_then(|p| queues.queues.get(p));
        parent.is_some_and(|p| p.path == new.path)
    });
    let mut own = children.map(QueueConf::default_partition);
    let weighs = new.default_partition();
    let empty = own.clone().next().is_some()
        && own.all(|l| l.capacity == 0.0 && l.weight < 0.0 && !l.is_absolute);
    if !queues.cluster.legacy_mode || old.conf.allow_zero_sum || !empty || weighs.capacity == 0.0 {
        return Ok(());
    }
    Err(Reject::new(
        RejectKind::Yarn,
        format!(
            "Illegal capacity sum of 0.0 for children of queue {} for label=. It is set to 0, but parent percent != 0, and doesn't allow children capacity to set to 0",
            new.name
        ),
    ))
}

impl QueuesConf {
    /// The entry says that the queue of this path, listed or not, is stopped.
    pub(super) fn stops(&self, path: &str) -> bool {
        if let Some(q) = self.queues.iter().find(|q| q.path == path) {
            return q.state == Some(ConfiguredState::Stopped);
        }
        let key = format!("{}{path}.state", crate::conf::PREFIX);
        let text = self.raw.get(&key).map(|s| s.trim());
        text.is_some_and(|s| s.eq_ignore_ascii_case("STOPPED"))
    }
}
