//! A fake ResourceManager and ApplicationMaster for tests of a whole NodeManager.
//! May touch: real sockets, temporary directories, real processes.
//! Must not: be part of the product, or sleep.
#![allow(dead_code)] // each test file uses a part of it
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)] // test code

mod built;

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use hadoop_ipc::{
    client::{Auth, CallError, Client, ClientOptions},
    server::{AuthPolicy, Call, Caller, Replier, Server, ServerOptions, Service},
    token::{MasterKey, mint},
};
use nodemanager::{boot, exec::launch::Binaries};
use tokio::sync::mpsc;
use yarn_proto::{
    convert,
    server::{
        MasterKeyProto, NodeActionProto, NodeHeartbeatRequestProto, NodeHeartbeatResponseProto,
        RegisterNodeManagerRequestProto, RegisterNodeManagerResponseProto,
        UnRegisterNodeManagerResponseProto,
    },
    yarn::{
        ContainerLaunchContextProto, ContainerTokenIdentifierProto, LocalResourceProto,
        LocalResourceTypeProto, LocalResourceVisibilityProto, NmTokenIdentifierProto,
        StartContainerRequestProto, StartContainersRequestProto, StartContainersResponseProto,
        StringLocalResourceMapProto, StringStringMapProto, UrlProto,
    },
};
use yarn_types::{
    ApplicationAttemptId, ApplicationId, ContainerId, ContainerState, NodeId, Resource,
    ResourceTypes,
};

pub const RM_ID: i64 = 1_700_000_000_000;
pub const NM_KEY: i32 = 3;
pub const CONTAINER_KEY: i32 = -7;

pub fn key(id: i32) -> MasterKey {
    MasterKey {
        id,
        bytes: id.to_be_bytes().repeat(2),
    }
}

fn key_proto(id: i32) -> MasterKeyProto {
    let key = key(id);
    MasterKeyProto {
        key_id: Some(key.id),
        bytes: Some(key.bytes),
    }
}

pub fn app(n: u32) -> ApplicationId {
    ApplicationId {
        cluster_timestamp: RM_ID,
        id: n,
    }
}

pub fn attempt() -> ApplicationAttemptId {
    app(1).attempt(1)
}

pub fn cid(n: u64) -> ContainerId {
    attempt().container(0, n)
}

/// What the fake ResourceManager saw.
#[derive(Debug)]
pub enum Seen {
    Registered(Box<RegisterNodeManagerRequestProto>),
    Heartbeat(Box<NodeHeartbeatRequestProto>),
    Unregistered,
}

/// A ResourceManager that keeps the sequence of response ids and answers as it is told.
pub struct FakeRm {
    seen: mpsc::UnboundedSender<Seen>,
    state: Mutex<RmState>,
}

#[derive(Default)]
struct RmState {
    /// Last response id sent.
    last: i32,
    registered: bool,
    /// Put into the next answer.
    next: Option<NodeHeartbeatResponseProto>,
    /// Drop the answer of the next heartbeat.
    drop_next: bool,
    last_answer: Option<NodeHeartbeatResponseProto>,
    /// Echoes numbers of devices, as a ResourceManager does that knows them.
    knows_gpus: bool,
}

impl Service for FakeRm {
    fn call(&self, _: &Arc<Caller>, call: Call, reply: Replier) {
        match call.method.as_str() {
            "registerNodeManager" => {
                let request: RegisterNodeManagerRequestProto = call.decode().unwrap();
                let list = request.heddle_gpus.as_ref();
                let seq = list.map_or(0, yarn_proto::yarn::HeddleGpuListProto::seq);
                let mut state = self.state.lock().unwrap();
                let heddle_gpu_seq = state.knows_gpus.then_some(seq);
                state.last = 0;
                state.registered = true;
                state.last_answer = None;
                drop(state);
                let _ = self.seen.send(Seen::Registered(Box::new(request)));
                reply.ok(&RegisterNodeManagerResponseProto {
                    container_token_master_key: Some(key_proto(CONTAINER_KEY)),
                    nm_token_master_key: Some(key_proto(NM_KEY)),
                    node_action: Some(NodeActionProto::Normal as i32),
                    rm_identifier: Some(RM_ID),
                    rm_version: Some("3.5.0".to_owned()),
                    heddle_gpu_seq,
                    ..Default::default()
                });
            }
            "nodeHeartbeat" => self.heartbeat(&call, reply),
            "unRegisterNodeManager" => {
                let _ = self.seen.send(Seen::Unregistered);
                reply.ok(&UnRegisterNodeManagerResponseProto {});
            }
            other => panic!("a NodeManager does not call {other}"),
        }
    }
}

impl FakeRm {
    fn heartbeat(&self, call: &Call, reply: Replier) {
        let request: NodeHeartbeatRequestProto = call.decode().unwrap();
        let id = request.node_status.as_ref().unwrap().response_id();
        let mut state = self.state.lock().unwrap();
        let mut answer = NodeHeartbeatResponseProto {
            node_action: Some(NodeActionProto::Normal as i32),
            // Short, so that tests need not wait.
            next_heart_beat_interval: Some(50),
            ..Default::default()
        };
        if !state.registered {
            answer.node_action = Some(NodeActionProto::Resync as i32);
            answer.diagnostics_message = Some("Node not found resyncing".to_owned());
        } else if id + 1 == state.last {
            answer = state.last_answer.clone().unwrap();
        } else {
            assert_eq!(id, state.last, "a heartbeat out of sequence");
            if let Some(next) = state.next.take() {
                answer = NodeHeartbeatResponseProto {
                    next_heart_beat_interval: Some(50),
                    node_action: next.node_action.or(answer.node_action),
                    ..next
                };
            }
            let changes = request.heddle_gpus.as_ref().filter(|_| state.knows_gpus);
            answer.heddle_gpu_seq = changes.and_then(|c| c.seq);
            state.last += 1;
            answer.response_id = Some(state.last);
            state.last_answer = Some(answer.clone());
            let _ = self.seen.send(Seen::Heartbeat(Box::new(request)));
        }
        if std::mem::take(&mut state.drop_next) {
            // The client gets an exception instead of the answer, which is lost.
            return;
        }
        drop(state);
        reply.ok(&answer);
    }

    /// The next heartbeat is answered with these fields.
    pub fn answer_next(&self, answer: NodeHeartbeatResponseProto) {
        self.state.lock().unwrap().next = Some(answer);
    }

    /// From now on it knows devices.
    pub fn know_gpus(&self) {
        self.state.lock().unwrap().knows_gpus = true;
    }

    /// The answer of the next heartbeat is lost.
    pub fn lose_next(&self) {
        self.state.lock().unwrap().drop_next = true;
    }

    /// As after a restart: no node is known.
    pub fn forget_nodes(&self) {
        self.state.lock().unwrap().registered = false;
    }
}

/// A node with its ResourceManager.
pub struct Cluster {
    pub rm: Arc<FakeRm>,
    pub rm_server: Option<Server>,
    pub seen: mpsc::UnboundedReceiver<Seen>,
    pub node: boot::Node,
    pub dir: tempfile::TempDir,
    pub cgroups: Cgroups,
}

/// The programs that a node starts, built for this profile.
pub fn binaries() -> Binaries {
    let dir = built::programs();
    Binaries {
        launch: dir.join("container-launch"),
        localizer: dir.join("container-localizer"),
    }
}

/// A fake ResourceManager on a port of its own.
pub fn fake_rm() -> (Arc<FakeRm>, Server, mpsc::UnboundedReceiver<Seen>) {
    let (sender, seen) = mpsc::unbounded_channel();
    let rm = Arc::new(FakeRm {
        seen: sender,
        state: Mutex::default(),
    });
    let options = ServerOptions::new("127.0.0.1:0".parse().unwrap(), AuthPolicy::SimpleOnly);
    let server = Server::bind(options, Arc::clone(&rm) as _).unwrap();
    (rm, server, seen)
}

/// A directory for a node that every account may pass through, with an empty conf/ in it.
pub fn node_dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    std::fs::create_dir(dir.path().join("conf")).unwrap();
    dir
}

/// The top cgroup of a node in `dir`: container ids repeat from test to test.
pub fn hierarchy(dir: &Path) -> String {
    let name = dir.file_name().unwrap().to_str().unwrap();
    format!("heddle-test{}", name.replace('.', "-"))
}

/// Removes the top cgroup of a node in this directory when it is dropped.
pub struct Cgroups(pub PathBuf);

impl Drop for Cgroups {
    fn drop(&mut self) {
        let mounts = isolator::cgroup::Mounts::read();
        for place in mounts.v1.values().chain(mounts.v2.as_ref()) {
            let patience = isolator::cgroup::dir::RemovalPatience::default();
            let _ = isolator::cgroup::dir::remove(&place.join(hierarchy(&self.0)), patience);
        }
    }
}

/// Keys of a node in `dir` whose ResourceManager is at `tracker`.
pub fn node_keys(dir: &Path, tracker: &str) -> Vec<(String, String)> {
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    [
        (
            "yarn.resourcemanager.resource-tracker.address",
            tracker.to_owned(),
        ),
        ("yarn.nodemanager.hostname", "127.0.0.1".to_owned()),
        ("yarn.nodemanager.webapp.address", "127.0.0.1:0".to_owned()),
        ("yarn.nodemanager.local-dirs", path("local")),
        ("yarn.nodemanager.log-dirs", path("logs")),
        ("ipc.client.connect.retry.interval", "20".to_owned()),
        (
            "yarn.nodemanager.linux-container-executor.cgroups.hierarchy",
            hierarchy(dir),
        ),
        // A full disk of the test machine is no matter here.
        (
            "yarn.nodemanager.disk-health-checker.enable",
            "false".to_owned(),
        ),
    ]
    .map(|(k, v)| (k.to_owned(), v))
    .to_vec()
}

impl Cluster {
    /// A node that has registered; `keys` go over the test's configuration.
    pub async fn start(keys: &[(&str, &str)]) -> Self {
        let (rm, rm_server, seen) = fake_rm();
        let dir = node_dir();
        let mut overrides = node_keys(dir.path(), &rm_server.local_addr().to_string());
        overrides.extend(keys.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        let options = boot::Options {
            config: Some(dir.path().join("conf")),
            overrides,
            endpoints_file: Some(dir.path().join("endpoints")),
            binaries: Some(binaries()),
            ..Default::default()
        };
        let mut node = boot::start(options).await.unwrap();
        assert_eq!(limit(node.registered()).await, None);
        Self {
            rm,
            rm_server: Some(rm_server),
            seen,
            node,
            cgroups: Cgroups(dir.path().to_owned()),
            dir,
        }
    }

    /// Next thing that the ResourceManager sees for which `want` has an answer.
    pub async fn see<T>(&mut self, what: &str, mut want: impl FnMut(&Seen) -> Option<T>) -> T {
        see(&mut self.seen, what, &mut want).await
    }

    /// Waits for the completed status of a container: exit code and diagnostics.
    pub async fn completed(&mut self, id: ContainerId) -> (i32, String) {
        self.see(&format!("the end of {id}"), |seen| end_of(seen, id))
            .await
    }

    /// A connection of an ApplicationMaster.
    pub async fn am(&self) -> Client {
        self.connect(attempt(), NM_KEY, &self.node.id)
            .await
            .unwrap()
    }

    /// A connection with an NMToken of that attempt, key and node.
    pub async fn connect(
        &self,
        attempt: ApplicationAttemptId,
        key_id: i32,
        node: &NodeId,
    ) -> Result<Client, CallError> {
        connect(&self.node.id, attempt, key_id, node).await
    }

    /// What the token of container `n` says; tests change it before signing.
    pub fn container_identifier(&self, id: ContainerId) -> ContainerTokenIdentifierProto {
        container_identifier(&self.node.id, id)
    }

    pub fn http(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.node.id.host, self.node.http_port)
    }

    /// Stops the node and waits for its end.
    pub async fn stop(mut self) -> (i32, String) {
        self.node.stopper().stop("test");
        let end = limit(self.node.ended()).await;
        self.node.close().await;
        end
    }
}

/// A connection to `at` with an NMToken of that attempt and key for `node`.
pub async fn connect(
    at: &NodeId,
    attempt: ApplicationAttemptId,
    key_id: i32,
    node: &NodeId,
) -> Result<Client, CallError> {
    let said = NmTokenIdentifierProto {
        app_attempt_id: Some(convert::attempt_id_proto(attempt)),
        node_id: Some(convert::node_id_proto(node)),
        app_submitter: Some("alice".to_owned()),
        key_id: Some(key_id),
    };
    let token = mint(&key(key_id), &said, "");
    let options = ClientOptions::default();
    Client::connect(
        at.to_string(),
        nodemanager::rpc::PROTOCOL,
        Auth::Token { token },
        options,
    )
    .await
}

/// What the token of a container on `node` says.
pub fn container_identifier(node: &NodeId, id: ContainerId) -> ContainerTokenIdentifierProto {
    let types = ResourceTypes::memory_and_vcores();
    ContainerTokenIdentifierProto {
        container_id: Some(convert::container_id_proto(id)),
        nm_host_addr: Some(node.to_string()),
        app_submitter: Some("alice".to_owned()),
        resource: Some(convert::resource_proto(Resource::new(1024, 1), &types)),
        expiry_time_stamp: Some(nodemanager::driver::wall_ms() + 600_000),
        master_key_id: Some(CONTAINER_KEY),
        rm_identifier: Some(RM_ID),
        creation_time: Some(nodemanager::driver::wall_ms()),
        ..Default::default()
    }
}

/// The end of a container in what the ResourceManager saw: exit code and diagnostics.
pub fn end_of(seen: &Seen, id: ContainerId) -> Option<(i32, String)> {
    let Seen::Heartbeat(request) = seen else {
        return None;
    };
    let statuses = &request.node_status.as_ref()?.containers_statuses;
    statuses.iter().find_map(|s| {
        let done = convert::container_state(s.state?) == Some(ContainerState::Complete);
        let same = s.container_id.as_ref().and_then(convert::container_id) == Some(id);
        (done && same).then(|| (s.exit_status(), s.diagnostics().to_owned()))
    })
}

/// Next of `seen` for which `want` has an answer.
pub async fn see<T>(
    seen: &mut mpsc::UnboundedReceiver<Seen>,
    what: &str,
    want: &mut impl FnMut(&Seen) -> Option<T>,
) -> T {
    let found = async {
        loop {
            let seen = seen.recv().await.expect("the node lives");
            if let Some(found) = want(&seen) {
                return found;
            }
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), found).await;
    found.unwrap_or_else(|_| panic!("never saw {what}"))
}

/// A bound for what must come.
pub async fn limit<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future)
        .await
        .expect("takes too long")
}

pub fn shell(command: &str) -> ContainerLaunchContextProto {
    ContainerLaunchContextProto {
        command: vec![format!("{command} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr")],
        environment: vec![StringStringMapProto {
            key: Some("GREETING".to_owned()),
            value: Some("hello".to_owned()),
        }],
        ..Default::default()
    }
}

/// A PRIVATE file resource.
pub fn local_resource(
    name: &str,
    scheme: &str,
    path: &Path,
    size: i64,
    timestamp: i64,
) -> StringLocalResourceMapProto {
    let value = LocalResourceProto {
        resource: Some(UrlProto {
            scheme: Some(scheme.to_owned()),
            port: Some(-1),
            file: Some(path.to_str().unwrap().to_owned()),
            ..Default::default()
        }),
        size: Some(size),
        timestamp: Some(timestamp),
        r#type: Some(LocalResourceTypeProto::File as i32),
        visibility: Some(LocalResourceVisibilityProto::Private as i32),
        ..Default::default()
    };
    StringLocalResourceMapProto {
        key: Some(name.to_owned()),
        value: Some(value),
    }
}

pub fn start_request(
    said: &ContainerTokenIdentifierProto,
    key_id: i32,
    context: ContainerLaunchContextProto,
) -> StartContainersRequestProto {
    StartContainersRequestProto {
        start_container_request: vec![StartContainerRequestProto {
            container_launch_context: Some(context),
            container_token: Some(mint(&key(key_id), said, "").into()),
        }],
    }
}

/// Starts a container; the class and text of a refusal.
pub async fn start(
    am: &Client,
    said: &ContainerTokenIdentifierProto,
    context: ContainerLaunchContextProto,
) -> Result<(), (String, String)> {
    let request = start_request(said, CONTAINER_KEY, context);
    let answer: StartContainersResponseProto =
        limit(am.call("startContainers", &request)).await.unwrap();
    match answer.failed_requests.into_iter().next() {
        None => {
            assert_eq!(answer.succeeded_requests.len(), 1);
            Ok(())
        }
        Some(failed) => {
            let e = failed.exception.unwrap();
            Err((e.class_name().to_owned(), e.message().to_owned()))
        }
    }
}
