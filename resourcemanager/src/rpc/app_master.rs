//! ApplicationMasterProtocol: register, allocate, finish. The attempt is the one that the connection's token names.
//! May touch: wire messages, tokens.
//! Must not: believe an attempt id from a request.

use std::sync::Arc;

use hadoop_ipc::{
    server::{Caller, RemoteException},
    token::parse,
};
use rm_core::{
    Event, Reply,
    effect::{Allocated, Completed, Grant, Registered, UpdateError},
    event::{Allocate, AmRequest, UpdateKind},
    view::NodeReport,
};
use yarn_conf::Calculator;
use yarn_proto::{
    convert::{self as wire, container_id_proto, node_id_proto, resource_proto},
    yarn::{
        AllocateRequestProto, AllocateResponseProto, AmrmTokenIdentifierProto, ContainerProto,
        ContainerStateProto, ContainerStatusProto, ExecutionTypeProto,
        FinishApplicationMasterRequestProto, FinishApplicationMasterResponseProto, NmTokenProto,
        NodeReportProto, NodeUpdateTypeProto, PreemptionContainerProto, PreemptionContractProto,
        PreemptionMessageProto, PreemptionResourceRequestProto,
        RegisterApplicationMasterRequestProto, RegisterApplicationMasterResponseProto,
        ResourceRequestProto, ResourceTypeInfoProto, ResourceTypesProto, SchedulerResourceTypes,
        UpdateContainerErrorProto, UpdateContainerRequestProto, UpdatedContainerProto,
    },
};
use yarn_types::{ApplicationAttemptId, ContainerId, FinalStatus, NodeState, ResourceTypes};

use super::{Context, Incoming, Method, client::reports, convert, errors, event};
use crate::{driver::wall_ms, submissions::Submitted};

pub(super) const METHODS: &[Method] = &[
    Method {
        name: "registerApplicationMaster",
        run: register,
    },
    Method {
        name: "allocate",
        run: allocate,
    },
    Method {
        name: "finishApplicationMaster",
        run: finish,
    },
];

/// Who calls, proven by the token of the connection.
#[derive(Clone, Copy)]
struct Am {
    attempt: ApplicationAttemptId,
    key_id: i32,
}

fn identity(caller: &Caller) -> Result<Am, RemoteException> {
    let unknown = || RemoteException::access_control("the caller has no AMRMToken");
    let identifier = caller.identifier.as_ref().ok_or_else(unknown)?;
    let token: AmrmTokenIdentifierProto = parse(identifier).map_err(|_| unknown())?;
    let attempt = token.app_attempt_id.as_ref().and_then(wire::attempt_id);
    Ok(Am {
        attempt: attempt.ok_or_else(unknown)?,
        key_id: token.key_id(),
    })
}

fn register(context: &Arc<Context>, incoming: Incoming) {
    let am = match identity(&incoming.caller) {
        Ok(am) => am,
        Err(e) => return super::refuse(incoming, e),
    };
    let make = |_: &Caller, m: RegisterApplicationMasterRequestProto| {
        if !m.placement_constraints.is_empty() {
            return Err(no_constraints(am.attempt));
        }
        Ok(AmRequest::Register {
            host: convert::bounded(m.host().to_owned(), "host")?,
            rpc_port: m.rpc_port(),
            tracking_url: convert::bounded(m.tracking_url().to_owned(), "tracking URL")?,
        })
    };
    let shared = Arc::clone(context);
    event(
        context,
        incoming,
        make,
        wrap(am),
        move |reply| match reply {
            Reply::Registered(registered) => {
                Some(registered_proto(&shared, am.attempt, &registered))
            }
            _ => None,
        },
    );
}

/// What stock says while `yarn.resourcemanager.placement-constraints.handler` is `disabled`.
fn no_constraints(attempt: ApplicationAttemptId) -> RemoteException {
    errors::yarn(format!(
        "Found non empty placement constraints map in RegisterApplicationMasterRequest for application={}, but the configured yarn.resourcemanager.placement-constraints.handler cannot handle placement constraints. Rejecting this registerApplicationMaster operation",
        attempt.app
    ))
}

fn wrap(am: Am) -> impl FnOnce(rm_core::CallId, AmRequest) -> Event {
    move |call, request| Event::Am {
        call,
        attempt: am.attempt,
        request,
    }
}

fn registered_proto(
    context: &Context,
    attempt: ApplicationAttemptId,
    registered: &Registered,
) -> RegisterApplicationMasterResponseProto {
    let types = context.spellings.of(attempt.app);
    let submitted = context.submissions.get(attempt.app);
    let acls = submitted.as_ref();
    let acls = acls.map(|s| s.context.application_ac_ls.clone());
    let user = submitted.as_ref().map_or("", |s| &s.user);
    let kept = &registered.from_previous_attempts;
    let container = |g: &Grant| ContainerProto {
        resource: Some(resource_proto(g.resource, &types)),
        ..container_proto(context, g, user, submitted.as_deref())
    };
    let nm_token = |node: &yarn_types::NodeId| nm_token(context, attempt, node, user);
    let mut counted = vec![SchedulerResourceTypes::Memory as i32];
    if context.calculator == Calculator::Dominant {
        counted.push(SchedulerResourceTypes::Cpu as i32);
    }
    RegisterApplicationMasterResponseProto {
        maximum_capability: Some(resource_proto(registered.maximum_capability, &types)),
        client_to_am_token_master_key: context.auth.client_to_am_key(attempt),
        application_ac_ls: acls.unwrap_or_default(),
        queue: Some(registered.queue.clone()),
        scheduler_resource_types: counted,
        resource_types: resource_types(&types),
        containers_from_previous_attempts: kept.iter().map(container).collect(),
        nm_tokens_from_previous_attempts: registered.nm_tokens.iter().map(nm_token).collect(),
        ..Default::default()
    }
}

/// The configured types as `getResourceTypeInfo` and the register response list them.
pub(super) fn resource_types(types: &ResourceTypes) -> Vec<ResourceTypeInfoProto> {
    let info = |t: &yarn_types::ResourceType| ResourceTypeInfoProto {
        name: t.name.clone(),
        units: Some(t.units.clone()),
        r#type: Some(ResourceTypesProto::Countable as i32),
    };
    types.iter().map(info).collect()
}

fn allocate(context: &Arc<Context>, incoming: Incoming) {
    let am = match identity(&incoming.caller) {
        Ok(am) => am,
        Err(e) => return super::refuse(incoming, e),
    };
    // Refused updates are named with the request they came in.
    let decoded: Result<AllocateRequestProto, _> = incoming.call.decode();
    let updates = decoded.map(|m| m.update_requests).unwrap_or_default();
    let make = |_: &Caller, m| allocate_request(context, am, m);
    let shared = Arc::clone(context);
    event(
        context,
        incoming,
        make,
        wrap(am),
        move |reply| match reply {
            Reply::Allocated(allocated) => {
                let answer = allocated_proto(&shared, am, &allocated, &updates);
                // An attempt that ended in the same batch never asks again.
                if shared.auth.is_live(am.attempt) {
                    shared.replays.allocated(am.attempt, &answer);
                }
                Some(answer)
            }
            Reply::AllocatedAgain => shared.replays.allocate(am.attempt),
            _ => None,
        },
    );
}

fn allocate_request(
    context: &Context,
    am: Am,
    m: AllocateRequestProto,
) -> Result<AmRequest, RemoteException> {
    let asked = m.ask.iter().filter_map(|ask| ask.capability.as_ref());
    let wanted = m.update_requests.iter();
    let wanted = wanted.filter_map(|update| update.capability.as_ref());
    for capability in asked.chain(wanted) {
        context.spellings.sent(am.attempt.app, capability);
    }
    let blacklist = m.blacklist_request.unwrap_or_default();
    let asks = m.ask.iter().map(|ask| convert::ask(ask, &context.types));
    let releases = m.release.iter().map(|id| convert::container_id(Some(id)));
    let updates = m.update_requests.iter();
    let updates = updates.map(|update| convert::update(update, &context.types));
    Ok(AmRequest::Allocate(Box::new(Allocate {
        response_id: m.response_id.unwrap_or(0),
        progress: m.progress.unwrap_or(0.0),
        asks: asks.collect::<Result<_, _>>()?,
        releases: releases.collect::<Result<_, _>>()?,
        blacklist_additions: convert::places(blacklist.blacklist_additions)?,
        blacklist_removals: convert::places(blacklist.blacklist_removals)?,
        updates: updates.collect::<Result<_, RemoteException>>()?,
        scheduling_requests: !m.scheduling_requests.is_empty(),
        tracking_url: m
            .tracking_url
            .map(|url| convert::bounded(url, "tracking URL"))
            .transpose()?,
    })))
}

fn allocated_proto(
    context: &Context,
    am: Am,
    allocated: &Allocated,
    updates: &[UpdateContainerRequestProto],
) -> AllocateResponseProto {
    let submitted = context.submissions.get(am.attempt.app);
    let user = submitted.as_ref().map_or("", |s| &s.user);
    let renewed = context.auth.renewed_amrm_token(am.attempt, am.key_id);
    let types = context.spellings.of(am.attempt.app);
    let grant = |g: &Grant| ContainerProto {
        resource: Some(resource_proto(g.resource, &types)),
        ..container_proto(context, g, user, submitted.as_deref())
    };
    let nm_token = |node: &yarn_types::NodeId| nm_token(context, am.attempt, node, user);
    let updated = |(kind, g): &(UpdateKind, Grant)| UpdatedContainerProto {
        update_type: convert::update_kind(*kind),
        container: grant(g),
    };
    let completed = |c: &Completed| completed_proto(&types, c);
    AllocateResponseProto {
        response_id: Some(allocated.response_id),
        allocated_containers: allocated.grants.iter().map(grant).collect(),
        completed_container_statuses: allocated.completed.iter().map(completed).collect(),
        limit: Some(resource_proto(allocated.limit, &types)),
        updated_nodes: allocated
            .updated_nodes
            .iter()
            .map(|node| node_update_proto(context, node))
            .collect(),
        num_cluster_nodes: Some(allocated.num_cluster_nodes),
        nm_tokens: allocated.nm_tokens.iter().map(nm_token).collect(),
        am_rm_token: renewed.map(Into::into),
        preempt: preemption(context, allocated),
        application_priority: Some(convert::priority(allocated.application_priority)),
        updated_containers: allocated.updated.iter().map(updated).collect(),
        update_errors: update_errors(allocated, updates),
        ..Default::default()
    }
}

fn nm_token(
    context: &Context,
    attempt: ApplicationAttemptId,
    node: &yarn_types::NodeId,
    user: &str,
) -> NmTokenProto {
    NmTokenProto {
        node_id: Some(node_id_proto(node)),
        token: Some(context.auth.nm_token(attempt, node, user).into()),
    }
}

/// Containers that will be taken unless the ApplicationMaster gives back as much
/// (`DefaultAMSProcessor.generatePreemptionMessage`).
fn preemption(context: &Context, allocated: &Allocated) -> Option<PreemptionMessageProto> {
    let containers = &allocated.preempting;
    if containers.is_empty() {
        return None;
    }
    let container = |id: &ContainerId| PreemptionContainerProto {
        id: Some(container_id_proto(*id)),
    };
    let smallest = context.types.minimum_allocation();
    let ask = ResourceRequestProto {
        priority: Some(convert::priority(-1)),
        resource_name: Some("*".to_owned()),
        capability: Some(resource_proto(smallest, &context.types)),
        num_containers: Some(allocated.preempting_units),
        relax_locality: Some(true),
        ..Default::default()
    };
    Some(PreemptionMessageProto {
        strict_contract: None,
        contract: Some(PreemptionContractProto {
            resource: vec![PreemptionResourceRequestProto {
                resource: Some(ask),
            }],
            container: containers.iter().map(container).collect(),
        }),
    })
}

pub(super) fn container_proto(
    context: &Context,
    grant: &Grant,
    user: &str,
    submitted: Option<&Submitted>,
) -> ContainerProto {
    let log_aggregation = submitted.and_then(|s| s.log_aggregation.clone());
    let token = context
        .auth
        .container_token(grant, user, log_aggregation, wall_ms());
    ContainerProto {
        id: Some(container_id_proto(grant.container)),
        node_id: Some(node_id_proto(&grant.node)),
        node_http_address: Some(grant.node_http_address.clone()),
        priority: Some(convert::priority(grant.priority)),
        container_token: Some(token.into()),
        execution_type: Some(ExecutionTypeProto::Guaranteed as i32),
        allocation_request_id: Some(grant.allocation_request_id),
        version: Some(grant.version),
        ..Default::default()
    }
}

fn completed_proto(types: &ResourceTypes, c: &Completed) -> ContainerStatusProto {
    ContainerStatusProto {
        container_id: Some(container_id_proto(c.container)),
        state: Some(ContainerStateProto::CComplete as i32),
        diagnostics: Some(c.diagnostics.clone()),
        exit_status: Some(c.exit_status),
        capability: Some(resource_proto(c.resource, types)),
        execution_type: Some(ExecutionTypeProto::Guaranteed as i32),
        ..Default::default()
    }
}

/// A node that changed, as `DefaultAMSProcessor.handleNodeUpdates` reports it.
fn node_update_proto(context: &Context, node: &NodeReport) -> NodeReportProto {
    let kind = match node.state {
        NodeState::New | NodeState::Running => NodeUpdateTypeProto::NodeUsable,
        NodeState::Decommissioning => NodeUpdateTypeProto::NodeDecommissioning,
        _ => NodeUpdateTypeProto::NodeUnusable,
    };
    NodeReportProto {
        node_update_type: Some(kind as i32),
        containers_utilization: None,
        node_utilization: None,
        ..reports::node(context, node)
    }
}

fn update_errors(
    allocated: &Allocated,
    updates: &[UpdateContainerRequestProto],
) -> Vec<UpdateContainerErrorProto> {
    let error = |e: &UpdateError| UpdateContainerErrorProto {
        reason: Some(e.reason.to_string()),
        update_request: updates.get(e.at).cloned(),
        current_container_version: Some(e.version),
    };
    allocated.update_errors.iter().map(error).collect()
}

fn finish(context: &Arc<Context>, incoming: Incoming) {
    let am = match identity(&incoming.caller) {
        Ok(am) => am,
        Err(e) => return super::refuse(incoming, e),
    };
    let make = |_: &Caller, m: FinishApplicationMasterRequestProto| {
        let status = m.final_application_status.map(wire::final_status);
        if status == Some(None) {
            return Err(errors::yarn("the final application status is unknown"));
        }
        Ok(AmRequest::Finish {
            status: status.flatten().unwrap_or(FinalStatus::Undefined),
            diagnostics: convert::capped(m.diagnostics().to_owned()),
            tracking_url: convert::bounded(m.tracking_url().to_owned(), "tracking URL")?,
        })
    };
    event(context, incoming, make, wrap(am), |reply| match reply {
        Reply::Unregistered(done) => Some(FinishApplicationMasterResponseProto {
            is_unregistered: Some(done),
        }),
        _ => None,
    });
}
