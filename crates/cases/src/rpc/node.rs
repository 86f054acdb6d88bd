//! A NodeManager that starts everything and runs nothing; it beats when told to.
//! May touch: one loopback server and a connection to the ResourceManager.
//! Must not: report a container that it was not told to report.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use hadoop_ipc::{
    client::{Auth, Client, ClientOptions},
    server::{
        AuthPolicy, Call, Caller, InvalidToken, RemoteException, Replier, Secret, Secrets, Server,
        ServerOptions, Service,
    },
    token::{Credentials, MasterKey, Token, kinds, parse},
};
use tokio::sync::mpsc;
use yarn_proto::{
    convert::{app_id, attempt_id},
    server::{
        NodeHealthStatusProto, NodeHeartbeatRequestProto, NodeHeartbeatResponseProto,
        NodeStatusProto, RegisterNodeManagerRequestProto, RegisterNodeManagerResponseProto,
        UnRegisterNodeManagerRequestProto, UnRegisterNodeManagerResponseProto,
    },
    yarn::{
        ApplicationIdProto, ContainerIdProto, ContainerStateProto, ContainerStatusProto,
        ContainerTokenIdentifierProto, NmTokenIdentifierProto, NodeIdProto, ResourceProto,
        ResourceUtilizationProto, StartContainersRequestProto, StartContainersResponseProto,
        StopContainersRequestProto, StopContainersResponseProto,
    },
};
use yarn_types::ApplicationId;

use crate::target::Done;

const TRACKER: &str = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB";

/// An ApplicationMaster that the ResourceManager started on a node.
pub(super) struct Started {
    pub node: String,
    pub app: ApplicationId,
    pub container: ContainerIdProto,
    pub size: ResourceProto,
    pub token: Token,
}

struct NodeService {
    name: String,
    started: mpsc::UnboundedSender<Started>,
}

impl NodeService {
    fn start(&self, call: &Call) -> Result<(), RemoteException> {
        let request: StartContainersRequestProto = call.decode()?;
        for start in &request.start_container_request {
            let context = start.container_launch_context.as_ref();
            let tokens = context.map(|c| c.tokens().to_vec()).unwrap_or_default();
            let token = Credentials::from_bytes(&tokens)
                .ok()
                .and_then(|all| all.of_kind(kinds::AMRM).cloned());
            let identifier = start
                .container_token
                .as_ref()
                .and_then(|token| parse::<ContainerTokenIdentifierProto>(&token.identifier).ok());
            let started = identifier.and_then(|id| {
                let container = id.container_id?;
                let attempt = container.app_attempt_id?;
                Some(Started {
                    node: self.name.clone(),
                    app: app_id(&attempt.application_id?)?,
                    container,
                    size: id.resource?,
                    token: token?,
                })
            });
            if let Some(started) = started {
                // nobody listens any more once the case ended
                let _ = self.started.send(started);
            }
        }
        Ok(())
    }
}

impl Service for NodeService {
    fn call(&self, _: &Arc<Caller>, call: Call, reply: Replier) {
        match call.method.as_str() {
            "startContainers" => match self.start(&call) {
                Ok(()) => reply.ok(&StartContainersResponseProto::default()),
                Err(refusal) => reply.err(refusal),
            },
            "stopContainers" => match call.decode::<StopContainersRequestProto>() {
                Ok(_) => reply.ok(&StopContainersResponseProto::default()),
                Err(refusal) => reply.err(refusal),
            },
            other => reply.err(RemoteException::no_such_method(&call.protocol, other)),
        }
    }
}

#[derive(Default)]
struct NodeSecrets(Mutex<Option<MasterKey>>);

impl Secrets for NodeSecrets {
    fn lookup(&self, identifier: &[u8]) -> Result<Secret, InvalidToken> {
        let invalid = |text: &str| InvalidToken(text.to_owned());
        let token: NmTokenIdentifierProto =
            parse(identifier).map_err(|_| invalid("not an NMToken"))?;
        let key = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key.as_ref().filter(|key| key.id == token.key_id());
        let key = key.ok_or_else(|| invalid("unknown key"))?;
        let attempt = token.app_attempt_id.as_ref().and_then(attempt_id);
        Ok(Secret {
            password: key.password(identifier).to_vec(),
            user: attempt.ok_or_else(|| invalid("no attempt"))?.to_string(),
        })
    }

    fn kind(&self) -> &'static str {
        kinds::NM
    }
}

/// A registered node.
pub(super) struct SimNode {
    pub id: NodeIdProto,
    tracker: Client,
    registered: RegisterNodeManagerResponseProto,
    response_id: i32,
    /// Containers that it says are running.
    running: BTreeMap<u64, ContainerIdProto>,
    /// Containers whose end it has not told yet.
    ended: Vec<ContainerIdProto>,
    _server: Server,
}

impl SimNode {
    pub async fn register(
        name: &str,
        host: &str,
        tracker: SocketAddr,
        offers: ResourceProto,
        started: mpsc::UnboundedSender<Started>,
    ) -> Done<Self> {
        let secrets = Arc::new(NodeSecrets::default());
        let service = NodeService {
            name: name.to_owned(),
            started,
        };
        let bind: SocketAddr = format!("{host}:0")
            .parse()
            .map_err(|e| format!("address of node {name}: {e}"))?;
        let policy = AuthPolicy::TokenOnly(Arc::clone(&secrets) as Arc<dyn Secrets>);
        let server = Server::bind(ServerOptions::new(bind, policy), Arc::new(service))
            .map_err(|e| format!("listen on {host}: {e}"))?;
        let id = NodeIdProto {
            host: Some(host.to_owned()),
            port: Some(i32::from(server.local_addr().port())),
        };
        let user = "yarn".to_owned();
        let options = ClientOptions::default();
        let tracker = Client::connect(tracker.to_string(), TRACKER, Auth::Simple { user }, options)
            .await
            .map_err(|e| e.to_string())?;
        let request = RegisterNodeManagerRequestProto {
            node_id: Some(id.clone()),
            http_port: Some(8042),
            resource: Some(offers),
            nm_version: Some("3.5.0".to_owned()),
            ..Default::default()
        };
        let registered: RegisterNodeManagerResponseProto = tracker
            .call("registerNodeManager", &request)
            .await
            .map_err(|e| e.to_string())?;
        if let Some(refused) = registered
            .diagnostics_message
            .as_deref()
            .filter(|t| !t.is_empty())
        {
            return Err(format!("node {name} was refused: {refused}"));
        }
        let key = registered.nm_token_master_key.clone().map(MasterKey::from);
        *secrets.0.lock().unwrap_or_else(PoisonError::into_inner) = key;
        Ok(Self {
            id,
            tracker,
            registered,
            response_id: 0,
            running: BTreeMap::new(),
            ended: Vec::new(),
            _server: server,
        })
    }

    /// From now on the container is reported as running.
    pub fn run(&mut self, id: ContainerIdProto) {
        self.running.insert(number(&id), id);
    }

    /// Whether it reports the container.
    pub fn reports(&self, id: &ContainerIdProto) -> bool {
        self.running.contains_key(&number(id))
    }

    /// The next heartbeat says that the container ended.
    pub fn end(&mut self, id: ContainerIdProto) {
        self.running.remove(&number(&id));
        self.ended.push(id);
    }

    pub async fn heartbeat(&mut self) -> Done {
        let status =
            |id: &ContainerIdProto, state: ContainerStateProto, exit: i32| ContainerStatusProto {
                container_id: Some(*id),
                state: Some(state as i32),
                exit_status: Some(exit),
                ..Default::default()
            };
        let mut statuses: Vec<ContainerStatusProto> = self
            .running
            .values()
            .map(|id| status(id, ContainerStateProto::CRunning, -1000))
            .collect();
        for id in self.ended.drain(..) {
            statuses.push(status(&id, ContainerStateProto::CComplete, 0));
        }
        let idle = ResourceUtilizationProto {
            pmem: Some(0),
            vmem: Some(0),
            cpu: Some(0.0),
            ..Default::default()
        };
        let known = &self.registered;
        let request = NodeHeartbeatRequestProto {
            node_status: Some(NodeStatusProto {
                node_id: Some(self.id.clone()),
                response_id: Some(self.response_id),
                containers_statuses: statuses,
                node_health_status: Some(NodeHealthStatusProto {
                    is_node_healthy: Some(true),
                    ..Default::default()
                }),
                // the stock web services cannot show a node without these
                containers_utilization: Some(idle.clone()),
                node_utilization: Some(idle.clone()),
                ..Default::default()
            }),
            last_known_container_token_master_key: known.container_token_master_key.clone(),
            last_known_nm_token_master_key: known.nm_token_master_key.clone(),
            ..Default::default()
        };
        let answer: NodeHeartbeatResponseProto = self
            .tracker
            .call("nodeHeartbeat", &request)
            .await
            .map_err(|e| e.to_string())?;
        self.response_id = answer.response_id();
        for killed in &answer.containers_to_cleanup {
            if self.running.remove(&number(killed)).is_some() {
                self.ended.push(*killed);
            }
        }
        Ok(())
    }

    /// Leaves the cluster.
    pub async fn leave(&self) -> Done {
        let request = UnRegisterNodeManagerRequestProto {
            node_id: Some(self.id.clone()),
        };
        let _: UnRegisterNodeManagerResponseProto = self
            .tracker
            .call("unRegisterNodeManager", &request)
            .await
            .map_err(|e| e.to_string())?;
        Ok(())
    }
}

/// Distinguishes containers of one case.
fn number(id: &ContainerIdProto) -> u64 {
    let app = id
        .app_attempt_id
        .as_ref()
        .and_then(|attempt| attempt.application_id.as_ref())
        .map_or(0, ApplicationIdProto::id);
    let app = u64::try_from(app).unwrap_or(0);
    let container = u64::try_from(id.id()).unwrap_or(0);
    (app << 40) | (container & ((1 << 40) - 1))
}
