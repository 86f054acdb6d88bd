//! Requests from wire records to the core's, and the small answers back.
//! May touch: records of both sides.
//! Must not: look anything up.

use std::sync::Arc;

use hadoop_ipc::server::RemoteException;
use rm_core::event::{Ask, NodeContainer, NodeHealth, Update, UpdateKind};
use yarn_proto::{
    convert, gpu,
    server::{NmContainerStatusProto, NodeHealthStatusProto},
    yarn::{
        ApplicationAttemptIdProto, ApplicationIdProto, ContainerIdProto, ContainerStatusProto,
        ContainerUpdateTypeProto, ExecutionTypeProto, NodeIdProto, PriorityProto,
        ResourceRequestProto, UpdateContainerRequestProto,
    },
};
use yarn_types::{
    ApplicationAttemptId, ApplicationId, ContainerId, ContainerState, NodeId, Resource,
    ResourceTypes, limits::CLIENT_TEXT_BYTES_MAX,
};

/// A request without a part that every client sends.
pub(super) fn missing(what: &str) -> RemoteException {
    RemoteException::new(
        "java.lang.IllegalArgumentException",
        format!("the request has no valid {what}"),
    )
}

pub(super) fn app_id(id: Option<&ApplicationIdProto>) -> Result<ApplicationId, RemoteException> {
    id.and_then(convert::app_id)
        .ok_or_else(|| missing("application id"))
}

pub(super) fn attempt_id(
    id: Option<&ApplicationAttemptIdProto>,
) -> Result<ApplicationAttemptId, RemoteException> {
    id.and_then(convert::attempt_id)
        .ok_or_else(|| missing("application attempt id"))
}

pub(super) fn container_id(id: Option<&ContainerIdProto>) -> Result<ContainerId, RemoteException> {
    id.and_then(convert::container_id)
        .ok_or_else(|| missing("container id"))
}

pub(super) fn node_id(id: Option<&NodeIdProto>) -> Result<NodeId, RemoteException> {
    id.and_then(convert::node_id)
        .ok_or_else(|| missing("node id"))
}

/// The text up to the longest that is kept, at a character's end.
pub(super) fn capped(mut text: String) -> String {
    let mut end = CLIENT_TEXT_BYTES_MAX.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

/// A text that names something must not be cut: too long is refused.
pub(super) fn bounded(text: String, what: &str) -> Result<String, RemoteException> {
    if text.len() > CLIENT_TEXT_BYTES_MAX {
        return Err(missing(&format!(
            "{what}: {} bytes, at most {CLIENT_TEXT_BYTES_MAX}",
            text.len()
        )));
    }
    Ok(text)
}

pub(super) fn priority(value: i32) -> PriorityProto {
    PriorityProto {
        priority: Some(value),
    }
}

pub(super) fn count(n: u32) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

pub(super) fn ask(
    request: &ResourceRequestProto,
    types: &ResourceTypes,
) -> Result<Ask, RemoteException> {
    let capability = request.capability.as_ref();
    let capability = capability
        .map(|c| convert::resource(c, types))
        .unwrap_or_default();
    let place = request
        .resource_name
        .clone()
        .unwrap_or_else(|| "*".to_owned());
    let execution = request.execution_type_request.as_ref();
    Ok(Ask {
        priority: request.priority.as_ref().map_or(0, PriorityProto::priority),
        allocation_request_id: request.allocation_request_id(),
        place: bounded(place, "resource name")?.into(),
        capability: capability.resource,
        count: request.num_containers(),
        relax_locality: request.relax_locality(),
        label: request
            .node_label_expression
            .as_ref()
            .map(|l| l.trim().to_owned()),
        opportunistic: execution
            .is_some_and(|e| e.execution_type() == ExecutionTypeProto::Opportunistic),
        unknown_resource: capability.unknown,
    })
}

/// A request for another size or execution type of a container.
pub(super) fn update(
    request: &UpdateContainerRequestProto,
    types: &ResourceTypes,
) -> Result<Update, RemoteException> {
    let capability = request.capability.as_ref();
    let decoded = capability.map(|c| convert::resource(c, types));
    let named = capability.iter().flat_map(|c| &c.resource_value_map);
    let opportunistic = ExecutionTypeProto::Opportunistic as i32;
    Ok(Update {
        container: container_id(Some(&request.container_id))?,
        version: request.container_version,
        kind: match request.update_type() {
            ContainerUpdateTypeProto::IncreaseResource => UpdateKind::Increase,
            ContainerUpdateTypeProto::DecreaseResource => UpdateKind::Decrease,
            ContainerUpdateTypeProto::PromoteExecutionType => UpdateKind::Promote,
            ContainerUpdateTypeProto::DemoteExecutionType => UpdateKind::Demote,
        },
        opportunistic: request.execution_type == Some(opportunistic),
        named: named.filter_map(|entry| types.lane(&entry.key)).collect(),
        capability: decoded.as_ref().map(|d| d.resource),
        unknown_resource: decoded.and_then(|d| d.unknown),
    })
}

pub(super) fn update_kind(kind: UpdateKind) -> i32 {
    let kind = match kind {
        UpdateKind::Increase => ContainerUpdateTypeProto::IncreaseResource,
        UpdateKind::Decrease => ContainerUpdateTypeProto::DecreaseResource,
        UpdateKind::Promote => ContainerUpdateTypeProto::PromoteExecutionType,
        UpdateKind::Demote => ContainerUpdateTypeProto::DemoteExecutionType,
    };
    kind as i32
}

pub(super) fn places(names: Vec<String>) -> Result<Vec<Arc<str>>, RemoteException> {
    names
        .into_iter()
        .map(|name| Ok(bounded(name, "blacklisted name")?.into()))
        .collect()
}

fn resource(proto: Option<&yarn_proto::yarn::ResourceProto>, types: &ResourceTypes) -> Resource {
    proto.map_or(Resource::ZERO, |r| convert::resource(r, types).resource)
}

/// A container in a heartbeat.
pub(super) fn container_status(
    status: &ContainerStatusProto,
    types: &ResourceTypes,
) -> Result<NodeContainer, RemoteException> {
    let state = status.state.and_then(convert::container_state);
    Ok(NodeContainer {
        id: container_id(status.container_id.as_ref())?,
        state: state.unwrap_or(ContainerState::New),
        resource: resource(status.capability.as_ref(), types),
        priority: 0,
        exit_status: status.exit_status(),
        diagnostics: capped(status.diagnostics().to_owned()),
        created_wall_ms: 0,
        gpus: Vec::new(),
    })
}

/// A container in a registration.
pub(super) fn container_recovered(
    status: &NmContainerStatusProto,
    types: &ResourceTypes,
) -> Result<NodeContainer, RemoteException> {
    let state = status.container_state.and_then(convert::container_state);
    Ok(NodeContainer {
        id: container_id(status.container_id.as_ref())?,
        state: state.unwrap_or(ContainerState::New),
        resource: resource(status.resource.as_ref(), types),
        priority: status.priority.as_ref().map_or(0, PriorityProto::priority),
        exit_status: status.container_exit_status(),
        diagnostics: capped(status.diagnostics().to_owned()),
        created_wall_ms: status.creation_time(),
        gpus: gpus(status.heddle_gpus.as_ref().map(gpu::grants))?.unwrap_or_default(),
    })
}

/// A GPU message that cannot be read is refused whole: half a list would be another truth.
pub(super) fn gpus<T>(
    decoded: Option<Result<T, gpu::BadGpuMessage>>,
) -> Result<Option<T>, RemoteException> {
    decoded
        .transpose()
        .map_err(|e| RemoteException::new("java.lang.IllegalArgumentException", e.to_string()))
}

/// A node's word on its health; a node that says nothing is healthy.
pub(super) fn health(status: Option<&NodeHealthStatusProto>) -> NodeHealth {
    NodeHealth {
        healthy: status.is_none_or(|s| s.is_node_healthy.unwrap_or(true)),
        report: capped(
            status
                .map_or("", NodeHealthStatusProto::health_report)
                .to_owned(),
        ),
        reported_wall_ms: status.map_or(0, NodeHealthStatusProto::last_health_report_time),
    }
}
