//! Laws under arbitrary sequences of events: nothing panics, every invariant holds after each.
//! May touch: `testkit` and the core's public face.
//! Must not: sleep.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test"
)]

use std::sync::Arc;

use proptest::prelude::*;
use rm_core::{
    CallId, Event, Rm,
    event::{
        AdminRequest, Allocate, AmRequest, Ask, ClientRequest, Decommission, Heartbeat, HostLists,
        NodeContainer, NodeHealth, NodeOption, NodeRegistration, NodeRequest, SignalCommand,
        Submission, Update, UpdateKind,
    },
};
use testkit::{
    boot,
    conf::settings,
    laws::{self, Step},
};
use yarn_types::{
    ApplicationAttemptId, ApplicationId, ContainerId, ContainerState, FinalStatus, Millis, NodeId,
    Resource,
    gpu::{DeviceChange, DeviceGrant, DeviceReport, GpuDevice, GpuHealth},
};

const TS: i64 = 1_700_000_000_000;

fn rm() -> Rm {
    let mut table = settings("default:50 b:50");
    table.insert(
        "yarn.resourcemanager.max-completed-applications".to_owned(),
        "2".to_owned(),
    );
    Rm::new(boot(&table))
}

/// Ids from a small range, so that events meet.
fn app() -> impl Strategy<Value = ApplicationId> {
    (1_u32..5).prop_map(|id| ApplicationId {
        cluster_timestamp: TS,
        id,
    })
}

fn attempt() -> impl Strategy<Value = ApplicationAttemptId> {
    (app(), 0_u32..4).prop_map(|(app, n)| app.attempt(n.max(1)))
}

fn container() -> impl Strategy<Value = ContainerId> {
    (attempt(), 0_u64..6).prop_map(|(attempt, n)| attempt.container(0, n))
}

fn node() -> impl Strategy<Value = NodeId> {
    (1_u16..4).prop_map(|n| NodeId::new(format!("n{n}"), 45_454))
}

fn size() -> impl Strategy<Value = Resource> {
    prop_oneof![
        Just(Resource::new(1024, 1)),
        Just(Resource::new(1024, 1)),
        Just(Resource::new(3000, 2)),
        Just(Resource::new(1024, 1).with(2, 1000)),
        Just(Resource::new(-1, i64::MAX)),
    ]
}

fn submission() -> impl Strategy<Value = Submission> {
    let flags = (
        any::<bool>(),
        any::<bool>(),
        0_u32..4,
        prop::option::of(1_u64..5000),
    );
    (app(), "default|b|nosuch|", flags, size()).prop_map(|(app, queue, flags, am_resource)| {
        Submission {
            groups: Vec::new(),
            tag_user: None,
            acls: std::sync::Arc::default(),
            lifetime_s: -1,
            app,
            user: "alice".into(),
            name: "n".to_owned(),
            queue,
            application_type: "YARN".to_owned(),
            tags: Vec::new(),
            priority: None,
            unmanaged: flags.0,
            max_attempts: flags.2,
            attempt_failures_validity_ms: flags.3,
            keep_containers: flags.1,
            am_resource,
            am_label: None,
            label: None,
            unknown_resource: None,
        }
    })
}

fn ask() -> impl Strategy<Value = Ask> {
    let place = "[*]|n1|n2|/r1|/r2";
    (0_i32..3, place, size(), -1_i32..4, any::<bool>()).prop_map(
        |(priority, place, capability, count, relax_locality)| Ask {
            priority,
            allocation_request_id: 0,
            place: place.into(),
            capability,
            count,
            relax_locality,
            label: None,
            opportunistic: false,
            unknown_resource: None,
        },
    )
}

fn update() -> impl Strategy<Value = Update> {
    let kind = prop_oneof![
        4 => Just(UpdateKind::Increase),
        4 => Just(UpdateKind::Decrease),
        1 => Just(UpdateKind::Promote),
    ];
    (container(), 0_i32..3, kind, size()).prop_map(|(container, version, kind, capability)| {
        Update {
            container,
            version,
            kind,
            opportunistic: false,
            capability: Some(capability),
            named: [2].into(),
            unknown_resource: None,
        }
    })
}

fn allocate() -> impl Strategy<Value = AmRequest> {
    let asks = prop::collection::vec(ask(), 0..3);
    let releases = prop::collection::vec(container(), 0..3);
    let places = || prop::collection::vec("[*]|n1|n2".prop_map(std::sync::Arc::from), 0..2);
    let updates = prop::collection::vec(update(), 0..3);
    (
        -1_i32..8,
        asks,
        releases,
        updates,
        places(),
        places(),
        any::<f32>(),
    )
        .prop_map(
            |(response_id, asks, releases, updates, add, remove, progress)| {
                AmRequest::Allocate(Box::new(Allocate {
                    response_id,
                    progress,
                    asks,
                    releases,
                    blacklist_additions: add,
                    blacklist_removals: remove,
                    updates,
                    scheduling_requests: false,
                    tracking_url: None,
                }))
            },
        )
}

fn am() -> impl Strategy<Value = AmRequest> {
    prop_oneof![
        2 => Just(AmRequest::Register {
            host: String::new(),
            rpc_port: -1,
            tracking_url: "http://x".to_owned(),
        }),
        6 => allocate(),
        1 => Just(AmRequest::Finish {
            status: FinalStatus::Succeeded,
            diagnostics: "d".to_owned(),
            tracking_url: String::new(),
        }),
    ]
}

fn status() -> impl Strategy<Value = NodeContainer> {
    let grant = (0_u32..4, 0_u64..3).prop_map(|(n, epoch)| DeviceGrant {
        uuid: testkit::gpu_device("n", n).uuid,
        epoch,
    });
    let gpus = prop::collection::vec(grant, 0..2);
    let of = |(id, done, exit_status, gpus): (_, bool, _, _)| NodeContainer {
        id,
        state: if done {
            ContainerState::Complete
        } else {
            ContainerState::Running
        },
        resource: Resource::new(1024, 1),
        priority: 0,
        exit_status,
        diagnostics: String::new(),
        created_wall_ms: 0,
        gpus,
    };
    (container(), any::<bool>(), -110_i32..3, gpus).prop_map(of)
}

fn health() -> impl Strategy<Value = NodeHealth> {
    prop::bool::weighted(0.9).prop_map(|healthy| NodeHealth {
        healthy,
        report: String::new(),
        reported_wall_ms: 0,
    })
}

fn gpu() -> impl Strategy<Value = DeviceReport> {
    let bad = prop::bool::weighted(0.2);
    (0_u32..4, bad, prop::bool::weighted(0.1)).prop_map(|(n, bad, dirty)| DeviceReport {
        device: GpuDevice {
            health: if bad {
                GpuHealth::Bad("Xid 79".to_owned())
            } else {
                GpuHealth::Ok
            },
            ..testkit::gpu_device("n", n)
        },
        dirty: dirty.then(|| "process 7".to_owned()),
    })
}

/// Half of the nodes have no devices; lists name each device once, as the shell sees to.
fn gpu_list() -> impl Strategy<Value = Option<(u64, Vec<DeviceReport>)>> {
    let list = prop::collection::vec(gpu(), 0..5).prop_map(|mut list| {
        list.sort_by(|a, b| a.device.uuid.cmp(&b.device.uuid));
        list.dedup_by(|a, b| a.device.uuid == b.device.uuid);
        list
    });
    prop::option::of((0_u64..4, list))
}

fn gpu_changes() -> impl Strategy<Value = Option<(u64, Vec<DeviceChange>)>> {
    let change = prop_oneof![
        3 => gpu().prop_map(DeviceChange::Is),
        1 => gpu().prop_map(|g| DeviceChange::Gone(g.device.uuid)),
    ];
    prop::option::of((0_u64..8, prop::collection::vec(change, 0..4)))
}

fn node_request() -> impl Strategy<Value = NodeRequest> {
    let statuses = || prop::collection::vec(status(), 0..4);
    let total = prop_oneof![
        Just(Resource::new(8192, 8)),
        Just(Resource::new(4096, 4).with(2, 2000)),
        Just(Resource::new(10, 1)),
    ];
    let register = (node(), "/r1|/r2", total, statuses(), health(), gpu_list()).prop_map(
        |(node, rack, total, containers, health, gpus)| {
            NodeRequest::Register(Box::new(NodeRegistration {
                labels: None,
                node,
                http_port: 8042,
                rack: rack.into(),
                total,
                version: "3.5.0".to_owned(),
                containers,
                running_apps: vec![ApplicationId {
                    cluster_timestamp: TS,
                    id: 3,
                }],
                health: Some(health),
                gpus,
            }))
        },
    );
    let grown = || prop::collection::vec((container(), size()), 0..2);
    let heartbeat = (
        node(),
        -1_i32..6,
        statuses(),
        grown(),
        health(),
        gpu_changes(),
    )
        .prop_map(|(node, response_id, containers, increased, health, gpus)| {
            NodeRequest::Heartbeat(Box::new(Heartbeat {
                labels: None,
                node,
                response_id,
                containers,
                increased,
                health,
                gpus,
            }))
        });
    prop_oneof![
        3 => register,
        8 => heartbeat,
        1 => node().prop_map(|node| NodeRequest::Unregister { node }),
    ]
}

fn client() -> impl Strategy<Value = ClientRequest> {
    prop_oneof![
        1 => Just(ClientRequest::NewApplication),
        6 => submission().prop_map(|s| ClientRequest::Submit(Box::new(s))),
        1 => app().prop_map(|app| ClientRequest::Kill {
            app,
            user: "bob".into(),
            peer: String::new(),
            diagnostics: String::new(),
        }),
        1 => attempt().prop_map(|attempt| ClientRequest::FailAttempt {
            attempt,
            user: "bob".into(),
        }),
        1 => container().prop_map(|container| ClientRequest::SignalContainer {
            container,
            command: SignalCommand::OutputThreadDump,
        }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let call = CallId(0);
    let exclude = prop::collection::vec("n1|n2".prop_map(std::sync::Arc::from), 0..2);
    prop_oneof![
        2 => Just(Event::Tick),
        8 => prop_oneof![Just(1_000_u64), 0_u64..60].prop_map(|seq| Event::Stored { seq }),
        1 => Just(Event::NmKeyActivated),
        6 => client().prop_map(move |request| Event::Client { call, request }),
        12 => (attempt(), am())
            .prop_map(move |(attempt, request)| Event::Am { call, attempt, request }),
        12 => node_request().prop_map(move |request| Event::Node { call, request }),
        3 => attempt().prop_map(|attempt| Event::AmLaunched { attempt }),
        1 => attempt().prop_map(|attempt| Event::AmLaunchFailed {
            attempt,
            diagnostics: "no".to_owned(),
        }),
        1 => exclude
            .prop_map(|exclude| Event::Hosts(hosts(exclude))),
        3 => admin().prop_map(move |request| Event::Admin { call, request }),
    ]
}

fn hosts(exclude: Vec<Arc<str>>) -> HostLists {
    HostLists {
        exclude,
        ..HostLists::default()
    }
}

fn admin() -> impl Strategy<Value = AdminRequest> {
    let exclude = prop_oneof![Just(Vec::new()), Just(vec![Arc::from("n1")])];
    let how = prop_oneof![
        Just(Decommission::Normal),
        (-1_i32..4).prop_map(|timeout_s| Decommission::Graceful { timeout_s }),
    ];
    let option = || {
        (node(), size(), -1_i32..3_000).prop_map(|(node, total, timeout_ms)| {
            vec![NodeOption {
                node,
                total: total.plus(total),
                overcommit_timeout_ms: timeout_ms,
            }]
        })
    };
    prop_oneof![
        4 => (exclude, how).prop_map(|(exclude, how)| AdminRequest::RefreshNodes {
            lists: hosts(exclude),
            how,
        }),
        1 => Just(AdminRequest::DecommissionNow),
        2 => option().prop_map(AdminRequest::UpdateNodeResource),
        1 => option().prop_map(AdminRequest::RefreshNodesResources),
        1 => (0_i32..5).prop_map(AdminRequest::ClusterMaxPriority),
    ]
}

fn cards(count: u32) -> Vec<DeviceReport> {
    let card = |n| DeviceReport {
        device: testkit::gpu_device("n", n),
        dirty: None,
    };
    (0..count).map(card).collect()
}

fn registration(n: u32) -> NodeRegistration {
    NodeRegistration {
        labels: None,
        node: NodeId::new(format!("n{n}"), 45_454),
        http_port: 8042,
        rack: format!("/r{}", n % 2 + 1).into(),
        total: Resource::new(8192, 8),
        version: "3.5.0".to_owned(),
        containers: Vec::new(),
        running_apps: Vec::new(),
        health: None,
        gpus: (n < 3).then(|| (1, cards(4))),
    }
}

/// A cluster at work: three nodes, two of them with GPUs, two applications with registered masters that hold containers.
fn beginning() -> Vec<Event> {
    let call = CallId(0);
    let mut events = Vec::new();
    for n in 1..4 {
        let request = NodeRequest::Register(Box::new(registration(n)));
        events.push(Event::Node { call, request });
    }
    for id in 1..3 {
        let app = ApplicationId {
            cluster_timestamp: TS,
            id,
        };
        let submission = Submission {
            groups: Vec::new(),
            tag_user: None,
            acls: std::sync::Arc::default(),
            lifetime_s: -1,
            app,
            user: "alice".into(),
            name: "n".to_owned(),
            queue: "default".to_owned(),
            application_type: "YARN".to_owned(),
            tags: Vec::new(),
            priority: None,
            unmanaged: false,
            max_attempts: 3,
            attempt_failures_validity_ms: None,
            keep_containers: id == 2,
            am_resource: Resource::new(1024, 1),
            am_label: None,
            label: None,
            unknown_resource: None,
        };
        let request = ClientRequest::Submit(Box::new(submission));
        let attempt = app.attempt(1);
        let register = AmRequest::Register {
            host: String::new(),
            rpc_port: -1,
            tracking_url: String::new(),
        };
        let ask = Ask {
            priority: 1,
            allocation_request_id: 0,
            place: "*".into(),
            capability: Resource::new(1024, 1).with(2, 1000),
            count: 3,
            relax_locality: true,
            label: None,
            opportunistic: false,
            unknown_resource: None,
        };
        let allocate = Allocate {
            asks: vec![ask],
            ..Allocate::default()
        };
        events.extend([
            Event::Client { call, request },
            Event::Stored { seq: 1_000 },
            Event::Stored { seq: 1_000 },
            Event::AmLaunched { attempt },
            Event::Am {
                call,
                attempt,
                request: register,
            },
            Event::Am {
                call,
                attempt,
                request: AmRequest::Allocate(Box::new(allocate)),
            },
        ]);
    }
    events
}

/// A run: a cluster at work, then whatever comes, at whatever time.
fn steps(len: usize) -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![8 => 0_u64..2000, 1 => 500_000_u64..1_000_000];
    let strange = prop::collection::vec((gap, event()), 1..len);
    (prop::bool::weighted(0.8), strange).prop_map(|(at_work, strange)| {
        let mut now = Millis(0);
        let beginning = if at_work { beginning() } else { Vec::new() };
        let events = beginning.into_iter().map(|event| (1, event)).chain(strange);
        events
            .map(|(gap, event)| {
                now = now.plus(gap);
                (now, event)
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_events_breaks_an_invariant(steps in steps(80)) {
        let mut rm = rm();
        let result = laws::run(&mut rm, &steps);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
        prop_assert_eq!(laws::never_over_allocates_unless_shrunk(&rm, &steps), Ok(()));
    }

    #[test]
    fn replay_is_equal(steps in steps(40)) {
        prop_assert_eq!(laws::replay_is_equal(&rm(), &steps), Ok(()));
    }

    #[test]
    fn a_fork_is_separate(past in steps(30), future in steps(10)) {
        let mut rm = rm();
        prop_assert!(laws::run(&mut rm, &past).is_ok());
        prop_assert_eq!(laws::fork_is_separate(&rm, &future), Ok(()));
    }

    #[test]
    fn release_is_idempotent(past in steps(60), id in container(), response_id in 0_i32..8) {
        let mut rm = rm();
        prop_assert!(laws::run(&mut rm, &past).is_ok());
        let request = AmRequest::Allocate(Box::new(Allocate {
            response_id,
            releases: vec![id],
            ..Allocate::default()
        }));
        let event = Event::Am { call: CallId(0), attempt: id.attempt, request };
        let now = past.last().map_or(Millis(0), |(now, _)| *now);
        prop_assert_eq!(laws::release_is_idempotent(&rm, &(now, event)), Ok(()));
    }
}

#[test]
fn strange_sequences_do_reach_running_containers() {
    // The law tests are worth something only if their events get somewhere.
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut granted, mut finished) = (0, 0);
    for _ in 0..200 {
        let steps = steps(80).new_tree(&mut runner).unwrap().current();
        let mut rm = rm();
        let effects = laws::run(&mut rm, &steps).unwrap();
        granted += effects
            .iter()
            .filter(|e| {
                matches!(
                    e.action,
                    rm_core::Action::Note(rm_core::effect::Note::Granted { .. })
                )
            })
            .count();
        finished += effects
            .iter()
            .filter(|e| matches!(e.action, rm_core::Action::AppEnded { .. }))
            .count();
    }
    assert!(
        granted > 1200 && finished > 50,
        "{granted} grants, {finished} ended applications"
    );
}
