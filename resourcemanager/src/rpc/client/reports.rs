//! Reports of applications, attempts, containers and nodes, field by field as stock clients read them.
//! May touch: the core's read model, wire records.
//! Must not: look anything up.

use rm_core::view::{AppReport, AttemptReport, ContainerReport, NodeReport};
use yarn_proto::{
    convert::{
        app_id_proto, app_state_proto, attempt_id_proto, attempt_state_proto, container_id_proto,
        container_state_proto, final_status_proto, node_id_proto, node_state_proto, resource_proto,
    },
    yarn::{
        AppTimeoutsMapProto, ApplicationAttemptReportProto, ApplicationReportProto,
        ApplicationResourceUsageReportProto, ApplicationTimeoutProto, ApplicationTimeoutTypeProto,
        ContainerReportProto, ExecutionTypeProto, LogAggregationStatusProto, NodeReportProto,
        ResourceUtilizationProto, StringLongMapProto,
    },
};
use yarn_types::{
    ApplicationId, ApplicationState, AttemptState, ContainerState, NodeState, Resource,
    ResourceTypes,
};

use super::{
    super::{Context, convert},
    change::expiry_time,
};
use crate::driver::wall_ms;

/// What Hadoop writes for an unknown host or URL.
const UNAVAILABLE: &str = "N/A";
/// `NodeLabel.NODE_LABEL_EXPRESSION_NOT_SET`.
const LABEL_NOT_SET: &str = "<Not set>";
/// `NodeLabel.DEFAULT_NODE_LABEL_PARTITION`.
const DEFAULT_PARTITION: &str = "<DEFAULT_PARTITION>";

/// Tracking URLs of an application or attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Urls {
    /// What people click: the proxy's while there is one.
    pub tracking: String,
    /// Where the proxy leads.
    pub original: String,
}

/// `http://<rm>/cluster/app/<id>`.
pub fn app_url_of(web_url: &str, app: ApplicationId) -> String {
    format!("{web_url}/cluster/app/{app}")
}

fn proxy_url_of(proxy_url: &str, app: ApplicationId) -> String {
    format!("{proxy_url}/proxy/{app}/")
}

/// `RMAppAttemptImpl`: the proxy's URL from the attempt's first moment, the RM's own page once it
/// failed or was killed; an unmanaged ApplicationMaster is not proxied.
fn urls(context: &Context, app: ApplicationId, own: &str, unmanaged: bool, broken: bool) -> Urls {
    if broken {
        let page = app_url_of(&context.web_url, app);
        return Urls {
            tracking: page.clone(),
            original: page,
        };
    }
    let own = if own.trim().is_empty() {
        UNAVAILABLE
    } else {
        own
    };
    Urls {
        tracking: if unmanaged {
            own.to_owned()
        } else {
            proxy_url_of(&context.proxy_url, app)
        },
        original: own.to_owned(),
    }
}

/// Tracking URLs of `app`.
pub fn app_urls(context: &Context, app: &AppReport) -> Urls {
    if app.current_attempt.is_none() {
        return Urls {
            tracking: UNAVAILABLE.to_owned(),
            original: UNAVAILABLE.to_owned(),
        };
    }
    let broken = matches!(
        app.state,
        ApplicationState::Failed | ApplicationState::Killed
    );
    urls(
        context,
        app.id,
        &app.original_tracking_url,
        app.unmanaged,
        broken,
    )
}

/// An application for `viewer`.
pub fn app(context: &Context, app: &AppReport, viewer: &str) -> ApplicationReportProto {
    let urls = app_urls(context, app);
    let attempt = app.current_attempt;
    // Hadoop puts -1 where there is no attempt yet.
    let current = attempt.map_or_else(
        || yarn_proto::yarn::ApplicationAttemptIdProto {
            application_id: Some(app_id_proto(app.id)),
            attempt_id: Some(-1),
        },
        attempt_id_proto,
    );
    let owned = app.unmanaged && viewer == &*app.user;
    let amrm = attempt
        .filter(|_| owned)
        .and_then(|a| context.auth.amrm_token(a));
    let client_to_am = attempt.and_then(|a| context.auth.client_to_am_token(a, viewer));
    let log_status = if context.log_aggregation {
        LogAggregationStatusProto::LogNotStart
    } else {
        LogAggregationStatusProto::LogDisabled
    };
    ApplicationReportProto {
        application_id: Some(app_id_proto(app.id)),
        user: Some(app.user.to_string()),
        queue: Some(app.queue.clone()),
        name: Some(app.name.clone()),
        host: Some(host(&app.host)),
        rpc_port: Some(app.rpc_port),
        client_to_am_token: client_to_am.map(Into::into),
        yarn_application_state: Some(app_state_proto(app.state)),
        tracking_url: Some(urls.tracking),
        diagnostics: Some(app.diagnostics.clone()),
        start_time: Some(app.started_wall_ms),
        finish_time: Some(app.finished_wall_ms),
        final_application_status: Some(final_status_proto(app.final_status)),
        app_resource_usage: Some(usage(app, &context.spellings.of(app.id))),
        original_tracking_url: Some(urls.original),
        current_application_attempt_id: Some(current),
        progress: Some(app.progress),
        application_type: Some(app.application_type.clone()),
        am_rm_token: amrm.map(Into::into),
        application_tags: app.tags.clone(),
        log_aggregation_status: Some(log_status as i32),
        unmanaged_application: Some(app.unmanaged),
        priority: Some(convert::priority(app.priority)),
        app_node_label_expression: Some(label(app.label.as_deref(), LABEL_NOT_SET)),
        am_node_label_expression: (!app.unmanaged)
            .then(|| label(app.am_label.as_deref(), DEFAULT_PARTITION)),
        app_timeouts: vec![lifetime(app)],
        launch_time: Some(app.launched_wall_ms),
        submit_time: Some(app.submitted_wall_ms),
        rm_cluster_id: context.cluster_id.clone(),
    }
}

/// An application for somebody who may not see it (`RMAppImpl.createAndGetApplicationReport`).
pub fn hidden(context: &Context, report: &AppReport) -> ApplicationReportProto {
    let none = || Some(UNAVAILABLE.to_owned());
    let nothing = || Some(resource_proto(Resource::new(-1, -1), &context.types));
    ApplicationReportProto {
        host: none(),
        rpc_port: Some(-1),
        client_to_am_token: None,
        tracking_url: none(),
        original_tracking_url: none(),
        diagnostics: none(),
        app_resource_usage: Some(ApplicationResourceUsageReportProto {
            num_used_containers: Some(-1),
            num_reserved_containers: Some(-1),
            used_resources: nothing(),
            reserved_resources: nothing(),
            needed_resources: nothing(),
            ..Default::default()
        }),
        current_application_attempt_id: Some(yarn_proto::yarn::ApplicationAttemptIdProto {
            application_id: Some(app_id_proto(report.id)),
            attempt_id: Some(-1),
        }),
        progress: Some(0.0),
        am_rm_token: None,
        log_aggregation_status: None,
        ..app(context, report, "")
    }
}

fn host(host: &str) -> String {
    if host.is_empty() { UNAVAILABLE } else { host }.to_owned()
}

fn label(expression: Option<&str>, unset: &str) -> String {
    match expression.map(str::trim) {
        None => unset,
        Some("") => DEFAULT_PARTITION,
        Some(expression) => expression,
    }
    .to_owned()
}

fn lifetime(app: &AppReport) -> AppTimeoutsMapProto {
    let lifetime = ApplicationTimeoutTypeProto::AppTimeoutLifetime as i32;
    let left_s = app.expires_wall_ms.map(|at| {
        if app.state.is_final() {
            0
        } else {
            (at - wall_ms()).max(0) / 1000
        }
    });
    AppTimeoutsMapProto {
        application_timeout_type: Some(lifetime),
        application_timeout: Some(ApplicationTimeoutProto {
            application_timeout_type: lifetime,
            expire_time: Some(expiry_time(app.expires_wall_ms)),
            remaining_time: Some(left_s.unwrap_or(-1)),
        }),
    }
}

/// `RMServerUtils.DUMMY_APPLICATION_RESOURCE_USAGE_REPORT` where nothing is held any more or yet,
/// with the sums that stay.
fn usage(app: &AppReport, types: &ResourceTypes) -> ApplicationResourceUsageReportProto {
    let live = app.current_attempt.is_some() && !app.state.is_final();
    let nothing = Resource::new(-1, -1);
    let (used, reserved) = if live {
        (app.used, app.reserved)
    } else {
        (nothing, nothing)
    };
    let containers = |n: u32| if live { convert::count(n) } else { -1 };
    let needed = if live { used.plus(reserved) } else { nothing };
    ApplicationResourceUsageReportProto {
        num_used_containers: Some(containers(app.used_containers)),
        num_reserved_containers: Some(containers(app.reserved_containers)),
        used_resources: Some(resource_proto(used, types)),
        reserved_resources: Some(resource_proto(reserved, types)),
        needed_resources: Some(resource_proto(needed, types)),
        memory_seconds: Some(app.resource_seconds.memory_mb()),
        vcore_seconds: Some(app.resource_seconds.vcores()),
        queue_usage_percentage: Some(if live { app.queue_usage_percent } else { 0.0 }),
        cluster_usage_percentage: Some(if live { app.cluster_usage_percent } else { 0.0 }),
        preempted_memory_seconds: Some(app.preempted_seconds.memory_mb()),
        preempted_vcore_seconds: Some(app.preempted_seconds.vcores()),
        application_resource_usage_map: by_name(app.resource_seconds, types),
        application_preempted_resource_usage_map: by_name(app.preempted_seconds, types),
    }
}

fn by_name(amounts: Resource, types: &ResourceTypes) -> Vec<StringLongMapProto> {
    let entry = |(lane, t): (usize, &yarn_types::ResourceType)| StringLongMapProto {
        key: t.name.clone(),
        value: amounts.0[lane] / types.scale(lane),
    };
    types.iter().enumerate().map(entry).collect()
}

/// An attempt of `app`.
pub fn attempt(
    context: &Context,
    app: &AppReport,
    attempt: &AttemptReport,
) -> ApplicationAttemptReportProto {
    let broken = matches!(attempt.state, AttemptState::Failed | AttemptState::Killed);
    let own = &attempt.original_tracking_url;
    let urls = urls(context, app.id, own, app.unmanaged, broken);
    ApplicationAttemptReportProto {
        application_attempt_id: Some(attempt_id_proto(attempt.id)),
        host: Some(host(&attempt.host)),
        rpc_port: Some(attempt.rpc_port),
        tracking_url: Some(urls.tracking),
        diagnostics: Some(attempt.diagnostics.clone()),
        yarn_application_attempt_state: Some(attempt_state_proto(attempt.state)),
        am_container_id: attempt.am_container.map(container_id_proto),
        original_tracking_url: Some(urls.original),
        start_time: Some(attempt.started_wall_ms),
        finish_time: Some(attempt.finished_wall_ms),
    }
}

/// `http://<node>/node/containerlogs/<container>/<user>`.
pub fn log_url(container: &ContainerReport) -> String {
    let (node, id, user) = (&container.node_http_address, container.id, &container.user);
    format!("http://{node}/node/containerlogs/{id}/{user}")
}

/// A container.
pub fn container(context: &Context, c: &ContainerReport) -> ContainerReportProto {
    ContainerReportProto {
        container_id: Some(container_id_proto(c.id)),
        resource: Some(resource_proto(
            c.resource,
            &context.spellings.of(c.id.app()),
        )),
        node_id: Some(node_id_proto(&c.node)),
        priority: Some(convert::priority(c.priority)),
        creation_time: Some(c.created_wall_ms),
        finish_time: Some(c.finished_wall_ms),
        // stock sets none before the end, and its command line prints `null` then
        diagnostics_info: (c.state == ContainerState::Complete).then(|| c.diagnostics.clone()),
        log_url: Some(log_url(c)),
        container_exit_status: Some(c.exit_status),
        container_state: Some(container_state_proto(c.state)),
        node_http_address: Some(format!("http://{}", c.node_http_address)),
        execution_type: Some(ExecutionTypeProto::Guaranteed as i32),
        exposed_ports: None,
    }
}

/// Seconds that a node has to go; nothing for one that may take its time.
fn decommissioning_timeout(n: &NodeReport) -> Option<u32> {
    u32::try_from(n.decommissioning_timeout_s?).ok()
}

/// A node. One that is gone holds nothing.
pub fn node(context: &Context, n: &NodeReport) -> NodeReportProto {
    let here = matches!(
        n.state,
        NodeState::New | NodeState::Running | NodeState::Unhealthy | NodeState::Decommissioning
    );
    let idle = ResourceUtilizationProto {
        pmem: Some(0),
        vmem: Some(0),
        cpu: Some(0.0),
        custom_resources: Vec::new(),
    };
    let used = if here { n.used } else { Resource::ZERO };
    NodeReportProto {
        node_id: Some(node_id_proto(&n.id)),
        http_address: Some(n.http_address.clone()),
        rack_name: Some(n.rack.to_string()),
        used: Some(resource_proto(used, &context.types)),
        capability: Some(resource_proto(n.total, &context.types)),
        num_containers: Some(if here {
            convert::count(n.containers)
        } else {
            0
        }),
        node_state: Some(node_state_proto(n.state)),
        health_report: Some(n.health_report.clone()),
        last_health_report_time: Some(n.health_wall_ms),
        node_labels: n.label.iter().map(ToString::to_string).collect(),
        decommissioning_timeout: decommissioning_timeout(n),
        containers_utilization: Some(idle.clone()),
        node_utilization: Some(idle),
        ..Default::default()
    }
}

#[cfg(test)]
#[path = "reports_test.rs"]
mod tests;
