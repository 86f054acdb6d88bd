//! Reports as stock clients read them, at each stage of an application's life.
//! May touch: the encoders.
//! Must not: need a running daemon.

use std::sync::Arc;

use rm_core::view::AppReport;
use yarn_types::{ApplicationState, FinalStatus, NodeId, Resource};

use super::*;
use crate::rpc::test_context;

fn report(state: ApplicationState) -> AppReport {
    let id: ApplicationId = "application_1700000000000_0007".parse().unwrap();
    AppReport {
        acls: std::sync::Arc::default(),
        id,
        user: "alice".into(),
        queue: "root.ml".to_owned(),
        name: "my job".to_owned(),
        application_type: "SPARK".to_owned(),
        tags: vec![],
        state,
        final_status: FinalStatus::Undefined,
        diagnostics: String::new(),
        current_attempt: Some(id.attempt(1)),
        host: "N/A".to_owned(),
        rpc_port: -1,
        original_tracking_url: String::new(),
        progress: 0.1,
        submitted_wall_ms: 1,
        started_wall_ms: 2,
        launched_wall_ms: 3,
        finished_wall_ms: 0,
        granted: true,
        priority: 0,
        unmanaged: false,
        label: None,
        am_label: None,
        am_resource: Resource::new(1024, 1),
        used: Resource::new(3072, 3),
        used_containers: 3,
        pending: Resource::ZERO,
        pending_containers: 0,
        queue_usage_percent: 12.5,
        cluster_usage_percent: 6.25,
        resource_seconds: Resource::new(12345, 67),
        preempted_containers: 0,
        preempted_masters: 0,
        preempted: Resource::ZERO,
        preempted_seconds: Resource::ZERO,
        expires_wall_ms: None,
        reserved: Resource::ZERO,
        reserved_containers: 0,
        partitions: vec![],
    }
}

#[test]
fn a_waiting_application_already_shows_its_proxy() {
    let context = test_context();
    let waiting = app(&context, &report(ApplicationState::Accepted), "alice");
    assert_eq!(
        waiting.tracking_url(),
        "http://rm:8088/proxy/application_1700000000000_0007/"
    );
    assert_eq!(waiting.original_tracking_url(), "N/A");
    assert_eq!((waiting.host(), waiting.rpc_port()), ("N/A", -1));
    assert_eq!(waiting.app_node_label_expression(), "<Not set>");
    assert_eq!(waiting.am_node_label_expression(), "<DEFAULT_PARTITION>");
    let status = LogAggregationStatusProto::LogDisabled;
    assert_eq!(waiting.log_aggregation_status(), status);
    let timeout = waiting.app_timeouts[0]
        .application_timeout
        .as_ref()
        .unwrap();
    assert_eq!(
        (timeout.expire_time(), timeout.remaining_time()),
        ("UNLIMITED", -1)
    );
    assert_eq!(waiting.client_to_am_token, None);
    assert_eq!(waiting.am_rm_token, None);
}

#[test]
fn before_the_first_attempt_nothing_is_known() {
    let context = test_context();
    let mut new = report(ApplicationState::Submitted);
    new.current_attempt = None;
    let new = app(&context, &new, "alice");
    assert_eq!(
        (new.tracking_url(), new.original_tracking_url()),
        ("N/A", "N/A")
    );
    assert_eq!(new.current_application_attempt_id.unwrap().attempt_id(), -1);
    let usage = new.app_resource_usage.unwrap();
    assert_eq!(usage.num_used_containers(), -1);
    assert_eq!(usage.used_resources.unwrap().memory(), -1);
}

#[test]
fn use_is_shown_while_it_runs_and_sums_stay() {
    let context = test_context();
    let running = app(&context, &report(ApplicationState::Running), "alice");
    let usage = running.app_resource_usage.unwrap();
    assert_eq!(usage.num_used_containers(), 3);
    assert_eq!(usage.needed_resources.as_ref().unwrap().memory(), 3072);
    assert_eq!((usage.memory_seconds(), usage.vcore_seconds()), (12345, 67));
    let finished = app(&context, &report(ApplicationState::Finished), "alice");
    let usage = finished.app_resource_usage.unwrap();
    assert_eq!(usage.num_used_containers(), -1);
    assert_eq!((usage.memory_seconds(), usage.vcore_seconds()), (12345, 67));
}

#[test]
fn a_broken_application_leads_to_its_page_in_the_rm() {
    let context = test_context();
    let page = "http://rm:8088/cluster/app/application_1700000000000_0007";
    for state in [ApplicationState::Failed, ApplicationState::Killed] {
        let broken = app(&context, &report(state), "alice");
        assert_eq!(
            (broken.tracking_url(), broken.original_tracking_url()),
            (page, page)
        );
    }
}

#[test]
fn only_the_owner_of_an_unmanaged_application_gets_its_token() {
    let context = test_context();
    let mut unmanaged = report(ApplicationState::Accepted);
    unmanaged.unmanaged = true;
    unmanaged.original_tracking_url = "http://am:1".to_owned();
    context
        .auth
        .attempt_started(unmanaged.current_attempt.unwrap());
    let own = app(&context, &unmanaged, "alice");
    assert!(own.am_rm_token.is_some());
    assert_eq!(
        own.tracking_url(),
        "http://am:1",
        "an unmanaged master is not proxied"
    );
    assert!(app(&context, &unmanaged, "bob").am_rm_token.is_none());
}

#[test]
fn a_container_names_its_logs_and_a_lost_node_holds_nothing() {
    let context = test_context();
    let id: ApplicationId = "application_1700000000000_0007".parse().unwrap();
    let c = ContainerReport {
        id: id.attempt(1).container(0, 2),
        resource: Resource::new(1024, 1),
        node: NodeId::new("nm1", 8041),
        node_http_address: "nm1:8042".to_owned(),
        user: "alice".into(),
        priority: 0,
        created_wall_ms: 5,
        finished_wall_ms: 0,
        diagnostics: String::new(),
        exit_status: 0,
        state: yarn_types::ContainerState::Running,
    };
    let c = container(&context, &c);
    let logs = "http://nm1:8042/node/containerlogs/container_1700000000000_0007_01_000002/alice";
    assert_eq!(
        (c.log_url(), c.node_http_address()),
        (logs, "http://nm1:8042")
    );
    let lost = NodeReport {
        id: NodeId::new("nm1", 8041),
        http_address: "nm1:8042".to_owned(),
        rack: Arc::from("/default-rack"),
        state: NodeState::Lost,
        total: Resource::new(8192, 8),
        used: Resource::new(1024, 1),
        containers: 1,
        health_report: String::new(),
        health_wall_ms: 0,
        last_heartbeat_wall_ms: 0,
        version: "3.5.0".to_owned(),
        decommissioning_timeout_s: None,
        label: None,
        gpus: Vec::new(),
    };
    let lost = node(&context, &lost);
    assert_eq!((lost.num_containers(), lost.used.unwrap().memory()), (0, 0));
    assert_eq!(lost.capability.unwrap().memory(), 8192);
}
