//! Calls of an administrator about nodes: lists of hosts, decommission, what nodes offer.
//! May touch: wire messages, the reload port.
//! Must not: decide which node goes (the core does).

use std::sync::Arc;

use hadoop_ipc::server::{Caller, RemoteException};
use rm_core::{
    Event, Reply,
    event::{AdminRequest, Decommission, NodeOption},
};
use yarn_proto::{
    convert::{node_id_proto, resource},
    yarn::{
        CheckForDecommissioningNodesRequestProto, CheckForDecommissioningNodesResponseProto,
        DecommissionTypeProto, RefreshNodesRequestProto, RefreshNodesResourcesRequestProto,
        RefreshNodesResourcesResponseProto, RefreshNodesResponseProto, ResourceOptionProto,
        UpdateNodeResourceRequestProto, UpdateNodeResourceResponseProto,
    },
};
use yarn_types::NodeState;

use super::{Context, Incoming, from_files};
use crate::rpc::{convert, errors, event, read};

pub(super) fn refresh_nodes(context: &Arc<Context>, incoming: Incoming) {
    from_files(
        context,
        incoming,
        "nodes",
        |reload, m: RefreshNodesRequestProto| {
            let how = match m.decommission_type() {
                DecommissionTypeProto::Forceful => return Ok(AdminRequest::DecommissionNow),
                DecommissionTypeProto::Normal => Decommission::Normal,
                DecommissionTypeProto::Graceful => Decommission::Graceful {
                    timeout_s: match m.decommission_timeout {
                        Some(timeout_s) => timeout_s,
                        None => reload.graceful_timeout_s()?,
                    },
                },
            };
            let lists = reload.hosts()?;
            Ok(AdminRequest::RefreshNodes { lists, how })
        },
        || RefreshNodesResponseProto {},
    );
}

pub(super) fn update_node_resource(context: &Arc<Context>, incoming: Incoming) {
    let types = context.types.clone();
    let make = move |caller: &Caller, m: UpdateNodeResourceRequestProto| {
        let option = |entry: &yarn_proto::yarn::NodeResourceMapProto| {
            let node = convert::node_id(entry.node_id.as_ref())?;
            let option = entry.resource_option.as_ref();
            let amounts = option.and_then(|o| o.resource.as_ref());
            let amounts = amounts.ok_or_else(|| convert::missing("resource option"))?;
            let decoded = resource(amounts, &types);
            if let Some(name) = decoded.unknown {
                return Err(errors::yarn(format!(
                    "unknown resource type {name} for node {node}"
                )));
            }
            Ok(NodeOption {
                node,
                total: decoded.resource,
                overcommit_timeout_ms: option.map_or(-1, ResourceOptionProto::over_commit_timeout),
            })
        };
        let options: Result<Vec<NodeOption>, RemoteException> =
            m.node_resource_map.iter().map(option).collect();
        let options = options?;
        let (user, nodes) = (&caller.user, options.len());
        tracing::info!(user, peer = %caller.peer, nodes, "asked to change what nodes offer");
        Ok(AdminRequest::UpdateNodeResource(options))
    };
    event(
        context,
        incoming,
        make,
        |call, request| Event::Admin { call, request },
        |reply| matches!(reply, Reply::Done).then_some(UpdateNodeResourceResponseProto {}),
    );
}

pub(super) fn refresh_nodes_resources(context: &Arc<Context>, incoming: Incoming) {
    from_files(
        context,
        incoming,
        "resources of nodes",
        |reload, _: RefreshNodesResourcesRequestProto| {
            let options = reload.dynamic_resources()?;
            Ok(AdminRequest::RefreshNodesResources(options))
        },
        || RefreshNodesResourcesResponseProto {},
    );
}

pub(super) fn check_for_decommissioning_nodes(context: &Arc<Context>, incoming: Incoming) {
    read(
        context,
        incoming,
        |_, _: CheckForDecommissioningNodesRequestProto| Ok(()),
        |_, rm, ()| {
            let nodes = rm.nodes().into_iter();
            let going = nodes.filter(|n| n.state == NodeState::Decommissioning);
            Ok(CheckForDecommissioningNodesResponseProto {
                decommissioning_nodes: going.map(|n| node_id_proto(&n.id)).collect(),
            })
        },
    );
}
