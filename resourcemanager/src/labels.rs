//! Node labels between wire messages and the core: requests, and what nodes say.
//! May touch: records of both sides.
//! Must not: judge a label (the core does).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rm_core::event::LabelTarget;
use yarn_proto::{
    convert::{node_id, node_id_proto},
    server::NodeLabelsProto,
    yarn::{AddToClusterNodeLabelsRequestProto, NodeIdToLabelsProto, NodeLabelProto},
};
use yarn_types::NodeId;

/// Names of labels, and whether each is exclusive.
pub type Labels = Vec<(Arc<str>, bool)>;
/// New labels of hosts and nodes.
pub type Mapping = BTreeMap<LabelTarget, BTreeSet<Arc<str>>>;

fn trimmed(name: &str) -> Arc<str> {
    name.trim().into()
}

/// A set of names as they are compared: without blanks at the ends
/// (`CommonNodeLabelsManager.normalizeLabels`).
pub fn names(all: &[String]) -> BTreeSet<Arc<str>> {
    all.iter().map(|name| trimmed(name)).collect()
}

/// The labels to add; old clients send names alone
/// (`AddToClusterNodeLabelsRequestPBImpl.initLocalNodeLabels`).
pub fn to_add(m: &AddToClusterNodeLabelsRequestProto) -> Labels {
    if m.node_labels.is_empty() {
        let old = m.deprecated_node_labels.iter();
        return old.map(|name| (trimmed(name), true)).collect();
    }
    let new = m.node_labels.iter();
    new.map(|l| (trimmed(l.name()), l.is_exclusive())).collect()
}

/// The same as the message that adds them.
pub fn to_add_proto(labels: &[(Arc<str>, bool)]) -> AddToClusterNodeLabelsRequestProto {
    AddToClusterNodeLabelsRequestProto {
        deprecated_node_labels: labels.iter().map(|(name, _)| name.to_string()).collect(),
        node_labels: labels.iter().map(|(n, e)| label_proto(n, *e)).collect(),
        sub_cluster_id: None,
    }
}

/// A label as clients see it.
pub fn label_proto(name: &str, exclusive: bool) -> NodeLabelProto {
    NodeLabelProto {
        name: Some(name.to_owned()),
        is_exclusive: Some(exclusive),
    }
}

/// What a port of 0 and any other port mean.
pub fn target(id: NodeId) -> LabelTarget {
    if id.port == 0 {
        LabelTarget::Host(id.host)
    } else {
        LabelTarget::Node(id)
    }
}

/// A mapping; `None` when an entry names no node.
pub fn mapping(entries: &[NodeIdToLabelsProto]) -> Option<Mapping> {
    let entry = |e: &NodeIdToLabelsProto| {
        let id = node_id(e.node_id.as_ref()?)?;
        Some((target(id), names(&e.node_labels)))
    };
    entries.iter().map(entry).collect()
}

/// An entry of a mapping; an empty label is none.
pub fn mapping_proto(id: &NodeId, label: &str) -> NodeIdToLabelsProto {
    NodeIdToLabelsProto {
        node_id: Some(node_id_proto(id)),
        node_labels: Some(label.to_owned())
            .filter(|l| !l.is_empty())
            .into_iter()
            .collect(),
    }
}

/// What a node says of its labels.
pub fn said(m: Option<&NodeLabelsProto>) -> Option<BTreeSet<Arc<str>>> {
    m.map(|m| m.node_labels.iter().map(|l| trimmed(l.name())).collect())
}
