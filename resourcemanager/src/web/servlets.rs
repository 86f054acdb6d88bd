//! `/jmx`, `/isActive`: what monitoring and scripts read besides REST.
//! May touch: the core's read model.
//! Must not: show a number that nobody measures.

use std::sync::Arc;

use actix_web::{
    HttpResponse,
    web::{Data, Query},
};
use rm_core::view::{AppReport, PartitionReport, QueueReport, QueueUsage, View};
use serde_json::Value;
use yarn_types::{NodeState, Resource, ResourceTypes};
use yarn_web::{Bean, JmxQuery, jmx_answer};

use super::{State, is_within};

/// GET `/isActive`: this RM is the only one, so it is.
pub(super) async fn is_active() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/plain;charset=utf-8")
        .body("I am Active!")
}

/// GET `/jmx`.
pub(super) async fn jmx(state: Data<State>, query: Query<JmxQuery>) -> HttpResponse {
    let Some(view) = state.context.driver.view().await else {
        return HttpResponse::ServiceUnavailable().finish();
    };
    jmx_answer(beans(&view, &state.context.types), &query)
}

fn beans(view: &View, types: &ResourceTypes) -> Vec<Bean> {
    let queues = view.queues.iter();
    let partitions = queues
        .clone()
        .flat_map(|queue| partition_metrics(queue, types));
    let queues = queues.map(|queue| queue_metrics(queue, view, types));
    std::iter::once(cluster_metrics(view, types))
        .chain(queues)
        .chain(partitions)
        .collect()
}

fn bean(name: &str, attributes: Vec<(String, Value)>) -> Bean {
    Bean::new("ResourceManager", name, attributes)
}

fn cluster_metrics(view: &View, types: &ResourceTypes) -> Bean {
    let metrics = &view.metrics;
    let states = [
        ("NumActiveNMs", NodeState::Running),
        ("NumDecommissioningNMs", NodeState::Decommissioning),
        ("NumDecommissionedNMs", NodeState::Decommissioned),
        ("NumLostNMs", NodeState::Lost),
        ("NumUnhealthyNMs", NodeState::Unhealthy),
        ("NumRebootedNMs", NodeState::Rebooted),
        ("NumShutdownNMs", NodeState::Shutdown),
    ];
    let mut attributes: Vec<(String, Value)> = vec![
        ("tag.ClusterMetrics".to_owned(), "ResourceManager".into()),
        ("CapabilityMB".to_owned(), metrics.total.memory_mb().into()),
        (
            "CapabilityVirtualCores".to_owned(),
            metrics.total.vcores().into(),
        ),
    ];
    for (lane, t) in types.iter().enumerate().skip(2) {
        attributes.push((
            format!("Capability.{}", t.name),
            types.wire(lane, metrics.total).into(),
        ));
    }
    for (name, state) in states {
        let at = NodeState::ALL.iter().position(|s| *s == state);
        let count = at.and_then(|at| metrics.nodes.get(at)).copied();
        attributes.push((name.to_owned(), count.unwrap_or(0).into()));
    }
    bean("ClusterMetrics", attributes)
}

/// `q0=root,q1=a`.
fn queue_name(queue: &QueueReport) -> String {
    let parts = queue.path.split('.').enumerate();
    let parts: Vec<String> = parts.map(|(at, part)| format!("q{at}={part}")).collect();
    parts.join(",")
}

type Attributes = Vec<(String, Value)>;

fn vectors(
    out: &mut Attributes,
    types: &ResourceTypes,
    all: &[(&'static str, &'static str, Resource)],
) {
    for (short, long, amounts) in all {
        out.push((format!("{short}MB"), amounts.memory_mb().into()));
        out.push((format!("{short}VCores"), amounts.vcores().into()));
        for (lane, t) in types.iter().enumerate().skip(2) {
            out.push((
                format!("{long}.{}", t.name),
                types.wire(lane, *amounts).into(),
            ));
        }
    }
}

/// Amounts in one partition, those of `QueueMetrics` itself.
fn usage_vectors(usage: &QueueUsage) -> [(&'static str, &'static str, Resource); 4] {
    let allocated = usage.used.minus(usage.reserved);
    [
        ("Allocated", "AllocatedResource", allocated),
        ("Available", "AvailableResource", usage.available),
        ("Pending", "PendingResource", usage.pending),
        ("Reserved", "ReservedResource", usage.reserved),
    ]
}

/// `PartitionQueueMetrics`: amounts of a queue in one partition.
fn partition_metrics(queue: &QueueReport, types: &ResourceTypes) -> Vec<Bean> {
    let of = |partition: &PartitionReport| {
        let label = match &*partition.label {
            "" => "default",
            label => label,
        };
        let mut attributes: Attributes = vec![
            ("tag.Partition".to_owned(), label.into()),
            ("tag.Queue".to_owned(), queue.path.as_str().into()),
        ];
        vectors(&mut attributes, types, &usage_vectors(&partition.usage));
        let name = format!(
            "PartitionQueueMetrics,partition={label},{}",
            queue_name(queue)
        );
        bean(&name, attributes)
    };
    queue.partitions.iter().map(of).collect()
}

/// How many live applications got a container, and how many wait for their first: what Hadoop's
/// queue metrics call running and pending.
pub(super) fn running_and_pending<'a>(
    apps: impl Iterator<Item = &'a Arc<AppReport>>,
) -> (usize, usize) {
    let live = apps.filter(|app| !app.state.is_final());
    let accepted = live.filter(|app| app.current_attempt.is_some());
    let (running, pending): (Vec<_>, Vec<_>) = accepted.partition(|app| app.granted);
    (running.len(), pending.len())
}

/// Applications of the queue and of those below it, by what they do now.
fn app_gauges(queue: &QueueReport, view: &View) -> [(&'static str, Value); 3] {
    let apps = || {
        let all = view.apps.iter().filter(|app| !app.state.is_final());
        all.filter(|app| is_within(&app.queue, &queue.path))
    };
    let (running, pending) = running_and_pending(apps());
    // Those that have outstanding asks (`UsersManager.activateApplication`).
    let active = apps().filter(|app| app.pending_containers > 0).count();
    [
        ("AppsRunning", running.into()),
        ("AppsPending", pending.into()),
        ("ActiveApplications", active.into()),
    ]
}

fn counters(queue: &QueueReport, types: &ResourceTypes) -> Attributes {
    let c = &queue.counters;
    let seconds = Resource(c.preempted_millis.0.map(|amount| amount / 1000));
    let mut attributes: Attributes = [
        ("AppsSubmitted", Value::from(c.apps_submitted)),
        ("AppsCompleted", c.apps_completed.into()),
        ("AppsFailed", c.apps_failed.into()),
        ("AppsKilled", c.apps_killed.into()),
        (
            "AggregateContainersAllocated",
            c.containers_allocated.into(),
        ),
        ("AggregateContainersReleased", c.containers_released.into()),
        (
            "AggregateContainersPreempted",
            c.containers_preempted.into(),
        ),
        ("AggregateMemoryMBPreempted", c.preempted.memory_mb().into()),
        ("AggregateVcoresPreempted", c.preempted.vcores().into()),
        (
            "AggregateMemoryMBSecondsPreempted",
            seconds.memory_mb().into(),
        ),
        ("AggregateVcoreSecondsPreempted", seconds.vcores().into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    for (lane, t) in types.iter().enumerate().skip(2) {
        attributes.push((
            format!("AggregatePreemptedSeconds.{}", t.name),
            types.wire(lane, seconds).into(),
        ));
    }
    attributes
}

fn queue_metrics(queue: &QueueReport, view: &View, types: &ResourceTypes) -> Bean {
    let usage = queue.partitions.first();
    let usage = usage.map(|p| p.usage).unwrap_or_default();
    let gauges = [
        ("tag.Queue", Value::from(queue.path.as_str())),
        ("AllocatedContainers", queue.counts.allocated.into()),
        ("PendingContainers", queue.counts.pending.into()),
        ("ReservedContainers", queue.counts.reserved.into()),
        ("ActiveUsers", queue.active_users.into()),
        ("UsedCapacity", queue.used_capacity.into()),
        ("AbsoluteUsedCapacity", queue.absolute_used_capacity.into()),
        ("GuaranteedCapacity", queue.capacity.into()),
        ("GuaranteedAbsoluteCapacity", queue.absolute_capacity.into()),
        ("MaxCapacity", queue.maximum_capacity.into()),
        (
            "MaxAbsoluteCapacity",
            queue.absolute_maximum_capacity.into(),
        ),
    ];
    let gauges = gauges.into_iter().chain(app_gauges(queue, view));
    let mut attributes: Attributes = gauges
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    attributes.extend(counters(queue, types));
    vectors(&mut attributes, types, &usage_vectors(&usage));
    let bounds = [
        ("Guaranteed", "GuaranteedCapacity", queue.guaranteed),
        ("MaxCapacity", "MaxCapacity", queue.maximum),
    ];
    vectors(&mut attributes, types, &bounds);
    // Hadoop counts these in leaves alone.
    let of_leaf = |amounts| {
        if queue.is_leaf {
            amounts
        } else {
            Resource::ZERO
        }
    };
    for (name, amounts) in [
        ("AMResourceLimit", of_leaf(queue.am_limit)),
        ("UsedAMResource", of_leaf(queue.am_used)),
    ] {
        attributes.push((format!("{name}MB"), amounts.memory_mb().into()));
        attributes.push((format!("{name}VCores"), amounts.vcores().into()));
    }
    bean(&format!("QueueMetrics,{}", queue_name(queue)), attributes)
}

#[cfg(test)]
#[path = "servlets_test.rs"]
mod tests;
