//! `/ws/v1/cluster`: node labels, read and changed.
//! May touch: the core's read model; requests to it.
//! Must not: judge a label (the core does).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header,
    web::{Bytes, Data, Path},
};
use rm_core::{
    Event,
    event::{AdminRequest, LabelRequest},
    view::LabelReport,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;
use yarn_types::{NodeId, ResourceTypes};
use yarn_web::{Format, Pairs, User};

use super::{State, body::Unread, busy, dto::ResourceInfo};
use crate::{driver::Refusal, groups, labels, rpc::labels_refused};

/// `NodeLabelsInfo`.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Labels {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    node_label_info: Vec<Label>,
}

/// `NodeLabelInfo`.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Label {
    name: String,
    exclusivity: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_info: Option<Partition>,
    #[serde(rename = "activeNMs", skip_serializing_if = "Option::is_none")]
    active_nms: Option<u32>,
}

/// `PartitionInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Partition {
    resource_available: ResourceInfo,
}

/// `NodeToLabelsInfo`, and `LabelsToNodesInfo` likewise: without entries there is no map.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeToLabels {
    #[serde(skip_serializing_if = "Option::is_none")]
    node_to_labels: Option<Entries<String, Labels>>,
}

/// `LabelsToNodesInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LabelsToNodes {
    #[serde(skip_serializing_if = "Option::is_none")]
    labels_to_nodes: Option<Entries<Label, Nodes>>,
}

/// A map as Hadoop writes it.
#[derive(Serialize)]
struct Entries<K, V> {
    entry: Vec<Entry<K, V>>,
}

#[derive(Serialize)]
struct Entry<K, V> {
    key: K,
    value: V,
}

/// `NodeIDsInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Nodes {
    nodes: Vec<String>,
    partition_info: Partition,
}

fn entries<K, V>(entry: Vec<Entry<K, V>>) -> Option<Entries<K, V>> {
    (!entry.is_empty()).then_some(Entries { entry })
}

fn partition(report: &LabelReport, types: &ResourceTypes) -> Partition {
    Partition {
        resource_available: ResourceInfo::of(report.total, types),
    }
}

/// A label with its exclusivity alone.
fn plain(all: &[LabelReport], name: &str) -> Label {
    let found = all.iter().find(|l| &*l.name == name);
    Label {
        name: name.to_owned(),
        exclusivity: found.is_none_or(|l| l.exclusive),
        ..Label::default()
    }
}

/// GET `/get-node-labels`: with what each offers, the default partition left out.
pub(super) async fn cluster(state: Data<State>, format: Format) -> HttpResponse {
    let Some(all) = state.ask(rm_core::Rm::label_reports).await else {
        return busy(format);
    };
    let types = &state.context.types;
    let label = |l: &LabelReport| Label {
        partition_info: Some(partition(l, types)),
        ..plain(std::slice::from_ref(l), &l.name)
    };
    let all = all.iter().filter(|l| !l.name.is_empty());
    let node_label_info = all.map(label).collect();
    format.bare("nodeLabelsInfo", &Labels { node_label_info })
}

/// GET `/get-rm-node-labels`: all partitions, with their nodes.
pub(super) async fn partitions(state: Data<State>, format: Format) -> HttpResponse {
    let Some(all) = state.ask(rm_core::Rm::label_reports).await else {
        return busy(format);
    };
    let types = &state.context.types;
    let label = |l: &LabelReport| Label {
        name: if l.name.is_empty() {
            "<DEFAULT_PARTITION>".to_owned()
        } else {
            l.name.to_string()
        },
        exclusivity: l.exclusive,
        partition_info: Some(partition(l, types)),
        active_nms: Some(l.nodes),
    };
    let node_label_info = all.iter().map(label).collect();
    format.bare("nodeLabelsInfo", &Labels { node_label_info })
}

/// GET `/get-node-to-labels`.
pub(super) async fn node_to_labels(state: Data<State>, format: Format) -> HttpResponse {
    let asked = state.ask(|rm| (rm.label_reports(), rm.node_to_labels()));
    let Some((all, nodes)) = asked.await else {
        return busy(format);
    };
    let entry = |(id, label): (&NodeId, &Arc<str>)| Entry {
        key: id.to_string(),
        value: Labels {
            node_label_info: vec![plain(&all, label)],
        },
    };
    let node_to_labels = entries(nodes.iter().map(entry).collect());
    format.bare("nodeToLabelsInfo", &NodeToLabels { node_to_labels })
}

fn values(query: &Pairs, key: &str) -> Vec<String> {
    let values = query.iter().filter(|(name, _)| name == key);
    values.map(|(_, value)| value.clone()).collect()
}

/// GET `/label-mappings`: of all labels when none is named.
pub(super) async fn mappings(state: Data<State>, format: Format, query: Pairs) -> HttpResponse {
    let asked = state.ask(|rm| (rm.label_reports(), rm.node_to_labels()));
    let Some((all, mapped)) = asked.await else {
        return busy(format);
    };
    let wanted: BTreeSet<String> = values(&query, "labels").into_iter().collect();
    let mut nodes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (id, label) in &mapped {
        if wanted.is_empty() || wanted.contains(&**label) {
            nodes.entry(label).or_default().push(id.to_string());
        }
    }
    let types = &state.context.types;
    let entry = |(label, nodes): (&str, Vec<String>)| {
        let report = all.iter().find(|l| &*l.name == label)?;
        Some(Entry {
            key: plain(&all, label),
            value: Nodes {
                nodes,
                partition_info: partition(report, types),
            },
        })
    };
    let labels_to_nodes = entries(nodes.into_iter().filter_map(entry).collect());
    format.bare("labelsToNodesInfo", &LabelsToNodes { labels_to_nodes })
}

/// `ConverterUtils.toNodeIdWithDefaultPort`: without a port it means the host.
fn node_id(text: &str) -> Result<NodeId, String> {
    match text.split_once(':') {
        None => Ok(NodeId::new(text, 0)),
        Some((host, port)) => port
            .parse()
            .map(|port| NodeId::new(host, port))
            .map_err(|_| format!("For input string: \"{port}\"")),
    }
}

/// GET `/nodes/{node}/get-labels`.
pub(super) async fn of_node(
    state: Data<State>,
    format: Format,
    path: Path<String>,
) -> HttpResponse {
    let id = match node_id(&path) {
        Ok(id) => id,
        Err(text) => return format.illegal_argument(text),
    };
    let asked = state.ask(move |rm| (rm.label_reports(), rm.label_on(&id)));
    let Some((all, label)) = asked.await else {
        return busy(format);
    };
    let node_label_info = label.iter().map(|label| plain(&all, label)).collect();
    format.bare("nodeLabelsInfo", &Labels { node_label_info })
}

/// Whether the caller administers the cluster.
pub(super) async fn is_admin(state: &State, user: &str) -> bool {
    if state.context.acls.everybody_administers() {
        return true;
    }
    let (acls, user) = (Arc::clone(&state.context.acls), user.to_owned());
    // The account database may be across the network.
    let asked = actix_web::web::block(move || acls.is_admin(groups::who(&user).caller()));
    asked.await.unwrap_or(false)
}

/// Sends the change to the core; an empty answer when it is done. `place` is the address as
/// Hadoop's refusal calls it.
async fn change(
    state: &State,
    format: Format,
    user: &User,
    place: &str,
    request: LabelRequest,
) -> HttpResponse {
    let user = &user.0;
    if !is_admin(state, user).await {
        let text = format!("User {user} not authorized for post to ...{place}");
        return format.forbidden(text);
    }
    let maps = matches!(request, LabelRequest::Replace { .. });
    if let Some(text) = labels_refused(&state.context, maps) {
        return format.bad_request(&text);
    }
    let (tell, told) = oneshot::channel();
    let request = AdminRequest::Labels(request);
    state.context.driver.call(
        Instant::now(),
        |call| Event::Admin { call, request },
        move |answer| {
            // Nobody waits any more when the caller went away.
            let _ = tell.send(answer);
        },
    );
    match told.await {
        Ok(Ok(_)) => HttpResponse::Ok().finish(),
        Ok(Err(Refusal::Reject(r))) => format.bad_request(&r.message),
        Ok(Err(Refusal::Busy)) | Err(_) => busy(format),
    }
}

/// The body in the form of `X`: XML as it is, JSON by `from_json`.
fn body<X: for<'a> Deserialize<'a>>(
    request: &HttpRequest,
    body: &Bytes,
    from_json: impl FnOnce(&Value) -> X,
) -> Result<X, Unread> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
    if kind.starts_with("application/xml") {
        let text = std::str::from_utf8(body).map_err(|_| Unread::Body)?;
        quick_xml::de::from_str(text).map_err(|_| Unread::Body)
    } else if kind.is_empty() || kind.starts_with("application/json") {
        let value: Value = serde_json::from_slice(body).map_err(|_| Unread::Body)?;
        Ok(from_json(&value))
    } else {
        Err(Unread::Type)
    }
}

/// A list, or the one thing that stands in its place.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    match value.get(key) {
        Some(Value::Array(all)) => all,
        Some(one) => std::slice::from_ref(one),
        None => &[],
    }
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// Labels to add. One without its exclusivity is not exclusive, unlike on the command line.
#[derive(Deserialize)]
struct ToAdd {
    #[serde(rename = "nodeLabelInfo", default)]
    labels: Vec<AddedLabel>,
}

#[derive(Deserialize)]
struct AddedLabel {
    #[serde(default)]
    name: String,
    #[serde(default)]
    exclusivity: bool,
}

/// POST `/add-node-labels`.
pub(super) async fn add(
    state: Data<State>,
    format: Format,
    user: User,
    request: HttpRequest,
    bytes: Bytes,
) -> HttpResponse {
    let read = body(&request, &bytes, |value| {
        let label = |l: &Value| AddedLabel {
            name: text(l.get("name")),
            exclusivity: text(l.get("exclusivity")).eq_ignore_ascii_case("true"),
        };
        ToAdd {
            labels: list(value, "nodeLabelInfo").iter().map(label).collect(),
        }
    });
    let read = match read {
        Ok(read) => read,
        Err(why) => return why.answer(format),
    };
    let all = read.labels.iter();
    let all = all.map(|l| (l.name.trim().into(), l.exclusivity)).collect();
    change(
        &state,
        format,
        &user,
        "/add-node-labels",
        LabelRequest::Add(all),
    )
    .await
}

/// POST `/remove-node-labels?labels=…`.
pub(super) async fn remove(
    state: Data<State>,
    format: Format,
    query: Pairs,
    user: User,
) -> HttpResponse {
    let names = labels::names(&values(&query, "labels"));
    let request = LabelRequest::Remove(names);
    change(&state, format, &user, "/remove-node-labels", request).await
}

/// New labels of nodes.
#[derive(Deserialize)]
struct ToReplace {
    #[serde(rename = "nodeToLabels", default)]
    nodes: Vec<MappedNode>,
}

#[derive(Deserialize)]
struct MappedNode {
    #[serde(rename = "nodeId", default)]
    node: String,
    #[serde(default)]
    labels: Vec<String>,
}

async fn replace(
    state: &State,
    format: Format,
    user: &User,
    place: &str,
    nodes: Vec<MappedNode>,
) -> HttpResponse {
    let mut mapping = labels::Mapping::new();
    for one in nodes {
        match node_id(&one.node) {
            Ok(id) => mapping.insert(labels::target(id), labels::names(&one.labels)),
            Err(text) => return format.illegal_argument(text),
        };
    }
    let request = LabelRequest::Replace {
        nodes: mapping.into_iter().collect(),
        known_only: false,
    };
    change(state, format, user, place, request).await
}

/// POST `/replace-node-to-labels`.
pub(super) async fn replace_all(
    state: Data<State>,
    format: Format,
    user: User,
    request: HttpRequest,
    bytes: Bytes,
) -> HttpResponse {
    let read = body(&request, &bytes, |value| {
        let node = |n: &Value| MappedNode {
            node: text(n.get("nodeId")),
            labels: list(n, "labels").iter().map(|l| text(Some(l))).collect(),
        };
        ToReplace {
            nodes: list(value, "nodeToLabels").iter().map(node).collect(),
        }
    });
    match read {
        Ok(read) => {
            let place = "/replace-node-to-labels";
            replace(&state, format, &user, place, read.nodes).await
        }
        Err(why) => why.answer(format),
    }
}

/// POST `/nodes/{node}/replace-labels?labels=…`.
pub(super) async fn replace_one(
    state: Data<State>,
    format: Format,
    path: Path<String>,
    query: Pairs,
    user: User,
) -> HttpResponse {
    let node = MappedNode {
        node: path.into_inner(),
        labels: values(&query, "labels"),
    };
    let place = "/nodes/nodeid/replace-labels";
    replace(&state, format, &user, place, vec![node]).await
}

#[cfg(test)]
#[path = "labels_test.rs"]
mod tests;
