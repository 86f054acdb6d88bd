//! The body of `/scheduler`, in Hadoop's field order and spelling.
//! May touch: serde.
//! Must not: hold logic.

#![allow(clippy::struct_field_names, reason = "Hadoop's own field names")]

use serde::Serialize;

use super::dto::{Nothing, ResourceInfo, ResourceUsages};

/// `SchedulerTypeInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scheduler {
    pub scheduler_info: CapacityScheduler,
}

/// `CapacitySchedulerInfo`: the root queue.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CapacityScheduler {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub capacity: f32,
    pub used_capacity: f32,
    pub max_capacity: f32,
    pub weight: f32,
    pub normalized_weight: f32,
    pub queue_capacity_vector_info: CapacityVector,
    pub queue_name: String,
    pub queue_path: String,
    pub max_parallel_apps: i32,
    pub is_absolute_resource: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    pub capacities: Capacities,
    pub maximum_allocation: ResourceInfo,
    pub queue_acls: QueueAcls,
    pub queue_priority: i32,
    pub ordering_policy_info: &'static str,
    pub health: Health,
    pub mode: &'static str,
    pub queue_type: &'static str,
    pub creation_method: &'static str,
    pub auto_creation_eligibility: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_node_label_expression: Option<String>,
    #[serde(flatten)]
    pub templates: Templates,
}

/// `CapacitySchedulerHealthInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Health {
    pub lastrun: i64,
    pub operations_info: Vec<Operation>,
    pub last_run_details: Vec<RunDetails>,
}

/// `CapacitySchedulerHealthInfo.OperationInformation`; `N/A` for what is not known.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Operation {
    pub operation: &'static str,
    pub node_id: String,
    pub container_id: String,
    pub queue: String,
}

/// `CapacitySchedulerHealthInfo.LastRunDetails`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunDetails {
    pub operation: &'static str,
    pub count: u64,
    pub resources: ResourceInfo,
}

/// `CapacitySchedulerQueueInfoList`.
#[derive(Serialize)]
pub(super) struct Queues {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<Queue>,
}

/// `CapacitySchedulerQueueInfo`, with `CapacitySchedulerLeafQueueInfo`'s part for leaves.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Queue {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    pub queue_path: String,
    pub capacity: f32,
    pub used_capacity: f32,
    pub max_capacity: f32,
    pub absolute_capacity: f32,
    pub absolute_max_capacity: f32,
    pub absolute_used_capacity: f32,
    pub weight: f32,
    pub normalized_weight: f32,
    pub num_applications: u32,
    pub max_parallel_apps: i32,
    pub queue_name: String,
    pub is_absolute_resource: bool,
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    pub resources_used: ResourceInfo,
    pub hide_reservation_queues: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_labels: Vec<String>,
    pub allocated_containers: u32,
    pub reserved_containers: u32,
    pub pending_containers: u32,
    pub capacities: Capacities,
    pub resources: ResourceUsages,
    pub min_effective_capacity: ResourceInfo,
    pub max_effective_capacity: ResourceInfo,
    pub maximum_allocation: ResourceInfo,
    pub queue_acls: QueueAcls,
    pub queue_priority: i32,
    pub ordering_policy_info: &'static str,
    pub auto_create_child_queue_enabled: bool,
    pub leaf_queue_template: Nothing,
    pub mode: &'static str,
    pub queue_type: &'static str,
    pub creation_method: &'static str,
    pub auto_creation_eligibility: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_node_label_expression: Option<String>,
    #[serde(flatten)]
    pub templates: Templates,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_active_applications: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_pending_applications: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_containers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_applications: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_applications_per_user: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_limit: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<Users>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_limit_factor: Option<f32>,
    #[serde(
        rename = "configuredMaxAMResourceLimit",
        skip_serializing_if = "Option::is_none"
    )]
    pub configured_max_am_resource_limit: Option<f32>,
    #[serde(rename = "AMResourceLimit", skip_serializing_if = "Option::is_none")]
    pub am_resource_limit: Option<ResourceInfo>,
    #[serde(rename = "usedAMResource", skip_serializing_if = "Option::is_none")]
    pub used_am_resource: Option<ResourceInfo>,
    #[serde(
        rename = "userAMResourceLimit",
        skip_serializing_if = "Option::is_none"
    )]
    pub user_am_resource_limit: Option<ResourceInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption_disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intra_queue_preemption_disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_auto_created_leaf_queue: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_application_lifetime: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_application_lifetime: Option<i64>,
}

/// What created queues begin with.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Templates {
    pub auto_queue_template_properties: TemplateProperties,
    pub auto_queue_parent_template_properties: TemplateProperties,
    pub auto_queue_leaf_template_properties: TemplateProperties,
}

/// `AutoQueueTemplatePropertiesInfo`.
#[derive(Serialize)]
pub(super) struct TemplateProperties {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub property: Vec<TemplateProperty>,
}

/// `LeafQueueTemplateInfo.ConfItem`.
#[derive(Serialize)]
pub(super) struct TemplateProperty {
    pub name: String,
    pub value: String,
}

/// `QueueAclsInfo`, by name.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueueAcls {
    pub queue_acl: Vec<QueueAcl>,
}

/// `QueueAclInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueueAcl {
    pub access_type: &'static str,
    pub access_control_list: String,
}

/// `UsersInfo`.
#[derive(Serialize)]
pub(super) struct Users {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user: Vec<User>,
}

/// `UserInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct User {
    pub username: String,
    pub resources_used: ResourceInfo,
    pub num_pending_applications: u32,
    pub num_active_applications: u32,
    #[serde(rename = "AMResourceUsed")]
    pub am_resource_used: ResourceInfo,
    pub user_resource_limit: ResourceInfo,
    pub resources: ResourceUsages,
    pub user_weight: f32,
    pub is_active: bool,
}

/// `QueueCapacityVectorInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CapacityVector {
    pub configured_capacity_vector: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capacity_vector_entries: Vec<CapacityVectorEntry>,
}

/// `QueueCapacityVectorEntryInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CapacityVectorEntry {
    pub resource_name: String,
    pub resource_value: String,
}

/// `QueueCapacitiesInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Capacities {
    pub queue_capacities_by_partition: Vec<Capacity>,
}

/// `PartitionQueueCapacitiesInfo`, percent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Capacity {
    /// Its label; empty for the default one.
    pub partition_name: String,
    pub queue_capacity_vector_info: CapacityVector,
    pub capacity: f32,
    pub used_capacity: f32,
    pub max_capacity: f32,
    pub absolute_capacity: f32,
    pub absolute_used_capacity: f32,
    pub absolute_max_capacity: f32,
    #[serde(rename = "maxAMLimitPercentage")]
    pub max_am_limit_percentage: f32,
    pub weight: f32,
    pub normalized_weight: f32,
    pub configured_min_resource: ResourceInfo,
    pub configured_max_resource: ResourceInfo,
    pub effective_min_resource: ResourceInfo,
    pub effective_max_resource: ResourceInfo,
}
