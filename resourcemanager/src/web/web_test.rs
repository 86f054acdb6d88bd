//! Pages and REST answers over a real socket.
//! May touch: the daemon.
//! Must not: sleep.

use std::io::{Read, Write};

use crate::fake::{self, Rm};

/// Status line, headers and body of a GET.
pub(super) async fn get(rm: &Rm, path: &str) -> String {
    send(rm, "GET", path, "Accept: */*", "").await
}

pub(super) async fn send(rm: &Rm, method: &str, path: &str, header: &str, body: &str) -> String {
    let at = rm.at("rm.http");
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{header}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let fetched = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(&at).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    });
    fetched.await.unwrap()
}

pub(super) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

async fn json(rm: &Rm, path: &str) -> serde_json::Value {
    let answer = get(rm, path).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    serde_json::from_str(body(&answer)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_is_found_on_every_page() {
    let rm = Rm::start(&[]);
    let client = rm.client("<alice>").await;
    let app = fake::submit(&client, "gpu").await;
    let rest = get(&rm, &format!("/ws/v1/cluster/apps/{app}")).await;
    let body: serde_json::Value =
        serde_json::from_str(rest.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(body["app"]["id"], app.to_string());
    assert_eq!(body["app"]["state"], "ACCEPTED");
    assert_eq!(body["app"]["trackingUI"], "UNASSIGNED");
    assert_eq!(body["app"]["logAggregationStatus"], "DISABLED");
    let asked = &body["app"]["resourceRequests"][0];
    assert_eq!(
        (&asked["resourceName"], &asked["allocationRequestId"]),
        (&"*".into(), &(-1).into())
    );
    assert_eq!(asked["capability"]["memory"], 1024);
    let none = get(
        &rm,
        &format!("/ws/v1/cluster/apps/{app}?deSelects=resourceRequests"),
    )
    .await;
    assert!(!none.contains("resourceRequests"), "{none}");
    let page = get(&rm, &format!("/cluster/app/{app}")).await;
    assert!(
        page.contains("&lt;alice&gt;") && !page.contains("<alice>"),
        "{page}"
    );
    assert!(get(&rm, "/cluster").await.contains(&app.to_string()));
    let moved = get(&rm, &format!("/proxy/{app}/jobs/")).await;
    let location = format!(
        "location: http://{}/cluster/app/{app}\r\n",
        rm.at("rm.http")
    );
    assert!(
        moved.starts_with("HTTP/1.1 302") && moved.contains(&location),
        "{moved}"
    );
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_said_in_hadoops_form() {
    let rm = Rm::start(&[]);
    let unknown = get(&rm, "/ws/v1/cluster/apps/application_1_0404").await;
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
    assert!(unknown.contains("\"message\":\"app with id: application_1_0404 not found\""));
    assert!(
        get(&rm, "/ws/v1/cluster/apps/nonsense")
            .await
            .starts_with("HTTP/1.1 400")
    );
    let info = get(&rm, "/ws/v1/cluster/info").await;
    assert!(info.contains("\"haState\":\"ACTIVE\""), "{info}");
    let metrics = get(&rm, "/ws/v1/cluster/metrics").await;
    assert!(metrics.contains("\"activeNodes\":0"), "{metrics}");
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_is_killed_by_its_state() {
    let rm = Rm::start(&[]);
    let client = rm.client("alice").await;
    let app = fake::submit(&client, "gpu").await;
    let path = format!("/ws/v1/cluster/apps/{app}/state");
    let put = |header: &'static str, text: &'static str| send(&rm, "PUT", &path, header, text);
    let as_json = "Content-Type: application/json";
    assert_eq!(json(&rm, &path).await["state"], "ACCEPTED");
    let other = put(as_json, r#"{"state":"RUNNING"}"#).await;
    assert!(
        other.starts_with("HTTP/1.1 400")
            && other.contains("Only 'KILLED' is allowed as a target state."),
        "{other}"
    );
    for broken in ["", "{", "[]"] {
        let refused = put(as_json, broken).await;
        assert!(refused.starts_with("HTTP/1.1 400"), "{broken}: {refused}");
    }
    let killed = put(
        "Content-Type: application/xml",
        "<appstate><state>KILLED</state><diagnostics>enough</diagnostics></appstate>",
    )
    .await;
    let accepted = killed.starts_with("HTTP/1.1 202") && killed.contains(&format!("{path}\r\n"));
    assert!(accepted || killed.starts_with("HTTP/1.1 200"), "{killed}");
    fake::wait_for(&client, app, yarn_types::ApplicationState::Killed).await;
    let again = put(as_json, r#"{"state":"KILLED"}"#).await;
    assert!(
        again.starts_with("HTTP/1.1 200") && body(&again) == r#"{"state":"KILLED"}"#,
        "{again}"
    );
    let found = json(&rm, &format!("/ws/v1/cluster/apps/{app}")).await;
    assert_eq!(found["app"]["allocatedMB"], -1);
    let words = found["app"]["diagnostics"].as_str().unwrap();
    assert!(
        words.contains("enough") && words.contains("dr.who"),
        "{words}"
    );
    let unknown = send(
        &rm,
        "PUT",
        "/ws/v1/cluster/apps/application_1_0404/state",
        as_json,
        r#"{"state":"KILLED"}"#,
    )
    .await;
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
    rm.0.stop().await;
}

/// An RM with one node that runs one ApplicationMaster.
async fn at_work() -> (Rm, fake::Node, yarn_types::ApplicationId) {
    let rm = Rm::start(&[]);
    let client = rm.client("alice").await;
    let mut node = fake::Node::register(&rm, yarn_types::Resource::new(4096, 4)).await;
    node.heartbeat(Vec::new()).await;
    let app = fake::submit(&client, "gpu").await;
    let _started = node.next_started().await;
    (rm, node, app)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_list_is_an_empty_holder() {
    let rm = Rm::start(&[]);
    assert_eq!(
        body(&get(&rm, "/ws/v1/cluster/apps").await),
        r#"{"apps":{}}"#
    );
    assert_eq!(
        body(&get(&rm, "/ws/v1/cluster/nodes").await),
        r#"{"nodes":{}}"#
    );
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_tell_what_is_used_where() {
    let (rm, _node, app) = at_work().await;
    let apps = json(
        &rm,
        "/ws/v1/cluster/apps?queue=gpu&user=alice&states=accepted",
    )
    .await;
    let found = &apps["apps"]["app"][0];
    assert_eq!(found["id"], app.to_string());
    assert_eq!(found["allocatedMB"], 1024);
    assert_eq!(
        found["resourceInfo"]["resourceUsagesByPartition"][0]["used"]["memory"],
        1024
    );
    for none in [
        "states=running",
        "queue=default",
        "user=bob",
        "startedTimeEnd=1",
    ] {
        let apps = json(&rm, &format!("/ws/v1/cluster/apps?{none}")).await;
        assert_eq!(apps, serde_json::json!({"apps": {}}), "{none}");
    }
    let refused = get(&rm, "/ws/v1/cluster/apps?queue=nowhere").await;
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");

    let nodes = json(&rm, "/ws/v1/cluster/nodes?states=RUNNING").await;
    let id = nodes["nodes"]["node"][0]["id"].as_str().unwrap().to_owned();
    let one = json(&rm, &format!("/ws/v1/cluster/nodes/{id}")).await;
    assert_eq!(one["node"]["usedMemoryMB"], 1024);
    assert_eq!(one["node"]["availMemoryMB"], 3072);
    assert_eq!(one["node"]["availableResource"]["vCores"], 3);
    for (bad, status) in [
        ("nodes/x", 400),
        ("nodes/x:1", 404),
        ("nodes?states=DEAD", 400),
    ] {
        let answer = get(&rm, &format!("/ws/v1/cluster/{bad}")).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
    }
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_sums_and_beans_tell_what_is_used() {
    let (rm, _node, app) = at_work().await;
    let nodes = json(&rm, "/ws/v1/cluster/nodes").await;
    let id = nodes["nodes"]["node"][0]["id"].as_str().unwrap().to_owned();
    let tree = json(&rm, "/ws/v1/cluster/scheduler").await;
    let root = &tree["scheduler"]["schedulerInfo"];
    assert_eq!(root["type"], "capacityScheduler");
    let queues = root["queues"]["queue"].as_array().unwrap();
    let gpu = queues.iter().find(|q| q["queueName"] == "gpu").unwrap();
    assert_eq!(gpu["type"], "capacitySchedulerLeafQueueInfo");
    assert_eq!(gpu["absoluteCapacity"], 50.0);
    assert_eq!(gpu["absoluteUsedCapacity"], 25.0);
    assert_eq!(gpu["resourcesUsed"]["memory"], 1024);
    assert_eq!(gpu["usedAMResource"]["memory"], 1024);
    assert_eq!(gpu["queues"], serde_json::Value::Null);

    let attempts = json(&rm, &format!("/ws/v1/cluster/apps/{app}/appattempts")).await;
    let first = &attempts["appAttempts"]["appAttempt"][0];
    assert_eq!(first["nodeId"], id);
    let metrics = json(&rm, "/ws/v1/cluster/metrics").await;
    assert_eq!(
        metrics["clusterMetrics"]["totalUsedResourcesAcrossPartition"]["memory"],
        1024
    );
    let sums = &metrics["clusterMetrics"];
    assert_eq!(
        (&sums["allocatedMB"], &sums["totalMB"]),
        (&1024.into(), &4096.into())
    );
    assert_eq!(
        (&sums["appsSubmitted"], &sums["appsRunning"]),
        (&1.into(), &1.into())
    );
    let beans = json(
        &rm,
        "/jmx?qry=Hadoop:service=ResourceManager,name=QueueMetrics,q0=root,q1=gpu",
    )
    .await;
    let bean = &beans["beans"][0];
    assert_eq!(bean["AllocatedMB"], 1024);
    // It has a container, so that Hadoop counts it as running.
    assert_eq!(
        (&bean["AppsPending"], &bean["AppsRunning"]),
        (&0.into(), &1.into())
    );
    let missing = get(
        &rm,
        "/jmx?get=Hadoop:service=ResourceManager,name=ClusterMetrics::Nothing",
    )
    .await;
    assert!(missing.starts_with("HTTP/1.1 404"), "{missing}");
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_tells_the_last_operations() {
    let (rm, _node, app) = at_work().await;
    let attempts = json(&rm, &format!("/ws/v1/cluster/apps/{app}/appattempts")).await;
    let first = &attempts["appAttempts"]["appAttempt"][0];
    let tree = json(&rm, "/ws/v1/cluster/scheduler").await;
    let health = &tree["scheduler"]["schedulerInfo"]["health"];
    let [allocation, release, ..] = &health["operationsInfo"].as_array().unwrap()[..] else {
        panic!("{health}");
    };
    assert_eq!(allocation["containerId"], first["containerId"]);
    assert_eq!(
        (&allocation["nodeId"], &allocation["queue"]),
        (&first["nodeId"], &"root.gpu".into())
    );
    assert_eq!(release["containerId"], "N/A");
    let details = &health["lastRunDetails"][1];
    assert_eq!(
        (&details["operation"], &details["count"]),
        (&"allocations".into(), &1.into())
    );
    assert_eq!(details["resources"]["memory"], 1024);
    assert!(health["lastrun"].as_i64().unwrap() > 0, "{health}");
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_told_as_xml_and_as_nothing_else() {
    let (rm, _node, _) = at_work().await;
    let nodes = json(&rm, "/ws/v1/cluster/nodes").await;
    let id = nodes["nodes"]["node"][0]["id"].as_str().unwrap().to_owned();
    let xml = send(
        &rm,
        "GET",
        "/ws/v1/cluster/nodes",
        "Accept: application/xml",
        "",
    )
    .await;
    let text =
        format!("<nodes><node><rack>/default-rack</rack><state>RUNNING</state><id>{id}</id>");
    assert!(xml.contains(&text), "{xml}");
    let neither = send(&rm, "GET", "/ws/v1/cluster/nodes", "Accept: text/plain", "").await;
    assert!(neither.starts_with("HTTP/1.1 406"), "{neither}");
    rm.0.stop().await;
}
