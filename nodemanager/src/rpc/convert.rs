//! Container reports as wire messages.
//! May touch: records.
//! Must not: leave out an exit status (its absence means -1000 to a ResourceManager).

use nm_core::{ContainerReport, SubState};
use yarn_proto::{
    convert::{container_id_proto, container_state_proto, resource_proto},
    gpu::grants_proto,
    server::NmContainerStatusProto,
    yarn::{ContainerStatusProto, ContainerSubStateProto, ExecutionTypeProto, PriorityProto},
};
use yarn_types::ResourceTypes;

fn execution_type(report: &ContainerReport) -> i32 {
    if report.guaranteed {
        ExecutionTypeProto::Guaranteed as i32
    } else {
        ExecutionTypeProto::Opportunistic as i32
    }
}

/// `ContainerStatus`, for heartbeats and ApplicationMasters.
pub fn status(report: &ContainerReport, types: &ResourceTypes) -> ContainerStatusProto {
    let sub_state = match report.sub_state {
        SubState::Scheduled => ContainerSubStateProto::CssScheduled,
        SubState::Running => ContainerSubStateProto::CssRunning,
        SubState::Completing => ContainerSubStateProto::CssCompleting,
        SubState::Done => ContainerSubStateProto::CssDone,
    };
    ContainerStatusProto {
        state: Some(container_state_proto(report.state)),
        container_id: Some(container_id_proto(report.container)),
        diagnostics: Some(report.diagnostics.clone()),
        exit_status: Some(report.exit_code),
        capability: Some(resource_proto(report.resource, types)),
        execution_type: Some(execution_type(report)),
        container_sub_state: Some(sub_state as i32),
        ..Default::default()
    }
}

/// `NMContainerStatus`, for registrations.
pub fn nm_status(report: &ContainerReport, types: &ResourceTypes) -> NmContainerStatusProto {
    NmContainerStatusProto {
        container_id: Some(container_id_proto(report.container)),
        container_state: Some(container_state_proto(report.state)),
        resource: Some(resource_proto(report.resource, types)),
        priority: Some(PriorityProto {
            priority: Some(report.priority),
        }),
        diagnostics: Some(report.diagnostics.clone()),
        container_exit_status: Some(report.exit_code),
        creation_time: Some(report.created_wall_ms),
        version: Some(report.version),
        execution_type: Some(execution_type(report)),
        allocation_request_id: Some(report.allocation_request_id),
        heddle_gpus: (!report.gpus.is_empty()).then(|| grants_proto(&report.gpus)),
        ..Default::default()
    }
}
