//! What a node offers, changed over a real socket.
//! May touch: the daemon.
//! Must not: sleep.

use yarn_types::Resource;

use crate::{
    fake::{Node, Rm},
    web::tests::{body, get, send},
};

async fn post(rm: &Rm, node: &str, kind: &str, text: &str) -> String {
    let path = format!("/ws/v1/cluster/nodes/{node}/resource?user.name=admin");
    let headers = format!("Accept: application/json\r\nContent-Type: {kind}");
    send(rm, "POST", &path, &headers, text).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_changes_what_a_node_offers() {
    let rm = Rm::start(&[]);
    let node = Node::register(&rm, Resource::new(4096, 4)).await;
    let id = format!("{}:{}", node.id.host(), node.id.port());
    let json = "application/json";
    let offer = r#"{"resource":{"memory":2048,"vCores":3},"overCommitTimeout":500}"#;
    let answer = post(&rm, &id, json, offer).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let told: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(told["resourceInfo"]["memory"], 2048);
    let shown = get(&rm, &format!("/ws/v1/cluster/nodes/{id}")).await;
    assert!(shown.contains(r#""availMemoryMB":2048"#), "{shown}");
    let offer = "<resourceOption><resource><memory>1024</memory><vCores>2</vCores></resource></resourceOption>";
    let answer = post(&rm, &id, "application/xml", offer).await;
    assert!(answer.contains(r#""vCores":2"#), "{answer}");
    let six = r#"{"resource":{"memory":6000,"vCores":6}}"#;
    for (node, kind, text, status, part) in [
        (&*id, json, "{}", 400, "resource is missing"),
        (&id, json, "{", 400, "WebApplicationException"),
        (&id, "text/plain", six, 503, "Unsupported Media Type"),
        (
            &id,
            json,
            r#"{"resource":{"memory":-1}}"#,
            400,
            "memory-mb is -1, want 0 or more",
        ),
        ("no:1", json, six, 404, "nodeId, no:1, is not found"),
        (
            "x",
            json,
            six,
            400,
            "Invalid NodeId [x]. Expected host:port",
        ),
    ] {
        let answer = post(&rm, node, kind, text).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(part),
            "{text}: {answer}"
        );
    }
    let shown = get(&rm, &format!("/ws/v1/cluster/nodes/{id}")).await;
    assert!(shown.contains(r#""availMemoryMB":1024"#), "{shown}");
    rm.0.stop().await;
}
