//! Bodies of the REST answers, in Hadoop's field order and spelling.
//! May touch: serde.
//! Must not: hold logic.

use serde::Serialize;

/// `{"clusterInfo":{…}}`.
#[derive(Serialize)]
pub(super) struct ClusterInfoRoot {
    #[serde(rename = "clusterInfo")]
    pub info: ClusterInfo,
}

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

/// `{"clusterMetrics":{…}}`.
#[derive(Serialize)]
pub(super) struct ClusterMetricsRoot {
    #[serde(rename = "clusterMetrics")]
    pub metrics: ClusterMetrics,
}

/// `ClusterMetricsInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterMetrics {
    pub apps_submitted: u32,
    pub apps_completed: u32,
    pub apps_pending: u32,
    pub apps_running: u32,
    pub apps_failed: u32,
    pub apps_killed: u32,
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
    pub total_nodes: u32,
    pub lost_nodes: u32,
    pub unhealthy_nodes: u32,
    pub decommissioning_nodes: u32,
    pub decommissioned_nodes: u32,
    pub rebooted_nodes: u32,
    pub active_nodes: u32,
    pub shutdown_nodes: u32,
}

/// `{"app":{…}}`.
#[derive(Serialize)]
pub(super) struct AppRoot {
    pub app: App,
}

/// `AppInfo`.
#[allow(clippy::struct_field_names, reason = "Hadoop's own field names")]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_node_id: Option<String>,
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
    pub resource_seconds_map: EntryMap,
    pub log_aggregation_status: &'static str,
    pub unmanaged_application: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_node_label_expression: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub am_node_label_expression: Option<String>,
    pub timeouts: Timeouts,
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
    pub expiry_time: &'static str,
    pub remaining_time_in_seconds: i64,
}

/// `{"RemoteException":{…}}`.
#[derive(Serialize)]
pub(super) struct RemoteExceptionRoot {
    #[serde(rename = "RemoteException")]
    pub exception: RemoteException,
}

/// `RemoteExceptionData`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoteException {
    pub exception: &'static str,
    pub message: String,
    pub java_class_name: &'static str,
}
