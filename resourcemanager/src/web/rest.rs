//! `/ws/v1/cluster`: information, sums and one application, as JSON.
//! May touch: the core's read model.
//! Must not: change anything.

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use rm_core::view::{AppReport, AttemptReport};
use yarn_types::{ApplicationId, ApplicationState, NodeState};

use super::{State, dto};
use crate::{
    driver::wall_ms,
    rpc::{HADOOP_VERSION, app_urls},
};

fn json(status: StatusCode, body: &impl serde::Serialize) -> HttpResponse {
    HttpResponse::build(status)
        .content_type("application/json;charset=utf-8")
        .json(body)
}

fn exception(
    status: StatusCode,
    exception: &'static str,
    java_class_name: &'static str,
    message: String,
) -> HttpResponse {
    json(
        status,
        &dto::RemoteExceptionRoot {
            exception: dto::RemoteException {
                exception,
                message,
                java_class_name,
            },
        },
    )
}

fn busy() -> HttpResponse {
    exception(
        StatusCode::SERVICE_UNAVAILABLE,
        "RetriableException",
        "org.apache.hadoop.ipc.RetriableException",
        "ResourceManager is too busy".to_owned(),
    )
}

pub(super) async fn info(state: Data<State>) -> HttpResponse {
    let build = format!("{HADOOP_VERSION} from heddle {}", env!("CARGO_PKG_VERSION"));
    json(
        StatusCode::OK,
        &dto::ClusterInfoRoot {
            info: dto::ClusterInfo {
                id: state.started_wall_ms,
                started_on: state.started_wall_ms,
                state: "STARTED",
                ha_state: "ACTIVE",
                rm_state_store_name: "org.apache.hadoop.yarn.server.resourcemanager.recovery.NullRMStateStore",
                resource_manager_version: HADOOP_VERSION,
                resource_manager_build_version: build.clone(),
                resource_manager_version_built_on: "",
                hadoop_version: HADOOP_VERSION,
                hadoop_build_version: build,
                hadoop_version_built_on: "",
                ha_zoo_keeper_connection_state: "ResourceManager HA is not enabled.",
            },
        },
    )
}

pub(super) async fn metrics(state: Data<State>) -> HttpResponse {
    let Some(view) = state.context.driver.view().await else {
        return busy();
    };
    let m = &view.metrics;
    let nodes = |state: NodeState| {
        let at = NodeState::ALL.iter().position(|s| *s == state);
        at.and_then(|at| m.nodes.get(at)).copied().unwrap_or(0)
    };
    let apps = |state: ApplicationState| {
        let at = ApplicationState::ALL.iter().position(|s| *s == state);
        at.and_then(|at| m.apps.get(at)).copied().unwrap_or(0)
    };
    let pending = [
        ApplicationState::New,
        ApplicationState::NewSaving,
        ApplicationState::Submitted,
        ApplicationState::Accepted,
    ];
    let available = m.total.minus(m.used).at_least_zero();
    let metrics = dto::ClusterMetrics {
        apps_submitted: m.apps.iter().sum(),
        apps_completed: apps(ApplicationState::Finished),
        apps_pending: pending.into_iter().map(apps).sum(),
        apps_running: apps(ApplicationState::Running),
        apps_failed: apps(ApplicationState::Failed),
        apps_killed: apps(ApplicationState::Killed),
        reserved_mb: 0,
        available_mb: available.memory_mb(),
        allocated_mb: m.used.memory_mb(),
        pending_mb: m.pending.memory_mb(),
        reserved_virtual_cores: 0,
        available_virtual_cores: available.vcores(),
        allocated_virtual_cores: m.used.vcores(),
        pending_virtual_cores: m.pending.vcores(),
        containers_allocated: m.containers,
        containers_reserved: 0,
        containers_pending: m.pending_containers,
        total_mb: available.plus(m.used).memory_mb(),
        total_virtual_cores: available.plus(m.used).vcores(),
        total_nodes: m.nodes.iter().sum::<u32>() - nodes(NodeState::New),
        lost_nodes: nodes(NodeState::Lost),
        unhealthy_nodes: nodes(NodeState::Unhealthy),
        decommissioning_nodes: nodes(NodeState::Decommissioning),
        decommissioned_nodes: nodes(NodeState::Decommissioned),
        rebooted_nodes: nodes(NodeState::Rebooted),
        active_nodes: nodes(NodeState::Running),
        shutdown_nodes: nodes(NodeState::Shutdown),
    };
    json(StatusCode::OK, &dto::ClusterMetricsRoot { metrics })
}

pub(super) async fn app(state: Data<State>, path: Path<String>) -> HttpResponse {
    let text = path.into_inner();
    let Ok(id) = text.parse::<ApplicationId>() else {
        return exception(
            StatusCode::BAD_REQUEST,
            "BadRequestException",
            "org.apache.hadoop.yarn.webapp.BadRequestException",
            format!("java.lang.Exception: Invalid ApplicationId: {text}"),
        );
    };
    let found = state.ask(move |rm| {
        let app = rm.app(id)?;
        let attempt = app.current_attempt.and_then(|a| rm.attempt(a));
        Some((app, attempt))
    });
    match found.await {
        None => busy(),
        Some(None) => exception(
            StatusCode::NOT_FOUND,
            "NotFoundException",
            "org.apache.hadoop.yarn.webapp.NotFoundException",
            format!("java.lang.Exception: app with id: {id} not found"),
        ),
        Some(Some((app, attempt))) => json(
            StatusCode::OK,
            &dto::AppRoot {
                app: app_dto(&state, &app, attempt.as_ref()),
            },
        ),
    }
}

fn app_dto(state: &State, app: &AppReport, attempt: Option<&AttemptReport>) -> dto::App {
    let live = !app.state.is_final();
    let urls = app_urls(&state.context, app);
    let registered = urls.original != "N/A";
    let am_node = attempt.and_then(|a| a.am_node.as_ref());
    let logs = attempt.and_then(|a| Some((a.am_container?, a.am_node.as_ref()?)));
    let types = state.context.spellings.of(app.id);
    let seconds = (0..).zip(types.iter()).zip(app.resource_seconds.0);
    let label = |label: &Option<String>| label.clone().filter(|l| !l.is_empty());
    let end = if live {
        wall_ms()
    } else {
        app.finished_wall_ms
    };
    dto::App {
        id: app.id.to_string(),
        user: app.user.to_string(),
        name: app.name.clone(),
        queue: app.queue.clone(),
        state: app.state.as_str(),
        final_status: app.final_status.as_str(),
        progress: app.progress * 100.0,
        tracking_ui: match (registered, live) {
            (false, _) => "UNASSIGNED",
            (true, true) => "ApplicationMaster",
            (true, false) => "History",
        },
        tracking_url: registered.then_some(urls.tracking),
        diagnostics: app.diagnostics.clone(),
        cluster_id: state.started_wall_ms,
        application_type: app.application_type.clone(),
        application_tags: app.tags.join(","),
        priority: app.priority,
        started_time: app.started_wall_ms,
        launch_time: app.launched_wall_ms,
        finished_time: app.finished_wall_ms,
        elapsed_time: end.saturating_sub(app.started_wall_ms).max(0),
        am_container_logs: logs.map(|(container, (_, http))| {
            format!("http://{http}/node/containerlogs/{container}/{}", app.user)
        }),
        am_host_http_address: am_node.map(|(_, http)| http.clone()),
        am_rpc_address: (app.rpc_port >= 0).then(|| format!("{}:{}", app.host, app.rpc_port)),
        master_node_id: am_node.map(|(node, _)| node.to_string()),
        allocated_mb: if live { app.used.memory_mb() } else { -1 },
        allocated_vcores: if live { app.used.vcores() } else { -1 },
        reserved_mb: if live { 0 } else { -1 },
        reserved_vcores: if live { 0 } else { -1 },
        running_containers: if live {
            i64::from(app.used_containers)
        } else {
            -1
        },
        memory_seconds: app.resource_seconds.memory_mb(),
        vcore_seconds: app.resource_seconds.vcores(),
        queue_usage_percentage: app.queue_usage_percent,
        cluster_usage_percentage: app.cluster_usage_percent,
        resource_seconds_map: dto::EntryMap {
            entry: seconds
                .map(|((lane, t), value)| dto::Entry {
                    key: t.name.clone(),
                    value: value / types.scale(lane),
                })
                .collect(),
        },
        log_aggregation_status: if state.context.log_aggregation {
            "NOT_START"
        } else {
            "DISABLED"
        },
        unmanaged_application: app.unmanaged,
        app_node_label_expression: label(&app.label),
        am_node_label_expression: label(&app.am_label),
        timeouts: dto::Timeouts {
            timeout: vec![dto::Timeout {
                kind: "LIFETIME",
                expiry_time: "UNLIMITED",
                remaining_time_in_seconds: -1,
            }],
        },
    }
}
