//! `/ws/v1/cluster`: the RM itself, its sums, its nodes.
//! May touch: the core's read model.
//! Must not: change anything.

use actix_web::{
    HttpResponse,
    web::{Data, Path},
};
use rm_core::view::{NodeReport, QueueUsage};
use yarn_types::{NodeId, NodeState, Resource};
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
    let info = |amounts| dto::ResourceInfo::of(amounts, &state.context.types);
    let m = &view.metrics;
    let nodes = |state: NodeState| {
        let at = NodeState::ALL.iter().position(|s| *s == state);
        at.and_then(|at| m.nodes.get(at)).copied().unwrap_or(0)
    };
    // Like Hadoop's these are those of root's queue metrics.
    let (running, pending) = super::servlets::running_and_pending(view.apps.iter());
    // Amounts are those of root in the default partition, but for those named otherwise.
    let root = view.queues.first();
    let counts = root.map(|q| q.counts).unwrap_or_default();
    let apps = root.map(|q| q.counters).unwrap_or_default();
    let partitions = root.map_or(&[][..], |q| &q.partitions);
    let usage = partitions.first().map(|p| p.usage).unwrap_or_default();
    let available = usage.available;
    let allocated = usage.used.minus(usage.reserved);
    let total = available.plus(usage.used);
    let all = |of: &dyn Fn(&QueueUsage) -> Resource| {
        let sum = partitions.iter().map(|p| of(&p.usage));
        sum.fold(Resource::ZERO, Resource::plus)
    };
    let metrics = dto::ClusterMetrics {
        apps_submitted: apps.apps_submitted,
        apps_completed: apps.apps_completed,
        apps_pending: pending,
        apps_running: running,
        apps_failed: apps.apps_failed,
        apps_killed: apps.apps_killed,
        reserved_mb: usage.reserved.memory_mb(),
        available_mb: available.memory_mb(),
        allocated_mb: allocated.memory_mb(),
        pending_mb: usage.pending.memory_mb(),
        reserved_virtual_cores: usage.reserved.vcores(),
        available_virtual_cores: available.vcores(),
        allocated_virtual_cores: allocated.vcores(),
        pending_virtual_cores: usage.pending.vcores(),
        containers_allocated: counts.allocated,
        containers_reserved: counts.reserved,
        containers_pending: counts.pending,
        total_mb: total.memory_mb(),
        total_virtual_cores: total.vcores(),
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
        total_used_resources_across_partition: info(all(&|u| u.used)),
        total_cluster_resources_across_partition: info(m.total),
        total_reserved_resources_across_partition: info(all(&|u| u.reserved)),
        total_allocated_containers_across_partition: root.map_or(0, |q| q.containers),
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
pub(super) fn node_id(text: &str) -> Result<NodeId, String> {
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
