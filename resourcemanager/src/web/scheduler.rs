//! `/ws/v1/cluster/scheduler`: the tree of queues.
//! May touch: the core's read model.
//! Must not: change anything.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, web::Data};
use rm_core::{
    health::{HealthReport, OperationReport, Sum},
    view::{
        CapacityKind, CapacityVector as Lanes, PartitionReport, QueueReport, QueueUsage,
        UserPartition, UserReport,
    },
};
use yarn_types::{Resource, ResourceTypes};
use yarn_web::Format;

use super::{
    State, busy,
    dto::{Nothing, ResourceInfo, ResourceUsage, ResourceUsages},
    dto_queues::{
        Capacities, Capacity, CapacityScheduler, CapacityVector, CapacityVectorEntry, Health,
        Operation, Queue, QueueAcl, QueueAcls, Queues, RunDetails, Scheduler, TemplateProperties,
        TemplateProperty, Templates, User, Users,
    },
};

/// GET `/scheduler`.
pub(super) async fn scheduler(state: Data<State>, format: Format) -> HttpResponse {
    // Not from the picture: limits of users cost more than a look.
    let found = state.ask(|rm| (rm.queues(), rm.queue_users(), rm.health()));
    let Some((queues, users, health)) = found.await else {
        return busy(format);
    };
    let tree = Tree {
        queues: &queues,
        users: &users,
        health: &health,
        types: &state.context.types,
    };
    match queues.iter().find(|queue| queue.parent.is_none()) {
        Some(root) => format.ok("scheduler", &tree.scheduler(root)),
        None => busy(format),
    }
}

struct Tree<'a> {
    queues: &'a [QueueReport],
    /// The users of leaves, by path.
    users: &'a BTreeMap<String, Vec<UserReport>>,
    health: &'a HealthReport,
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

fn properties(list: &BTreeMap<String, String>) -> TemplateProperties {
    let property = |(name, value): (&String, &String)| TemplateProperty {
        name: name.clone(),
        value: value.clone(),
    };
    TemplateProperties {
        property: list.iter().map(property).collect(),
    }
}

fn templates(queue: &QueueReport) -> Templates {
    let of = &queue.settings.templates;
    Templates {
        auto_queue_template_properties: properties(&of.all),
        auto_queue_parent_template_properties: properties(&of.parents),
        auto_queue_leaf_template_properties: properties(&of.leaves),
    }
}

fn acls(queue: &QueueReport) -> QueueAcls {
    let acl = |access_type, list: &String| QueueAcl {
        access_type,
        access_control_list: list.clone(),
    };
    let of = &queue.settings;
    QueueAcls {
        queue_acl: vec![
            acl("ADMINISTER_QUEUE", &of.acl_administer),
            acl("APPLICATION_MAX_PRIORITY", &of.acl_priority),
            acl("SUBMIT_APP", &of.acl_submit),
        ],
    }
}

fn creation_method(queue: &QueueReport) -> &'static str {
    if queue.settings.dynamic {
        "dynamicFlexible"
    } else {
        "static"
    }
}

fn auto_creation(queue: &QueueReport) -> &'static str {
    if queue.settings.creates_queues {
        "flexible"
    } else {
        "off"
    }
}

impl Tree<'_> {
    fn scheduler(&self, root: &QueueReport) -> Scheduler {
        let usage = default_usage(root);
        Scheduler {
            scheduler_info: CapacityScheduler {
                kind: "capacityScheduler",
                capacity: percent(root.capacity),
                used_capacity: percent(root.used_capacity),
                max_capacity: maximum(root.maximum_capacity),
                weight: usage.weight,
                normalized_weight: usage.normalized_weight,
                queue_capacity_vector_info: self.default_vector(root),
                queue_name: root.name.clone(),
                queue_path: root.path.clone(),
                max_parallel_apps: root.settings.max_parallel_apps,
                is_absolute_resource: root.settings.is_absolute,
                queues: self.children(root),
                capacities: self.capacities(root),
                maximum_allocation: self.info(root.settings.maximum_allocation),
                queue_acls: acls(root),
                queue_priority: root.settings.priority,
                ordering_policy_info: root.settings.ordering_policy,
                health: self.health(),
                mode: root.settings.mode,
                queue_type: "parent",
                creation_method: creation_method(root),
                auto_creation_eligibility: auto_creation(root),
                default_node_label_expression: root.default_label.clone(),
                templates: templates(root),
            },
        }
    }

    fn health(&self) -> Health {
        let known = |text: Option<String>| text.unwrap_or_else(|| "N/A".to_owned());
        let operation = |operation, of: &OperationReport| Operation {
            operation,
            node_id: known(of.node.as_ref().map(ToString::to_string)),
            container_id: known(of.container.map(|id| id.to_string())),
            queue: known(of.queue.clone()),
        };
        let details = |operation, sum: Sum| RunDetails {
            operation,
            count: sum.count,
            resources: self.info(sum.amount),
        };
        let health = self.health;
        Health {
            lastrun: health.run_wall_ms,
            operations_info: vec![
                operation("last-allocation", &health.allocation),
                operation("last-release", &health.release),
                operation("last-preemption", &health.preemption),
                operation("last-reservation", &health.reservation),
            ],
            last_run_details: vec![
                details("releases", health.run.released),
                details("allocations", health.run.allocated),
                details("reservations", health.run.reserved),
            ],
        }
    }

    fn info(&self, amounts: Resource) -> ResourceInfo {
        ResourceInfo::of(amounts, self.types)
    }

    /// A leaf has no list at all; leaves come before parents, as in Hadoop.
    fn children(&self, queue: &QueueReport) -> Option<Queues> {
        let of_queue = |q: &&QueueReport| q.parent.as_deref() == Some(&*queue.path);
        let mut children: Vec<&QueueReport> = self.queues.iter().filter(of_queue).collect();
        children.sort_by_key(|child| !child.is_leaf);
        (!queue.is_leaf).then(|| Queues {
            queue: children.into_iter().map(|q| self.queue(q)).collect(),
        })
    }

    fn queue(&self, queue: &QueueReport) -> Queue {
        let leaf = queue.is_leaf;
        let usage = default_usage(queue);
        let set = &queue.settings;
        let users = self.users.get(&queue.path).map_or(&[][..], Vec::as_slice);
        // That of the first user, where there is one.
        let first = users.first().and_then(|user| user.partitions.first());
        let user_am_limit = first.map_or(usage.am_limit, |p| p.am_limit);
        Queue {
            kind: leaf.then_some("capacitySchedulerLeafQueueInfo"),
            queue_path: queue.path.clone(),
            capacity: percent(queue.capacity),
            used_capacity: percent(queue.used_capacity),
            max_capacity: maximum(queue.maximum_capacity),
            absolute_capacity: absolute(queue.absolute_capacity),
            absolute_max_capacity: absolute(queue.absolute_maximum_capacity),
            absolute_used_capacity: absolute(queue.absolute_used_capacity),
            weight: usage.weight,
            normalized_weight: usage.normalized_weight,
            num_applications: queue.apps,
            max_parallel_apps: set.max_parallel_apps,
            queue_name: queue.name.clone(),
            is_absolute_resource: set.is_absolute,
            state: queue.state.as_str(),
            queues: self.children(queue),
            resources_used: self.info(queue.used),
            hide_reservation_queues: false,
            node_labels: queue.accessible_labels.clone(),
            allocated_containers: queue.counts.allocated,
            reserved_containers: queue.counts.reserved,
            pending_containers: queue.counts.pending,
            capacities: self.capacities(queue),
            resources: self.usages(queue),
            min_effective_capacity: self.info(queue.guaranteed),
            max_effective_capacity: self.info(queue.maximum),
            maximum_allocation: self.info(set.maximum_allocation),
            queue_acls: acls(queue),
            queue_priority: set.priority,
            ordering_policy_info: set.ordering_policy,
            // Of managed parents, which are refused.
            auto_create_child_queue_enabled: false,
            leaf_queue_template: Nothing {},
            mode: set.mode,
            queue_type: if leaf { "leaf" } else { "parent" },
            creation_method: creation_method(queue),
            auto_creation_eligibility: auto_creation(queue),
            default_node_label_expression: queue.default_label.clone(),
            templates: templates(queue),
            num_active_applications: leaf.then_some(queue.active_apps),
            num_pending_applications: leaf.then_some(queue.pending_apps),
            num_containers: leaf.then_some(queue.containers),
            max_applications: leaf.then_some(queue.max_applications),
            max_applications_per_user: leaf.then_some(queue.max_applications_per_user),
            user_limit: leaf.then_some(queue.user_limit_percent),
            users: leaf.then(|| self.shown_users(users)),
            user_limit_factor: leaf.then_some(queue.user_limit_factor),
            configured_max_am_resource_limit: leaf.then_some(usage.max_am_percent),
            am_resource_limit: leaf.then(|| self.info(queue.am_limit)),
            used_am_resource: leaf.then(|| self.info(queue.am_used)),
            user_am_resource_limit: leaf.then(|| self.info(user_am_limit)),
            preemption_disabled: leaf.then_some(set.preemption_disabled),
            intra_queue_preemption_disabled: leaf.then_some(set.intra_preemption_disabled),
            is_auto_created_leaf_queue: leaf.then_some(false),
            default_priority: leaf.then_some(set.default_application_priority),
            max_application_lifetime: leaf.then_some(set.max_lifetime_s),
            default_application_lifetime: leaf.then_some(set.default_lifetime_s),
        }
    }

    fn shown_users(&self, users: &[UserReport]) -> Users {
        Users {
            user: users.iter().map(|user| self.user(user)).collect(),
        }
    }

    fn user(&self, user: &UserReport) -> User {
        let usage = |p: &UserPartition| ResourceUsage {
            partition_name: p.label.to_string(),
            used: self.info(p.used),
            // Hadoop counts these by queue and application.
            reserved: self.info(Resource::ZERO),
            pending: self.info(Resource::ZERO),
            am_used: Some(self.info(p.am_used)),
            am_limit: Some(self.info(p.am_limit)),
            user_am_limit: Some(self.info(Resource::ZERO)),
        };
        let sum = |of: &dyn Fn(&UserPartition) -> Resource| {
            let all = user.partitions.iter();
            all.fold(Resource::ZERO, |sum, p| sum.plus(of(p)))
        };
        // Both are those of the default partition alone in Hadoop.
        let am_used = user
            .partitions
            .first()
            .map_or(Resource::ZERO, |p| p.am_used);
        User {
            username: user.name.to_string(),
            resources_used: self.info(sum(&|p| p.used)),
            num_pending_applications: user.pending_apps,
            num_active_applications: user.active_apps,
            am_resource_used: self.info(am_used),
            user_resource_limit: self.info(user.limit),
            resources: ResourceUsages {
                resource_usages_by_partition: user.partitions.iter().map(usage).collect(),
            },
            user_weight: user.weight,
            is_active: user.active,
        }
    }

    fn capacities(&self, queue: &QueueReport) -> Capacities {
        let partitions = queue.partitions.iter();
        Capacities {
            queue_capacities_by_partition: partitions.map(|p| self.capacity(queue, p)).collect(),
        }
    }

    fn capacity(&self, queue: &QueueReport, partition: &PartitionReport) -> Capacity {
        let usage = &partition.usage;
        // What is no amount is shown as none that is configured.
        let configured = |amounts: Resource| {
            if amounts.is_zero() {
                ResourceInfo::not_configured(self.types)
            } else {
                self.info(amounts)
            }
        };
        Capacity {
            partition_name: partition.label.to_string(),
            queue_capacity_vector_info: self.vector(partition.vector.as_ref()),
            capacity: percent(usage.capacity),
            used_capacity: percent(usage.used_capacity),
            max_capacity: maximum(usage.max_capacity),
            absolute_capacity: absolute(usage.abs_capacity),
            absolute_used_capacity: absolute(usage.abs_used_capacity),
            absolute_max_capacity: absolute(usage.abs_max_capacity),
            // Hadoop knows it of leaves alone.
            max_am_limit_percentage: if queue.is_leaf {
                percent(usage.max_am_percent)
            } else {
                0.0
            },
            weight: usage.weight,
            normalized_weight: usage.normalized_weight,
            configured_min_resource: configured(usage.configured_min),
            configured_max_resource: configured(usage.configured_max),
            effective_min_resource: self.info(usage.effective_min),
            effective_max_resource: self.info(usage.effective_max),
        }
    }

    /// The configured capacity of a queue in the default partition.
    fn default_vector(&self, queue: &QueueReport) -> CapacityVector {
        self.vector(queue.partitions.first().and_then(|p| p.vector.as_ref()))
    }

    /// The configured capacity of the queue in a partition, once for each type
    /// (`QueueCapacityVector.toString`).
    fn vector(&self, vector: Option<&Lanes>) -> CapacityVector {
        let lanes = vector.map_or(&[][..], |v| &v.lanes[..]);
        let named = self.types.iter().enumerate().zip(lanes);
        let entries: Vec<CapacityVectorEntry> = named
            .map(|((at, t), lane)| CapacityVectorEntry {
                resource_name: t.name.clone(),
                resource_value: match lane.kind {
                    CapacityKind::Percent => format!("{}%", java_double(lane.value)),
                    CapacityKind::Weight => format!("{}w", java_double(lane.value)),
                    #[allow(
                        clippy::cast_precision_loss,
                        reason = "a lane's scale is a small number"
                    )]
                    CapacityKind::Absolute => java_double(lane.value / self.types.scale(at) as f64),
                },
            })
            .collect();
        let parts: Vec<_> = entries
            .iter()
            .map(|e| format!("{}={}", e.resource_name, e.resource_value))
            .collect();
        CapacityVector {
            configured_capacity_vector: format!("[{}]", parts.join(",")),
            capacity_vector_entries: entries,
        }
    }

    fn usages(&self, queue: &QueueReport) -> ResourceUsages {
        let usage = |p: &PartitionReport| ResourceUsage {
            partition_name: p.label.to_string(),
            used: self.info(p.usage.used),
            reserved: self.info(p.usage.reserved),
            pending: self.info(p.usage.pending),
            am_used: queue.is_leaf.then(|| self.info(p.usage.am_used)),
            am_limit: queue.is_leaf.then(|| self.info(p.usage.am_limit)),
            user_am_limit: queue.is_leaf.then(|| self.info(p.usage.user_am_limit)),
        };
        // A leaf has limits wherever it has settings, a parent has what is used or wanted.
        let shown = queue.partitions.iter().filter(|p| {
            let idle = p.usage.used.is_zero() && p.usage.pending.is_zero();
            queue.is_leaf || p.label.is_empty() || !idle
        });
        ResourceUsages {
            resource_usages_by_partition: shown.map(usage).collect(),
        }
    }
}

/// As `Double.toString`: plain from a thousandth to ten millions, else with an exponent.
fn java_double(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{value:?}");
    }
    let text = format!("{value:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

/// The queue in the default partition.
fn default_usage(queue: &QueueReport) -> QueueUsage {
    let first = queue.partitions.first();
    first.map(|p| p.usage).unwrap_or_default()
}

#[cfg(test)]
#[path = "scheduler_test.rs"]
mod tests;
