//! Queries of clients about node labels.
//! May touch: the core, read only.
//! Must not: change anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use yarn_proto::{
    convert::node_id_proto,
    yarn::{
        GetClusterNodeLabelsRequestProto, GetClusterNodeLabelsResponseProto,
        GetLabelsToNodesRequestProto, GetLabelsToNodesResponseProto, GetNodesToLabelsRequestProto,
        GetNodesToLabelsResponseProto, LabelsToNodeIdsProto, NodeIdProto,
    },
};

use super::super::{Context, Incoming, read};
use crate::labels;

pub(super) fn node_to_labels(context: &Arc<Context>, incoming: Incoming) {
    read(
        context,
        incoming,
        |_, _: GetNodesToLabelsRequestProto| Ok(()),
        |_, rm, ()| {
            let all = rm.node_to_labels();
            let all = all
                .iter()
                .map(|(id, label)| labels::mapping_proto(id, label));
            Ok(GetNodesToLabelsResponseProto {
                node_to_labels: all.collect(),
            })
        },
    );
}

/// All labels when none is named; those without nodes are left out.
pub(super) fn labels_to_nodes(context: &Arc<Context>, incoming: Incoming) {
    read(
        context,
        incoming,
        |_, m: GetLabelsToNodesRequestProto| Ok(m.node_labels.into_iter().collect()),
        |_, rm, wanted: BTreeSet<String>| {
            let mut nodes: BTreeMap<Arc<str>, Vec<NodeIdProto>> = BTreeMap::new();
            for (id, label) in rm.node_to_labels() {
                if wanted.is_empty() || wanted.contains(&*label) {
                    nodes.entry(label).or_default().push(node_id_proto(&id));
                }
            }
            let entry = |(label, node_id): (Arc<str>, _)| LabelsToNodeIdsProto {
                node_labels: Some(label.to_string()),
                node_id,
            };
            Ok(GetLabelsToNodesResponseProto {
                labels_to_nodes: nodes.into_iter().map(entry).collect(),
            })
        },
    );
}

/// In both fields, as `GetClusterNodeLabelsResponsePBImpl` writes them.
pub(super) fn node_labels(context: &Arc<Context>, incoming: Incoming) {
    read(
        context,
        incoming,
        |_, _: GetClusterNodeLabelsRequestProto| Ok(()),
        |_, rm, ()| {
            let all = rm.cluster_labels();
            Ok(GetClusterNodeLabelsResponseProto {
                deprecated_node_labels: all.iter().map(|(name, _)| name.to_string()).collect(),
                node_labels: all
                    .iter()
                    .map(|(name, exclusive)| labels::label_proto(name, *exclusive))
                    .collect(),
            })
        },
    );
}
