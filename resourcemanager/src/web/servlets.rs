//! `/jmx`, `/isActive`: what monitoring and scripts read besides REST.
//! May touch: the core's read model.
//! Must not: show a number that nobody measures.

use std::fmt::Write as _;

use actix_web::{
    HttpResponse,
    web::{Data, Query},
};
use rm_core::view::{QueueReport, View};
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
    let queues = queues.map(|queue| queue_metrics(queue, view, types));
    std::iter::once(cluster_metrics(view, types))
        .chain(queues)
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

fn queue_metrics(queue: &QueueReport, view: &View, types: &ResourceTypes) -> Bean {
    let mut name = "QueueMetrics".to_owned();
    for (depth, part) in queue.path.split('.').enumerate() {
        // Writing to a String does not fail.
        let _ = write!(name, ",q{depth}={part}");
    }
    let apps = || {
        let all = view.apps.iter();
        all.filter(|app| is_within(&app.queue, &queue.path))
    };
    let running = apps().filter(|app| app.state == yarn_types::ApplicationState::Running);
    let (running, live) = (
        running.count(),
        apps().filter(|app| !app.state.is_final()).count(),
    );
    let pending: u32 = apps().map(|app| app.pending_containers).sum();
    let mut attributes: Vec<(String, Value)> = [
        ("tag.Queue", Value::from(queue.path.as_str())),
        ("AppsRunning", running.into()),
        ("AppsPending", (live - running).into()),
        ("AllocatedContainers", queue.containers.into()),
        ("PendingContainers", pending.into()),
        ("ReservedContainers", 0.into()),
        ("UsedCapacity", queue.used_capacity.into()),
        ("AbsoluteUsedCapacity", queue.absolute_used_capacity.into()),
        ("GuaranteedCapacity", queue.capacity.into()),
        ("GuaranteedAbsoluteCapacity", queue.absolute_capacity.into()),
        ("MaxCapacity", queue.maximum_capacity.into()),
        (
            "MaxAbsoluteCapacity",
            queue.absolute_maximum_capacity.into(),
        ),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    // What the guarantee leaves (`CSQueueUtils.getMaxAvailableResourceToQueue`).
    let available = queue.guaranteed.minus(queue.used).at_least_zero();
    let vectors = [
        ("Allocated", "AllocatedResource", queue.used),
        ("Available", "AvailableResource", available),
        ("Pending", "PendingResource", queue.pending),
        // Reservations are not built yet.
        ("Reserved", "ReservedResource", Resource::ZERO),
        ("Guaranteed", "GuaranteedCapacity", queue.guaranteed),
        ("MaxCapacity", "MaxCapacity", queue.maximum),
    ];
    for (short, long, amounts) in vectors {
        attributes.push((format!("{short}MB"), amounts.memory_mb().into()));
        attributes.push((format!("{short}VCores"), amounts.vcores().into()));
        for (lane, t) in types.iter().enumerate().skip(2) {
            attributes.push((
                format!("{long}.{}", t.name),
                types.wire(lane, amounts).into(),
            ));
        }
    }
    if queue.is_leaf {
        for (name, amounts) in [
            ("AMResourceLimit", queue.am_limit),
            ("UsedAMResource", queue.am_used),
        ] {
            attributes.push((format!("{name}MB"), amounts.memory_mb().into()));
            attributes.push((format!("{name}VCores"), amounts.vcores().into()));
        }
    }
    bean(&name, attributes)
}
