//! `/ws/v1/cluster/scheduler`: the tree of queues.
//! May touch: the core's read model.
//! Must not: change anything.

use actix_web::{HttpResponse, web::Data};
use rm_core::view::{QueueReport, View};
use yarn_types::{Resource, ResourceTypes};
use yarn_web::Format;

use super::{
    State, busy,
    dto::{Nothing, ResourceInfo, ResourceUsage, ResourceUsages},
    dto_queues::{
        Capacities, Capacity, CapacityScheduler, CapacityVector, CapacityVectorEntry, Queue,
        Queues, Scheduler, Templates,
    },
    is_within,
};

/// Capacity by weight is not built yet: Hadoop's value for "not weighted".
const NOT_WEIGHTED: f32 = -1.0;

/// GET `/scheduler`.
pub(super) async fn scheduler(state: Data<State>, format: Format) -> HttpResponse {
    let Some(view) = state.context.driver.view().await else {
        return busy(format);
    };
    let tree = Tree {
        view: &view,
        types: &state.context.types,
    };
    match view.queues.iter().find(|queue| queue.parent.is_none()) {
        Some(root) => format.ok("scheduler", &tree.scheduler(root)),
        None => busy(format),
    }
}

struct Tree<'a> {
    view: &'a View,
    types: &'a ResourceTypes,
}

/// A share as Hadoop shows it: percent, absolute ones within the whole.
fn percent(share: f32) -> f32 {
    share * 100.0
}

fn absolute(share: f32) -> f32 {
    percent(share.clamp(0.0, 1.0))
}

/// No maximum, or one beyond the whole, is the whole.
fn maximum(share: f32) -> f32 {
    if share > 0.0 && share <= 1.0 {
        percent(share)
    } else {
        100.0
    }
}

fn no_templates() -> Templates {
    Templates {
        auto_queue_template_properties: Nothing {},
        auto_queue_parent_template_properties: Nothing {},
        auto_queue_leaf_template_properties: Nothing {},
    }
}

/// `AbstractLeafQueue`: the user limit of the most applications, within them.
fn applications_per_user(queue: &QueueReport) -> u32 {
    let factor = f64::from(queue.user_limit_factor);
    if factor < 0.0 {
        return queue.max_applications;
    }
    let limit = f64::from(queue.user_limit_percent) / 100.0;
    let most = f64::from(queue.max_applications) * limit * factor;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "Java's cast: towards zero, saturating"
    )]
    let most = most as u32;
    most.min(queue.max_applications)
}

impl Tree<'_> {
    fn scheduler(&self, root: &QueueReport) -> Scheduler {
        Scheduler {
            scheduler_info: CapacityScheduler {
                kind: "capacityScheduler",
                capacity: percent(root.capacity),
                used_capacity: percent(root.used_capacity),
                max_capacity: maximum(root.maximum_capacity),
                weight: NOT_WEIGHTED,
                normalized_weight: 0.0,
                queue_capacity_vector_info: self.vector(root),
                queue_name: root.name.clone(),
                queue_path: root.path.clone(),
                max_parallel_apps: i32::MAX,
                is_absolute_resource: false,
                queues: self.children(root),
                capacities: self.capacities(root),
                maximum_allocation: self.maximum_allocation(),
                queue_priority: 0,
                ordering_policy_info: "utilization",
                mode: "percentage",
                queue_type: "parent",
                creation_method: "static",
                auto_creation_eligibility: "off",
                templates: no_templates(),
            },
        }
    }

    fn info(&self, amounts: Resource) -> ResourceInfo {
        ResourceInfo::of(amounts, self.types)
    }

    fn maximum_allocation(&self) -> ResourceInfo {
        self.info(self.types.maximum_allocation())
    }

    /// A leaf has no list at all.
    fn children(&self, queue: &QueueReport) -> Option<Queues> {
        let of_queue = |q: &&QueueReport| q.parent.as_deref() == Some(&*queue.path);
        let children = self.view.queues.iter().map(|q| &**q).filter(of_queue);
        (!queue.is_leaf).then(|| Queues {
            queue: children.map(|q| self.queue(q)).collect(),
        })
    }

    fn pending_containers(&self, queue: &QueueReport) -> u32 {
        let apps = self.view.apps.iter();
        let apps = apps.filter(|app| is_within(&app.queue, &queue.path));
        apps.map(|app| app.pending_containers).sum()
    }

    /// Of the queue and all below it: parents hold none themselves.
    fn applications(&self, queue: &QueueReport) -> u32 {
        let below = self
            .view
            .queues
            .iter()
            .filter(|q| is_within(&q.path, &queue.path));
        below.map(|q| q.active_apps + q.pending_apps).sum()
    }

    fn queue(&self, queue: &QueueReport) -> Queue {
        let leaf = queue.is_leaf;
        Queue {
            kind: leaf.then_some("capacitySchedulerLeafQueueInfo"),
            queue_path: queue.path.clone(),
            capacity: percent(queue.capacity),
            used_capacity: percent(queue.used_capacity),
            max_capacity: maximum(queue.maximum_capacity),
            absolute_capacity: absolute(queue.absolute_capacity),
            absolute_max_capacity: absolute(queue.absolute_maximum_capacity),
            absolute_used_capacity: absolute(queue.absolute_used_capacity),
            weight: NOT_WEIGHTED,
            normalized_weight: 0.0,
            num_applications: self.applications(queue),
            max_parallel_apps: i32::MAX,
            queue_name: queue.name.clone(),
            is_absolute_resource: false,
            state: queue.state.as_str(),
            queues: self.children(queue),
            resources_used: self.info(queue.used),
            hide_reservation_queues: false,
            node_labels: vec!["*"],
            allocated_containers: queue.containers,
            reserved_containers: 0,
            pending_containers: self.pending_containers(queue),
            capacities: self.capacities(queue),
            resources: self.usages(queue),
            min_effective_capacity: self.info(queue.guaranteed),
            max_effective_capacity: self.info(queue.maximum),
            maximum_allocation: self.maximum_allocation(),
            queue_priority: 0,
            ordering_policy_info: if leaf { "fifo" } else { "utilization" },
            auto_create_child_queue_enabled: false,
            leaf_queue_template: leaf.then_some(Nothing {}),
            mode: "percentage",
            queue_type: if leaf { "leaf" } else { "parent" },
            creation_method: "static",
            auto_creation_eligibility: "off",
            templates: no_templates(),
            num_active_applications: leaf.then_some(queue.active_apps),
            num_pending_applications: leaf.then_some(queue.pending_apps),
            num_containers: leaf.then_some(queue.containers),
            max_applications: leaf.then_some(queue.max_applications),
            max_applications_per_user: leaf.then(|| applications_per_user(queue)),
            user_limit: leaf.then_some(queue.user_limit_percent),
            user_limit_factor: leaf.then_some(queue.user_limit_factor),
            am_resource_limit: leaf.then(|| self.info(queue.am_limit)),
            used_am_resource: leaf.then(|| self.info(queue.am_used)),
            // No preemption monitor runs, so Hadoop reports every queue as not preemptable.
            preemption_disabled: leaf.then_some(true),
            intra_queue_preemption_disabled: leaf.then_some(true),
            is_auto_created_leaf_queue: leaf.then_some(false),
            default_priority: leaf.then_some(0),
            // No lifetime ends an application.
            max_application_lifetime: leaf.then_some(-1),
            default_application_lifetime: leaf.then_some(-1),
        }
    }

    fn capacities(&self, queue: &QueueReport) -> Capacities {
        Capacities {
            queue_capacities_by_partition: vec![Capacity {
                partition_name: "",
                queue_capacity_vector_info: self.vector(queue),
                capacity: percent(queue.capacity),
                used_capacity: percent(queue.used_capacity),
                max_capacity: maximum(queue.maximum_capacity),
                absolute_capacity: absolute(queue.absolute_capacity),
                absolute_used_capacity: absolute(queue.absolute_used_capacity),
                absolute_max_capacity: absolute(queue.absolute_maximum_capacity),
                weight: NOT_WEIGHTED,
                normalized_weight: 0.0,
                // Shares are percentages, so no amount is configured.
                configured_min_resource: ResourceInfo::not_configured(self.types),
                configured_max_resource: ResourceInfo::not_configured(self.types),
                effective_min_resource: self.info(queue.guaranteed),
                effective_max_resource: self.info(queue.maximum),
            }],
        }
    }

    /// The share, once for each type.
    fn vector(&self, queue: &QueueReport) -> CapacityVector {
        let share = format!("{:?}%", percent(queue.capacity));
        let names = || self.types.iter().map(|t| t.name.clone());
        let parts: Vec<_> = names().map(|name| format!("{name}={share}")).collect();
        CapacityVector {
            configured_capacity_vector: format!("[{}]", parts.join(",")),
            capacity_vector_entries: names()
                .map(|resource_name| CapacityVectorEntry {
                    resource_name,
                    resource_value: share.clone(),
                })
                .collect(),
        }
    }

    fn usages(&self, queue: &QueueReport) -> ResourceUsages {
        ResourceUsages {
            resource_usages_by_partition: vec![ResourceUsage {
                partition_name: "",
                used: self.info(queue.used),
                // Reservations are not built yet.
                reserved: self.info(Resource::ZERO),
                pending: self.info(queue.pending),
                am_used: queue.is_leaf.then(|| self.info(queue.am_used)),
                am_limit: queue.is_leaf.then(|| self.info(queue.am_limit)),
                user_am_limit: None,
            }],
        }
    }
}

#[cfg(test)]
#[path = "scheduler_test.rs"]
mod tests;
