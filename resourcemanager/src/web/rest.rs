//! `/ws/v1/cluster`: the RM itself, its sums, its nodes.
//! May touch: the core's read model.
//! Must not: change anything.

use actix_web::{
    HttpResponse,
    web::{Data, Path},
};
use rm_core::view::NodeReport;
use yarn_types::{ApplicationState, NodeId, NodeState, Resource};
use yarn_web::{Format, Pairs};

use super::{State, busy, dto};
use crate::rpc::HADOOP_VERSION;

/// GET `/info`.
pub(super) async fn info(state: Data<State>, format: Format) -> HttpResponse {
    let build = format!("{HADOOP_VERSION} from heddle {}", env!("CARGO_PKG_VERSION"));
    let info = dto::ClusterInfo {
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
        // What stock Hadoop says where HA is off.
        ha_zoo_keeper_connection_state: "Could not find leader elector. Verify both HA and \
                                         automatic failover are enabled.",
    };
    format.ok("clusterInfo", &info)
}

/// GET `/metrics`.
pub(super) async fn metrics(state: Data<State>, format: Format) -> HttpResponse {
    let Some(view) = state.context.driver.view().await else {
        return busy(format);
    };
    let types = &state.context.types;
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
        utilized_mb: 0,
        utilized_virtual_cores: 0,
        utilized_mb_percent: 0,
        utilized_virtual_cores_percent: 0,
        // Hadoop's value while nobody measures it.
        rm_scheduler_busy_percent: 0,
        total_nodes: m.nodes.iter().sum::<u32>() - nodes(NodeState::New),
        lost_nodes: nodes(NodeState::Lost),
        unhealthy_nodes: nodes(NodeState::Unhealthy),
        decommissioning_nodes: nodes(NodeState::Decommissioning),
        decommissioned_nodes: nodes(NodeState::Decommissioned),
        rebooted_nodes: nodes(NodeState::Rebooted),
        active_nodes: nodes(NodeState::Running),
        shutdown_nodes: nodes(NodeState::Shutdown),
        total_used_resources_across_partition: dto::ResourceInfo::of(m.used, types),
        total_cluster_resources_across_partition: dto::ResourceInfo::of(m.total, types),
        // Reservations are not built yet.
        total_reserved_resources_across_partition: dto::ResourceInfo::of(Resource::ZERO, types),
        total_allocated_containers_across_partition: m.containers,
        cross_partition_metrics_available: true,
    };
    format.ok("clusterMetrics", &metrics)
}

/// GET `/nodes`: of all states when none is named.
pub(super) async fn nodes(state: Data<State>, format: Format, query: Pairs) -> HttpResponse {
    let mut wanted = Vec::new();
    let lists = query.iter().filter(|(key, _)| key == "states");
    for name in lists.flat_map(|(_, list)| list.split(',')) {
        let name = name.trim().to_ascii_uppercase();
        match NodeState::parse(&name) {
            Some(state) => wanted.push(state),
            None if name.is_empty() => {}
            None => {
                return format.illegal_argument(format!(
                    "No enum constant org.apache.hadoop.yarn.api.records.NodeState.{name}"
                ));
            }
        }
    }
    let Some(view) = state.context.driver.view().await else {
        return busy(format);
    };
    let shown = view.nodes.iter();
    let shown = shown.filter(|node| wanted.is_empty() || wanted.contains(&node.state));
    let node = shown.map(|node| node_dto(&state, node)).collect();
    format.ok("nodes", &dto::Nodes { node })
}

/// GET `/nodes/{host:port}`.
pub(super) async fn node(state: Data<State>, format: Format, path: Path<String>) -> HttpResponse {
    let id = match node_id(&path) {
        Ok(id) => id,
        Err(text) => return format.illegal_argument(text),
    };
    let found = state.ask(move |rm| rm.node(&id)).await;
    match found {
        None => busy(format),
        Some(None) => format.not_found(&format!("nodeId, {path}, is not found")),
        Some(Some(node)) => format.ok("node", &node_dto(&state, &node)),
    }
}

/// The id, or why there is none in the words of `NodeId.fromString`.
fn node_id(text: &str) -> Result<NodeId, String> {
    match text.rsplit_once(':').filter(|(host, _)| !host.is_empty()) {
        Some((host, port)) => port
            .parse()
            .map(|port| NodeId::new(host, port))
            .map_err(|_| format!("For input string: \"{port}\"")),
        None => Err(format!("Invalid NodeId [{text}]. Expected host:port")),
    }
}

fn node_dto(state: &State, node: &NodeReport) -> dto::Node {
    let here = matches!(
        node.state,
        NodeState::New | NodeState::Running | NodeState::Unhealthy | NodeState::Decommissioning
    );
    // A node that is gone holds nothing and offers nothing.
    let (used, available) = if here {
        (node.used, node.total.minus(node.used).at_least_zero())
    } else {
        (Resource::ZERO, Resource::ZERO)
    };
    let info = |amounts| dto::ResourceInfo::of(amounts, &state.context.types);
    dto::Node {
        rack: node.rack.to_string(),
        state: node.state.as_str(),
        id: node.id.to_string(),
        node_host_name: node.id.host.to_string(),
        node_http_address: if here {
            node.http_address.clone()
        } else {
            String::new()
        },
        last_health_update: node.health_wall_ms,
        version: node.version.clone(),
        health_report: node.health_report.clone(),
        num_containers: if here { node.containers } else { 0 },
        used_memory_mb: used.memory_mb(),
        avail_memory_mb: available.memory_mb(),
        used_virtual_cores: used.vcores(),
        available_virtual_cores: available.vcores(),
        // There are no opportunistic containers.
        num_running_opport_containers: 0,
        used_memory_opport_gb: 0,
        used_virtual_cores_opport: 0,
        num_queued_containers: 0,
        node_labels: node.label.iter().map(ToString::to_string).collect(),
        allocation_tags: dto::Nothing {},
        used_resource: here.then(|| info(used)),
        available_resource: here.then(|| info(available)),
        total_resource: info(node.total),
        node_attributes_info: dto::Nothing {},
    }
}
