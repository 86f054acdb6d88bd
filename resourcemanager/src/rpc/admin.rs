//! ResourceManagerAdministrationProtocol: what an administrator has read again, groups of a user.
//! May touch: wire messages, the reload port, the account database.
//! Must not: apply half of a refresh (the core takes all or nothing).

pub(crate) mod labels;
mod nodes;

use std::{ffi::CString, sync::Arc};

use hadoop_ipc::server::RemoteException;
use prost::Message;
use rm_core::{
    CallId, Event, Reply,
    conf::SchedConf,
    event::{AdminRequest, HostLists, NodeOption},
};
use yarn_proto::yarn::{
    GetGroupsForUserRequestProto, GetGroupsForUserResponseProto, RefreshAdminAclsRequestProto,
    RefreshAdminAclsResponseProto, RefreshClusterMaxPriorityRequestProto,
    RefreshClusterMaxPriorityResponseProto, RefreshQueuesRequestProto, RefreshQueuesResponseProto,
    RefreshSuperUserGroupsConfigurationRequestProto,
    RefreshSuperUserGroupsConfigurationResponseProto, RefreshUserToGroupsMappingsRequestProto,
    RefreshUserToGroupsMappingsResponseProto,
};

use super::{Context, Incoming, Method, encoded, errors, finish, refuse};

/// Reads files again; blocking.
pub trait Reload: Send + Sync {
    /// capacity-scheduler.xml of the configuration directory.
    ///
    /// # Errors
    /// Why it cannot be used, as the administrator reads it.
    fn queues(&self) -> Result<SchedConf, String>;

    /// The host lists that the configuration names now.
    ///
    /// # Errors
    /// Why they cannot be read.
    fn hosts(&self) -> Result<HostLists, String>;

    /// `yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs`.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn graceful_timeout_s(&self) -> Result<i32, String>;

    /// What dynamic-resources.xml says of nodes; nothing without that file.
    ///
    /// # Errors
    /// Why it cannot be used.
    fn dynamic_resources(&self) -> Result<Vec<NodeOption>, String>;

    /// `yarn.cluster.max-application-priority`.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn max_priority(&self) -> Result<i32, String>;

    /// Whether the configuration can be read at all.
    ///
    /// # Errors
    /// Why not.
    fn readable(&self) -> Result<(), String>;
}

const fn row(name: &'static str, run: fn(&Arc<Context>, Incoming)) -> Method {
    Method { name, run }
}

pub(super) const METHODS: &[Method] = &[
    row("refreshQueues", refresh_queues),
    row("refreshNodes", nodes::refresh_nodes),
    row("getGroupsForUser", groups),
    row(
        "refreshSuperUserGroupsConfiguration",
        refresh_super_user_groups,
    ),
    row("refreshUserToGroupsMappings", refresh_user_to_groups),
    row("refreshAdminAcls", refresh_admin_acls),
    row("refreshServiceAcls", refresh_service_acls),
    row("updateNodeResource", nodes::update_node_resource),
    row("refreshNodesResources", nodes::refresh_nodes_resources),
    row("addToClusterNodeLabels", labels::add),
    row("removeFromClusterNodeLabels", labels::remove),
    row("replaceLabelsOnNodes", labels::replace),
    row(
        "checkForDecommissioningNodes",
        nodes::check_for_decommissioning_nodes,
    ),
    row("refreshClusterMaxPriority", refresh_max_priority),
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

/// Never an IOException: stock clients try those again for a quarter of an hour without a word.
fn not_refreshed(text: &str, what: &str) -> RemoteException {
    tracing::warn!(what, "not refreshed: {text}");
    errors::yarn(text)
}

/// A refresh: files are read off the connection's task, then the core takes all of it or nothing.
/// As in Hadoop everybody may ask for it while `yarn.acl.enable` is false.
fn from_files<M, R>(
    context: &Arc<Context>,
    incoming: Incoming,
    what: &'static str,
    make: impl FnOnce(&dyn Reload, M) -> Result<AdminRequest, String> + Send + 'static,
    done: impl FnOnce() -> R + Send + 'static,
) where
    M: Message + Default + Send + 'static,
    R: Message,
{
    off_task(
        context,
        incoming,
        what,
        make,
        |call, request| Event::Admin { call, request },
        done,
    );
}

/// [`from_files`] with any event.
fn off_task<M, Q, R>(
    context: &Arc<Context>,
    incoming: Incoming,
    what: &'static str,
    make: impl FnOnce(&dyn Reload, M) -> Result<Q, String> + Send + 'static,
    wrap: impl FnOnce(CallId, Q) -> Event + Send + 'static,
    done: impl FnOnce() -> R + Send + 'static,
) where
    M: Message + Default + Send + 'static,
    R: Message,
{
    let Incoming {
        call,
        reply,
        received,
        caller,
    } = incoming;
    let message: M = match call.decode() {
        Ok(message) => message,
        Err(e) => return reply.err(e),
    };
    let context = Arc::clone(context);
    context.runtime.clone().spawn_blocking(move || {
        let request = match make(&*context.reload, message) {
            Ok(request) => request,
            Err(text) => return reply.err(not_refreshed(&text, what)),
        };
        tracing::info!(user = caller.user, peer = %caller.peer, "{what} read again");
        context.driver.call(
            received,
            |id| wrap(id, request),
            move |answer| {
                let encode = |reply| matches!(reply, Reply::Done).then(done);
                finish(reply, encoded(&call.method, answer, encode));
            },
        );
    });
}

fn refresh_queues(context: &Arc<Context>, incoming: Incoming) {
    off_task(
        context,
        incoming,
        "queues",
        |reload, _: RefreshQueuesRequestProto| reload.queues().map(Box::new),
        |call, conf| Event::Reload { call, conf },
        || RefreshQueuesResponseProto {},
    );
}

fn refresh_max_priority(context: &Arc<Context>, incoming: Incoming) {
    from_files(
        context,
        incoming,
        "highest priority of applications",
        |reload, _: RefreshClusterMaxPriorityRequestProto| {
            reload.max_priority().map(AdminRequest::ClusterMaxPriority)
        },
        || RefreshClusterMaxPriorityResponseProto {},
    );
}

/// A refresh of something that is read whenever it is asked for: the files must be readable, and
/// nothing is kept of them.
fn nothing_kept<M, R>(context: &Arc<Context>, incoming: Incoming, what: &'static str, answer: R)
where
    M: Message + Default,
    R: Message + 'static,
{
    let Incoming {
        call,
        reply,
        caller,
        ..
    } = incoming;
    if let Err(e) = call.decode::<M>() {
        return reply.err(e);
    }
    let context = Arc::clone(context);
    context
        .runtime
        .clone()
        .spawn_blocking(move || match context.reload.readable() {
            Ok(()) => {
                tracing::info!(user = caller.user, peer = %caller.peer, "{what} refreshed");
                reply.ok(&answer);
            }
            Err(text) => reply.err(not_refreshed(&text, what)),
        });
}

/// Nobody acts for another here whatever `hadoop.proxyuser.*` says, so nothing has to be read anew.
fn refresh_super_user_groups(context: &Arc<Context>, incoming: Incoming) {
    nothing_kept::<RefreshSuperUserGroupsConfigurationRequestProto, _>(
        context,
        incoming,
        "super-user groups",
        RefreshSuperUserGroupsConfigurationResponseProto {},
    );
}

/// Groups are asked of the account database each time.
fn refresh_user_to_groups(context: &Arc<Context>, incoming: Incoming) {
    nothing_kept::<RefreshUserToGroupsMappingsRequestProto, _>(
        context,
        incoming,
        "user-to-groups mappings",
        RefreshUserToGroupsMappingsResponseProto {},
    );
}

/// `yarn.admin.acl` guards nothing while `yarn.acl.enable` is false.
fn refresh_admin_acls(context: &Arc<Context>, incoming: Incoming) {
    nothing_kept::<RefreshAdminAclsRequestProto, _>(
        context,
        incoming,
        "admin ACLs",
        RefreshAdminAclsResponseProto {},
    );
}

/// Service-level authorization is refused at start, so it is never enabled here.
fn refresh_service_acls(_: &Arc<Context>, incoming: Incoming) {
    refuse(
        incoming,
        errors::yarn(
            "java.io.IOException: Service Authorization (hadoop.security.authorization) not \
             enabled.",
        ),
    );
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
