//! What a client submits.
//! May touch: the step.
//! Must not: send it.

use yarn_proto::yarn::{
    ApplicationIdProto, ApplicationSubmissionContextProto, ContainerLaunchContextProto,
    PriorityProto, ResourceRequestProto,
};

use super::resource_proto;
use crate::{steps::Submit, value::Res};

/// The context of a submission; an unmanaged AM asks for nothing.
pub(super) fn context(
    submit: &Submit,
    id: ApplicationIdProto,
    managed: bool,
) -> ApplicationSubmissionContextProto {
    let label = submit
        .am_label
        .as_deref()
        .map(|label| if label == "default" { "" } else { label });
    let am = resource_proto(if managed { &submit.am } else { &Res::Memory(1) });
    let request = ResourceRequestProto {
        priority: Some(PriorityProto { priority: Some(0) }),
        resource_name: Some("*".to_owned()),
        capability: Some(am.clone()),
        num_containers: Some(1),
        relax_locality: Some(true),
        node_label_expression: label.map(str::to_owned),
        ..Default::default()
    };
    ApplicationSubmissionContextProto {
        application_id: Some(id),
        application_name: Some(submit.app.clone()),
        queue: Some(submit.queue.clone()),
        priority: submit.priority.map(|priority| PriorityProto {
            priority: Some(priority),
        }),
        unmanaged_am: Some(!managed),
        max_app_attempts: Some(1),
        resource: Some(am),
        am_container_resource_request: if managed && label.is_some() {
            vec![request]
        } else {
            Vec::new()
        },
        am_container_spec: Some(ContainerLaunchContextProto {
            command: vec!["true".to_owned()],
            ..Default::default()
        }),
        ..Default::default()
    }
}
