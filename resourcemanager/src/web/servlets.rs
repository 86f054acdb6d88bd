//! `/jmx`, `/isActive`: what monitoring and scripts read besides REST.
//! May touch: the core's read model.
//! Must not: show a number that nobody measures.

use std::{collections::BTreeMap, fmt::Write as _};

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
    web::{Data, Query},
};
use rm_core::view::{QueueReport, View};
use serde::Serialize;
use serde_json::Value;
use yarn_types::{NodeState, Resource, ResourceTypes};

use super::{State, is_within};

/// GET `/isActive`: this RM is the only one, so it is.
pub(super) async fn is_active() -> HttpResponse {
    HttpResponse::Ok().finish()
}

/// An MBean: its name, then its attributes by name.
#[derive(Serialize)]
struct Bean {
    name: String,
    #[serde(rename = "modelerType")]
    modeler_type: String,
    #[serde(flatten)]
    attributes: BTreeMap<String, Value>,
}

#[derive(Serialize)]
struct Beans {
    beans: Vec<Bean>,
}

/// Parameters of `/jmx`.
#[derive(serde::Deserialize)]
pub(super) struct JmxQuery {
    /// Pattern of names.
    qry: Option<String>,
    /// `bean::attribute`.
    get: Option<String>,
}

/// GET `/jmx`.
pub(super) async fn jmx(state: Data<State>, query: Query<JmxQuery>) -> HttpResponse {
    let Some(view) = state.context.driver.view().await else {
        return HttpResponse::ServiceUnavailable().finish();
    };
    let mut beans = beans(&view, &state.context.types);
    let mut status = StatusCode::OK;
    if let Some(get) = &query.get {
        let Some((name, attribute)) = get.split_once("::").filter(|(_, a)| !a.contains("::"))
        else {
            return json(
                StatusCode::BAD_REQUEST,
                &error("query format is not as expected."),
            );
        };
        beans.retain(|bean| matches(name, &bean.name));
        for bean in &mut beans {
            bean.attributes.retain(|key, _| key == attribute);
            if bean.attributes.is_empty() {
                let text = format!("No attribute with name {attribute} was found.");
                bean.attributes = error(&text);
                status = StatusCode::NOT_FOUND;
            }
        }
    } else if let Some(pattern) = &query.qry {
        beans.retain(|bean| matches(pattern, &bean.name));
    }
    json(status, &Beans { beans })
}

fn error(message: &str) -> BTreeMap<String, Value> {
    BTreeMap::from([
        ("result".to_owned(), "ERROR".into()),
        ("message".to_owned(), message.into()),
    ])
}

fn json(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    match serde_json::to_string_pretty(body) {
        Ok(text) => HttpResponse::build(status)
            .content_type("application/json; charset=utf8")
            .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
            .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, "GET"))
            .body(text),
        Err(_) => HttpResponse::InternalServerError().finish(),
    }
}

/// Whether `name` is one of those that the `ObjectName` `pattern` means.
fn matches(pattern: &str, name: &str) -> bool {
    let (Some((domains, keys)), Some((domain, properties))) =
        (pattern.split_once(':'), name.split_once(':'))
    else {
        return false;
    };
    let properties: Vec<&str> = properties.split(',').collect();
    let wanted: Vec<&str> = keys.split(',').filter(|key| *key != "*").collect();
    let open = keys.split(',').any(|key| key == "*");
    wildcard(domains, domain)
        && (open || wanted.len() == properties.len())
        && wanted
            .iter()
            .all(|want| properties.iter().any(|property| wildcard(want, property)))
}

/// `*` stands for any text.
fn wildcard(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or("");
    for part in parts {
        // The earliest place leaves most for the rest.
        match text.find(part) {
            Some(at) => text = text.get(at + part.len()..).unwrap_or(""),
            None => return false,
        }
    }
    text.ends_with(last)
}

fn beans(view: &View, types: &ResourceTypes) -> Vec<Bean> {
    let queues = view.queues.iter();
    let queues = queues.map(|queue| queue_metrics(queue, view, types));
    std::iter::once(cluster_metrics(view))
        .chain(queues)
        .collect()
}

fn bean(name: &str, attributes: Vec<(String, Value)>) -> Bean {
    Bean {
        name: format!("Hadoop:service=ResourceManager,name={name}"),
        modeler_type: name.to_owned(),
        attributes: attributes.into_iter().collect(),
    }
}

fn cluster_metrics(view: &View) -> Bean {
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
        ("tag.Context".to_owned(), "yarn".into()),
        ("CapabilityMB".to_owned(), metrics.total.memory_mb().into()),
        (
            "CapabilityVirtualCores".to_owned(),
            metrics.total.vcores().into(),
        ),
    ];
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
        ("tag.Context", "yarn".into()),
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
    let available = queue.maximum.minus(queue.used).at_least_zero();
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

#[cfg(test)]
#[path = "servlets_test.rs"]
mod tests;
