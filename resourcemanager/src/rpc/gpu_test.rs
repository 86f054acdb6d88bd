//! GPUs on the wire: a node's list, the choice in the container token, and what is refused.
//! May touch: the daemon and its fake partners.
//! Must not: sleep, or know the driver.

use std::sync::Arc;

use hadoop_ipc::token::{Token, parse};
use yarn_proto::{
    gpu,
    server::{RegisterNodeManagerRequestProto, RegisterNodeManagerResponseProto},
    yarn::{
        AllocateRequestProto, AllocateResponseProto, ContainerProto, ContainerTokenIdentifierProto,
        RegisterApplicationMasterRequestProto, RegisterApplicationMasterResponseProto,
        ResourceInformationProto,
    },
};
use yarn_types::{
    Resource,
    gpu::{DeviceChange, DeviceReport, GpuDevice, GpuHealth},
};

use crate::fake::{self, Node, Rm, TRACKER};

fn card(n: u32) -> DeviceReport {
    DeviceReport {
        device: GpuDevice {
            uuid: Arc::from(format!("GPU-{n}")),
            index: n,
            minor: n + 1,
            pci: String::new(),
            model: "T4".to_owned(),
            memory_mib: 15_360,
            numa: None,
            links: Vec::new(),
            health: GpuHealth::Ok,
        },
        dirty: None,
    }
}

/// One container with one GPU, called as `key`.
fn ask(key: &str, response_id: i32) -> AllocateRequestProto {
    let mut request = fake::ask(response_id, 1);
    let map = &mut request.ask[0]
        .capability
        .as_mut()
        .unwrap()
        .resource_value_map;
    map.push(ResourceInformationProto {
        key: key.to_owned(),
        value: Some(1),
        ..Default::default()
    });
    request
}

fn amounts(resource: &yarn_proto::yarn::ResourceProto) -> Vec<(String, i64)> {
    let map = &resource.resource_value_map;
    map.iter().map(|e| (e.key.clone(), e.value())).collect()
}

fn token_of(container: &ContainerProto) -> ContainerTokenIdentifierProto {
    let token = Token::from(container.container_token.clone().unwrap());
    parse(&token.identifier).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_names_the_card_and_the_client_reads_its_own_spelling() {
    let rm = Rm::start(&[("yarn.resource-types", "gpu")]);
    let list = gpu::list_proto(2, &[card(0), card(1)]);
    let mut node = Node::register_with(&rm, Resource::new(8192, 8), Some(list)).await;
    assert_eq!(node.registered.heddle_gpu_seq, Some(2));
    let client = rm.client("alice").await;
    fake::submit(&client, "default").await;
    let (started, token) = node.next_started().await;
    let own = &started.request.start_container_request[0];
    let own = Token::from(own.container_token.clone().unwrap());
    let own: ContainerTokenIdentifierProto = parse(&own.identifier).unwrap();
    assert_eq!(own.heddle_gpus, None, "no card asked, no field");
    let am = rm.master(token).await.unwrap();
    let request = RegisterApplicationMasterRequestProto::default();
    let registered: RegisterApplicationMasterResponseProto = am
        .call("registerApplicationMaster", &request)
        .await
        .unwrap();
    let most = amounts(registered.maximum_capability.as_ref().unwrap());
    assert_eq!(most[2], ("yarn.io/gpu".to_owned(), 2));

    let answer: AllocateResponseProto = am.call("allocate", &ask("gpu", 0)).await.unwrap();
    let container = &answer.allocated_containers[0];
    let read = amounts(container.resource.as_ref().unwrap());
    assert_eq!(read[2], ("gpu".to_owned(), 1));
    let token = token_of(container);
    let inside = amounts(token.resource.as_ref().unwrap());
    assert_eq!(inside[2], ("yarn.io/gpu".to_owned(), 1));
    let grants = gpu::grants(token.heddle_gpus.as_ref().unwrap()).unwrap();
    assert_eq!(&*grants[0].uuid, "GPU-0");

    let mut beat = node.beat(Vec::new());
    let lost = DeviceReport {
        device: GpuDevice {
            health: GpuHealth::Bad("Xid 79".to_owned()),
            ..card(0).device
        },
        dirty: None,
    };
    beat.heddle_gpus = Some(gpu::changes_proto(3, &[DeviceChange::Is(lost)]));
    let echoed: yarn_proto::server::NodeHeartbeatResponseProto =
        node.tracker.call("nodeHeartbeat", &beat).await.unwrap();
    assert_eq!(echoed.heddle_gpu_seq, Some(3));
    assert_eq!(echoed.containers_to_cleanup, [container.id.unwrap()]);
    let answer: AllocateResponseProto = am.call("allocate", &fake::ask(1, 0)).await.unwrap();
    let ended = &answer.completed_container_statuses[0];
    assert_eq!(ended.exit_status(), -100);
    assert_eq!(ended.diagnostics(), "gpu lost: GPU-0: Xid 79");
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_cannot_be_read_and_an_unknown_kind_of_gpu_are_refused() {
    let rm = Rm::start(&[("yarn.resource-types", "yarn.io/gpu")]);
    let tracker = rm.connect("rm.tracker", TRACKER, "yarn").await;
    let mut node = Node::register(&rm, Resource::new(8192, 8)).await;
    assert_eq!(node.registered.heddle_gpu_seq, None, "it sent no list");
    let request = RegisterNodeManagerRequestProto {
        node_id: Some(node.id.clone()),
        http_port: Some(8042),
        heddle_gpus: Some(gpu::list_proto(1, &[card(1), card(1)])),
        ..Default::default()
    };
    let refused: Result<RegisterNodeManagerResponseProto, _> =
        tracker.call("registerNodeManager", &request).await;
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains("bad GPU message: device GPU-1 is listed twice"),
        "{text}"
    );
    let client = rm.client("alice").await;
    fake::submit(&client, "default").await;
    let (_, token) = node.next_started().await;
    let am = rm.master(token).await.unwrap();
    let request = RegisterApplicationMasterRequestProto::default();
    let _: RegisterApplicationMasterResponseProto = am
        .call("registerApplicationMaster", &request)
        .await
        .unwrap();
    let refused: Result<AllocateResponseProto, _> =
        am.call("allocate", &ask("yarn.io/gpu-a100", 0)).await;
    let e = refused.unwrap_err();
    assert!(
        e.class()
            .unwrap_or("")
            .ends_with("InvalidResourceRequestException"),
        "{e}"
    );
    rm.0.stop().await;
}
