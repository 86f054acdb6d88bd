//! Containers that get another size while they run: by their ApplicationMaster's call, by a
//! heartbeat's answer, and the limits that follow.
//! May touch: real sockets, temporary directories, real processes, cgroups of its own.
//! Must not: sleep, or pass where it could not run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // test code

mod support;

use std::{io::Write, path::PathBuf};

use hadoop_ipc::token::mint;
use support::*;
use yarn_proto::{
    common::TokenProto,
    convert,
    server::NodeHeartbeatResponseProto,
    yarn::{
        ContainerProto, ContainerTokenIdentifierProto, ContainerUpdateRequestProto,
        ContainerUpdateResponseProto, GetContainerStatusesRequestProto,
        GetContainerStatusesResponseProto, IncreaseContainersResourceRequestProto,
        IncreaseContainersResourceResponseProto,
    },
};
use yarn_types::{ContainerId, Resource, ResourceTypes};

/// The token of a container's size.
fn size(c: &Cluster, id: ContainerId, version: i32, mb: i64) -> ContainerTokenIdentifierProto {
    let types = ResourceTypes::memory_and_vcores();
    let size = Resource::new(mb, 2);
    ContainerTokenIdentifierProto {
        version: Some(version),
        resource: Some(convert::resource_proto(size, &types)),
        ..c.container_identifier(id)
    }
}

fn signed(said: &ContainerTokenIdentifierProto) -> TokenProto {
    mint(&key(CONTAINER_KEY), said, "").into()
}

fn running(seen: &Seen) -> Option<()> {
    let Seen::Heartbeat(request) = seen else {
        return None;
    };
    let status = request.node_status.as_ref()?;
    let mut all = status.containers_statuses.iter();
    all.any(|s| s.container_sub_state() as i32 == 2)
        .then_some(())
}

/// Memory of the containers that a heartbeat says have grown.
fn grown(seen: &Seen) -> Option<i64> {
    let Seen::Heartbeat(request) = seen else {
        return None;
    };
    let status = request.node_status.as_ref()?;
    let first = status.increased_containers.first()?;
    Some(first.resource.as_ref()?.memory())
}

async fn update(
    c: &Cluster,
    token: TokenProto,
) -> Result<ContainerUpdateResponseProto, hadoop_ipc::client::CallError> {
    let request = ContainerUpdateRequestProto {
        update_container_token: vec![token],
    };
    c.am().await.call("updateContainer", &request).await
}

fn refusal(answer: &ContainerUpdateResponseProto) -> &str {
    let failed = answer.failed_requests[0].exception.as_ref().unwrap();
    failed.message()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_changes_the_size_once_and_statuses_and_pages_show_it() {
    let mut c = Cluster::start(&[]).await;
    let am = c.am().await;
    start(&am, &c.container_identifier(cid(2)), shell("sleep 1000"))
        .await
        .unwrap();
    c.see("it run", running).await;
    let answer = update(&c, signed(&size(&c, cid(2), 1, 4096)))
        .await
        .unwrap();
    assert_eq!(
        answer.succeeded_requests,
        [convert::container_id_proto(cid(2))]
    );
    assert_eq!(c.see("its growth", grown).await, 4096);
    let request = GetContainerStatusesRequestProto {
        container_id: vec![convert::container_id_proto(cid(2))],
    };
    let said: GetContainerStatusesResponseProto =
        am.call("getContainerStatuses", &request).await.unwrap();
    assert_eq!(said.status[0].capability.as_ref().unwrap().memory(), 4096);
    let page = c.http(&format!("/ws/v1/node/containers/{}", cid(2)));
    let page = limit(reqwest::get(page))
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(page.contains("\"totalMemoryNeededMB\":4096"), "{page}");
    assert!(page.contains("\"totalVCoresNeeded\":2"), "{page}");
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_old_or_of_others_changes_nothing() {
    let mut c = Cluster::start(&[]).await;
    let am = c.am().await;
    start(&am, &c.container_identifier(cid(2)), shell("sleep 1000"))
        .await
        .unwrap();
    c.see("it run", running).await;
    update(&c, signed(&size(&c, cid(2), 1, 4096)))
        .await
        .unwrap();
    let again = update(&c, signed(&size(&c, cid(2), 1, 8192)))
        .await
        .unwrap();
    let text = format!(
        "Container {} has update version [1] >= requested version [1]",
        cid(2)
    );
    assert_eq!(refusal(&again), text);
    let late = ContainerTokenIdentifierProto {
        expiry_time_stamp: Some(1),
        ..size(&c, cid(2), 2, 8192)
    };
    let late = update(&c, signed(&late)).await.unwrap();
    assert!(
        refusal(&late).contains("This token is expired."),
        "{late:?}"
    );
    let other = update(&c, signed(&size(&c, cid(3), 1, 4096)))
        .await
        .unwrap();
    assert!(refusal(&other).ends_with("is not handled by this NodeManager"));
    let elsewhere = ContainerTokenIdentifierProto {
        nm_host_addr: Some("other:1".to_owned()),
        ..size(&c, cid(2), 2, 8192)
    };
    let forged = TokenProto {
        password: b"wrong".to_vec(),
        ..signed(&size(&c, cid(2), 2, 8192))
    };
    for token in [signed(&elsewhere), forged] {
        let refused = update(&c, token).await.unwrap_err();
        assert!(
            refused.class().unwrap().ends_with("InvalidToken"),
            "{refused}"
        );
    }
    assert_eq!(c.see("its growth", grown).await, 4096);
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_name_of_the_call_does_the_same() {
    let mut c = Cluster::start(&[]).await;
    let am = c.am().await;
    start(&am, &c.container_identifier(cid(2)), shell("sleep 1000"))
        .await
        .unwrap();
    c.see("it run", running).await;
    let request = IncreaseContainersResourceRequestProto {
        increase_containers: vec![signed(&size(&c, cid(2), 1, 5120))],
    };
    let answer: IncreaseContainersResourceResponseProto = am
        .call("increaseContainersResource", &request)
        .await
        .unwrap();
    assert_eq!(answer.succeeded_requests.len(), 1);
    assert_eq!(c.see("its growth", grown).await, 5120);
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_registers_with_sizes_and_versions() {
    let mut c = Cluster::start(&[]).await;
    let am = c.am().await;
    start(&am, &c.container_identifier(cid(2)), shell("sleep 1000"))
        .await
        .unwrap();
    c.see("it run", running).await;
    update(&c, signed(&size(&c, cid(2), 3, 4096)))
        .await
        .unwrap();
    c.rm.forget_nodes();
    let registered = |s: &Seen| match s {
        Seen::Registered(request) => request.container_statuses.first().cloned(),
        _ => None,
    };
    let status = c.see("a registration", registered).await;
    assert_eq!(status.version(), 3);
    assert_eq!(status.resource.as_ref().unwrap().memory(), 4096);
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernels_limits_follow_up_and_down() {
    let memory = PathBuf::from("/sys/fs/cgroup/memory");
    if !nix::unistd::Uid::effective().is_root() || !memory.is_dir() {
        let line = "SKIP the_kernels_limits_follow_up_and_down: needs root and cgroup v1\n";
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{line}");
        return;
    }
    let keys = [
        ("yarn.nodemanager.resource.memory.enabled", "true"),
        ("yarn.nodemanager.resource.cpu.enabled", "true"),
    ];
    let mut c = Cluster::start(&keys).await;
    let am = c.am().await;
    start(&am, &c.container_identifier(cid(2)), shell("sleep 1000"))
        .await
        .unwrap();
    c.see("it run", running).await;
    let of = |controller: &str| {
        let top = PathBuf::from("/sys/fs/cgroup").join(controller);
        top.join(hierarchy(c.dir.path())).join(cid(2).to_string())
    };
    let (bytes, shares) = (
        of("memory").join("memory.limit_in_bytes"),
        of("cpu").join("cpu.shares"),
    );
    let read = |file: &PathBuf| -> i64 {
        let text = std::fs::read_to_string(file).unwrap();
        text.trim().parse().unwrap()
    };
    assert_eq!((read(&bytes), read(&shares)), (1024 << 20, 1024));
    update(&c, signed(&size(&c, cid(2), 1, 3072)))
        .await
        .unwrap();
    // the kernel's limits are set beside the call: heartbeats pace the look
    let is = |mb: i64, cpu: i64| {
        let (bytes, shares) = (bytes.clone(), shares.clone());
        move |_: &Seen| (read(&bytes) == mb << 20 && read(&shares) == cpu).then_some(())
    };
    c.see("the larger limits", is(3072, 2048)).await;

    let shrink = ContainerProto {
        container_token: Some(signed(&size(&c, cid(2), 2, 512))),
        ..Default::default()
    };
    c.rm.answer_next(NodeHeartbeatResponseProto {
        containers_to_update: vec![shrink],
        ..Default::default()
    });
    c.see("the smaller limits", is(512, 2048)).await;
    c.stop().await;
}
