//! Pages and REST answers over a real socket.
//! May touch: the daemon.
//! Must not: sleep.

use std::io::{Read, Write};

use crate::fake::{self, Rm};

/// Status line, headers and body of a GET.
async fn get(rm: &Rm, path: &str) -> String {
    let (at, path) = (rm.at("rm.http"), path.to_owned());
    let fetched = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(&at).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    });
    fetched.await.unwrap()
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
    assert!(unknown.contains(
        "\"message\":\"java.lang.Exception: app with id: application_1_0404 not found\""
    ));
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
