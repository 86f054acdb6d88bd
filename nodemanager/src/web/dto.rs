//! Bodies of `/ws/v1/node`, field names as Hadoop's NMWebServices.
//! May touch: records.
//! Must not: ask anybody anything.

use serde::Serialize;

/// `NodeInfo`. The totals are what the node offers, not what is used.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeInfo {
    pub health_report: String,
    #[serde(rename = "totalVmemAllocatedContainersMB")]
    pub total_vmem_mb: i64,
    #[serde(rename = "totalPmemAllocatedContainersMB")]
    pub total_pmem_mb: i64,
    #[serde(rename = "totalVCoresAllocatedContainers")]
    pub total_vcores: i64,
    pub vmem_check_enabled: bool,
    pub pmem_check_enabled: bool,
    pub last_node_update_time: i64,
    pub resource_types: String,
    pub node_healthy: bool,
    pub node_manager_version: &'static str,
    pub node_manager_build_version: String,
    pub node_manager_version_built_on: &'static str,
    pub hadoop_version: &'static str,
    pub hadoop_build_version: String,
    pub hadoop_version_built_on: &'static str,
    pub id: String,
    pub node_host_name: String,
    #[serde(rename = "nmStartupTime")]
    pub startup_time: i64,
    /// Not Hadoop's: how containers are kept from devices of others.
    pub gpu_isolation: String,
}

/// List of containers; absent when empty, as in 3.5.
#[derive(Serialize)]
pub(super) struct Containers {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub container: Vec<ContainerInfo>,
}

/// `ContainerInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerInfo {
    pub id: String,
    pub state: &'static str,
    pub exit_code: i32,
    pub diagnostics: String,
    pub user: String,
    #[serde(rename = "totalMemoryNeededMB")]
    pub memory_mb: i64,
    #[serde(rename = "totalVCoresNeeded")]
    pub vcores: i64,
    pub execution_type: &'static str,
    pub container_logs_link: String,
    pub node_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_log_files: Option<Vec<String>>,
    /// Not Hadoop's: the container's own cgroup directories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<String>,
}

/// `AppsInfo`; absent when empty, as in 3.5.
#[derive(Serialize)]
pub(super) struct Apps {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub app: Vec<AppInfo>,
}

/// `AppInfo`.
#[derive(Serialize)]
pub(super) struct AppInfo {
    pub id: String,
    pub state: &'static str,
    pub user: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containerids: Vec<String>,
}

/// What is known of the logs of one container: what is on the disk here. One object, as 3.5
/// writes a list of one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerLogsList {
    pub container_logs_info: ContainerLogs,
}

/// `NMContainerLogsInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerLogs {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub container_log_info: Vec<ContainerLogFile>,
    pub log_aggregation_type: &'static str,
    pub container_id: String,
    pub node_id: String,
}

/// `ContainerLogFileInfo`: texts, all of them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerLogFile {
    pub file_name: String,
    pub file_size: String,
    pub last_modified_time: String,
}

#[cfg(test)]
#[path = "dto_test.rs"]
mod tests;
