//! A ResourceManager on real sockets with a fake client, NodeManager and ApplicationMaster, for tests.
//! May touch: loopback sockets, the IPC client and server.
//! Must not: be compiled into the daemon, or look inside it.

use std::sync::{Arc, Mutex};

use hadoop_ipc::{
    client::{Auth as ClientAuth, CallError, Client, ClientOptions},
    server::{
        AuthPolicy, Call, Caller, InvalidToken, Replier, Secret, Secrets, Server, ServerOptions,
        Service,
    },
    token::{Credentials, MasterKey, Token, kinds, parse},
};
use prost::Message;
use tokio::sync::mpsc;
use yarn_conf::Configuration;
use yarn_proto::{
    convert::{app_id, resource_proto},
    server::{
        NodeHealthStatusProto, NodeHeartbeatRequestProto, NodeHeartbeatResponseProto,
        NodeStatusProto, RegisterNodeManagerRequestProto, RegisterNodeManagerResponseProto,
    },
    yarn::{
        AllocateRequestProto, ApplicationIdProto, ApplicationReportProto,
        ApplicationSubmissionContextProto, ContainerLaunchContextProto, ContainerStateProto,
        ContainerStatusProto, GetApplicationReportRequestProto, GetApplicationReportResponseProto,
        GetNewApplicationRequestProto, GetNewApplicationResponseProto, HeddleGpuListProto,
        NmTokenIdentifierProto, NodeIdProto, PriorityProto, ResourceRequestProto,
        StartContainersRequestProto, StartContainersResponseProto, StopContainersRequestProto,
        StopContainersResponseProto, SubmitApplicationRequestProto, SubmitApplicationResponseProto,
    },
};
use yarn_types::{ApplicationId, ApplicationState, Resource, ResourceTypes};

use crate::boot::{Daemon, Unchanging};

pub(crate) const CLIENT: &str = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";
pub(crate) const MASTER: &str = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB";
pub(crate) const TRACKER: &str = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB";
pub(crate) const ADMIN: &str =
    "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB";

/// Settings on top of Hadoop's defaults: free ports, two queues.
pub(crate) const CONF: &[(&str, &str)] = &[
    ("yarn.resourcemanager.address", "127.0.0.1:0"),
    ("yarn.resourcemanager.scheduler.address", "127.0.0.1:0"),
    (
        "yarn.resourcemanager.resource-tracker.address",
        "127.0.0.1:0",
    ),
    ("yarn.resourcemanager.admin.address", "127.0.0.1:0"),
    ("yarn.resourcemanager.webapp.address", "127.0.0.1:0"),
    ("yarn.scheduler.capacity.root.queues", "default,gpu"),
    ("yarn.scheduler.capacity.root.default.capacity", "50"),
    (
        "yarn.scheduler.capacity.root.default.maximum-capacity",
        "100",
    ),
    ("yarn.scheduler.capacity.root.gpu.capacity", "50"),
    ("yarn.scheduler.capacity.maximum-am-resource-percent", "1"),
];

pub(crate) fn types() -> ResourceTypes {
    ResourceTypes::memory_and_vcores()
}

pub(crate) struct Rm(pub Daemon);

impl Rm {
    pub fn start(more: &[(&'static str, &'static str)]) -> Self {
        let conf = Configuration::of(CONF.iter().chain(more).copied());
        Self(Daemon::start(&conf, Arc::new(Unchanging(conf.clone()))).unwrap())
    }

    pub fn at(&self, name: &str) -> String {
        let mut all = self.0.endpoints().iter();
        all.find(|(n, _)| *n == name).unwrap().1.to_string()
    }

    pub async fn connect(&self, name: &str, protocol: &'static str, user: &str) -> Client {
        let auth = ClientAuth::Simple {
            user: user.to_owned(),
        };
        let options = ClientOptions::default();
        Client::connect(self.at(name), protocol, auth, options)
            .await
            .unwrap()
    }

    pub async fn client(&self, user: &str) -> Client {
        self.connect("rm.client", CLIENT, user).await
    }

    pub async fn master(&self, token: Token) -> Result<Client, CallError> {
        let auth = ClientAuth::Token { token };
        let options = ClientOptions::default();
        Client::connect(self.at("rm.scheduler"), MASTER, auth, options).await
    }
}

pub(crate) async fn new_application(client: &Client) -> ApplicationIdProto {
    let request = GetNewApplicationRequestProto {};
    let answer: GetNewApplicationResponseProto =
        client.call("getNewApplication", &request).await.unwrap();
    answer.application_id.unwrap()
}

/// A submission of the smallest kind, with credentials that end in bytes to be ignored.
pub(crate) fn submission(app: &ApplicationIdProto, queue: &str) -> SubmitApplicationRequestProto {
    let mut tokens = Credentials::default().to_bytes();
    tokens.extend_from_slice(&[0xaa; 48]);
    SubmitApplicationRequestProto {
        application_submission_context: Some(ApplicationSubmissionContextProto {
            application_id: Some(*app),
            application_name: Some("test".to_owned()),
            application_type: Some("SPARK".to_owned()),
            queue: Some(queue.to_owned()),
            resource: Some(resource_proto(Resource::new(896, 1), &types())),
            am_container_spec: Some(ContainerLaunchContextProto {
                command: vec!["true".to_owned()],
                tokens: Some(tokens),
                ..Default::default()
            }),
            ..Default::default()
        }),
    }
}

pub(crate) async fn submit(client: &Client, queue: &str) -> ApplicationId {
    let app = new_application(client).await;
    let request = submission(&app, queue);
    let _: SubmitApplicationResponseProto =
        client.call("submitApplication", &request).await.unwrap();
    app_id(&app).unwrap()
}

pub(crate) async fn report(client: &Client, app: ApplicationId) -> ApplicationReportProto {
    let request = GetApplicationReportRequestProto {
        application_id: Some(yarn_proto::convert::app_id_proto(app)),
    };
    let answer: GetApplicationReportResponseProto =
        client.call("getApplicationReport", &request).await.unwrap();
    answer.application_report.unwrap()
}

/// Asks until the application is in `state`; every answer comes over the socket, so this yields.
pub(crate) async fn wait_for(client: &Client, app: ApplicationId, state: ApplicationState) {
    let wanted = yarn_proto::convert::app_state_proto(state);
    for _ in 0..10_000 {
        let report = report(client, app).await;
        if report.yarn_application_state == Some(wanted) {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!(
        "{app} never became {state}: {:?}",
        report(client, app).await
    );
}

/// What a started container came with.
pub(crate) struct Started {
    pub request: StartContainersRequestProto,
    pub user: String,
}

struct NodeService {
    started: mpsc::UnboundedSender<Started>,
    refuse: Mutex<Vec<hadoop_ipc::server::RemoteException>>,
}

impl Service for NodeService {
    fn call(&self, caller: &Arc<Caller>, call: Call, reply: Replier) {
        if let Some(refusal) = self.refuse.lock().unwrap().pop() {
            return reply.err(refusal);
        }
        match call.method.as_str() {
            "startContainers" => {
                let request: StartContainersRequestProto = call.decode().unwrap();
                reply.ok(&StartContainersResponseProto::default());
                let user = caller.user.clone();
                self.started.send(Started { request, user }).unwrap();
            }
            "stopContainers" => {
                let _: StopContainersRequestProto = call.decode().unwrap();
                reply.ok(&StopContainersResponseProto::default());
            }
            other => panic!("{other}"),
        }
    }
}

#[derive(Default)]
struct NodeSecrets(Mutex<Option<MasterKey>>);

impl Secrets for NodeSecrets {
    fn lookup(&self, identifier: &[u8]) -> Result<Secret, InvalidToken> {
        let token: NmTokenIdentifierProto = parse(identifier).unwrap();
        let key = self.0.lock().unwrap();
        let key = key.as_ref().filter(|key| key.id == token.key_id());
        let key = key.ok_or_else(|| InvalidToken("unknown key".to_owned()))?;
        let attempt = token.app_attempt_id.as_ref();
        Ok(Secret {
            password: key.password(identifier).to_vec(),
            user: yarn_proto::convert::attempt_id(attempt.unwrap())
                .unwrap()
                .to_string(),
        })
    }

    fn kind(&self) -> &'static str {
        kinds::NM
    }
}

/// A NodeManager that starts everything and runs nothing.
pub(crate) struct Node {
    pub id: NodeIdProto,
    pub tracker: Client,
    pub registered: RegisterNodeManagerResponseProto,
    pub started: mpsc::UnboundedReceiver<Started>,
    pub response_id: i32,
    service: Arc<NodeService>,
    _server: Server,
}

impl Node {
    pub async fn register(rm: &Rm, offers: Resource) -> Self {
        Self::register_with(rm, offers, None).await
    }

    pub async fn register_with(
        rm: &Rm,
        offers: Resource,
        heddle_gpus: Option<HeddleGpuListProto>,
    ) -> Self {
        let secrets = Arc::new(NodeSecrets::default());
        let (started_tx, started) = mpsc::unbounded_channel();
        let service = Arc::new(NodeService {
            started: started_tx,
            refuse: Mutex::default(),
        });
        let policy = AuthPolicy::TokenOnly(Arc::clone(&secrets) as Arc<dyn Secrets>);
        let options = ServerOptions::new("127.0.0.1:0".parse().unwrap(), policy);
        let server = Server::bind(options, Arc::clone(&service) as Arc<dyn Service>).unwrap();
        let id = NodeIdProto {
            host: Some("127.0.0.1".to_owned()),
            port: Some(i32::from(server.local_addr().port())),
        };
        let tracker = rm.connect("rm.tracker", TRACKER, "yarn").await;
        let request = RegisterNodeManagerRequestProto {
            node_id: Some(id.clone()),
            http_port: Some(8042),
            resource: Some(resource_proto(offers, &types())),
            nm_version: Some("3.5.0".to_owned()),
            heddle_gpus,
            ..Default::default()
        };
        let registered: RegisterNodeManagerResponseProto =
            tracker.call("registerNodeManager", &request).await.unwrap();
        let key = registered.nm_token_master_key.clone().map(MasterKey::from);
        *secrets.0.lock().unwrap() = key;
        Self {
            id,
            tracker,
            registered,
            started,
            response_id: 0,
            service,
            _server: server,
        }
    }

    /// The next calls are answered with these, last first.
    pub fn refuse(&self, refusals: Vec<hadoop_ipc::server::RemoteException>) {
        *self.service.refuse.lock().unwrap() = refusals;
    }

    pub fn beat(&self, containers: Vec<ContainerStatusProto>) -> NodeHeartbeatRequestProto {
        let known = &self.registered;
        NodeHeartbeatRequestProto {
            node_status: Some(NodeStatusProto {
                node_id: Some(self.id.clone()),
                response_id: Some(self.response_id),
                containers_statuses: containers,
                node_health_status: Some(NodeHealthStatusProto {
                    is_node_healthy: Some(true),
                    ..Default::default()
                }),
                ..Default::default()
            }),
            last_known_container_token_master_key: known.container_token_master_key.clone(),
            last_known_nm_token_master_key: known.nm_token_master_key.clone(),
            ..Default::default()
        }
    }

    pub async fn heartbeat(
        &mut self,
        containers: Vec<ContainerStatusProto>,
    ) -> NodeHeartbeatResponseProto {
        let request = self.beat(containers);
        let answer: NodeHeartbeatResponseProto =
            self.tracker.call("nodeHeartbeat", &request).await.unwrap();
        self.response_id = answer.response_id();
        answer
    }

    /// Waits for a start; the AMRMToken in its credentials comes along.
    pub async fn next_started(&mut self) -> (Started, Token) {
        let started = self.started.recv().await.unwrap();
        let context = started.request.start_container_request[0]
            .container_launch_context
            .clone();
        let credentials = Credentials::from_bytes(context.unwrap().tokens()).unwrap();
        let token = credentials.of_kind(kinds::AMRM).unwrap().clone();
        (started, token)
    }
}

/// The status of a container that ended.
pub(crate) fn ended(
    id: &yarn_proto::yarn::ContainerIdProto,
    exit_status: i32,
) -> ContainerStatusProto {
    ContainerStatusProto {
        container_id: Some(*id),
        state: Some(ContainerStateProto::CComplete as i32),
        exit_status: Some(exit_status),
        ..Default::default()
    }
}

/// `count` containers of 1024 MiB anywhere.
pub(crate) fn ask(response_id: i32, count: i32) -> AllocateRequestProto {
    AllocateRequestProto {
        ask: vec![ResourceRequestProto {
            priority: Some(PriorityProto { priority: Some(3) }),
            resource_name: Some("*".to_owned()),
            capability: Some(resource_proto(Resource::new(1024, 1), &types())),
            num_containers: Some(count),
            relax_locality: Some(true),
            allocation_request_id: Some(7),
            ..Default::default()
        }],
        response_id: Some(response_id),
        progress: Some(0.5),
        ..Default::default()
    }
}

/// The answer's bytes as they would travel.
pub(crate) fn bytes(message: &impl Message) -> Vec<u8> {
    message.encode_to_vec()
}
