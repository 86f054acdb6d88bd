//! Queue, priority and lifetime over REST, and who may change them.
//! May touch: the daemon.
//! Must not: sleep.

use serde_json::{Value, json};

use super::super::tests::{body, get, send};
use crate::fake::{self, Rm};

const JSON: &str = "Content-Type: application/json";

async fn put(rm: &Rm, path: &str, user: &str, text: &str) -> (String, String) {
    let path = format!("/ws/v1/cluster/apps/{path}?user.name={user}");
    let answer = send(rm, "PUT", &path, JSON, text).await;
    let status = answer.split(' ').nth(1).unwrap().to_owned();
    (status, body(&answer).to_owned())
}

async fn read(rm: &Rm, path: &str) -> Value {
    let answer = get(rm, &format!("/ws/v1/cluster/apps/{path}")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body(&answer)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_application_is_moved_and_gets_a_priority_and_a_lifetime() {
    let rm = Rm::start(&[("yarn.cluster.max-application-priority", "9")]);
    let client = rm.client("alice").await;
    let app = fake::submit(&client, "gpu").await;
    let at = |name: &str| format!("{app}/{name}");
    let put = async |name: &str, text: &str| {
        let (status, text) = put(&rm, &at(name), "alice", text).await;
        assert_eq!(status, "200", "{name}: {text}");
        serde_json::from_str::<Value>(&text).unwrap()
    };

    assert_eq!(read(&rm, &at("queue")).await, json!({"queue": "root.gpu"}));
    let same = put("queue", r#"{"queue":"root.gpu"}"#).await;
    assert_eq!(same, json!({"queue": "root.gpu"}));
    let moved = put("queue", r#"{"queue":"default"}"#).await;
    assert_eq!(moved, json!({"queue": "root.default"}));

    assert_eq!(read(&rm, &at("priority")).await, json!({"priority": 0}));
    assert_eq!(
        put("priority", r#"{"priority":7}"#).await,
        json!({"priority": 7})
    );
    // no higher than the cluster allows
    assert_eq!(
        put("priority", r#"{"priority":20}"#).await,
        json!({"priority": 9})
    );
    assert_eq!(read(&rm, &at("priority")).await, json!({"priority": 9}));

    let none = json!({"type": "LIFETIME", "expiryTime": "UNLIMITED", "remainingTimeInSeconds": -1});
    assert_eq!(
        read(&rm, &at("timeouts")).await,
        json!({"timeouts": {"timeout": [none]}})
    );
    let until = "2999-01-01T00:00:00.000+0000";
    let asked = json!({"timeout": {"type": "LIFETIME", "expiryTime": until}});
    let set = put("timeout", &asked.to_string()).await;
    assert_eq!(set["timeout"]["expiryTime"], until);
    let left = set["timeout"]["remainingTimeInSeconds"].as_i64().unwrap();
    assert!(left > 0, "{set}");
    assert_eq!(
        read(&rm, &at("timeouts/lifetime")).await["timeout"]["expiryTime"],
        until
    );
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_said_in_hadoops_words() {
    let rm = Rm::start(&[]);
    let client = rm.client("alice").await;
    let app = fake::submit(&client, "gpu").await;
    let refused =
        async |name: &str, text: &str| put(&rm, &format!("{app}/{name}"), "alice", text).await;
    let missing = r#"{"timeout":{"type":"LIFETIME"}}"#;
    let told = refused("timeout", missing).await;
    assert_eq!(
        told,
        (
            "400".to_owned(),
            "Timeout type or ExpiryTime is null.".to_owned()
        )
    );
    let (status, text) = refused(
        "timeout",
        r#"{"timeout":{"type":"LIFETIME","expiryTime":"soon"}}"#,
    )
    .await;
    assert!(
        status == "400" && text.starts_with("Expire time is not in ISO8601 format."),
        "{text}"
    );
    let (status, text) = refused("queue", r#"{"queue":"nowhere"}"#).await;
    assert!(status == "400" && text.contains("nowhere"), "{text}");
    for (name, text) in [("queue", "{}"), ("priority", "[]"), ("timeout", "nonsense")] {
        assert_eq!(refused(name, text).await.0, "400", "{name}");
    }
    let kind = get(&rm, &format!("/ws/v1/cluster/apps/{app}/timeouts/other")).await;
    assert!(
        kind.contains("Invalid application-state other specified. It should be one of [LIFETIME]"),
        "{kind}"
    );
    let unknown = get(&rm, "/ws/v1/cluster/apps/application_1_0404/priority").await;
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");

    let kill = refused("state", r#"{"state":"KILLED"}"#).await;
    assert!(kill.0 == "200" || kill.0 == "202", "{kill:?}");
    fake::wait_for(&client, app, yarn_types::ApplicationState::Killed).await;
    let told = refused("queue", r#"{"queue":"default"}"#).await;
    assert_eq!(
        told,
        (
            "400".to_owned(),
            "App in KILLED state cannot be moved.".to_owned()
        )
    );
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn others_change_nothing_and_read_it_in_hadoops_words() {
    let rm = Rm::start(&[
        ("yarn.acl.enable", "true"),
        ("yarn.admin.acl", "boss"),
        ("yarn.scheduler.capacity.root.acl_administer_queue", " "),
        (
            "yarn.scheduler.capacity.root.gpu.acl_administer_queue",
            "eve",
        ),
        ("yarn.scheduler.capacity.root.acl_submit_applications", " "),
        (
            "yarn.scheduler.capacity.root.gpu.acl_submit_applications",
            "alice",
        ),
    ]);
    let app = fake::submit(&rm.client("alice").await, "gpu").await;
    let until = r#"{"timeout":{"type":"LIFETIME","expiryTime":"2999-01-01T00:00:00.000+0000"}}"#;
    for (name, text, attempt) in [
        (
            "queue",
            r#"{"queue":"default"}"#,
            format!("move appid {app}"),
        ),
        (
            "priority",
            r#"{"priority":3}"#,
            format!("change priority of appid {app}"),
        ),
        ("timeout", until, format!("change timeout of app {app}")),
    ] {
        let told = put(&rm, &format!("{app}/{name}"), "bob", text).await;
        let words = format!("Unauthorized attempt to {attempt} by remote user bob");
        assert_eq!(told, ("403".to_owned(), words));
    }
    // the queue's administrator may change it, but not into a queue where it may not submit
    let told = put(&rm, &format!("{app}/timeout"), "eve", until).await;
    assert_eq!(told.0, "200", "{told:?}");
    let told = put(
        &rm,
        &format!("{app}/queue"),
        "eve",
        r#"{"queue":"default"}"#,
    )
    .await;
    assert_eq!(told.0, "403", "{told:?}");

    let access = async |user: &str, query: &str| {
        let path = format!("/ws/v1/cluster/queues/root.gpu/access?user.name={user}&{query}");
        let answer = get(&rm, &path).await;
        serde_json::from_str::<Value>(body(&answer)).unwrap()
    };
    let told = access("eve", "user=bob&queue-acl-type=SUBMIT_APPLICATIONS").await;
    assert_eq!(told["allowed"], false);
    assert_eq!(
        told["diagnostics"],
        "User=bob doesn't have access to queue=root.gpu with acl-type=SUBMIT_APPLICATIONS"
    );
    assert_eq!(access("eve", "user=alice").await["allowed"], true);
    let told = access("bob", "user=bob").await;
    assert_eq!(told["RemoteException"]["exception"], "ForbiddenException");
    rm.0.stop().await;
}
