//! ResourceManagerAdministrationProtocol over real sockets, and what nodes and ApplicationMasters get to see.
//! May touch: the daemon and its fake partners, temporary files.
//! Must not: sleep, or know the driver.

use hadoop_ipc::client::{CallError, Client};
use prost::Message;
use yarn_proto::{
    convert::{container_id_proto, node_id_proto, resource, resource_proto},
    server::NodeActionProto,
    yarn::{
        AllocateRequestProto, AllocateResponseProto, ApplicationSubmissionContextProto,
        CheckForDecommissioningNodesRequestProto, CheckForDecommissioningNodesResponseProto,
        ContainerStateProto, ContainerStatusProto, DecommissionTypeProto,
        GetClusterNodesRequestProto, GetClusterNodesResponseProto, NodeResourceMapProto,
        NodeStateProto, NodeUpdateTypeProto, RefreshAdminAclsRequestProto,
        RefreshClusterMaxPriorityRequestProto, RefreshNodesRequestProto,
        RefreshNodesResourcesRequestProto, RefreshNodesResponseProto,
        RefreshServiceAclsRequestProto, RefreshServiceAclsResponseProto,
        RefreshSuperUserGroupsConfigurationRequestProto, RefreshUserToGroupsMappingsRequestProto,
        RegisterApplicationMasterRequestProto, RegisterApplicationMasterResponseProto,
        ResourceOptionProto, SubmitApplicationRequestProto, SubmitApplicationResponseProto,
        UpdateNodeResourceRequestProto, UpdateNodeResourceResponseProto,
    },
};
use yarn_types::{NodeId, Resource};

use crate::fake::{self, ADMIN, Node, Rm, types};

/// A ResourceManager with an exclude file, and an administrator.
async fn with_exclude(name: &str) -> (Rm, Client, tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name);
    std::fs::write(&file, "<hosts/>").unwrap();
    let path: &'static str = file.to_str().unwrap().to_owned().leak();
    let rm = Rm::start(&[("yarn.resourcemanager.nodes.exclude-path", path)]);
    let admin = rm.connect("rm.admin", ADMIN, "yarn").await;
    (rm, admin, dir, file)
}

async fn refresh_nodes(admin: &Client, kind: DecommissionTypeProto, timeout_s: Option<i32>) {
    let request = RefreshNodesRequestProto {
        decommission_type: Some(kind as i32),
        decommission_timeout: timeout_s,
        ..Default::default()
    };
    let _: RefreshNodesResponseProto = admin.call("refreshNodes", &request).await.unwrap();
}

async fn decommissioning(admin: &Client) -> usize {
    let request = CheckForDecommissioningNodesRequestProto::default();
    let answer: CheckForDecommissioningNodesResponseProto = admin
        .call("checkForDecommissioningNodes", &request)
        .await
        .unwrap();
    answer.decommissioning_nodes.len()
}

async fn node_state(rm: &Rm) -> (NodeStateProto, Option<u32>) {
    let client = rm.client("alice").await;
    let request = GetClusterNodesRequestProto::default();
    let answer: GetClusterNodesResponseProto =
        client.call("getClusterNodes", &request).await.unwrap();
    let report = &answer.node_reports[0];
    (report.node_state(), report.decommissioning_timeout)
}

async fn register(am: &Client) -> RegisterApplicationMasterResponseProto {
    let request = RegisterApplicationMasterRequestProto::default();
    am.call("registerApplicationMaster", &request)
        .await
        .unwrap()
}

async fn allocate(am: &Client, request: &AllocateRequestProto) -> AllocateResponseProto {
    am.call("allocate", request).await.unwrap()
}

fn nothing(response_id: i32) -> AllocateRequestProto {
    AllocateRequestProto {
        response_id: Some(response_id),
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_decommission_is_told_to_masters_in_full() {
    let (rm, admin, _dir, file) = with_exclude("exclude.xml").await;
    let client = rm.client("alice").await;
    let mut node = Node::register(&rm, Resource::new(8192, 8)).await;
    fake::submit(&client, "gpu").await;
    let (_, token) = node.next_started().await;
    let am = rm.master(token).await.unwrap();
    register(&am).await;
    allocate(&am, &fake::ask(0, 2)).await;
    let lists = "<hosts><host><name>127.0.0.1</name><timeout>33</timeout></host></hosts>";
    std::fs::write(&file, lists).unwrap();
    refresh_nodes(&admin, DecommissionTypeProto::Graceful, Some(600)).await;
    assert_eq!(decommissioning(&admin).await, 1);
    assert_eq!(
        node_state(&rm).await,
        (NodeStateProto::NsDecommissioning, Some(33))
    );
    let told = allocate(&am, &nothing(1)).await.updated_nodes;
    let [report] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(report.node_id.as_ref(), Some(&node.id));
    assert_eq!(report.node_state(), NodeStateProto::NsDecommissioning);
    assert_eq!(
        report.node_update_type(),
        NodeUpdateTypeProto::NodeDecommissioning
    );
    assert_eq!(report.decommissioning_timeout, Some(33));
    assert_eq!(report.http_address(), "127.0.0.1:8042");
    assert_eq!(report.rack_name(), "/default-rack");
    assert_eq!(report.num_containers(), 3);
    let used = resource(report.used.as_ref().unwrap(), &types()).resource;
    assert_eq!(used, Resource::new(2 * 1024 + 1024, 3));
    // The node serves on; without an entry it stays.
    let beat = node.heartbeat(vec![]).await;
    assert_eq!(beat.node_action(), NodeActionProto::Normal);
    std::fs::write(&file, "<hosts/>").unwrap();
    refresh_nodes(&admin, DecommissionTypeProto::Normal, None).await;
    assert_eq!(node_state(&rm).await, (NodeStateProto::NsRunning, None));
    std::fs::write(&file, lists).unwrap();
    refresh_nodes(&admin, DecommissionTypeProto::Graceful, None).await;
    refresh_nodes(&admin, DecommissionTypeProto::Forceful, None).await;
    assert_eq!(decommissioning(&admin).await, 0);
    assert_eq!(
        node_state(&rm).await,
        (NodeStateProto::NsDecommissioned, None)
    );
    let beat = node.heartbeat(vec![]).await;
    assert_eq!(beat.node_action(), NodeActionProto::Shutdown);
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_list_changes_nothing_and_is_named() {
    let (rm, admin, _dir, file) = with_exclude("exclude.xml").await;
    Node::register(&rm, Resource::new(8192, 8)).await;
    std::fs::write(&file, "<hosts><host>").unwrap();
    let refused = admin
        .call::<_, RefreshNodesResponseProto>("refreshNodes", &RefreshNodesRequestProto::default())
        .await
        .unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("YarnException"), "{text}");
    assert!(text.contains("exclude.xml"), "{text}");
    assert_eq!(node_state(&rm).await, (NodeStateProto::NsRunning, None));
    rm.0.stop().await;
}

async fn update(
    admin: &Client,
    node: &NodeId,
    total: Resource,
) -> Result<UpdateNodeResourceResponseProto, CallError> {
    let entry = NodeResourceMapProto {
        node_id: Some(node_id_proto(node)),
        resource_option: Some(ResourceOptionProto {
            resource: Some(resource_proto(total, &types())),
            over_commit_timeout: Some(0),
        }),
    };
    let request = UpdateNodeResourceRequestProto {
        node_resource_map: vec![entry],
        ..Default::default()
    };
    admin.call("updateNodeResource", &request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_made_smaller_and_told_so() {
    let rm = Rm::start(&[]);
    let admin = rm.connect("rm.admin", ADMIN, "yarn").await;
    let mut node = Node::register(&rm, Resource::new(8192, 8)).await;
    let id = yarn_proto::convert::node_id(&node.id).unwrap();
    update(&admin, &id, Resource::new(2048, 2)).await.unwrap();
    let beat = node.heartbeat(vec![]).await;
    let told = resource(beat.resource.as_ref().unwrap(), &types()).resource;
    assert_eq!(told, Resource::new(2048, 2));
    assert_eq!(node.heartbeat(vec![]).await.resource, None, "once");
    let stranger = NodeId::new("nowhere", 1);
    let refused = update(&admin, &stranger, Resource::new(1, 1))
        .await
        .unwrap_err();
    assert_eq!(
        refused.class(),
        Some("org.apache.hadoop.yarn.exceptions.YarnException")
    );
    let words = "Resource update get failed on all nodes due to change resource on an unrecognized node: nowhere:1";
    assert!(refused.to_string().contains(words), "{refused}");
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamic_resources_of_a_strange_node_are_refused() {
    // The fake node's port comes from the system, so the entry here is a stranger's.
    let rm = Rm::start(&[
        ("yarn.resource.dynamic.nodes", "nowhere:1"),
        ("yarn.resource.dynamic.nowhere:1.memory", "512"),
    ]);
    let admin = rm.connect("rm.admin", ADMIN, "yarn").await;
    let node = Node::register(&rm, Resource::new(8192, 8)).await;
    assert_eq!(node.registered.resource, None);
    let request = RefreshNodesResourcesRequestProto::default();
    let refused = admin
        .call::<_, UpdateNodeResourceResponseProto>("refreshNodesResources", &request)
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("unrecognized node: nowhere:1"));
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refreshes_without_effect_succeed_and_authorization_is_off() {
    async fn ok<M: Message>(admin: &Client, method: &'static str, request: M) {
        // Every answer of these is an empty message.
        admin
            .call::<_, RefreshNodesResponseProto>(method, &request)
            .await
            .unwrap();
    }
    let rm = Rm::start(&[]);
    let admin = rm.connect("rm.admin", ADMIN, "anybody").await;
    let request = RefreshSuperUserGroupsConfigurationRequestProto::default();
    ok(&admin, "refreshSuperUserGroupsConfiguration", request).await;
    let request = RefreshUserToGroupsMappingsRequestProto::default();
    ok(&admin, "refreshUserToGroupsMappings", request).await;
    let request = RefreshAdminAclsRequestProto::default();
    ok(&admin, "refreshAdminAcls", request).await;
    let request = RefreshClusterMaxPriorityRequestProto::default();
    ok(&admin, "refreshClusterMaxPriority", request).await;
    let request = RefreshNodesResourcesRequestProto::default();
    ok(&admin, "refreshNodesResources", request).await;
    let request = RefreshServiceAclsRequestProto::default();
    let refused = admin
        .call::<_, RefreshServiceAclsResponseProto>("refreshServiceAcls", &request)
        .await
        .unwrap_err();
    let words =
        "java.io.IOException: Service Authorization (hadoop.security.authorization) not enabled.";
    assert!(refused.to_string().contains(words), "{refused}");
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_containers_reach_the_next_master_with_their_tokens() {
    let rm = Rm::start(&[]);
    let client = rm.client("alice").await;
    let mut node = Node::register(&rm, Resource::new(8192, 8)).await;
    let app = fake::new_application(&client).await;
    let made = fake::submission(&app, "gpu");
    let request = SubmitApplicationRequestProto {
        application_submission_context: Some(ApplicationSubmissionContextProto {
            keep_containers_across_application_attempts: Some(true),
            ..made.application_submission_context.unwrap()
        }),
    };
    let _: SubmitApplicationResponseProto =
        client.call("submitApplication", &request).await.unwrap();
    let (_, token) = node.next_started().await;
    let am = rm.master(token).await.unwrap();
    let first = register(&am).await;
    assert!(first.containers_from_previous_attempts.is_empty());
    let granted = allocate(&am, &fake::ask(0, 1)).await.allocated_containers;
    let kept = granted[0].id.unwrap();
    let running = ContainerStatusProto {
        container_id: Some(kept),
        state: Some(ContainerStateProto::CRunning as i32),
        ..Default::default()
    };
    let app = yarn_proto::convert::app_id(&app).unwrap();
    let master = container_id_proto(app.attempt(1).container(0, 1));
    node.heartbeat(vec![running.clone()]).await;
    node.heartbeat(vec![running, fake::ended(&master, 1)]).await;
    let (_, token) = node.next_started().await;
    let am = rm.master(token).await.unwrap();
    let second = register(&am).await;
    let [container] = &second.containers_from_previous_attempts[..] else {
        panic!("{second:?}")
    };
    assert_eq!(container.id, Some(kept), "and not the master's own");
    assert_eq!(container.node_id.as_ref(), Some(&node.id));
    assert!(container.container_token.is_some());
    let [token] = &second.nm_tokens_from_previous_attempts[..] else {
        panic!("{second:?}")
    };
    assert_eq!(token.node_id.as_ref(), Some(&node.id));
    node.heartbeat(vec![fake::ended(&kept, 7)]).await;
    let told = allocate(&am, &nothing(0))
        .await
        .completed_container_statuses;
    assert_eq!(told.len(), 1);
    assert_eq!(
        (told[0].container_id, told[0].exit_status()),
        (Some(kept), 7)
    );
    rm.0.stop().await;
}
