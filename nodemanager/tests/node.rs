//! A whole NodeManager between a fake ResourceManager and a fake ApplicationMaster.
//! May touch: real sockets, temporary directories, real processes.
//! Must not: sleep.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // test code

mod support;

use hadoop_ipc::client::CallError;
use support::*;
use yarn_proto::{
    convert,
    server::{NodeActionProto, NodeHeartbeatResponseProto},
    yarn::{
        ContainerLaunchContextProto, GetContainerStatusesRequestProto,
        GetContainerStatusesResponseProto, StartContainersResponseProto,
        StopContainersRequestProto, StopContainersResponseProto, StringBytesMapProto,
    },
};
use yarn_types::{NodeId, Resource, ResourceTypes};

async fn get(url: &str) -> (u16, String) {
    let answer = limit(reqwest::get(url)).await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_runs_and_its_log_is_served() {
    let mut c = Cluster::start(&[]).await;
    let endpoints = std::fs::read_to_string(c.dir.path().join("endpoints")).unwrap();
    assert!(
        endpoints.contains(&format!("rpc={}\n", c.node.id)),
        "{endpoints}"
    );
    let am = c.am().await;
    let command = "echo $GREETING from $CONTAINER_ID of $USER; echo \\<oops\\> 1>&2; exit 3";
    let context = shell(&format!("sh -c '{command}'"));
    start(&am, &c.container_identifier(cid(2)), context)
        .await
        .unwrap();
    let (code, diagnostics) = c.completed(cid(2)).await;
    assert_eq!(code, 3, "{diagnostics}");
    assert!(
        diagnostics.contains("Exception from container-launch."),
        "{diagnostics}"
    );
    assert!(
        diagnostics.contains("Container exited with a non-zero exit code 3."),
        "{diagnostics}"
    );
    assert!(
        diagnostics.contains("<oops>"),
        "the error log explains: {diagnostics}"
    );
    let id = cid(2);
    let (status, text) = get(&c.http(&format!("/ws/v1/node/containerlogs/{id}/stdout"))).await;
    assert_eq!(status, 200);
    let line = format!("\nLogContents:\nhello from {id} of alice\nEnd of LogType:stdout\n");
    assert!(text.contains(&line), "{text}");
    let (_, page) = get(&c.http(&format!(
        "/node/containerlogs/{id}/alice/stderr?start=-4096"
    )))
    .await;
    assert!(page.contains("<pre>&lt;oops&gt;"), "{page}");
    let (_, json) = get(&c.http(&format!("/ws/v1/node/containers/{id}"))).await;
    assert!(
        json.contains("\"exitCode\":3") && json.contains("\"state\":\"DONE\""),
        "{json}"
    );
    let (_, json) = get(&c.http("/ws/v1/node/info")).await;
    assert!(
        json.contains(&format!("\"id\":\"{}\"", c.node.id)),
        "{json}"
    );
    assert!(json.contains("\"nodeHealthy\":true"), "{json}");
    let (code, reason) = c.stop().await;
    assert_eq!((code, reason.as_str()), (0, "test"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_master_stops_a_container() {
    let mut c = Cluster::start(&[]).await;
    let am = c.am().await;
    start(&am, &c.container_identifier(cid(2)), shell("sleep 1000"))
        .await
        .unwrap();
    let running = |s: &Seen| {
        let Seen::Heartbeat(r) = s else { return None };
        let statuses = &r.node_status.as_ref()?.containers_statuses;
        statuses
            .iter()
            .any(|s| s.container_sub_state() as i32 == 2)
            .then_some(())
    };
    c.see("it run", running).await;
    let ids = vec![
        convert::container_id_proto(cid(2)),
        convert::container_id_proto(cid(9)),
    ];
    let request = StopContainersRequestProto {
        container_id: ids.clone(),
    };
    let answer: StopContainersResponseProto =
        limit(am.call("stopContainers", &request)).await.unwrap();
    assert_eq!(answer.succeeded_requests.len(), 1);
    let unknown = answer.failed_requests[0].exception.as_ref().unwrap();
    assert!(
        unknown
            .message()
            .contains("is not handled by this NodeManager")
    );
    let (code, diagnostics) = c.completed(cid(2)).await;
    assert_eq!(code, -105, "{diagnostics}");
    assert!(
        diagnostics.contains("Container killed by the ApplicationMaster."),
        "{diagnostics}"
    );
    assert!(
        diagnostics.contains("Container killed on request. Exit code is 143"),
        "{diagnostics}"
    );
    let request = GetContainerStatusesRequestProto { container_id: ids };
    let answer: GetContainerStatusesResponseProto =
        limit(am.call("getContainerStatuses", &request))
            .await
            .unwrap();
    assert_eq!(answer.status[0].exit_status(), -105);
    assert_eq!(answer.failed_requests.len(), 1);
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_decide_who_starts_what() {
    let c = Cluster::start(&[]).await;
    let invalid = "org.apache.hadoop.security.token.SecretManager$InvalidToken";
    for (key_id, node) in [(99, c.node.id.clone()), (NM_KEY, NodeId::new("other", 1))] {
        let refused = c.connect(attempt(), key_id, &node).await.map(drop);
        assert_eq!(refused.unwrap_err().class(), Some(invalid));
    }
    let am = c.am().await;
    let good = c.container_identifier(cid(2));
    // Signed by nobody, and signed for another node: the whole call fails.
    let mut elsewhere = good.clone();
    elsewhere.nm_host_addr = Some("other:1".to_owned());
    for (said, key_id) in [(&good, 5), (&elsewhere, CONTAINER_KEY)] {
        let request = start_request(said, key_id, shell("true"));
        let answer: Result<StartContainersResponseProto, CallError> =
            am.call("startContainers", &request).await;
        assert_eq!(answer.unwrap_err().class(), Some(invalid));
    }
    let yarn = |name: &str| format!("org.apache.hadoop.yarn.exceptions.{name}");
    let mut said = c.container_identifier(app(2).attempt(1).container(0, 1));
    let (class, text) = start(&am, &said, shell("true")).await.unwrap_err();
    assert_eq!(class, yarn("YarnException"));
    assert!(
        text.contains("NMToken for application attempt : appattempt_"),
        "{text}"
    );
    said = good.clone();
    said.expiry_time_stamp = Some(1);
    let (_, text) = start(&am, &said, shell("true")).await.unwrap_err();
    assert!(text.contains("This token is expired."), "{text}");
    said = good.clone();
    said.rm_identifier = Some(RM_ID - 1);
    let (class, text) = start(&am, &said, shell("true")).await.unwrap_err();
    assert_eq!(class, yarn("InvalidContainerException"));
    assert!(text.contains("allocated by a previous RM"), "{text}");
    let with_service = ContainerLaunchContextProto {
        service_data: vec![StringBytesMapProto {
            key: Some("spark_shuffle".to_owned()),
            value: Some(Vec::new()),
        }],
        ..shell("true")
    };
    let (class, text) = start(&am, &good, with_service).await.unwrap_err();
    assert_eq!(class, yarn("InvalidAuxServiceException"));
    assert_eq!(text, "The auxService:spark_shuffle does not exist");
    start(&am, &good, shell("true")).await.unwrap();
    let (_, text) = start(&am, &good, shell("true")).await.unwrap_err();
    assert!(
        text.contains("Attempt to relaunch the same container"),
        "{text}"
    );
    let answer: Result<StartContainersResponseProto, CallError> = am
        .call("localize", &StopContainersRequestProto::default())
        .await;
    let class = answer.unwrap_err().class().map(str::to_owned);
    assert_eq!(
        class.as_deref(),
        Some("java.lang.UnsupportedOperationException")
    );
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resync_lists_running_containers() {
    let mut c = Cluster::start(&[]).await;
    let am = c.am().await;
    start(&am, &c.container_identifier(cid(2)), shell("sleep 1000"))
        .await
        .unwrap();
    c.rm.forget_nodes();
    let listed = c.see("a second registration", |s| {
        let Seen::Registered(r) = s else { return None };
        let ids = r.container_statuses.iter();
        let ids: Vec<_> = ids
            .filter_map(|s| convert::container_id(s.container_id.as_ref()?))
            .collect();
        (!ids.is_empty()).then_some((ids, r.running_applications.len()))
    });
    assert_eq!(listed.await, (vec![cid(2)], 1));
    // It still runs: the application's end is what ends it.
    c.rm.answer_next(NodeHeartbeatResponseProto {
        applications_to_cleanup: vec![convert::app_id_proto(app(1))],
        ..Default::default()
    });
    let (code, diagnostics) = c.completed(cid(2)).await;
    assert_eq!(code, -107, "{diagnostics}");
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_resource_manager_says_what_the_node_offers() {
    let mut c = Cluster::start(&[]).await;
    let types = ResourceTypes::memory_and_vcores();
    let said = Resource::new(3072, 3);
    c.rm.answer_next(NodeHeartbeatResponseProto {
        resource: Some(convert::resource_proto(said, &types)),
        ..Default::default()
    });
    // every question goes over a socket, so the heartbeat gets its turn
    let offered = async {
        loop {
            let (_, info) = get(&c.http("/ws/v1/node/info")).await;
            let info: serde_json::Value = serde_json::from_str(&info).unwrap();
            let info = &info["nodeInfo"];
            if info["totalPmemAllocatedContainersMB"] == 3072 {
                return info["totalVCoresAllocatedContainers"].clone();
            }
        }
    };
    assert_eq!(limit(offered).await, 3);
    let (_, beans) = get(&c.http("/jmx")).await;
    assert!(beans.contains("\"AvailableVCores\": 3"), "{beans}");
    // and it registers with that from then on
    c.rm.forget_nodes();
    let registered = c.see("a registration with it", |s| {
        let Seen::Registered(r) = s else { return None };
        let offered = convert::resource(r.resource.as_ref()?, &types).resource;
        (offered == said).then_some(())
    });
    registered.await;
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_beyond_its_memory_is_ended() {
    let interval = ("yarn.nodemanager.container-monitor.interval-ms", "100");
    let no_vmem = ("yarn.nodemanager.vmem-check-enabled", "false");
    let mut c = Cluster::start(&[interval, no_vmem]).await;
    let am = c.am().await;
    let types = ResourceTypes::memory_and_vcores();
    let mut said = c.container_identifier(cid(2));
    said.resource = Some(convert::resource_proto(Resource::new(16, 1), &types));
    // tail keeps what it reads, as there is no line end.
    let context = shell("sh -c 'tail -c 100000000 /dev/zero | tail -c 99999999 | sleep 1000'");
    start(&am, &said, context).await.unwrap();
    let (code, diagnostics) = c.completed(cid(2)).await;
    assert_eq!(code, -104, "{diagnostics}");
    let sentence = "beyond the 'PHYSICAL' memory limit. Current usage: ";
    assert!(diagnostics.contains(sentence), "{diagnostics}");
    assert!(
        diagnostics.contains("of 16 MB physical memory used"),
        "{diagnostics}"
    );
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_are_brought_or_the_container_ends_with_minus_1000() {
    let mut c = Cluster::start(&[]).await;
    let am = c.am().await;
    let source = c.dir.path().join("data.txt");
    std::fs::write(&source, "payload").unwrap();
    let modified = std::fs::metadata(&source).unwrap().modified().unwrap();
    let modified = modified
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    let modified = i64::try_from(modified).unwrap();
    let context = |scheme: &str, timestamp: i64| ContainerLaunchContextProto {
        local_resources: vec![local_resource("sub/link", scheme, &source, 7, timestamp)],
        ..shell("cat sub/link")
    };
    for (n, scheme, timestamp, text) in [
        (3, "file", modified - 1000, "changed on src filesystem"),
        (4, "hdfs", modified, "No FileSystem for scheme \"hdfs\""),
    ] {
        start(
            &am,
            &c.container_identifier(cid(n)),
            context(scheme, timestamp),
        )
        .await
        .unwrap();
        let (code, diagnostics) = c.completed(cid(n)).await;
        assert_eq!(code, -1000, "{diagnostics}");
        assert!(diagnostics.contains(text), "{diagnostics}");
    }
    start(
        &am,
        &c.container_identifier(cid(2)),
        context("file", modified),
    )
    .await
    .unwrap();
    let (code, diagnostics) = c.completed(cid(2)).await;
    assert_eq!(code, 0, "{diagnostics}");
    let (_, text) = get(&c.http(&format!("/ws/v1/node/containerlogs/{}/stdout", cid(2)))).await;
    assert!(
        text.contains("\nLogContents:\npayloadEnd of LogType:stdout"),
        "{text}"
    );
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_repeats_the_heartbeat() {
    let mut c = Cluster::start(&[]).await;
    let am = c.am().await;
    c.rm.lose_next();
    start(&am, &c.container_identifier(cid(2)), shell("true"))
        .await
        .unwrap();
    // The fake asserts the sequence of response ids, so this would not come otherwise.
    assert_eq!(c.completed(cid(2)).await.0, 0);
    c.rm.lose_next();
    let mut beats = 0;
    c.see("three heartbeats in sequence", |_| {
        beats += 1;
        (beats == 3).then_some(())
    })
    .await;
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_resource_manager_the_node_ends_its_containers_and_itself() {
    let max = "yarn.nodemanager.resourcemanager.connect.max-wait.ms";
    let mut c = Cluster::start(&[(max, "300")]).await;
    let am = c.am().await;
    let context = shell("sh -c 'echo $$ > pid; exec sleep 1000'");
    start(&am, &c.container_identifier(cid(2)), context)
        .await
        .unwrap();
    c.rm_server.take().unwrap().shutdown().await;
    let (code, reason) = limit(c.node.ended()).await;
    assert_eq!(code, 0);
    assert!(reason.starts_with("Failed to connect to RM: "), "{reason}");
    c.node.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decommissioned_node_ends() {
    let mut c = Cluster::start(&[]).await;
    c.rm.answer_next(NodeHeartbeatResponseProto {
        node_action: Some(NodeActionProto::Shutdown as i32),
        diagnostics_message: Some("excluded".to_owned()),
        ..Default::default()
    });
    let (_, reason) = limit(c.node.ended()).await;
    assert!(reason.contains("excluded"), "{reason}");
    c.node.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_says_goodbye() {
    let mut c = Cluster::start(&[]).await;
    let am = c.am().await;
    start(&am, &c.container_identifier(cid(2)), shell("sleep 1000"))
        .await
        .unwrap();
    c.node.stopper().stop("SIGTERM");
    c.see("the goodbye", |s| {
        matches!(s, Seen::Unregistered).then_some(())
    })
    .await;
    assert_eq!(limit(c.node.ended()).await, (0, "SIGTERM".to_owned()));
    c.node.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_is_said_in_one_sentence() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let options = nodemanager::boot::Options {
        config: Some(dir.path().to_owned()),
        overrides: vec![
            ("yarn.nodemanager.address".to_owned(), address.clone()),
            ("yarn.nodemanager.local-dirs".to_owned(), path("local")),
            ("yarn.nodemanager.log-dirs".to_owned(), path("logs")),
        ],
        endpoints_file: None,
        binaries: Some(binaries()),
        ..Default::default()
    };
    let text = nodemanager::boot::start(options)
        .await
        .unwrap_err()
        .to_string();
    let begin = format!("cannot listen on {address} (yarn.nodemanager.address): Address already");
    assert!(text.starts_with(&begin), "{text}");
}
