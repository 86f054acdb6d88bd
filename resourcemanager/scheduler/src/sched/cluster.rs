//! What follows a change of the nodes, the partitions or the queues: shares, limits, turns.
//! May touch: derived figures of queues and users.
//! Must not: change an account.

use std::{collections::BTreeSet, sync::Arc};

use yarn_types::Resource;

use super::{
    Sched,
    ids::{LabelIdx, NodeIdx, QueueIdx},
    report::LabelFigures,
    tree::ROOT,
};
use crate::{
    conf::{AccessibleLabels, QueueConf},
    reject::{Reject, RejectKind},
};

impl Sched {
    /// Queues came or went, or partitions: everything is computed and tried again.
    pub(super) fn cluster_changed(&mut self) {
        self.layout_changed(true);
    }

    /// [`Self::cluster_changed`]; with `queues` false, queues have other settings at most.
    pub(super) fn layout_changed(&mut self, queues: bool) {
        let labels = self.labels.len();
        self.lay_out_labels();
        let partitions = self.labels.len() != labels;
        if queues || partitions {
            self.forget_places(partitions);
        }
        self.totals_changed();
    }

    /// Nodes changed: computes every share and limit again and lets waiting applications start
    /// (`updateClusterResource`).
    pub(super) fn totals_changed(&mut self) {
        self.share_out();
        let paced = !self.is_event_driven();
        if paced {
            self.hand_limits_down(ROOT, self.cluster_total());
        }
        for queue in self.tree.in_order() {
            if self.tree.get(queue).is_parent() {
                continue;
            }
            self.settle_ratios(queue);
            if paced {
                self.consider_all(queue);
            }
            self.activate(queue);
        }
        self.limits_changed();
        self.stir();
    }

    /// What headroom is made of in heartbeat pacing, as of this change.
    fn consider_all(&mut self, queue: QueueIdx) {
        let leaf = &mut self.tree.get_mut(queue).leaf;
        leaf.current_limit = leaf.headroom_limit;
        let active: Vec<_> = leaf.active.values().copied().collect();
        for app in active {
            if let Some(a) = self.app_mut(app) {
                a.considered = true;
            }
        }
    }

    /// Leaves remember what the tree leaves to them in the default partition.
    fn hand_limits_down(&mut self, queue: QueueIdx, limit: Resource) {
        if !self.tree.get(queue).is_parent() {
            let limit = self.headroom_limit(queue, limit);
            self.tree.get_mut(queue).leaf.headroom_limit = limit;
            return;
        }
        for child in self.tree.get(queue).children.clone() {
            let of_child = self.child_limit(queue, child, limit, Resource::ZERO, LabelIdx::DEFAULT);
            self.hand_limits_down(child, of_child);
        }
    }

    /// The partitions that an administrator adds to the cluster, with their exclusivity.
    ///
    /// # Errors
    /// A label that is there with another exclusivity, or too many of them: Hadoop's text.
    pub fn add_labels(&mut self, labels: &[(Arc<str>, bool)]) -> Result<(), Reject> {
        let refuse = |text: String| Err(Reject::new(RejectKind::Yarn, text));
        let mut other = Vec::new();
        for (name, exclusive) in labels {
            let known = self.labels.find(name).map(|l| self.labels.get(l));
            if known.is_some_and(|l| l.known && l.exclusive != *exclusive) {
                other.push(format!("<{name}:exclusivity={exclusive}>"));
            }
        }
        if !other.is_empty() {
            return refuse(format!(
                "Exclusivity cannot be modified for an existing label with : {}",
                other.join(",")
            ));
        }
        self.forget_places(true);
        for (name, exclusive) in labels {
            let Some(idx) = self.labels.intern(name) else {
                return refuse(format!(
                    "there are {} node labels already; '{name}' is one too many",
                    self.labels.len()
                ));
            };
            let label = self.labels.get_mut(idx);
            (label.known, label.exclusive) = (true, *exclusive);
        }
        self.cluster_changed();
        Ok(())
    }

    /// The partitions that an administrator takes out of the cluster; their nodes go to the
    /// default partition.
    ///
    /// # Errors
    /// A label that is not there or that a queue uses: Hadoop's text; nothing changed then.
    pub fn remove_labels(&mut self, names: &BTreeSet<Arc<str>>) -> Result<(), Reject> {
        let refuse = |text: String| Err(Reject::new(RejectKind::Yarn, text));
        for name in names {
            let names_it = |q: &QueueConf| match &q.accessible {
                AccessibleLabels::Any => false,
                AccessibleLabels::Of(labels) => labels.iter().any(|l| l == &**name),
            };
            if let Some((_, q)) = self.tree.iter().find(|(_, q)| names_it(&q.conf)) {
                return refuse(format!(
                    "Cannot remove label={name}, because queue={} is using this label. Please remove label on queue before remove the label",
                    q.path
                ));
            }
        }
        for name in names {
            if name.is_empty() {
                return refuse("Label to be removed is null or empty".to_owned());
            }
            if self.label(name).is_none() {
                return refuse(format!(
                    "Node label={name} to be removed doesn't existed in cluster node labels collection."
                ));
            }
        }
        for name in names {
            let Some(label) = self.label(name) else {
                continue;
            };
            let nodes: Vec<NodeIdx> = self
                .nodes
                .iter()
                .filter(|(_, n)| n.label == label)
                .map(|(idx, _)| idx)
                .collect();
            for node in nodes {
                self.relabel(node, LabelIdx::DEFAULT);
            }
            self.labels.get_mut(label).known = false;
        }
        self.cluster_changed();
        Ok(())
    }

    /// The index of a partition of the cluster; empty is the default one.
    pub fn label(&self, name: &str) -> Option<LabelIdx> {
        self.labels
            .find(name)
            .filter(|label| self.labels.get(*label).known)
    }

    /// Name and exclusivity of the partitions of the cluster, without the default one.
    pub fn label_names(&self) -> Vec<(Arc<str>, bool)> {
        let known = self.labels.iter().skip(1).filter(|(_, l)| l.known);
        known.map(|(_, l)| (l.name.clone(), l.exclusive)).collect()
    }

    /// The partitions of the cluster, the default one first.
    pub fn label_figures(&self) -> Vec<LabelFigures> {
        let known = self.labels.iter().filter(|(_, l)| l.known);
        let figures = known.map(|(_, l)| LabelFigures {
            name: l.name.clone(),
            exclusive: l.exclusive,
            total: l.offered.total,
            nodes: l.offered.nodes,
        });
        figures.collect()
    }

    /// Puts a node into another partition; what its containers hold goes along, and a reservation
    /// on it is given up.
    pub fn set_label(&mut self, node: NodeIdx, label: LabelIdx) {
        let Some(n) = self.nodes.get(node).filter(|n| n.label != label) else {
            return;
        };
        if let Some(reserved) = n.reserved {
            self.unreserve(reserved);
        }
        self.relabel(node, label);
        self.totals_changed();
    }

    /// The partition of a node.
    pub fn label_of(&self, node: NodeIdx) -> Option<LabelIdx> {
        self.nodes.get(node).map(|n| n.label)
    }
}
