//! The client of ResourceTracker: carries out the core's registrations and heartbeats.
//! May touch: one connection to the ResourceManager, token keys, the inbox.
//! Must not: decide when to send, retry or give up (the core does).

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use hadoop_ipc::{
    client::{Auth, CallError, Client, ClientOptions},
    token::{MasterKey, parse},
};
use nm_core::{ContainerReport, Event, GpuList, Health, HeartbeatAnswer, NodeAction, ToRm};
use tokio::sync::mpsc::UnboundedReceiver;
use yarn_conf::HostPort;
use yarn_proto::{
    convert as ids, gpu,
    server::{
        MasterKeyProto, NodeActionProto, NodeHealthStatusProto, NodeHeartbeatRequestProto,
        NodeHeartbeatResponseProto, NodeStatusProto, RegisterNodeManagerRequestProto,
        RegisterNodeManagerResponseProto, UnRegisterNodeManagerRequestProto,
        UnRegisterNodeManagerResponseProto,
    },
    yarn::{ContainerProto, ResourceProto, ResourceUtilizationProto, SignalContainerCommandProto},
};
use yarn_types::{ApplicationId, NodeId, Resource, ResourceTypes};

use crate::{
    driver::Inbox, exec::monitor::Utilization, keys::TokenKeys, labels, monitor::SharedUsage,
    offer::Offer, rpc,
};

/// Name of the protocol on the wire.
pub const PROTOCOL: &str = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB";
/// Version that this node claims; ResourceManagers compare it with their minimum.
pub const VERSION: &str = "3.5.0";
/// Time for a goodbye.
const UNREGISTER_TIMEOUT: Duration = Duration::from_secs(3);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const CALL_TIMEOUT: Duration = Duration::from_mins(1);

/// What the tracker tells of this node.
#[derive(Debug)]
pub struct Facts {
    /// Id of the node.
    pub node: NodeId,
    /// Port of the web server.
    pub http_port: u16,
    /// What the node offers.
    pub offer: Offer,
    /// What the machine has.
    pub physical: Resource,
    /// Resource lanes.
    pub types: ResourceTypes,
    /// User on whose behalf the node calls.
    pub user: String,
    /// `yarn.nodemanager.resourcemanager.minimum.version`.
    pub rm_version_min: String,
}

/// The tracker's task.
#[derive(Debug)]
pub struct Tracker {
    /// What to tell.
    pub facts: Facts,
    /// Where ResourceManagers are; tried in turn.
    pub addresses: Vec<HostPort>,
    /// Keys to keep up to date.
    pub keys: Arc<TokenKeys>,
    /// The core.
    pub inbox: Inbox,
    /// What is used, for heartbeats.
    pub usage: SharedUsage,
    /// Told once the first registration is through.
    pub registered: Option<tokio::sync::oneshot::Sender<()>>,
}

/// An answer that is no answer.
#[derive(Debug, thiserror::Error)]
enum TrackerError {
    #[error("{address}: {source}")]
    Call { address: String, source: CallError },
    #[error("registration response of {address} lacks {field}")]
    Lacks {
        address: String,
        field: &'static str,
    },
}

impl Tracker {
    /// Does `work` in order until its sender is gone.
    pub async fn run(mut self, mut work: UnboundedReceiver<ToRm>) {
        let mut client: Option<Client> = None;
        let mut turn = 0;
        while let Some(work) = work.recv().await {
            let address = self.addresses[turn % self.addresses.len()].to_string();
            let done = self.carry_out(work, &mut client, &address).await;
            match done {
                Ok(event) => self.inbox.event(event),
                Err(e) => {
                    // A node that this ResourceManager does not serve may be served by the next.
                    turn = turn.wrapping_add(1);
                    client = None;
                    tracing::warn!(error = %e, "ResourceManager does not answer");
                    self.inbox.event(Event::RmUnreachable {
                        reason: e.to_string(),
                    });
                }
            }
        }
    }

    async fn carry_out(
        &mut self,
        work: ToRm,
        client: &mut Option<Client>,
        address: &str,
    ) -> Result<Event, TrackerError> {
        match work {
            ToRm::Register {
                containers,
                applications,
                health,
                gpus,
                labels,
            } => {
                let mut request = self.registration(&containers, &applications, &health);
                request.node_labels = labels.as_ref().map(labels::said_proto);
                self.add_devices(&mut request, gpus);
                let answer: RegisterNodeManagerResponseProto =
                    call(self, client, address, "registerNodeManager", &request).await?;
                if let Some(said) = &labels {
                    labels::on_registered(said, &answer);
                }
                let offered = request.resource.as_ref();
                let offered = offered.map(|r| ids::resource(r, &self.facts.types).resource);
                self.on_registered(answer, offered, address)
            }
            ToRm::Heartbeat {
                response_id,
                containers,
                increased,
                health,
                gpus,
                labels,
            } => {
                let mut request = self.heartbeat(response_id, &containers, &health);
                if let Some(status) = &mut request.node_status {
                    status.increased_containers = self.increased(&increased);
                }
                request.node_labels = labels.as_ref().map(labels::said_proto);
                request.heddle_gpus = gpus.map(|(seq, list)| gpu::changes_proto(seq, &list));
                let answer: NodeHeartbeatResponseProto =
                    call(self, client, address, "nodeHeartbeat", &request).await?;
                if let Some(said) = &labels {
                    labels::on_answered(said, &answer);
                }
                Ok(self.on_heartbeat(answer))
            }
            ToRm::Unregister => {
                let node_id = Some(ids::node_id_proto(&self.facts.node));
                let request = UnRegisterNodeManagerRequestProto { node_id };
                let goodbye = call::<_, UnRegisterNodeManagerResponseProto>(
                    self,
                    client,
                    address,
                    "unRegisterNodeManager",
                    &request,
                );
                match tokio::time::timeout(UNREGISTER_TIMEOUT, goodbye).await {
                    Ok(Ok(_)) => tracing::info!("unregistered from the ResourceManager"),
                    Ok(Err(e)) => tracing::warn!(error = %e, "not unregistered"),
                    Err(_) => tracing::warn!("not unregistered: no answer in time"),
                }
                Ok(Event::Unregistered)
            }
        }
    }

    fn registration(
        &self,
        containers: &[ContainerReport],
        applications: &[ApplicationId],
        health: &Health,
    ) -> RegisterNodeManagerRequestProto {
        let facts = &self.facts;
        RegisterNodeManagerRequestProto {
            node_id: Some(ids::node_id_proto(&facts.node)),
            http_port: Some(i32::from(facts.http_port)),
            resource: Some(ids::resource_proto(facts.offer.now(), &facts.types)),
            nm_version: Some(VERSION.to_owned()),
            container_statuses: containers
                .iter()
                .map(|c| rpc::nm_status(c, &facts.types))
                .collect(),
            running_applications: applications
                .iter()
                .copied()
                .map(ids::app_id_proto)
                .collect(),
            physical_resource: Some(ids::resource_proto(facts.physical, &facts.types)),
            node_status: Some(self.status(0, &[], health)),
            ..Default::default()
        }
    }

    /// The device list; and their number as an amount, for a ResourceManager that knows no list.
    fn add_devices(&self, request: &mut RegisterNodeManagerRequestProto, gpus: Option<GpuList>) {
        let Some(gpus) = gpus else { return };
        let types = &self.facts.types;
        if let Some(lane) = types.gpu_lane() {
            let amount = i64::try_from(gpus.usable).unwrap_or(i64::MAX);
            let amount = |total: Resource| {
                let scaled = amount.saturating_mul(types.scale(lane));
                ids::resource_proto(total.with(lane, scaled), types)
            };
            request.resource = Some(amount(self.facts.offer.now()));
            request.physical_resource = Some(amount(self.facts.physical));
        }
        request.heddle_gpus = Some(gpu::list_proto(gpus.seq, &gpus.devices));
    }

    fn heartbeat(
        &self,
        response_id: i32,
        containers: &[ContainerReport],
        health: &Health,
    ) -> NodeHeartbeatRequestProto {
        let (nm, container) = self.keys.current();
        NodeHeartbeatRequestProto {
            node_status: Some(self.status(response_id, containers, health)),
            last_known_container_token_master_key: container.as_ref().map(key_proto),
            last_known_nm_token_master_key: nm.as_ref().map(key_proto),
            ..Default::default()
        }
    }

    /// Larger containers, with what a ResourceManager reads of them.
    fn increased(&self, containers: &[ContainerReport]) -> Vec<ContainerProto> {
        let types = &self.facts.types;
        let one = |report: &ContainerReport| ContainerProto {
            id: Some(ids::container_id_proto(report.container)),
            resource: Some(ids::resource_proto(report.resource, types)),
            version: Some(report.version),
            execution_type: rpc::status(report, types).execution_type,
            ..Default::default()
        };
        containers.iter().map(one).collect()
    }

    fn status(
        &self,
        response_id: i32,
        containers: &[ContainerReport],
        health: &Health,
    ) -> NodeStatusProto {
        let usage = *self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let types = &self.facts.types;
        NodeStatusProto {
            node_id: Some(ids::node_id_proto(&self.facts.node)),
            response_id: Some(response_id),
            containers_statuses: containers.iter().map(|c| rpc::status(c, types)).collect(),
            node_health_status: Some(NodeHealthStatusProto {
                is_node_healthy: Some(health.healthy),
                health_report: Some(health.report.clone()),
                last_health_report_time: Some(health.checked_wall_ms),
            }),
            containers_utilization: Some(utilization(usage.containers)),
            node_utilization: Some(utilization(usage.node)),
            ..Default::default()
        }
    }

    fn on_registered(
        &mut self,
        answer: RegisterNodeManagerResponseProto,
        offered: Option<Resource>,
        address: &str,
    ) -> Result<Event, TrackerError> {
        if answer.node_action() == NodeActionProto::Shutdown {
            let diagnostics = answer.diagnostics_message.unwrap_or_default();
            return Ok(Event::RegistrationRefused { diagnostics });
        }
        if let Some(diagnostics) = version_fault(&self.facts.rm_version_min, answer.rm_version()) {
            return Ok(Event::RegistrationRefused { diagnostics });
        }
        let said = self.on_offer(answer.resource.as_ref());
        let total = said.or(offered);
        let total = total.unwrap_or_else(|| self.facts.offer.now());
        let lacks = |field| TrackerError::Lacks {
            address: address.to_owned(),
            field,
        };
        let rm_identifier = answer.rm_identifier.ok_or_else(|| lacks("rm_identifier"))?;
        let nm = answer
            .nm_token_master_key
            .ok_or_else(|| lacks("nm_token_master_key"))?;
        let container = answer
            .container_token_master_key
            .ok_or_else(|| lacks("container_token_master_key"))?;
        self.keys
            .set(Some(master_key(nm)), Some(master_key(container)));
        tracing::info!(
            node = %self.facts.node, rm_identifier, total = %self.facts.types.show(total),
            "registered with ResourceManager at {address}"
        );
        if let Some(registered) = self.registered.take() {
            let _ = registered.send(());
        }
        Ok(Event::Registered {
            rm_identifier,
            gpu_seq: answer.heddle_gpu_seq,
        })
    }

    /// The amounts that the ResourceManager says this node offers, where they are new.
    fn on_offer(&self, said: Option<&ResourceProto>) -> Option<Resource> {
        let said = ids::resource(said?, &self.facts.types).resource;
        let changed = self.facts.offer.replace(said)?;
        let shown = self.facts.types.show(changed);
        tracing::info!(total = %shown, "the ResourceManager changed what this node offers");
        Some(changed)
    }

    fn on_heartbeat(&self, answer: NodeHeartbeatResponseProto) -> Event {
        self.on_offer(answer.resource.as_ref());
        let action = match answer.node_action() {
            NodeActionProto::Normal => NodeAction::Normal,
            NodeActionProto::Resync => NodeAction::Resync,
            NodeActionProto::Shutdown => NodeAction::Shutdown,
        };
        if action != NodeAction::Normal {
            let why = answer.diagnostics_message();
            tracing::warn!(?action, why, "the ResourceManager wants something");
        }
        let signals = answer.containers_to_signal.iter().filter_map(|s| {
            let command = SignalContainerCommandProto::try_from(s.command).ok()?;
            Some((ids::container_id(&s.container_id)?, rpc::signal_of(command)))
        });
        let containers_to_signal = signals.collect();
        // As in Hadoop the ResourceManager's own word needs no signature.
        let tokens = answer.containers_to_update.iter();
        let tokens = tokens.filter_map(|c| parse(&c.container_token.as_ref()?.identifier).ok());
        let updates = tokens.filter_map(|said| rpc::update_spec(&said, &self.facts.types));
        let known = |list: &[_]| list.iter().filter_map(ids::container_id).collect();
        let event = HeartbeatAnswer {
            response_id: answer.response_id(),
            action,
            diagnostics: answer.diagnostics_message().to_owned(),
            next_interval_ms: answer.next_heart_beat_interval(),
            containers_to_cleanup: known(&answer.containers_to_cleanup),
            applications_to_cleanup: answer
                .applications_to_cleanup
                .iter()
                .filter_map(ids::app_id)
                .collect(),
            containers_to_be_removed: known(&answer.containers_to_be_removed_from_nm),
            containers_to_signal,
            containers_to_update: updates.collect(),
            gpu_seq: answer.heddle_gpu_seq,
        };
        self.keys.set(
            answer.nm_token_master_key.map(master_key),
            answer.container_token_master_key.map(master_key),
        );
        Event::HeartbeatAnswered(Box::new(event))
    }
}

/// One call over the open connection, or over a new one.
async fn call<Req, Resp>(
    tracker: &Tracker,
    client: &mut Option<Client>,
    address: &str,
    method: &str,
    request: &Req,
) -> Result<Resp, TrackerError>
where
    Req: prost::Message,
    Resp: prost::Message + Default,
{
    let failed = |source| TrackerError::Call {
        address: address.to_owned(),
        source,
    };
    let open = match client.take().filter(Client::is_open) {
        Some(open) => open,
        None => connect(address, &tracker.facts.user)
            .await
            .map_err(failed)?,
    };
    let answer = open.call(method, request).await.map_err(failed);
    *client = Some(open);
    answer
}

async fn connect(address: &str, user: &str) -> Result<Client, CallError> {
    let options = ClientOptions {
        connect_timeout: CONNECT_TIMEOUT,
        call_timeout: CALL_TIMEOUT,
        ..ClientOptions::default()
    };
    let auth = Auth::Simple {
        user: user.to_owned(),
    };
    Client::connect(address, PROTOCOL, auth, options).await
}

fn utilization(used: Utilization) -> ResourceUtilizationProto {
    ResourceUtilizationProto {
        pmem: Some(used.pmem_mb),
        vmem: Some(used.vmem_mb),
        cpu: Some(used.cpu_vcores),
        custom_resources: Vec::new(),
    }
}

fn key_proto(key: &MasterKey) -> MasterKeyProto {
    MasterKeyProto {
        key_id: Some(key.id),
        bytes: Some(key.bytes.clone()),
    }
}

fn master_key(proto: MasterKeyProto) -> MasterKey {
    MasterKey {
        id: proto.key_id(),
        bytes: proto.bytes.unwrap_or_default(),
    }
}

/// `NodeStatusUpdaterImpl.registerWithRM`: why a ResourceManager of version `rm` is too old.
fn version_fault(minimum: &str, rm: &str) -> Option<String> {
    let minimum = match minimum {
        "NONE" => return None,
        "EqualToNM" => VERSION,
        other => other,
    };
    if rm.is_empty() {
        return Some(format!(
            "The Resource Manager's did not return a version. Valid version cannot be checked, \
             {minimum} is wanted"
        ));
    }
    (numbers(rm) < numbers(minimum)).then(|| {
        format!(
            "Shutting down the Node Manager on RM version error, RM version {rm} is older than \
             {minimum}"
        )
    })
}

/// Leading numbers of a dotted version.
fn numbers(version: &str) -> Vec<u64> {
    version
        .split(['.', '-'])
        .map_while(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
#[path = "tracker_test.rs"]
mod tests;
