//! ResourceTracker: registrations and heartbeats of NodeManagers.
//! May touch: wire messages, keys for nodes, racks.
//! Must not: keep state of a node (the core does), but for the last answer.

use std::{collections::BTreeSet, sync::Arc};

use hadoop_ipc::server::{Caller, RemoteException};
use rm_core::{
    Event, Reply,
    effect::{Grant, HeartbeatReply, NodeAction},
    event::{Heartbeat, NodeRegistration, NodeRequest, SignalCommand, UpdateKind},
};
use yarn_proto::{
    convert::{app_id, app_id_proto, container_id_proto, resource, resource_proto},
    gpu,
    server::{
        MasterKeyProto, NodeActionProto, NodeHeartbeatRequestProto, NodeHeartbeatResponseProto,
        NodeLabelsProto, RegisterNodeManagerRequestProto, RegisterNodeManagerResponseProto,
        UnRegisterNodeManagerRequestProto, UnRegisterNodeManagerResponseProto,
    },
    yarn::{ContainerProto, SignalContainerCommandProto, SignalContainerRequestProto},
};

use super::{
    Context, HADOOP_VERSION, Incoming, Method, app_master::container_proto, convert, encoded,
    event, finish,
};
use crate::{labels, topology::DEFAULT_RACK};

pub(super) const METHODS: &[Method] = &[
    Method {
        name: "registerNodeManager",
        run: register,
    },
    Method {
        name: "nodeHeartbeat",
        run: heartbeat,
    },
    Method {
        name: "unRegisterNodeManager",
        run: unregister,
    },
];

fn wrap(call: rm_core::CallId, request: NodeRequest) -> Event {
    Event::Node { call, request }
}

fn action_proto(action: NodeAction) -> i32 {
    match action {
        NodeAction::Normal => NodeActionProto::Normal as i32,
        NodeAction::Resync => NodeActionProto::Resync as i32,
        NodeAction::Shutdown => NodeActionProto::Shutdown as i32,
    }
}

/// The rack is asked for first, off the connection's task: a topology script may take its time.
fn register(context: &Arc<Context>, incoming: Incoming) {
    let decoded = incoming
        .call
        .decode()
        .and_then(|m| registration(context, &m));
    let mut registration = match decoded {
        Ok(registration) => registration,
        Err(e) => return incoming.reply.err(e),
    };
    let context = Arc::clone(context);
    context.runtime.clone().spawn(async move {
        registration.rack = context.topology.rack(&registration.node.host).await;
        let node = registration.node.clone();
        let request = NodeRequest::Register(Box::new(registration));
        let shared = Arc::clone(&context);
        let Incoming {
            call,
            reply,
            received,
            ..
        } = incoming;
        context.driver.call(
            received,
            |id| wrap(id, request),
            move |answer| {
                shared.replays.forget_node(&node);
                let encode = |reply| match reply {
                    Reply::NodeRegistered {
                        action,
                        diagnostics,
                        resource,
                        gpu_seq,
                        labels_accepted,
                    } => Some(RegisterNodeManagerResponseProto {
                        are_node_labels_accepted_by_rm: Some(labels_accepted),
                        heddle_gpu_seq: gpu_seq,
                        resource: resource.map(|r| resource_proto(r, &shared.types)),
                        ..registered_proto(&shared, action, diagnostics)
                    }),
                    _ => None,
                };
                finish(reply, encoded(&call.method, answer, encode));
            },
        );
    });
}

fn registration(
    context: &Context,
    m: &RegisterNodeManagerRequestProto,
) -> Result<NodeRegistration, RemoteException> {
    let types = &context.types;
    let statuses = m.container_statuses.iter();
    let statuses = statuses.map(|s| convert::container_recovered(s, types));
    let apps = m.running_applications.iter();
    let health = m.node_status.as_ref();
    let health = health.and_then(|s| s.node_health_status.as_ref());
    let http_port = m.http_port.and_then(|port| u16::try_from(port).ok());
    Ok(NodeRegistration {
        node: convert::node_id(m.node_id.as_ref())?,
        http_port: http_port.ok_or_else(|| convert::missing("http port"))?,
        rack: DEFAULT_RACK.into(),
        // Types that only the node knows do not count here.
        total: m
            .resource
            .as_ref()
            .map_or_else(Default::default, |r| resource(r, types).resource),
        version: convert::bounded(m.nm_version().to_owned(), "version")?,
        containers: statuses.collect::<Result<_, _>>()?,
        running_apps: apps.filter_map(app_id).collect(),
        health: health.map(|h| convert::health(Some(h))),
        labels: said_labels(context, m.node_labels.as_ref()),
        gpus: convert::gpus(m.heddle_gpus.as_ref().map(gpu::list))?,
    })
}

/// Nodes are asked for their labels where those are distributed, and not heard elsewhere.
fn said_labels(context: &Context, said: Option<&NodeLabelsProto>) -> Option<BTreeSet<Arc<str>>> {
    labels::said(said.filter(|_| context.labels_are_distributed()))
}

fn registered_proto(
    context: &Context,
    action: NodeAction,
    diagnostics: String,
) -> RegisterNodeManagerResponseProto {
    let keys = (action == NodeAction::Normal).then(|| context.auth.current_node_keys());
    RegisterNodeManagerResponseProto {
        container_token_master_key: keys.as_ref().map(|k| (&k.container).into()),
        nm_token_master_key: keys.as_ref().map(|k| (&k.nm).into()),
        node_action: Some(action_proto(action)),
        rm_identifier: Some(context.auth.rm_identifier()),
        diagnostics_message: (!diagnostics.is_empty()).then_some(diagnostics),
        rm_version: Some(HADOOP_VERSION.to_owned()),
        are_node_labels_accepted_by_rm: Some(false),
        are_node_attributes_accepted_by_rm: Some(false),
        ..Default::default()
    }
}

/// Ids of the keys that a node has.
#[derive(Clone, Copy)]
struct KnownKeys {
    container: Option<i32>,
    nm: Option<i32>,
}

fn heartbeat(context: &Arc<Context>, incoming: Incoming) {
    let decoded: Result<NodeHeartbeatRequestProto, _> = incoming.call.decode();
    let request = match decoded {
        Ok(request) => request,
        Err(e) => return incoming.reply.err(e),
    };
    let id = |key: &Option<MasterKeyProto>| key.as_ref().map(MasterKeyProto::key_id);
    let known = KnownKeys {
        container: id(&request.last_known_container_token_master_key),
        nm: id(&request.last_known_nm_token_master_key),
    };
    let heartbeat = match heartbeat_request(context, request) {
        Ok(heartbeat) => heartbeat,
        Err(e) => return incoming.reply.err(e),
    };
    let node = heartbeat.node.clone();
    let request = NodeRequest::Heartbeat(Box::new(heartbeat));
    let shared = Arc::clone(context);
    let Incoming {
        call,
        reply,
        received,
        ..
    } = incoming;
    context.driver.call(
        received,
        |id| wrap(id, request),
        move |answer| {
            let encode = |reply| match reply {
                Reply::Heartbeat(beat) => {
                    let answer = heartbeat_proto(&shared, *beat, known);
                    shared.replays.heartbeat_answered(&node, &answer);
                    Some(answer)
                }
                Reply::HeartbeatAgain => shared.replays.heartbeat(&node),
                _ => None,
            };
            finish(reply, encoded(&call.method, answer, encode));
        },
    );
}

fn heartbeat_request(
    context: &Context,
    m: NodeHeartbeatRequestProto,
) -> Result<Heartbeat, RemoteException> {
    let status = m
        .node_status
        .ok_or_else(|| convert::missing("node status"))?;
    let containers = status.containers_statuses.iter();
    let containers = containers.map(|s| convert::container_status(s, &context.types));
    let increased = status.increased_containers.iter().map(|c| {
        let size = c.resource.as_ref();
        let size = size.map(|r| resource(r, &context.types).resource);
        Ok((
            convert::container_id(c.id.as_ref())?,
            size.unwrap_or_default(),
        ))
    });
    Ok(Heartbeat {
        increased: increased.collect::<Result<_, RemoteException>>()?,
        node: convert::node_id(status.node_id.as_ref())?,
        response_id: status.response_id(),
        containers: containers.collect::<Result<_, _>>()?,
        health: convert::health(status.node_health_status.as_ref()),
        labels: said_labels(context, m.node_labels.as_ref()),
        gpus: convert::gpus(m.heddle_gpus.as_ref().map(gpu::changes))?,
    })
}

fn heartbeat_proto(
    context: &Context,
    beat: HeartbeatReply,
    known: KnownKeys,
) -> NodeHeartbeatResponseProto {
    let keys = context.auth.newest_node_keys();
    let container = (known.container != Some(keys.container.id)).then_some(&keys.container);
    let nm = (known.nm != Some(keys.nm.id)).then_some(&keys.nm);
    let normal = beat.action == NodeAction::Normal;
    let signal = |(id, command): (_, SignalCommand)| SignalContainerRequestProto {
        container_id: container_id_proto(id),
        command: command_proto(command),
    };
    let (to_update, to_decrease) = sizes_proto(context, &beat.containers_to_update);
    let containers = |ids: Vec<_>| ids.into_iter().map(container_id_proto).collect();
    NodeHeartbeatResponseProto {
        response_id: Some(beat.response_id),
        container_token_master_key: container.filter(|_| normal).map(Into::into),
        nm_token_master_key: nm.filter(|_| normal).map(Into::into),
        node_action: Some(action_proto(beat.action)),
        containers_to_cleanup: containers(beat.containers_to_cleanup),
        applications_to_cleanup: beat
            .applications_to_cleanup
            .into_iter()
            .map(app_id_proto)
            .collect(),
        next_heart_beat_interval: Some(context.heartbeat_interval_ms),
        diagnostics_message: (!beat.diagnostics.is_empty()).then_some(beat.diagnostics),
        containers_to_be_removed_from_nm: containers(beat.containers_to_be_removed),
        containers_to_update: to_update,
        containers_to_decrease: to_decrease,
        containers_to_signal: beat.containers_to_signal.into_iter().map(signal).collect(),
        resource: beat.resource.map(|r| resource_proto(r, &context.types)),
        heddle_gpu_seq: beat.gpu_seq,
        are_node_labels_accepted_by_rm: beat.labels_accepted.then_some(true),
        ..Default::default()
    }
}

/// Containers that get another size, and those among them that shrink: nodes before Hadoop 3 look
/// into that list.
fn sizes_proto(
    context: &Context,
    updates: &[(UpdateKind, Grant)],
) -> (Vec<ContainerProto>, Vec<ContainerProto>) {
    let (mut all, mut smaller) = (Vec::new(), Vec::new());
    for (kind, grant) in updates {
        let submitted = context.submissions.get(grant.container.app());
        let user = submitted.as_ref().map_or("", |s| &s.user);
        let container = ContainerProto {
            resource: Some(resource_proto(grant.resource, &context.types)),
            ..container_proto(context, grant, user, submitted.as_deref())
        };
        if *kind == UpdateKind::Decrease {
            smaller.push(container.clone());
        }
        all.push(container);
    }
    (all, smaller)
}

fn command_proto(command: SignalCommand) -> i32 {
    match command {
        SignalCommand::OutputThreadDump => SignalContainerCommandProto::OutputThreadDump as i32,
        SignalCommand::GracefulShutdown => SignalContainerCommandProto::GracefulShutdown as i32,
        SignalCommand::ForcefulShutdown => SignalContainerCommandProto::ForcefulShutdown as i32,
    }
}

fn unregister(context: &Arc<Context>, incoming: Incoming) {
    let make = |_: &Caller, m: UnRegisterNodeManagerRequestProto| {
        let node = convert::node_id(m.node_id.as_ref())?;
        Ok(NodeRequest::Unregister { node })
    };
    event(context, incoming, make, wrap, |reply| match reply {
        Reply::Done => Some(UnRegisterNodeManagerResponseProto {}),
        _ => None,
    });
}
