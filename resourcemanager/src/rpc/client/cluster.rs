//! Queries of clients about the cluster: sums, nodes, labels, attributes, resource types.
//! May touch: the core's read model.
//! Must not: change anything.

use std::sync::Arc;

use hadoop_ipc::server::RemoteException;
use rm_core::view::View;
use yarn_proto::{
    convert::node_state,
    yarn::{
        GetAllResourceTypeInfoRequestProto, GetAllResourceTypeInfoResponseProto,
        GetAttributesToNodesRequestProto, GetAttributesToNodesResponseProto,
        GetClusterMetricsRequestProto, GetClusterMetricsResponseProto,
        GetClusterNodeAttributesRequestProto, GetClusterNodeAttributesResponseProto,
        GetClusterNodesRequestProto, GetClusterNodesResponseProto,
        GetNodesToAttributesRequestProto, GetNodesToAttributesResponseProto,
        YarnClusterMetricsProto,
    },
};
use yarn_types::NodeState;

use super::super::{Context, Incoming, app_master, convert, fixed, refuse, view};
use super::reports;

pub(super) fn metrics(context: &Arc<Context>, incoming: Incoming) {
    view(
        context,
        incoming,
        |_, view: &View, _, _: GetClusterMetricsRequestProto| {
            let nodes = |state: NodeState| {
                let at = NodeState::ALL.iter().position(|s| *s == state);
                let count = at.and_then(|at| view.metrics.nodes.get(at));
                convert::count(count.copied().unwrap_or(0))
            };
            let active = nodes(NodeState::Running);
            // Hadoop's numNodeManagers counts the nodes that have not gone.
            let here = [
                NodeState::New,
                NodeState::Unhealthy,
                NodeState::Decommissioning,
            ];
            let here: i32 = here.into_iter().map(nodes).sum();
            Ok(GetClusterMetricsResponseProto {
                cluster_metrics: Some(YarnClusterMetricsProto {
                    num_node_managers: Some(active.saturating_add(here)),
                    num_decommissioned_nms: Some(nodes(NodeState::Decommissioned)),
                    num_active_nms: Some(active),
                    num_lost_nms: Some(nodes(NodeState::Lost)),
                    num_unhealthy_nms: Some(nodes(NodeState::Unhealthy)),
                    num_rebooted_nms: Some(nodes(NodeState::Rebooted)),
                    num_decommissioning_nms: Some(nodes(NodeState::Decommissioning)),
                    num_shutdown_nms: Some(nodes(NodeState::Shutdown)),
                }),
            })
        },
    );
}

pub(super) fn nodes(context: &Arc<Context>, incoming: Incoming) {
    view(
        context,
        incoming,
        |context, view: &View, _, m: GetClusterNodesRequestProto| {
            let states: Vec<NodeState> = m
                .node_states
                .iter()
                .copied()
                .filter_map(node_state)
                .collect();
            if states.len() != m.node_states.len() {
                return Err(convert::missing("node state"));
            }
            let nodes = view.nodes.iter();
            let nodes = nodes.filter(|n| states.is_empty() || states.contains(&n.state));
            Ok(GetClusterNodesResponseProto {
                node_reports: nodes.map(|n| reports::node(context, n)).collect(),
            })
        },
    );
}

// Until attributes are built there are none.

pub(super) fn node_attributes(_: &Arc<Context>, incoming: Incoming) {
    fixed(incoming, |_: GetClusterNodeAttributesRequestProto| {
        Ok(GetClusterNodeAttributesResponseProto::default())
    });
}

pub(super) fn attributes_to_nodes(_: &Arc<Context>, incoming: Incoming) {
    fixed(incoming, |_: GetAttributesToNodesRequestProto| {
        Ok(GetAttributesToNodesResponseProto::default())
    });
}

pub(super) fn nodes_to_attributes(_: &Arc<Context>, incoming: Incoming) {
    fixed(incoming, |_: GetNodesToAttributesRequestProto| {
        Ok(GetNodesToAttributesResponseProto::default())
    });
}

pub(super) fn resource_types(context: &Arc<Context>, incoming: Incoming) {
    fixed(incoming, |_: GetAllResourceTypeInfoRequestProto| {
        Ok(GetAllResourceTypeInfoResponseProto {
            resource_type_info: app_master::resource_types(&context.types),
        })
    });
}

/// What stock says while `yarn.resourcemanager.resource-profiles.enabled` is false.
pub(super) fn no_profiles(_: &Arc<Context>, incoming: Incoming) {
    let text = "Resource profile is not enabled, please enable resource profile feature before using its functions. (by setting yarn.resourcemanager.resource-profiles.enabled to true)";
    refuse(
        incoming,
        RemoteException::yarn("YARNFeatureNotEnabledException", text),
    );
}
