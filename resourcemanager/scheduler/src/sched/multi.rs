//! Multi-node placement: the order in which a walk looks at a partition's nodes, and containers
//! that may be taken when their place is needed.
//! May touch: the sorted lists of nodes.
//! Must not: place anything.

use yarn_types::Resource;

use super::{
    Sched,
    ids::{ContainerIdx, LabelIdx, NodeIdx, QueueIdx},
};

impl Sched {
    /// Nodes of `label` in the order in which they are tried: as last sorted, or sorted now where
    /// the policy's interval is 0.
    pub(super) fn preferred_nodes(&mut self, label: LabelIdx) -> Vec<NodeIdx> {
        let policies = &self.conf.queues.cluster.multi_node_policies;
        let always = policies.first().is_none_or(|p| p.interval_ms == 0);
        if always || !self.nodes.sorted.contains_key(&label) {
            self.sort_nodes(label, always);
        }
        let sorted = self.nodes.sorted.get(&label).cloned().unwrap_or_default();
        let here = |idx: &NodeIdx| {
            self.nodes
                .get(*idx)
                .is_some_and(|n| n.usable && n.label == label)
        };
        let mut out: Vec<NodeIdx> = sorted.into_iter().filter(here).collect();
        let new = self
            .nodes
            .usable()
            .filter(|(idx, n)| n.label == label && !out.contains(idx))
            .map(|(idx, _)| idx)
            .collect::<Vec<_>>();
        out.extend(new);
        out
    }

    /// Sorts every partition's nodes by what they hold, least first, then by name
    /// (`ResourceUsageMultiNodeLookupPolicy`).
    pub fn resort_nodes(&mut self) {
        for label in 0..self.labels.len() {
            self.sort_nodes(LabelIdx(u8::try_from(label).unwrap_or(u8::MAX)), true);
        }
    }

    /// The order that [`Self::resort_nodes`] left, default partition first.
    pub fn node_order(&self) -> Vec<NodeIdx> {
        self.nodes.sorted.values().flatten().copied().collect()
    }

    fn sort_nodes(&mut self, label: LabelIdx, by_use: bool) {
        let mut nodes: Vec<NodeIdx> = self
            .nodes
            .usable()
            .filter(|(_, n)| n.label == label)
            .map(|(idx, _)| idx)
            .collect();
        if by_use {
            let used = |idx: &NodeIdx| self.nodes.get(*idx).map(|n| (n.used, n.host.clone()));
            nodes.sort_by_key(|idx| (used(idx), *idx));
        }
        self.nodes.sorted.insert(label, nodes);
    }

    /// What lazy preemption may take on a node.
    pub(super) fn killable_on(&self, node: NodeIdx) -> Resource {
        let killable = self.nodes.get(node).map_or(&[][..], |n| &n.killable);
        killable
            .iter()
            .filter_map(|idx| self.containers.get(*idx))
            .fold(Resource::ZERO, |sum, c| sum.plus(c.resource))
    }

    /// What lazy preemption may take of a queue in a partition.
    pub(super) fn killable_in(&self, queue: QueueIdx, label: LabelIdx) -> Resource {
        if !self.conf.queues.cluster.lazy_preemption {
            return Resource::ZERO;
        }
        let of_label = self.nodes.killable().filter(|(_, n)| n.label == label);
        let killable = of_label.flat_map(|(_, n)| &n.killable);
        killable
            .filter_map(|idx| self.containers.get(*idx))
            .filter(|c| {
                let leaf = self.app(c.app).map(|a| a.queue);
                leaf.is_some_and(|leaf| self.tree.chain(leaf).any(|q| q == queue))
            })
            .fold(Resource::ZERO, |sum, c| sum.plus(c.resource))
    }

    /// A container may (no longer) be taken when its place is needed.
    pub(super) fn set_killable(&mut self, container: ContainerIdx, killable: bool) {
        let Some(node) = self.containers.get(container).map(|c| c.node) else {
            return;
        };
        self.change_node(node, |n| {
            n.killable.retain(|k| *k != container);
            if killable {
                n.killable.push(container);
            }
        });
        self.stir();
    }
}
