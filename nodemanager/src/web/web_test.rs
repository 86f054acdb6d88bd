//! Tests: log pages and the node's JSON, over real sockets.
//! May touch: a temporary log directory, ports of the system's choice.
//! Must not: sleep.

use std::path::Path;

use super::*;
use crate::driver;

const ID: &str = "container_1700000000000_0001_01_000002";

fn serve(logs: &Path) -> (String, actix_web::dev::ServerHandle) {
    serve_with(logs, Arc::default())
}

fn serve_with(logs: &Path, acls: Arc<NodeAcls>) -> (String, actix_web::dev::ServerHandle) {
    let (inbox, waiting) = driver::inbox();
    // Nobody answers questions: what needs the core says so instead of hanging.
    drop(waiting);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let http_port = listener.local_addr().unwrap().port();
    let site = Site {
        conf: Configuration::of([("some.password", "hidden")]),
        inbox,
        node: NodeId::new("127.0.0.1", 1),
        http_port,
        log_dirs: vec![logs.to_owned()],
        offer: Offer::new(yarn_types::Resource::new(8192, 8), None),
        acls,
        types: ResourceTypes::memory_and_vcores(),
        monitor: MonitorSettings {
            enabled: true,
            interval_ms: 3000,
            pmem_check: true,
            vmem_check: false,
            vmem_ratio: 2.1,
        },
        started_wall_ms: 0,
        guard: Arc::new(Guard::off()),
        cards: LastReading::default(),
        manages_gpus: false,
    };
    let base = format!("http://{}", site.address());
    let server = server(site, listener).unwrap();
    let handle = server.handle();
    tokio::spawn(server);
    (base, handle)
}

fn logs() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("application_1700000000000_0001").join(ID);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("stderr"), "0123456789<b>&").unwrap();
    std::fs::write(root.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../../secret", dir.join("linked")).unwrap();
    std::os::unix::fs::symlink(root.path(), dir.join("dir")).unwrap();
    root
}

async fn get(url: &str) -> (u16, String) {
    let answer = reqwest::get(url).await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn the_link_that_spark_makes_shows_the_end_of_the_log() {
    let root = logs();
    let (base, handle) = serve(root.path());
    let page = format!("{base}/node/containerlogs/{ID}/alice/stderr");
    let (status, body) = get(&format!("{page}?start=-5")).await;
    assert_eq!(status, 200);
    assert!(body.contains("<pre>9&lt;b&gt;&amp;</pre>"), "{body}");
    assert!(
        get(&format!("{page}/?start=0"))
            .await
            .1
            .contains("0123456789&lt;b")
    );
    assert!(
        get(&format!("{page}/?start=2&end=4"))
            .await
            .1
            .contains("<pre>23</pre>")
    );
    let (_, list) = get(&format!("{base}/node/containerlogs/{ID}/alice")).await;
    assert!(
        list.contains("stderr : Total file length is 14 bytes."),
        "{list}"
    );
    let raw = format!("{base}/ws/v1/node/containerlogs/{ID}/stderr");
    let whole = get(&raw).await.1;
    let (head, rest) = whole.split_once("\nLogLastModifiedTime:").unwrap();
    assert_eq!(
        head,
        format!(
            "Container: {ID} on 127.0.0.1:1\nLogAggregationType: LOCAL\n{}\nLogType:stderr",
            "=".repeat("Container:  on 127.0.0.1:1".len() + ID.len())
        )
    );
    let tail = format!("\nEnd of LogType:stderr\n{}\n\n", "*".repeat(71));
    let shown = |text: &str| format!("\nLogLength:14\nLogContents:\n{text}{}", &tail[1..]);
    assert!(rest.ends_with(&shown("0123456789<b>&")), "{rest}");
    for (size, text) in [("-4", "<b>&"), ("3", "012")] {
        let part = get(&format!("{raw}?size={size}")).await.1;
        assert!(part.ends_with(&shown(text)), "{part}");
    }
    assert_eq!(
        get(&format!("{page}?start=0&end=3&download=true")).await.1,
        "012"
    );
    handle.stop(false).await;
}

#[tokio::test]
async fn no_name_leaves_the_log_directory() {
    let root = logs();
    let (base, handle) = serve(root.path());
    for file in [
        "..%2F..%2Fsecret",
        "linked",
        "dir",
        "dir%2Fsecret",
        "..",
        "%2e%2e",
        "none",
    ] {
        for path in [
            format!("{base}/ws/v1/node/containerlogs/{ID}/{file}"),
            format!("{base}/node/containerlogs/{ID}/alice/{file}"),
        ] {
            let (status, body) = get(&path).await;
            assert!(status >= 400, "{path}: {status} {body}");
            assert!(
                !body.contains("secret") || !body.ends_with("secret"),
                "{path}: {body}"
            );
        }
    }
    for id in ["container_x", "..", "application_1700000000000_0001"] {
        let (status, _) = get(&format!("{base}/node/containerlogs/{id}/alice")).await;
        assert!(status >= 400, "{id}");
    }
    let (status, _) = get(&format!("{base}/node/containerlogs/{ID}/..%2Fx/stderr")).await;
    assert_eq!(status, 400);
    handle.stop(false).await;
}

#[tokio::test]
async fn the_configuration_is_shown_without_secrets() {
    let root = logs();
    let (base, handle) = serve(root.path());
    let (status, body) = get(&format!("{base}/conf?name=some.password")).await;
    assert_eq!(status, 200);
    assert!(
        body.contains("&lt;redacted&gt;") && !body.contains("hidden"),
        "{body}"
    );
    handle.stop(false).await;
}

#[tokio::test]
async fn an_unknown_container_is_told_in_hadoops_words() {
    let root = logs();
    let (base, handle) = serve(root.path());
    let other = "container_1700000000000_0001_01_000009";
    let (status, body) = get(&format!("{base}/node/containerlogs/{other}/alice")).await;
    assert_eq!(status, 404);
    assert!(body.starts_with("Unknown container."), "{body}");
    handle.stop(false).await;
}

#[tokio::test]
async fn the_logs_of_a_container_are_listed_without_links() {
    let root = logs();
    let (base, handle) = serve(root.path());
    let (status, body) = get(&format!("{base}/ws/v1/node/containers/{ID}/logs")).await;
    assert_eq!(status, 200);
    let list: serde_json::Value = serde_json::from_str(&body).unwrap();
    let one = &list["containerLogsInfo"];
    assert_eq!(one["containerId"], ID);
    assert_eq!(one["nodeId"], "127.0.0.1:1");
    assert_eq!(one["logAggregationType"], "LOCAL");
    let files = one["containerLogInfo"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{body}");
    assert_eq!(files[0]["fileName"], "stderr");
    assert_eq!(files[0]["fileSize"], "14");
    let other = "container_1700000000000_0001_01_000009";
    let (status, body) = get(&format!("{base}/ws/v1/node/containers/{other}/logs")).await;
    assert_eq!(status, 200);
    assert_eq!(
        body,
        format!(
            "{{\"containerLogsInfo\":{{\"logAggregationType\":\"LOCAL\",\
             \"containerId\":\"{other}\",\"nodeId\":\"127.0.0.1:1\"}}}}"
        )
    );
    for (path, status) in [
        ("containers/x", 400),
        ("containers/x/logs", 400),
        ("apps/x", 400),
        ("apps?state=DEAD", 400),
        ("apps?user=", 400),
        // The core is gone.
        ("apps", 503),
        ("info", 503),
    ] {
        let (got, body) = get(&format!("{base}/ws/v1/node/{path}")).await;
        assert_eq!(got, status, "{path}: {body}");
    }
    handle.stop(false).await;
}

#[tokio::test]
async fn head_is_get_without_a_body_and_other_methods_are_refused_as_hadoop_does() {
    let root = logs();
    let (base, handle) = serve(root.path());
    let client = reqwest::Client::new();
    let list = format!("{base}/ws/v1/node/containers/{ID}/logs");
    let head = client.head(&list).send().await.unwrap();
    assert_eq!(head.status(), 200);
    assert_eq!(
        head.headers()["content-type"],
        "application/json;charset=utf-8"
    );
    assert_eq!(head.text().await.unwrap(), "");
    let post = client.post(&list).send().await.unwrap();
    assert_eq!(post.status(), 503);
    assert!(post.headers().get("content-type").is_none());
    assert_eq!(
        post.text().await.unwrap(),
        r#"{"RemoteException":{"exception":"NotAllowedException","message":"HTTP 405 Method Not Allowed","javaClassName":"javax.ws.rs.NotAllowedException"}}"#
    );
    handle.stop(false).await;
}

#[tokio::test]
async fn logs_are_shown_to_those_who_may_see_the_application() {
    let root = logs();
    let conf = [("yarn.acl.enable", "true"), ("yarn.admin.acl", " ")];
    let acls = NodeAcls::read(&Configuration::of(conf)).unwrap();
    let id: yarn_types::ContainerId = ID.parse().unwrap();
    let context = yarn_proto::yarn::ContainerLaunchContextProto::default();
    acls.remember(id.app(), "alice", &context);
    let (base, handle) = serve_with(root.path(), Arc::new(acls));
    for path in [
        format!("ws/v1/node/containers/{ID}/logs"),
        format!("ws/v1/node/containers/{ID}/logs/stderr"),
        format!("ws/v1/node/containerlogs/{ID}/stderr"),
        format!("node/containerlogs/{ID}/alice"),
        format!("node/containerlogs/{ID}/alice/stderr"),
    ] {
        let (status, _) = get(&format!("{base}/{path}?user.name=alice")).await;
        assert_eq!(status, 200, "{path}");
        for (query, user) in [("?user.name=bob", "bob"), ("", "dr.who")] {
            let (status, body) = get(&format!("{base}/{path}{query}")).await;
            let app = id.app();
            let text =
                format!("User [{user}] is not authorized to view the logs for application {app}");
            assert_eq!((status, body), (403, text), "{path}");
        }
    }
    handle.stop(false).await;
}
