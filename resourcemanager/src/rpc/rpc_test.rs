//! Whole conversations over real sockets: submit, launch, register, allocate, finish, and what goes wrong.
//! May touch: the daemon and its fake partners.
//! Must not: sleep, or know the driver.

use hadoop_ipc::{
    client::CallError,
    server::RemoteException,
    token::{MasterKey, Token, kinds, mint, parse, verify_password},
};
use yarn_proto::{
    convert::{app_id_proto, attempt_id_proto, node_id},
    server::NodeHeartbeatResponseProto,
    yarn::{
        AllocateRequestProto, AllocateResponseProto, AmrmTokenIdentifierProto,
        ContainerTokenIdentifierProto, FinalApplicationStatusProto,
        FinishApplicationMasterRequestProto, FinishApplicationMasterResponseProto,
        GetApplicationReportRequestProto, GetApplicationReportResponseProto,
        GetApplicationsRequestProto, GetApplicationsResponseProto, GetQueueInfoRequestProto,
        GetQueueInfoResponseProto, KillApplicationRequestProto, KillApplicationResponseProto,
        NmTokenIdentifierProto, RefreshQueuesRequestProto, RefreshQueuesResponseProto,
        RegisterApplicationMasterRequestProto, RegisterApplicationMasterResponseProto,
        SubmitApplicationResponseProto,
    },
};
use yarn_types::{ApplicationState, Resource};

use crate::fake::{self, ADMIN, Node, Rm};

fn class(e: &CallError) -> &str {
    e.class().unwrap_or("")
}

async fn register(am: &hadoop_ipc::client::Client) -> RegisterApplicationMasterResponseProto {
    let request = RegisterApplicationMasterRequestProto {
        host: Some("am.example".to_owned()),
        rpc_port: Some(4711),
        tracking_url: Some("http://am.example:4040".to_owned()),
        ..Default::default()
    };
    am.call("registerApplicationMaster", &request)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_runs_from_submission_to_its_end() {
    let rm = Rm::start(&[]);
    let client = rm.client("alice").await;
    let mut node = Node::register(&rm, Resource::new(8192, 8)).await;
    let app = fake::submit(&client, "gpu").await;

    let (started, token) = node.next_started().await;
    assert_eq!(started.user, app.attempt(1).to_string());
    let start = &started.request.start_container_request[0];
    let context = start.container_launch_context.as_ref().unwrap();
    let env = |key: &str| {
        let mut all = context.environment.iter();
        all.find(|e| e.key() == key).map(|e| e.value().to_owned())
    };
    assert_eq!(
        env("APPLICATION_WEB_PROXY_BASE"),
        Some(format!("/proxy/{app}"))
    );
    assert!(env("APP_SUBMIT_TIME_ENV").unwrap().parse::<i64>().unwrap() > 0);
    assert_eq!(
        (token.service.as_str(), token.kind.as_str()),
        ("", kinds::AMRM)
    );

    let am = rm.master(token).await.unwrap();
    let registered = register(&am).await;
    assert_eq!(registered.queue(), "root.gpu");
    assert_eq!(registered.client_to_am_token_master_key, None);
    let report = fake::report(&client, app).await;
    assert_eq!(
        report.tracking_url(),
        format!("http://{}/proxy/{app}/", rm.at("rm.http"))
    );
    assert_eq!(report.original_tracking_url(), "http://am.example:4040");
    assert_eq!((report.host(), report.rpc_port()), ("am.example", 4711));

    let answer: AllocateResponseProto = am.call("allocate", &fake::ask(0, 2)).await.unwrap();
    assert_eq!(answer.response_id(), 1);
    assert_eq!(
        answer.allocated_containers.len(),
        2,
        "an ask that fits is answered at once"
    );
    check_tokens(&node, &answer);

    let finish = FinishApplicationMasterRequestProto {
        final_application_status: Some(FinalApplicationStatusProto::AppSucceeded as i32),
        ..Default::default()
    };
    loop {
        let done: FinishApplicationMasterResponseProto =
            am.call("finishApplicationMaster", &finish).await.unwrap();
        if done.is_unregistered() {
            break;
        }
    }
    fake::wait_for(&client, app, ApplicationState::Finished).await;
    let token = started.request.start_container_request[0]
        .container_token
        .clone();
    let token: ContainerTokenIdentifierProto = parse(&token.unwrap().identifier).unwrap();
    let am_container = token.container_id.unwrap();
    let first = node.heartbeat(vec![fake::ended(&am_container, 0)]).await;
    let second = node.heartbeat(vec![]).await;
    let mut cleaned = first.applications_to_cleanup;
    cleaned.extend(second.applications_to_cleanup);
    assert_eq!(cleaned, [app_id_proto(app)]);
    rm.0.stop().await;
}

/// Every container comes with tokens that the node can verify with the keys it got.
fn check_tokens(node: &Node, answer: &AllocateResponseProto) {
    let key = |key: &Option<_>| MasterKey::from(key.clone().unwrap());
    let container_key = key(&node.registered.container_token_master_key);
    let nm_key = key(&node.registered.nm_token_master_key);
    for container in &answer.allocated_containers {
        assert_eq!(container.priority.as_ref().unwrap().priority(), 3);
        assert_eq!(container.allocation_request_id(), 7);
        assert_eq!(container.node_id.as_ref(), Some(&node.id));
        let token = container.container_token.clone().unwrap();
        assert!(verify_password(
            &container_key,
            &token.identifier,
            &token.password
        ));
        let token: ContainerTokenIdentifierProto = parse(&token.identifier).unwrap();
        assert_eq!(token.rm_identifier, node.registered.rm_identifier);
        assert_eq!(token.app_submitter(), "alice");
        assert_eq!(token.nm_host_addr(), node_id(&node.id).unwrap().to_string());
    }
    assert_eq!(
        answer.nm_tokens.len(),
        1,
        "one NMToken for the first containers on a node"
    );
    let token = answer.nm_tokens[0].token.clone().unwrap();
    assert!(verify_password(&nm_key, &token.identifier, &token.password));
    let token: NmTokenIdentifierProto = parse(&token.identifier).unwrap();
    assert_eq!(token.node_id.as_ref(), Some(&node.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_allocate_gets_the_same_bytes_and_a_new_one_more() {
    let rm = Rm::start(&[]);
    let client = rm.client("alice").await;
    let mut node = Node::register(&rm, Resource::new(8192, 8)).await;
    fake::submit(&client, "gpu").await;
    let (_, token) = node.next_started().await;
    let am = rm.master(token.clone()).await.unwrap();
    register(&am).await;
    let first: AllocateResponseProto = am.call("allocate", &fake::ask(0, 1)).await.unwrap();
    // The answer was lost: the same request comes again, over another connection.
    let am = rm.master(token).await.unwrap();
    let again: AllocateResponseProto = am.call("allocate", &fake::ask(0, 1)).await.unwrap();
    assert_eq!(fake::bytes(&first), fake::bytes(&again));
    assert_eq!(first.allocated_containers.len(), 1);
    let next = AllocateRequestProto {
        response_id: Some(1),
        ..Default::default()
    };
    let next: AllocateResponseProto = am.call("allocate", &next).await.unwrap();
    assert_eq!(next.response_id(), 2);
    assert!(next.allocated_containers.is_empty());
    let old: Result<AllocateResponseProto, _> = am.call("allocate", &fake::ask(-5, 1)).await;
    assert_eq!(
        class(&old.unwrap_err()),
        "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException"
    );
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_heartbeat_gets_the_same_bytes_and_an_unknown_node_registers() {
    let rm = Rm::start(&[]);
    let mut node = Node::register(&rm, Resource::new(8192, 8)).await;
    let request = node.beat(vec![]);
    let first = node.heartbeat(vec![]).await;
    assert_eq!(first.response_id(), 1);
    assert_eq!(first.next_heart_beat_interval(), 1000);
    assert_eq!(first.nm_token_master_key, None, "the node knows its keys");
    let again: NodeHeartbeatResponseProto =
        node.tracker.call("nodeHeartbeat", &request).await.unwrap();
    assert_eq!(fake::bytes(&first), fake::bytes(&again));
    let mut request = node.beat(vec![]);
    request
        .node_status
        .as_mut()
        .unwrap()
        .node_id
        .as_mut()
        .unwrap()
        .port = Some(1);
    let unknown: NodeHeartbeatResponseProto =
        node.tracker.call("nodeHeartbeat", &request).await.unwrap();
    assert_eq!(
        unknown.node_action.unwrap(),
        yarn_proto::server::NodeActionProto::Resync as i32
    );
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scheduler_port_takes_only_tokens_of_live_attempts() {
    let rm = Rm::start(&[]);
    let client = rm.client("alice").await;
    let mut node = Node::register(&rm, Resource::new(8192, 8)).await;
    let app = fake::submit(&client, "gpu").await;
    let (_, token) = node.next_started().await;
    let forged = |key: MasterKey, attempt| -> Token {
        let identifier = AmrmTokenIdentifierProto {
            app_attempt_id: Some(attempt_id_proto(attempt)),
            key_id: Some(key.id),
        };
        mint(&key, &identifier, "")
    };
    let known: AmrmTokenIdentifierProto = parse(&token.identifier).unwrap();
    let key = MasterKey {
        id: known.key_id(),
        bytes: vec![1; 8],
    };
    let wrong = rm
        .master(forged(key.clone(), app.attempt(1)))
        .await
        .unwrap_err();
    assert_eq!(class(&wrong), "javax.security.sasl.SaslException");
    let other = rm.master(forged(key, app.attempt(2))).await.unwrap_err();
    assert_eq!(
        class(&other),
        "org.apache.hadoop.security.token.SecretManager$InvalidToken"
    );
    assert!(
        other
            .to_string()
            .contains("not found in AMRMTokenSecretManager"),
        "{other}"
    );

    let am = rm.master(token.clone()).await.unwrap();
    register(&am).await;
    let kill = KillApplicationRequestProto {
        application_id: Some(app_id_proto(app)),
        diagnostics: Some("enough".to_owned()),
    };
    loop {
        let killed: KillApplicationResponseProto =
            client.call("forceKillApplication", &kill).await.unwrap();
        if killed.is_kill_completed() {
            break;
        }
    }
    let report = fake::report(&client, app).await;
    assert!(
        report.diagnostics().contains("enough"),
        "{}",
        report.diagnostics()
    );
    let page = format!("http://{}/cluster/app/{app}", rm.at("rm.http"));
    assert_eq!(
        (report.tracking_url(), report.original_tracking_url()),
        (&*page, &*page)
    );
    let late: Result<AllocateResponseProto, _> = am.call("allocate", &fake::ask(0, 1)).await;
    assert_eq!(
        class(&late.unwrap_err()),
        "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
    );
    let dead = rm.master(token).await.unwrap_err();
    assert_eq!(
        class(&dead),
        "org.apache.hadoop.security.token.SecretManager$InvalidToken"
    );
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_not_ready_is_tried_again_and_a_refusal_fails_the_attempt() {
    let rm = Rm::start(&[
        ("yarn.resourcemanager.am.max-attempts", "1"),
        ("yarn.client.nodemanager-connect.retry-interval-ms", "1"),
    ]);
    let client = rm.client("alice").await;
    let mut node = Node::register(&rm, Resource::new(8192, 8)).await;
    let not_ready = || RemoteException::yarn("NMNotYetReadyException", "not yet connected with RM");
    node.refuse(vec![not_ready(), not_ready()]);
    let app = fake::submit(&client, "gpu").await;
    let (started, _) = node.next_started().await;
    assert_eq!(started.user, app.attempt(1).to_string());

    node.refuse(vec![RemoteException::yarn(
        "YarnException",
        "no room on this disk",
    )]);
    let app = fake::submit(&client, "gpu").await;
    fake::wait_for(&client, app, ApplicationState::Failed).await;
    let report = fake::report(&client, app).await;
    assert!(
        report.diagnostics().contains("no room on this disk"),
        "{}",
        report.diagnostics()
    );
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_carry_the_classes_that_clients_branch_on() {
    let rm = Rm::start(&[]);
    let client = rm.client("alice").await;
    let unknown = GetApplicationReportRequestProto {
        application_id: Some(app_id_proto("application_1_0404".parse().unwrap())),
    };
    let e: Result<GetApplicationReportResponseProto, _> =
        client.call("getApplicationReport", &unknown).await;
    let e = e.unwrap_err();
    assert_eq!(
        class(&e),
        "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
    );
    assert!(
        e.to_string()
            .contains("Application with id 'application_1_0404' doesn't exist in RM.")
    );
    let e: Result<GetApplicationReportResponseProto, _> = client.call("getNothing", &unknown).await;
    assert_eq!(
        class(&e.unwrap_err()),
        "org.apache.hadoop.ipc.RpcNoSuchMethodException"
    );
    for method in super::client::METHODS {
        let nothing: Result<GetApplicationReportResponseProto, _> =
            client.call(method.name, &()).await;
        if let Err(e) = nothing {
            assert!(
                e.class().is_some() || matches!(e, CallError::Protocol(_)),
                "{}: {e}",
                method.name
            );
        }
    }
    assert!(client.is_open());

    let app = fake::new_application(&client).await;
    let mut request = fake::submission(&app, "gpu");
    request
        .application_submission_context
        .as_mut()
        .unwrap()
        .resource = None;
    let e: Result<SubmitApplicationResponseProto, _> =
        client.call("submitApplication", &request).await;
    assert_eq!(
        class(&e.unwrap_err()),
        "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
    );
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_hold_what_the_caller_was_told_and_filter_as_asked() {
    let rm = Rm::start(&[]);
    let client = rm.client("alice").await;
    let app = fake::submit(&client, "gpu").await;
    let list = |request: GetApplicationsRequestProto| {
        let client = &client;
        async move {
            let answer: GetApplicationsResponseProto =
                client.call("getApplications", &request).await.unwrap();
            answer.applications.len()
        }
    };
    let all = GetApplicationsRequestProto::default();
    assert_eq!(list(all.clone()).await, 1, "{app}");
    let of_type = |t: &str| GetApplicationsRequestProto {
        application_types: vec![t.to_owned()],
        ..Default::default()
    };
    assert_eq!(
        list(of_type("spark")).await,
        1,
        "types compare without case"
    );
    assert_eq!(list(of_type("MAPREDUCE")).await, 0);
    let limit = Some(0);
    assert_eq!(list(GetApplicationsRequestProto { limit, ..all }).await, 0);
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_are_described_and_refreshed() {
    let rm = Rm::start(&[]);
    let client = rm.client("alice").await;
    let queue = |name: &str, include_child_queues| GetQueueInfoRequestProto {
        queue_name: Some(name.to_owned()),
        include_child_queues: Some(include_child_queues),
        recursive: Some(true),
        ..Default::default()
    };
    let root: GetQueueInfoResponseProto = client
        .call("getQueueInfo", &queue("root", true))
        .await
        .unwrap();
    let root = root.queue_info.unwrap();
    let children: Vec<_> = root
        .child_queues
        .iter()
        .map(|q| q.queue_path().to_owned())
        .collect();
    assert_eq!(children, ["root.default", "root.gpu"]);
    let gpu: GetQueueInfoResponseProto = client
        .call("getQueueInfo", &queue("gpu", false))
        .await
        .unwrap();
    let gpu = gpu.queue_info.unwrap();
    assert_eq!((gpu.capacity(), gpu.maximum_capacity()), (0.5, 1.0));
    assert_eq!(gpu.max_parallel_apps(), i32::MAX);
    let nope: GetQueueInfoResponseProto = client
        .call("getQueueInfo", &queue("nope", false))
        .await
        .unwrap();
    assert_eq!(nope.queue_info, None);

    let admin = rm.connect("rm.admin", ADMIN, "yarn").await;
    let request = RefreshQueuesRequestProto::default();
    let _: RefreshQueuesResponseProto = admin.call("refreshQueues", &request).await.unwrap();
    let refused = admin
        .call::<_, RefreshQueuesResponseProto>("addToClusterNodeLabels", &request)
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("YarnException"), "{refused}");
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mapping_rule_refuses_in_hadoops_words() {
    let rm = Rm::start(&[
        ("yarn.scheduler.capacity.mapping-rule-format", "json"),
        (
            "yarn.scheduler.capacity.mapping-rule-json",
            r#"{"rules":[{"type":"user","matches":"bob","policy":"reject"}]}"#,
        ),
    ]);
    let client = rm.client("bob").await;
    let app = fake::new_application(&client).await;
    let request = fake::submission(&app, "default");
    let refused = client
        .call::<_, SubmitApplicationResponseProto>("submitApplication", &request)
        .await
        .unwrap_err()
        .to_string();
    let text = "Application submission have been rejected by a mapping rule. Please see the logs for details";
    assert!(refused.contains(text), "{refused}");
    assert!(refused.contains("exceptions.YarnException"), "{refused}");
    // others are not concerned
    fake::submit(&rm.client("alice").await, "default").await;
    rm.0.stop().await;
}
