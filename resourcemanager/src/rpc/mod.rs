//! The RM's four RPC protocols: one table of methods each, bytes to events and queries and back.
//! May touch: wire messages, the driver, tokens.
//! Must not: decide anything that the core decides, or block a connection's task.

mod admin;
mod app_master;
mod client;
mod convert;
pub mod errors;
mod guard;
mod replays;
mod tracker;

use std::{sync::Arc, time::Instant};

use hadoop_ipc::server::{Call, Caller, RemoteException, Replier, Service};
use prost::Message;
use rm_core::{CallId, Event, Reply, Rm, placement::TagPlacement, view::View};
use yarn_conf::{Calculator, NodeLabelSettings};
use yarn_types::ResourceTypes;

pub use admin::Reload;
pub(crate) use admin::labels::labels_refused;
pub(crate) use client::{app_url_of, app_urls, expiry_time, parse_expiry};
pub use replays::Replays;

use crate::{
    acls::Acls,
    auth::Auth,
    driver::{Driver, Refusal},
    spellings::Spellings,
    submissions::Submissions,
    topology::Topology,
};

/// Version text of this RM on the wire: clients and nodes compare it with Hadoop's.
pub const HADOOP_VERSION: &str = "3.5.0";

/// What every method may use.
pub struct Context {
    /// The way to the core.
    pub driver: Driver,
    /// Tokens.
    pub auth: Arc<Auth>,
    /// Launch contexts.
    pub submissions: Arc<Submissions>,
    /// Last answers by attempt and node.
    pub replays: Arc<Replays>,
    /// Who may see and change what.
    pub acls: Arc<Acls>,
    /// Users whose tags name another user for placement.
    pub tag_placement: TagPlacement,
    /// Racks.
    pub topology: Topology,
    /// Reads files again for an administrator.
    pub reload: Arc<dyn Reload>,
    /// Lanes.
    pub types: ResourceTypes,
    /// Their names as applications spell them.
    pub spellings: Arc<Spellings>,
    /// Which lanes the scheduler counts.
    pub calculator: Calculator,
    /// `http://host:port` of the RM's own pages.
    pub web_url: String,
    /// `http://host:port` of the web proxy, usually the RM itself.
    pub proxy_url: String,
    /// `yarn.log-aggregation-enable`.
    pub log_aggregation: bool,
    /// `yarn.resourcemanager.cluster-id`.
    pub cluster_id: Option<String>,
    /// Node labels, where they are enabled.
    pub node_labels: Option<NodeLabelSettings>,
    /// Told to nodes.
    pub heartbeat_interval_ms: i64,
    /// The runtime for what does not fit a connection's task.
    pub runtime: tokio::runtime::Handle,
}

impl Context {
    /// Nodes say their labels themselves.
    pub fn labels_are_distributed(&self) -> bool {
        self.node_labels.as_ref().is_some_and(|l| l.distributed)
    }
}

/// One call on its way through a method.
struct Incoming {
    caller: Arc<Caller>,
    call: Call,
    reply: Replier,
    received: Instant,
}

/// One row of a protocol's table.
struct Method {
    name: &'static str,
    run: fn(&Arc<Context>, Incoming),
}

/// A protocol on its port.
pub struct Protocol {
    declared: [(&'static str, u64); 1],
    methods: &'static [Method],
    context: Arc<Context>,
}

impl Protocol {
    /// `org.apache.hadoop.yarn.api.ApplicationClientProtocolPB`.
    pub fn client(context: Arc<Context>) -> Arc<dyn Service> {
        let name = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";
        Self::of(name, client::METHODS, context)
    }

    /// `org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB`.
    pub fn app_master(context: Arc<Context>) -> Arc<dyn Service> {
        let name = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB";
        Self::of(name, app_master::METHODS, context)
    }

    /// `org.apache.hadoop.yarn.server.api.ResourceTrackerPB`.
    pub fn tracker(context: Arc<Context>) -> Arc<dyn Service> {
        let name = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB";
        Self::of(name, tracker::METHODS, context)
    }

    /// `org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB`.
    pub fn admin(context: Arc<Context>) -> Arc<dyn Service> {
        let name = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB";
        Self::of(name, admin::METHODS, context)
    }

    fn of(
        name: &'static str,
        methods: &'static [Method],
        context: Arc<Context>,
    ) -> Arc<dyn Service> {
        Arc::new(Self {
            declared: [(name, 1)],
            methods,
            context,
        })
    }
}

impl Service for Protocol {
    fn call(&self, caller: &Arc<Caller>, call: Call, reply: Replier) {
        let Some(method) = self.methods.iter().find(|m| m.name == call.method) else {
            return reply.err(RemoteException::no_such_method(
                &call.protocol,
                &call.method,
            ));
        };
        let incoming = Incoming {
            caller: Arc::clone(caller),
            call,
            reply,
            received: Instant::now(),
        };
        (method.run)(&self.context, incoming);
    }

    fn protocols(&self) -> &[(&'static str, u64)] {
        &self.declared
    }
}

/// Refuses the call by name.
fn refuse(incoming: Incoming, e: RemoteException) {
    incoming.reply.err(e);
}

/// A method that changes something: `make` reads the request, `wrap` makes the event, `encode` the
/// answer (`None` for a reply that does not belong to the method).
fn event<M, Q, R>(
    context: &Arc<Context>,
    incoming: Incoming,
    make: impl FnOnce(&Caller, M) -> Result<Q, RemoteException>,
    wrap: impl FnOnce(CallId, Q) -> Event,
    encode: impl FnOnce(Reply) -> Option<R> + Send + 'static,
) where
    M: Message + Default,
    R: Message,
{
    let Incoming {
        caller,
        call,
        reply,
        received,
    } = incoming;
    let request = match call.decode().and_then(|m| make(&caller, m)) {
        Ok(request) => request,
        Err(e) => return reply.err(e),
    };
    let method = call.method;
    context.driver.call(
        received,
        |id| wrap(id, request),
        move |answer| finish(reply, encoded(&method, answer, encode)),
    );
}

/// The core's answer as a wire message.
fn encoded<R>(
    method: &str,
    answer: Result<Box<Reply>, Refusal>,
    encode: impl FnOnce(Reply) -> Option<R>,
) -> Result<R, RemoteException> {
    let reply = answer.map_err(errors::refused)?;
    encode(*reply).ok_or_else(|| {
        tracing::error!(method, "the core answered another question");
        RemoteException::io("internal error: unexpected answer")
    })
}

/// A query about one thing, on the core itself.
fn read<M, Q, R>(
    context: &Arc<Context>,
    incoming: Incoming,
    make: impl FnOnce(&Caller, M) -> Result<Q, RemoteException>,
    answer: impl FnOnce(&Context, &Rm, Q) -> Result<R, RemoteException> + Send + 'static,
) where
    M: Message + Default,
    Q: Send + 'static,
    R: Message,
{
    let Incoming {
        caller,
        call,
        reply,
        ..
    } = incoming;
    let request = match call.decode().and_then(|m| make(&caller, m)) {
        Ok(request) => request,
        Err(e) => return reply.err(e),
    };
    let shared = Arc::clone(context);
    context.driver.read(move |rm| match rm {
        Some(rm) => finish(reply, answer(&shared, rm, request)),
        None => reply.err(errors::busy()),
    });
}

/// A query about many things, on a picture of the core.
fn view<M, R>(
    context: &Arc<Context>,
    incoming: Incoming,
    answer: impl FnOnce(&Context, &View, &Caller, M) -> Result<R, RemoteException> + Send + 'static,
) where
    M: Message + Default + 'static,
    R: Message,
{
    let Incoming {
        caller,
        call,
        reply,
        ..
    } = incoming;
    let request: M = match call.decode() {
        Ok(request) => request,
        Err(e) => return reply.err(e),
    };
    let shared = Arc::clone(context);
    context.runtime.spawn(async move {
        match shared.driver.view().await {
            Some(view) => finish(reply, answer(&shared, &view, &caller, request)),
            None => reply.err(errors::busy()),
        }
    });
}

/// An answer that needs nothing but the request.
fn fixed<M, R>(incoming: Incoming, answer: impl FnOnce(M) -> Result<R, RemoteException>)
where
    M: Message + Default,
    R: Message,
{
    let result = incoming.call.decode().and_then(answer);
    finish(incoming.reply, result);
}

fn finish<R: Message>(reply: Replier, result: Result<R, RemoteException>) {
    match result {
        Ok(message) => reply.ok(&message),
        Err(e) => reply.err(e),
    }
}

#[cfg(test)]
#[path = "rpc_test.rs"]
mod tests;

#[cfg(test)]
#[path = "admin_test.rs"]
mod admin_tests;

#[cfg(test)]
#[path = "labels_test.rs"]
mod labels_tests;

#[cfg(test)]
#[path = "gpu_test.rs"]
mod gpu_tests;

#[cfg(test)]
#[path = "errors_test.rs"]
mod errors_tests;

#[cfg(test)]
pub(crate) use errors_tests::test_context;
