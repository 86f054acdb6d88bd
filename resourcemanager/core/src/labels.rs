//! Node labels: which the cluster has, which node has which (`CommonNodeLabelsManager`).
//! May touch: `Rm`.
//! Must not: keep them over a restart (the store does; the reply waits for it).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use yarn_types::NodeId;

use crate::{
    effect::{Action, Effect, Record},
    event::{LabelRequest, LabelTarget},
    reject::{Reject, RejectKind},
    rm::Rm,
    sched::{LabelFigures, LabelIdx, NodeIdx},
    store::After,
};

/// Labels as given to hosts and to single nodes; a node's own one wins.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct NodeLabels {
    /// By host: every node on it.
    pub hosts: BTreeMap<Arc<str>, Arc<str>>,
    /// By node.
    pub nodes: BTreeMap<NodeId, Arc<str>>,
}

impl NodeLabels {
    /// The label of a node, if any.
    pub fn of(&self, node: &NodeId) -> Option<&Arc<str>> {
        let own = self.nodes.get(node).or_else(|| self.hosts.get(&node.host));
        own.filter(|label| !label.is_empty())
    }

    /// Gives a label, an empty one for none; that of a host takes those of its nodes away.
    pub fn set(&mut self, target: &LabelTarget, label: Arc<str>) {
        match target {
            LabelTarget::Host(host) => {
                self.nodes.retain(|node, _| node.host != *host);
                if label.is_empty() {
                    self.hosts.remove(host);
                } else {
                    self.hosts.insert(Arc::clone(host), label);
                }
            }
            LabelTarget::Node(node) => {
                if label.is_empty() && !self.hosts.contains_key(&node.host) {
                    self.nodes.remove(node);
                } else {
                    self.nodes.insert(node.clone(), label);
                }
            }
        }
    }

    /// Takes labels from everything that has them.
    pub fn forget(&mut self, names: &BTreeSet<Arc<str>>) {
        self.hosts.retain(|_, label| !names.contains(label));
        self.nodes.retain(|_, label| !names.contains(label));
    }
}

fn refuse<T>(text: String) -> Result<T, Reject> {
    Err(Reject::new(RejectKind::Yarn, text))
}

impl Rm {
    /// Changes labels as a whole or not at all; the record that the answer must wait for.
    pub(crate) fn change_labels(
        &mut self,
        request: LabelRequest,
        out: &mut Vec<Effect>,
    ) -> Result<u64, Reject> {
        match request {
            LabelRequest::Add(labels) => {
                for (name, _) in &labels {
                    check_name(name)?;
                }
                self.sched.add_labels(&labels)?;
            }
            LabelRequest::Remove(names) => {
                self.sched.remove_labels(&names)?;
                self.labels.forget(&names);
            }
            LabelRequest::Replace { nodes, known_only } => self.replace(&nodes, known_only)?,
        }
        Ok(self.store_labels(out))
    }

    /// The labels that the store kept, at start: taken as they are.
    pub(crate) fn recover_labels(&mut self, labels: &[(Arc<str>, bool)], nodes: NodeLabels) {
        let added = self.sched.add_labels(labels);
        debug_assert!(added.is_ok(), "nothing was there before: {added:?}");
        self.labels = nodes;
        self.settle_labels();
    }

    /// `AdminService.replaceLabelsOnNode`, `CommonNodeLabelsManager.checkReplaceLabelsOnNode`.
    fn replace(
        &mut self,
        nodes: &[(LabelTarget, BTreeSet<Arc<str>>)],
        known_only: bool,
    ) -> Result<(), Reject> {
        if known_only {
            let unknown: Vec<String> = nodes
                .iter()
                .filter(|(target, _)| !self.is_known(target))
                .map(|(target, _)| target.to_string())
                .collect();
            if !unknown.is_empty() {
                return refuse(format!(
                    "Failed to replace labels as there are unknown nodes:[{}]",
                    unknown.join(", ")
                ));
            }
        }
        for (target, labels) in nodes {
            if labels.len() > 1 {
                return refuse(format!(
                    "{} labels specified on host={}, please note that we do not support specifying multiple labels on a single host for now.",
                    labels.len(),
                    target.host()
                ));
            }
            if labels.iter().any(|name| self.sched.label(name).is_none()) {
                return refuse(format!(
                    "Not all labels being replaced contained by known label collections, please check, new labels=[{}]",
                    joined(labels)
                ));
            }
        }
        for (target, labels) in nodes {
            let label = labels.iter().next().cloned().unwrap_or_default();
            self.labels.set(target, label);
        }
        self.settle_labels();
        Ok(())
    }

    /// Nodes that are there or were.
    fn is_known(&self, target: &LabelTarget) -> bool {
        match target {
            LabelTarget::Host(host) => self.nodes.iter().any(|n| n.id.host == *host),
            LabelTarget::Node(node) => self.node_by_id.contains_key(node),
        }
    }

    /// What a node itself says of its label (`yarn.nodemanager.node-labels.provider`).
    ///
    /// # Errors
    /// A label that the cluster does not have, or several: Hadoop's text; nothing changed then.
    pub(crate) fn node_says_label(
        &mut self,
        node: &NodeId,
        labels: &BTreeSet<Arc<str>>,
        out: &mut Vec<Effect>,
    ) -> Result<(), Reject> {
        let target = LabelTarget::Node(node.clone());
        let label = labels.iter().next().cloned().unwrap_or_default();
        if labels.len() <= 1 && self.labels.of(node).cloned().unwrap_or_default() == label {
            return Ok(());
        }
        let told = self.replace(&[(target, labels.clone())], false);
        told.map_err(|reject| {
            let text = format!(
                "Node Labels {{{}}} reported from NM with ID {node} was rejected from RM with exception message as : {}",
                joined(labels),
                reject.message
            );
            Reject::new(reject.kind, text)
        })?;
        self.store_labels(out);
        Ok(())
    }

    /// Tells the scheduler the partition of every active node.
    fn settle_labels(&mut self) {
        let all = (0..).map(NodeIdx).zip(&self.nodes);
        let now: Vec<(NodeIdx, LabelIdx)> = all
            .filter(|(_, n)| n.is_active())
            .map(|(idx, n)| (idx, self.partition_of(&n.id)))
            .collect();
        for (idx, label) in now {
            self.sched.set_label(idx, label);
        }
    }

    /// The partition that a node belongs to.
    pub(crate) fn partition_of(&self, node: &NodeId) -> LabelIdx {
        let name = self.labels.of(node);
        name.and_then(|name| self.sched.label(name))
            .unwrap_or_default()
    }

    fn store_labels(&mut self, out: &mut Vec<Effect>) -> u64 {
        let seq = self.store.push(After::ChangeSaved);
        let record = Record::Labels {
            labels: self.sched.label_names(),
            nodes: self.labels.clone(),
        };
        out.push(Effect::now(Action::Store { seq, record }));
        seq
    }

    /// The cluster's labels with their exclusivity, by name.
    pub fn cluster_labels(&self) -> Vec<(Arc<str>, bool)> {
        self.sched.label_names()
    }

    /// The partitions of the cluster, the default one first, then by name.
    pub fn label_reports(&self) -> Vec<LabelFigures> {
        let mut all = self.sched.label_figures();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The label of each host (port 0) and of each node that has one: those that are there, and
    /// those that were given one of their own (`CommonNodeLabelsManager.getNodeLabels`).
    pub fn node_to_labels(&self) -> BTreeMap<NodeId, Arc<str>> {
        let here = self.nodes.iter().filter(|n| n.is_active()).map(|n| &n.id);
        let named = self.labels.nodes.keys();
        let nodes = here
            .chain(named)
            .filter_map(|id| Some((id.clone(), self.labels.of(id)?.clone())));
        let hosts = self.labels.hosts.iter();
        let hosts = hosts.map(|(host, label)| (NodeId::new(&**host, 0), label.clone()));
        nodes.chain(hosts).collect()
    }

    /// The label of a node, or of a host (port 0), if any.
    pub fn label_on(&self, node: &NodeId) -> Option<Arc<str>> {
        self.labels.of(node).cloned()
    }
}

fn joined(labels: &BTreeSet<Arc<str>>) -> String {
    let names: Vec<&str> = labels.iter().map(|name| &**name).collect();
    names.join(",")
}

/// `NodeLabelUtil.checkAndThrowLabelName`.
fn check_name(name: &str) -> Result<(), Reject> {
    if name.is_empty() || name.encode_utf16().count() > 255 {
        return refuse("label added is empty or exceeds 255 character(s)".to_owned());
    }
    let first = name.bytes().next();
    let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if first.is_some_and(|b| b.is_ascii_alphanumeric()) && name.bytes().all(inner) {
        return Ok(());
    }
    refuse(format!(
        "label name should only contains {{0-9, a-z, A-Z, -, _}} and should not started with {{-,_}}, now it is= {name}"
    ))
}

#[cfg(test)]
#[path = "labels_test.rs"]
mod tests;
