//! ResourceManagerAdministrationProtocol: what an administrator has read again, groups of a user.
//! May touch: wire messages, the reload port, the account database.
//! Must not: apply half of a refresh (the core takes all or nothing).

pub(crate) mod labels;
mod nodes;

use std::{
    sync::{Arc, mpsc},
    time::SystemTime,
};

use hadoop_ipc::server::RemoteException;
use prost::Message;
use rm_core::{
    CallId, Event, Reply,
    acl::AccessList,
    conf::{SchedConf, Standing},
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

use super::{Context, Incoming, Method, encoded, errors, finish, guard::administrator, refuse};
use crate::groups::groups_of;

/// Reads files again; blocking.
pub trait Reload: Send + Sync {
    /// capacity-scheduler.xml of the configuration directory, for a scheduler with `standing`.
    ///
    /// # Errors
    /// Why it cannot be used, as the administrator reads it.
    fn queues(&self, standing: &Standing) -> Result<SchedConf, String>;

    /// When capacity-scheduler.xml was written; none where there is no such file.
    fn queues_changed_at(&self) -> Option<SystemTime>;

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

    /// `yarn.admin.acl` as it is now, with the account of this process.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn admins(&self) -> Result<AccessList, String>;

    /// Whether the configuration can be read at all.
    ///
    /// # Errors
    /// Why not.
    fn readable(&self) -> Result<(), String>;
}

const fn row(name: &'static str, run: fn(&Arc<Context>, Incoming)) -> Method {
    Method { name, run }
}

/// Rows that only administrators may call: what stock calls the operation, and what does it.
macro_rules! admin {
    ($name:literal, $operation:literal, $run:path) => {
        row($name, |context, incoming| {
            administrator(context, incoming, $operation, $run)
        })
    };
    ($name:literal, $run:path) => {
        admin!($name, $name, $run)
    };
}

pub(super) const METHODS: &[Method] = &[
    admin!("refreshQueues", refresh_queues),
    admin!("refreshNodes", nodes::refresh_nodes),
    row("getGroupsForUser", groups),
    admin!(
        "refreshSuperUserGroupsConfiguration",
        refresh_super_user_groups
    ),
    admin!("refreshUserToGroupsMappings", refresh_user_to_groups),
    admin!("refreshAdminAcls", refresh_admin_acls),
    row("refreshServiceAcls", refresh_service_acls),
    admin!("updateNodeResource", nodes::update_node_resource),
    admin!("refreshNodesResources", nodes::refresh_nodes_resources),
    admin!("addToClusterNodeLabels", labels::add),
    admin!("removeFromClusterNodeLabels", labels::remove),
    admin!(
        "replaceLabelsOnNodes",
        "replaceLabelsOnNode",
        labels::replace
    ),
    admin!(
        "checkForDecommissioningNodes",
        nodes::check_for_decommissioning_nodes
    ),
    admin!("refreshClusterMaxPriority", refresh_max_priority),
    admin!("mapAttributesToNodes", not_built),
    admin!("deregisterSubCluster", not_built),
    admin!("saveFederationQueuePolicy", not_built),
    admin!("batchSaveFederationQueuePolicies", not_built),
    admin!("listFederationQueuePolicies", not_built),
    admin!("deleteFederationApplication", not_built),
    admin!("getFederationSubClusters", not_built),
    admin!("deleteFederationPoliciesByQueues", not_built),
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
    let driver = context.driver.clone();
    off_task(
        context,
        incoming,
        "queues",
        move |reload, _: RefreshQueuesRequestProto| {
            let (tell, told) = mpsc::channel();
            driver.read(move |rm| {
                // the reader waits for exactly this
                let _ = tell.send(rm.map(|rm| rm.sched().standing()));
            });
            let standing = told.recv().ok().flatten();
            let standing = standing.ok_or("ResourceManager is too busy")?;
            reload.queues(&standing).map(Box::new)
        },
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

/// `yarn.admin.acl`, from the files as they are now.
fn refresh_admin_acls(context: &Arc<Context>, incoming: Incoming) {
    let Incoming {
        call,
        reply,
        caller,
        ..
    } = incoming;
    if let Err(e) = call.decode::<RefreshAdminAclsRequestProto>() {
        return reply.err(e);
    }
    let context = Arc::clone(context);
    context
        .runtime
        .clone()
        .spawn_blocking(move || match context.reload.admins() {
            Ok(list) => {
                tracing::info!(user = caller.user, peer = %caller.peer, admins = %list, "admin ACLs refreshed");
                context.acls.replace_admins(list);
                reply.ok(&RefreshAdminAclsResponseProto {});
            }
            Err(text) => reply.err(not_refreshed(&text, "admin ACLs")),
        });
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
