//! What several users see of one application over HTTP and RPC, with access lists on.
//! May touch: the daemon.
//! Must not: sleep.

use hadoop_ipc::client::Client;
use serde_json::Value;
use yarn_proto::yarn::{
    ApplicationAccessTypeProto, ApplicationAclMapProto, GetApplicationsRequestProto,
    GetApplicationsResponseProto, SubmitApplicationResponseProto,
};
use yarn_types::{ApplicationId, Resource};

use super::super::tests::{body, get, send};
use crate::fake::{self, Node, Rm};

const LISTS: &[(&str, &str)] = &[
    ("yarn.acl.enable", "true"),
    ("yarn.admin.acl", "boss"),
    ("yarn.scheduler.capacity.root.acl_administer_queue", " "),
    (
        "yarn.scheduler.capacity.root.gpu.acl_administer_queue",
        "eve",
    ),
];
const FILTER: (&str, &str) = ("yarn.webapp.filter-entity-list-by-user", "true");

/// Submits as alice; carol may see the application.
async fn submit(client: &Client) -> ApplicationId {
    let app = fake::new_application(client).await;
    let mut request = fake::submission(&app, "gpu");
    let context = request.application_submission_context.as_mut().unwrap();
    let launch = context.am_container_spec.get_or_insert_default();
    launch.application_ac_ls.push(ApplicationAclMapProto {
        access_type: Some(ApplicationAccessTypeProto::AppaccessViewApp as i32),
        acl: Some("carol".to_owned()),
    });
    let _: SubmitApplicationResponseProto =
        client.call("submitApplication", &request).await.unwrap();
    yarn_proto::convert::app_id(&app).unwrap()
}

/// An RM whose one node runs alice's ApplicationMaster.
async fn at_work(more: &[(&'static str, &'static str)]) -> (Rm, Node, ApplicationId) {
    let lists: Vec<_> = LISTS.iter().chain(more).copied().collect();
    let rm = Rm::start(&lists);
    let mut node = Node::register(&rm, Resource::new(4096, 4)).await;
    node.heartbeat(Vec::new()).await;
    let app = submit(&rm.client("alice").await).await;
    let _started = node.next_started().await;
    (rm, node, app)
}

async fn as_user(rm: &Rm, path: &str, user: &str) -> Value {
    let answer = get(rm, &format!("{path}?user.name={user}")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{user}: {answer}");
    serde_json::from_str(body(&answer)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn rest_hides_what_a_foreign_user_may_not_see() {
    let (rm, _node, app) = at_work(&[]).await;
    let one = format!("/ws/v1/cluster/apps/{app}");
    let attempts = format!("{one}/appattempts");
    for (user, sees) in [
        ("alice", true),
        ("carol", true),
        ("eve", true),
        ("boss", true),
        ("bob", false),
        ("dr.who", false),
    ] {
        let seen = as_user(&rm, &one, user).await;
        let listed = as_user(&rm, "/ws/v1/cluster/apps", user).await;
        for seen in [&seen["app"], &listed["apps"]["app"][0]] {
            assert_eq!(seen["user"], "alice");
            assert_eq!(seen["startedTime"] != 0, sees, "{user}: {seen}");
            assert_eq!(seen["allocatedMB"] != 0, sees, "{user}: {seen}");
            assert_eq!(seen["masterNodeId"] != "", sees, "{user}: {seen}");
            assert_eq!(
                seen.get("amContainerLogs").is_some(),
                sees,
                "{user}: {seen}"
            );
            assert_eq!(seen.get("logAggregationStatus").is_some(), sees, "{user}");
            // what stock leaves to everybody
            assert!(seen.get("timeouts").is_some() && seen.get("resourceInfo").is_some());
        }
        let tried = as_user(&rm, &attempts, user).await;
        let tried = &tried["appAttempts"]["appAttempt"][0];
        assert_ne!(tried["startTime"], 0);
        for field in [
            "containerId",
            "nodeId",
            "nodeHttpAddress",
            "logsLink",
            "exportPorts",
        ] {
            assert_eq!(tried[field] != "", sees, "{user}: {field} of {tried}");
        }
        // of nobody's business, and shown to all as stock does
        assert_eq!(
            as_user(&rm, &format!("{one}/state"), user).await["state"],
            "ACCEPTED"
        );
    }
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_hide_it_too_and_remember_who_asks() {
    let (rm, _node, app) = at_work(&[]).await;
    let page = format!("/cluster/app/{app}");
    let foreign = get(&rm, &format!("{page}?user.name=bob")).await;
    let text = format!("Failed to read the attempts of the application {app}.");
    assert!(
        foreign.contains(&text) && !foreign.contains("Attempts</h2>"),
        "{foreign}"
    );
    assert!(!foreign.contains("containerlogs"), "{foreign}");
    let own = get(&rm, &format!("{page}?user.name=alice")).await;
    assert!(
        own.contains("containerlogs") && own.contains("Attempts</h2>"),
        "{own}"
    );

    // the cookie of that answer says who follows a link
    let cookie = own
        .lines()
        .find_map(|l| l.strip_prefix("set-cookie: "))
        .unwrap();
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    let again = send(&rm, "GET", &page, &cookie, "").await;
    assert!(again.contains("containerlogs"), "{again}");
    let row = |overview: &str| {
        let row = overview.lines().find(|l| l.contains(&page)).unwrap();
        row.to_owned()
    };
    let own = row(&send(&rm, "GET", "/cluster", &cookie, "").await);
    assert!(
        own.contains("1024 MiB memory") && own.contains(">open</a>"),
        "{own}"
    );
    let foreign = row(&get(&rm, "/cluster").await);
    assert!(
        !foreign.contains("MiB memory") && !foreign.contains(">open</a>"),
        "{foreign}"
    );
    rm.0.stop().await;
}

async fn listed(rm: &Rm, user: &str) -> usize {
    let client = rm.client(user).await;
    let all = GetApplicationsRequestProto::default();
    let answer: GetApplicationsResponseProto = client.call("getApplications", &all).await.unwrap();
    answer.applications.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_leave_foreign_applications_out_where_they_shall() {
    for (more, foreign) in [(&[][..], 1), (&[FILTER][..], 0)] {
        let (rm, _node, app) = at_work(more).await;
        for (user, wanted) in [("alice", 1), ("eve", 1), ("bob", foreign)] {
            let apps = as_user(&rm, "/ws/v1/cluster/apps", user).await;
            let shown = apps["apps"]["app"].as_array().map_or(0, Vec::len);
            assert_eq!(shown, wanted, "REST, {user}: {apps}");
            assert_eq!(listed(&rm, user).await, wanted, "getApplications, {user}");
            let page = get(&rm, &format!("/cluster?user.name={user}")).await;
            assert_eq!(
                page.contains(&app.to_string()),
                wanted == 1,
                "{user}: {page}"
            );
        }
        // by its id it is there, hidden or not
        let one = as_user(&rm, &format!("/ws/v1/cluster/apps/{app}"), "bob").await;
        assert_eq!(one["app"]["id"], app.to_string());
        rm.0.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_those_who_may_change_it_kill_it() {
    let (rm, _node, app) = at_work(&[]).await;
    let path = format!("/ws/v1/cluster/apps/{app}/state");
    let kill = r#"{"state":"KILLED"}"#;
    let as_json = "Content-Type: application/json";
    for user in ["bob", "carol"] {
        let refused = send(
            &rm,
            "PUT",
            &format!("{path}?user.name={user}"),
            as_json,
            kill,
        )
        .await;
        let text = format!("Unauthorized attempt to kill appid {app} by remote user {user}");
        assert!(
            refused.starts_with("HTTP/1.1 403") && body(&refused) == text,
            "{refused}"
        );
    }
    let taken = send(&rm, "PUT", &format!("{path}?user.name=eve"), as_json, kill).await;
    let done = taken.starts_with("HTTP/1.1 202") || taken.starts_with("HTTP/1.1 200");
    assert!(done, "{taken}");
    rm.0.stop().await;
}
