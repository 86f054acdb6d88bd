//! ResourceManagerAdministrationProtocol: refresh of queues and nodes, groups of a user.
//! May touch: wire messages, the reload port, the account database.
//! Must not: apply half of a refresh (the core takes all or nothing).

use std::{ffi::CString, sync::Arc};

use hadoop_ipc::server::RemoteException;
use rm_core::{Event, Reply, conf::QueuesConf, event::HostLists};
use yarn_proto::yarn::{
    DecommissionTypeProto, GetGroupsForUserRequestProto, GetGroupsForUserResponseProto,
    RefreshNodesRequestProto, RefreshNodesResponseProto, RefreshQueuesRequestProto,
    RefreshQueuesResponseProto,
};

use super::{Context, Incoming, Method, encoded, errors, finish, refuse};

/// Reads files again; blocking.
pub trait Reload: Send + Sync {
    /// capacity-scheduler.xml of the configuration directory.
    ///
    /// # Errors
    /// Why it cannot be used, as the administrator reads it.
    fn queues(&self) -> Result<QueuesConf, String>;

    /// The host lists that the configuration names now.
    ///
    /// # Errors
    /// Why they cannot be read.
    fn hosts(&self) -> Result<HostLists, String>;
}

const fn row(name: &'static str, run: fn(&Arc<Context>, Incoming)) -> Method {
    Method { name, run }
}

pub(super) const METHODS: &[Method] = &[
    row("refreshQueues", refresh_queues),
    row("refreshNodes", refresh_nodes),
    row("getGroupsForUser", groups),
    row("refreshSuperUserGroupsConfiguration", not_built),
    row("refreshUserToGroupsMappings", not_built),
    row("refreshAdminAcls", not_built),
    row("refreshServiceAcls", not_built),
    row("updateNodeResource", not_built),
    row("refreshNodesResources", not_built),
    row("addToClusterNodeLabels", no_labels),
    row("removeFromClusterNodeLabels", no_labels),
    row("replaceLabelsOnNodes", no_labels),
    row("checkForDecommissioningNodes", not_built),
    row("refreshClusterMaxPriority", not_built),
    row("mapAttributesToNodes", not_built),
    row("deregisterSubCluster", not_built),
    row("saveFederationQueuePolicy", not_built),
    row("batchSaveFederationQueuePolicies", not_built),
    row("listFederationQueuePolicies", not_built),
    row("deleteFederationApplication", not_built),
    row("getFederationSubClusters", not_built),
    row("deleteFederationPoliciesByQueues", not_built),
];

fn not_built(_: &Arc<Context>, incoming: Incoming) {
    let e = errors::not_enabled(&incoming.call.method);
    refuse(incoming, e);
}

/// What stock says while `yarn.node-labels.enabled` is false.
fn no_labels(_: &Arc<Context>, incoming: Incoming) {
    let text = "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled";
    refuse(incoming, errors::yarn(text));
}

/// Never an IOException: stock clients try those again for a quarter of an hour without a word.
fn not_refreshed(text: &str, what: &str) -> RemoteException {
    tracing::warn!(what, "not refreshed: {text}");
    errors::yarn(text)
}

fn refresh_queues(context: &Arc<Context>, incoming: Incoming) {
    let Incoming {
        call,
        reply,
        received,
        caller,
    } = incoming;
    if let Err(e) = call.decode::<RefreshQueuesRequestProto>() {
        return reply.err(e);
    }
    let context = Arc::clone(context);
    context.runtime.clone().spawn_blocking(move || {
        let queues = match context.reload.queues() {
            Ok(queues) => Box::new(queues),
            Err(text) => return reply.err(not_refreshed(&text, "queues")),
        };
        tracing::info!(user = caller.user, peer = %caller.peer, "queues read again");
        context.driver.call(
            received,
            |call| Event::Reload { call, queues },
            move |answer| {
                let encode = |reply| match reply {
                    Reply::Done => Some(RefreshQueuesResponseProto {}),
                    _ => None,
                };
                finish(reply, encoded(&call.method, answer, encode));
            },
        );
    });
}

fn refresh_nodes(context: &Arc<Context>, incoming: Incoming) {
    let Incoming {
        call,
        reply,
        caller,
        ..
    } = incoming;
    match call.decode::<RefreshNodesRequestProto>() {
        Ok(m) if m.decommission_type() == DecommissionTypeProto::Normal => {}
        Ok(_) => return reply.err(errors::not_enabled("graceful decommission")),
        Err(e) => return reply.err(e),
    }
    let context = Arc::clone(context);
    context.runtime.clone().spawn_blocking(move || {
        let hosts = match context.reload.hosts() {
            Ok(hosts) => hosts,
            Err(text) => return reply.err(not_refreshed(&text, "nodes")),
        };
        tracing::info!(user = caller.user, peer = %caller.peer, "nodes refreshed");
        context.driver.tell(Event::Hosts(hosts));
        // Answered once the lists are in force.
        context.driver.read(move |rm| match rm {
            Some(_) => reply.ok(&RefreshNodesResponseProto {}),
            None => reply.err(errors::busy()),
        });
    });
}

fn groups(context: &Arc<Context>, incoming: Incoming) {
    let decoded = incoming.call.decode::<GetGroupsForUserRequestProto>();
    let reply = incoming.reply;
    match decoded {
        Ok(m) => {
            // The account database may be across the network.
            context.runtime.spawn_blocking(move || {
                reply.ok(&GetGroupsForUserResponseProto {
                    groups: groups_of(&m.user),
                });
            });
        }
        Err(e) => reply.err(e),
    }
}

/// Groups of a local account, the primary one first; none for a user that is not here.
fn groups_of(user: &str) -> Vec<String> {
    let account = nix::unistd::User::from_name(user).ok().flatten();
    let (Some(account), Ok(name)) = (account, CString::new(user)) else {
        return Vec::new();
    };
    let ids = nix::unistd::getgrouplist(&name, account.gid).unwrap_or_default();
    let names = ids.into_iter().filter_map(|id| {
        let group = nix::unistd::Group::from_gid(id).ok().flatten();
        group.map(|g| g.name)
    });
    names.collect()
}
