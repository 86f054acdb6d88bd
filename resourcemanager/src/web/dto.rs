//! Bodies of the REST answers, in Hadoop's field order and spelling.
//! May touch: serde, resource types.
//! Must not: hold logic.

#![allow(clippy::struct_field_names, reason = "Hadoop's own field names")]

use serde::{Deserialize, Serialize};
use yarn_types::{Resource, ResourceType, ResourceTypes};

/// `ClusterInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterInfo {
    pub id: i64,
    pub started_on: i64,
    pub state: &'static str,
    pub ha_state: &'static str,
    pub rm_state_store_name: &'static str,
    pub resource_manager_version: &'static str,
    pub resource_manager_build_version: String,
    pub resource_manager_version_built_on: &'static str,
    pub hadoop_version: &'static str,
    pub hadoop_build_version: String,
    pub hadoop_version_built_on: &'static str,
    pub ha_zoo_keeper_connection_state: &'static str,
}

/// `ClusterMetricsInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterMetrics {
    pub apps_submitted: u64,
    pub apps_completed: u64,
    pub apps_pending: usize,
    pub apps_running: usize,
    pub apps_failed: u64,
    pub apps_killed: u64,
    #[serde(rename = "reservedMB")]
    pub reserved_mb: i64,
    #[serde(rename = "availableMB")]
    pub available_mb: i64,
    #[serde(rename = "allocatedMB")]
    pub allocated_mb: i64,
    #[serde(rename = "pendingMB")]
    pub pending_mb: i64,
    pub reserved_virtual_cores: i64,
    pub available_virtual_cores: i64,
    pub allocated_virtual_cores: i64,
    pub pending_virtual_cores: i64,
    pub containers_allocated: u32,
    pub containers_reserved: u32,
    pub containers_pending: u32,
    #[serde(rename = "totalMB")]
    pub total_mb: i64,
    pub total_virtual_cores: i64,
    /// Not measured by Hadoop's RM either.
    #[serde(rename = "utilizedMB")]
    pub utilized_mb: i64,
    pub utilized_virtual_cores: i64,
    #[serde(rename = "utilizedMBPercent")]
    pub utilized_mb_percent: i64,
    pub utilized_virtual_cores_percent: i64,
    pub rm_scheduler_busy_percent: i64,
    pub total_nodes: u32,
    pub lost_nodes: u32,
    pub unhealthy_nodes: u32,
    pub decommissioning_nodes: u32,
    pub decommissioned_nodes: u32,
    pub rebooted_nodes: u32,
    pub active_nodes: u32,
    pub shutdown_nodes: u32,
    pub total_used_resources_across_partition: ResourceInfo,
    pub total_cluster_resources_across_partition: ResourceInfo,
    pub total_reserved_resources_across_partition: ResourceInfo,
    pub total_allocated_containers_across_partition: u32,
    pub cross_partition_metrics_available: bool,
}

/// `AppInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct App {
    pub id: String,
    pub user: String,
    pub name: String,
    pub queue: String,
    pub state: &'static str,
    pub final_status: &'static str,
    pub progress: f32,
    #[serde(rename = "trackingUI")]
    pub tracking_ui: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracking_url: Option<String>,
    pub diagnostics: String,
    pub cluster_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rm_cluster_id: Option<String>,
    pub application_type: String,
    pub application_tags: String,
    pub priority: i32,
    pub started_time: i64,
    pub launch_time: i64,
    pub finished_time: i64,
    pub elapsed_time: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub am_container_logs: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub am_host_http_address: Option<String>,
    #[serde(rename = "amRPCAddress", skip_serializing_if = "Option::is_none")]
    pub am_rpc_address: Option<String>,
    pub master_node_id: String,
    #[serde(rename = "allocatedMB")]
    pub allocated_mb: i64,
    #[serde(rename = "allocatedVCores")]
    pub allocated_vcores: i64,
    #[serde(rename = "reservedMB")]
    pub reserved_mb: i64,
    #[serde(rename = "reservedVCores")]
    pub reserved_vcores: i64,
    pub running_containers: i64,
    pub memory_seconds: i64,
    pub vcore_seconds: i64,
    pub queue_usage_percentage: f32,
    pub cluster_usage_percentage: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_seconds_map: Option<EntryMap>,
    #[serde(rename = "preemptedResourceMB")]
    pub preempted_resource_mb: i64,
    #[serde(rename = "preemptedResourceVCores")]
    pub preempted_resource_vcores: i64,
    #[serde(rename = "numNonAMContainerPreempted")]
    pub non_am_containers_preempted: u32,
    #[serde(rename = "numAMContainerPreempted")]
    pub am_containers_preempted: u32,
    pub preempted_memory_seconds: i64,
    pub preempted_vcore_seconds: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempted_resource_seconds_map: Option<EntryMap>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_requests: Vec<ResourceRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_aggregation_status: Option<&'static str>,
    pub unmanaged_application: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_node_label_expression: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub am_node_label_expression: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_info: Option<ResourceUsages>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
}

/// `ResourceRequestInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceRequest {
    pub priority: i32,
    pub allocation_request_id: i64,
    pub resource_name: String,
    pub capability: ResourceInfo,
    pub num_containers: i32,
    pub relax_locality: bool,
    /// Empty for none.
    pub node_label_expression: String,
    pub execution_type_request: ExecutionTypeRequest,
}

/// `ExecutionTypeRequestInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExecutionTypeRequest {
    pub execution_type: &'static str,
    pub enforce_execution_type: bool,
}

/// `AppsInfo`.
#[derive(Serialize)]
pub(super) struct Apps {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub app: Vec<App>,
}

/// `AppState`, as read and as answered.
#[derive(Serialize, Deserialize)]
pub(super) struct AppState {
    pub state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<String>,
}

/// `ApplicationStatisticsInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AppStatistics {
    pub stat_item: Vec<StatItem>,
}

/// `StatisticsItemInfo`.
#[derive(Serialize)]
pub(super) struct StatItem {
    pub state: &'static str,
    #[serde(rename = "type")]
    pub kind: String,
    pub count: usize,
}

/// An object of Hadoop's in which nothing is, or nothing that is built yet.
#[derive(Serialize)]
pub(super) struct Nothing {}

/// `AppAttemptsInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AppAttempts {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub app_attempt: Vec<AppAttempt>,
}

/// The RM's own `AppAttemptInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AppAttempt {
    pub id: u32,
    pub start_time: i64,
    pub finished_time: i64,
    pub container_id: String,
    pub node_http_address: String,
    pub node_id: String,
    pub logs_link: String,
    pub blacklisted_nodes: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes_blacklisted_by_system: Option<String>,
    pub app_attempt_id: String,
    /// The text `null` where a container opens no ports.
    pub export_ports: &'static str,
    pub app_attempt_state: &'static str,
}

/// `ResourcesInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceUsages {
    pub resource_usages_by_partition: Vec<ResourceUsage>,
}

/// `PartitionResourcesInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceUsage {
    /// Its label; empty for the default one.
    pub partition_name: String,
    pub used: ResourceInfo,
    pub reserved: ResourceInfo,
    pub pending: ResourceInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub am_used: Option<ResourceInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub am_limit: Option<ResourceInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_am_limit: Option<ResourceInfo>,
}

/// `ResourceInfo`: a vector of amounts in units of the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceInfo {
    pub memory: i64,
    #[serde(rename = "vCores")]
    pub vcores: i64,
    pub resource_informations: ResourceInformations,
}

/// `ResourceInformationsInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceInformations {
    pub resource_information: Vec<ResourceInformation>,
}

/// `ResourceInformation`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceInformation {
    pub maximum_allocation: i64,
    pub minimum_allocation: i64,
    pub name: String,
    pub resource_type: &'static str,
    pub units: String,
    pub value: i64,
}

impl ResourceInfo {
    /// `amounts` with the names and units of `types`.
    pub fn of(amounts: Resource, types: &ResourceTypes) -> Self {
        let one = |(lane, t): (usize, &ResourceType)| ResourceInformation {
            // What a vector that was computed carries in Hadoop.
            maximum_allocation: i64::MAX,
            minimum_allocation: 0,
            name: t.name.clone(),
            resource_type: "COUNTABLE",
            units: t.units.clone(),
            value: match amounts.0.get(lane) {
                // No bound, whatever the unit.
                Some(&i64::MAX) => i64::MAX,
                _ => types.wire(lane, amounts),
            },
        };
        Self {
            memory: amounts.memory_mb(),
            vcores: amounts.vcores(),
            resource_informations: ResourceInformations {
                resource_information: types.iter().enumerate().map(one).collect(),
            },
        }
    }
}

impl ResourceInfo {
    /// Nothing, as it stands where nothing is configured (`Resources.none`): with the least and
    /// the most of each type.
    pub fn not_configured(types: &ResourceTypes) -> Self {
        let mut none = Self::of(Resource::ZERO, types);
        let all = none.resource_informations.resource_information.iter_mut();
        for (one, t) in all.zip(types.iter()) {
            one.minimum_allocation = t.minimum_allocation;
            one.maximum_allocation = t.maximum_allocation;
        }
        none
    }
}

/// `NodesInfo`.
#[derive(Serialize)]
pub(super) struct Nodes {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node: Vec<Node>,
}

/// `NodeInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node {
    pub rack: String,
    pub state: &'static str,
    pub id: String,
    pub node_host_name: String,
    #[serde(rename = "nodeHTTPAddress")]
    pub node_http_address: String,
    pub last_health_update: i64,
    pub version: String,
    pub health_report: String,
    pub num_containers: u32,
    #[serde(rename = "usedMemoryMB")]
    pub used_memory_mb: i64,
    #[serde(rename = "availMemoryMB")]
    pub avail_memory_mb: i64,
    pub used_virtual_cores: i64,
    pub available_virtual_cores: i64,
    pub num_running_opport_containers: u32,
    #[serde(rename = "usedMemoryOpportGB")]
    pub used_memory_opport_gb: i64,
    pub used_virtual_cores_opport: i64,
    pub num_queued_containers: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_labels: Vec<String>,
    pub allocation_tags: Nothing,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_resource: Option<ResourceInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_resource: Option<ResourceInfo>,
    pub total_resource: ResourceInfo,
    pub node_attributes_info: Nothing,
}

/// How Hadoop writes a map of numbers.
#[derive(Serialize)]
pub(super) struct EntryMap {
    pub entry: Vec<Entry>,
}

/// One entry of it.
#[derive(Serialize)]
pub(super) struct Entry {
    pub key: String,
    pub value: i64,
}

/// `AppTimeoutsInfo`.
#[derive(Serialize)]
pub(super) struct Timeouts {
    pub timeout: Vec<Timeout>,
}

/// `AppTimeoutInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Timeout {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub expiry_time: String,
    pub remaining_time_in_seconds: i64,
}

#[cfg(test)]
#[path = "dto_test.rs"]
mod tests;
