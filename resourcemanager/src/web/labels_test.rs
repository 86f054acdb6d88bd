//! Node labels over HTTP.
//! May touch: the daemon, a temporary directory.
//! Must not: sleep.

use serde_json::{Value, json};

use crate::{
    fake::{Node, Rm},
    web::tests::{body, get, send},
};

const JSON: &str = "Accept: application/json\r\nContent-Type: application/json";

async fn post(rm: &Rm, path: &str, body: &Value) -> String {
    let path = format!("/ws/v1/cluster/{path}");
    send(rm, "POST", &path, JSON, &body.to_string()).await
}

async fn read(rm: &Rm, path: &str) -> Value {
    let answer = get(rm, &format!("/ws/v1/cluster/{path}")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    serde_json::from_str(body(&answer)).unwrap()
}

fn says(answer: &str, status: &str, text: &str) {
    assert!(
        answer.starts_with(&format!("HTTP/1.1 {status}")),
        "{answer}"
    );
    assert!(answer.contains(text), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_are_added_mapped_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let dir: &'static str = dir.path().to_str().unwrap().to_owned().leak();
    let rm = Rm::start(&[
        ("yarn.node-labels.enabled", "true"),
        ("yarn.node-labels.fs-store.root-dir", dir),
    ]);
    let node = Node::register(&rm, yarn_types::Resource::new(8192, 8)).await;
    let id = format!("{}:{}", node.id.host(), node.id.port());
    let add = json!({"nodeLabelInfo": [{"name": "x", "exclusivity": true}, {"name": "y"}]});
    says(&post(&rm, "add-node-labels", &add).await, "200", "");
    let add = json!({"nodeLabelInfo": {"name": "x", "exclusivity": "false"}});
    says(
        &post(&rm, "add-node-labels", &add).await,
        "400",
        r#""message":"Exclusivity cannot be modified for an existing label with : <x:exclusivity=false>""#,
    );
    let map = json!({"nodeToLabels": [{"nodeId": id, "labels": ["x"]}]});
    says(&post(&rm, "replace-node-to-labels", &map).await, "200", "");
    let x = json!({"name": "x", "exclusivity": true});
    let of_node = json!({"nodeLabelInfo": [x]});
    assert_eq!(read(&rm, &format!("nodes/{id}/get-labels")).await, of_node);
    assert_eq!(
        read(&rm, "get-node-to-labels").await,
        json!({"nodeToLabels": {"entry": [{"key": id, "value": of_node}]}})
    );
    let all = read(&rm, "get-rm-node-labels").await;
    let all = all["nodeLabelInfo"].as_array().unwrap();
    let figures = all.iter().map(|l| {
        let offered = &l["partitionInfo"]["resourceAvailable"]["memory"];
        (
            l["name"].as_str().unwrap(),
            l["activeNMs"].as_u64().unwrap(),
            offered.as_i64().unwrap(),
        )
    });
    assert_eq!(
        figures.collect::<Vec<_>>(),
        [("<DEFAULT_PARTITION>", 0, 0), ("x", 1, 8192), ("y", 0, 0)]
    );
    let mapped = read(&rm, "label-mappings?labels=x&labels=y").await;
    let entry = &mapped["labelsToNodes"]["entry"];
    assert_eq!(
        (&entry[0]["key"], &entry[0]["value"]["nodes"]),
        (&x, &json!([id]))
    );
    assert_eq!(read(&rm, "label-mappings?labels=y").await, json!({}));
    let shown = read(&rm, &format!("nodes/{id}")).await;
    assert_eq!(shown["node"]["nodeLabels"], json!(["x"]));
    let path = format!("nodes/{id}/replace-labels?labels=y");
    says(&post(&rm, &path, &Value::Null).await, "200", "");
    let gone = post(&rm, "remove-node-labels?labels=y", &Value::Null).await;
    says(&gone, "200", "");
    assert_eq!(read(&rm, "get-node-to-labels").await, json!({}));
    let labels = read(&rm, "get-node-labels").await;
    assert_eq!(labels["nodeLabelInfo"].as_array().unwrap().len(), 1);
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_another_kind_is_refused() {
    let rm = Rm::start(&[]);
    let path = "/ws/v1/cluster/add-node-labels";
    let text = "Content-Type: text/plain";
    says(&send(&rm, "POST", path, text, "x").await, "503", "HTTP 415");
    says(&send(&rm, "POST", path, JSON, "{").await, "400", "");
    let disabled = "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled";
    says(&send(&rm, "POST", path, JSON, "{}").await, "400", disabled);
    let xml = "Accept: application/xml\r\nContent-Type: application/xml";
    let body = "<nodeLabelsInfo><nodeLabelInfo><name>x</name></nodeLabelInfo></nodeLabelsInfo>";
    says(&send(&rm, "POST", path, xml, body).await, "400", disabled);
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_administrators_change_labels() {
    let dir = tempfile::tempdir().unwrap();
    let dir: &'static str = dir.path().to_str().unwrap().to_owned().leak();
    let rm = Rm::start(&[
        ("yarn.node-labels.enabled", "true"),
        ("yarn.node-labels.fs-store.root-dir", dir),
        ("yarn.admin.acl", "boss"),
    ]);
    let add = json!({"nodeLabelInfo": [{"name": "x"}]});
    let text = r#""message":"User dr.who not authorized for post to .../add-node-labels""#;
    says(&post(&rm, "add-node-labels", &add).await, "403", text);
    for (path, place) in [
        ("remove-node-labels?labels=x", "remove-node-labels"),
        (
            "nodes/h:1/replace-labels?labels=x",
            "nodes/nodeid/replace-labels",
        ),
    ] {
        let text = format!("User dr.who not authorized for post to .../{place}");
        says(&post(&rm, path, &Value::Null).await, "403", &text);
    }
    assert_eq!(read(&rm, "get-node-labels").await, json!({}));
    let boss = "add-node-labels?user.name=boss";
    says(&post(&rm, boss, &add).await, "200", "");
    rm.0.stop().await;
}
