//! ContainerManagementProtocolPB: decodes calls, asks the core, encodes answers.
//! May touch: messages, token keys, the inbox.
//! Must not: decide what an ApplicationMaster may do, or log a launch context.

mod convert;
mod errors;
mod start;
mod update;

use std::sync::Arc;

use hadoop_ipc::{
    server::{Call, Caller, RemoteException, Replier, Service},
    token::{Identifier, parse},
};
use nm_core::{CallId, Event, Reject, Reply, Signal};
use yarn_proto::{
    convert as ids,
    yarn::{
        ContainerIdProto, GetContainerStatusesRequestProto, GetContainerStatusesResponseProto,
        NmTokenIdentifierProto, SignalContainerCommandProto, SignalContainerRequestProto,
        SignalContainerResponseProto, StopContainersRequestProto, StopContainersResponseProto,
    },
};
use yarn_types::{ApplicationAttemptId, ContainerId, ResourceTypes};

pub use convert::{nm_status, status};
pub(crate) use update::update_spec;

use crate::{acls::NodeAcls, driver::Inbox, driver::Launches, keys::TokenKeys};

/// Name of the protocol on the wire.
pub const PROTOCOL: &str = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB";

/// Methods that Hadoop has and this node does not have yet.
const NOT_BUILT: [&str; 6] = [
    "localize",
    "reInitializeContainer",
    "restartContainer",
    "rollbackLastReInitialization",
    "commitLastReInitialization",
    "getLocalizationStatuses",
];

/// The container port.
#[derive(Debug)]
pub struct Containers {
    /// The core.
    pub inbox: Inbox,
    /// Keys of this node.
    pub keys: Arc<TokenKeys>,
    /// Resource lanes.
    pub types: ResourceTypes,
    /// Who may see applications.
    pub acls: Arc<NodeAcls>,
}

/// Who calls: what the NMToken of the connection says.
#[derive(Clone, Copy, Debug)]
struct Identity {
    attempt: ApplicationAttemptId,
    key_id: i32,
}

impl Service for Containers {
    fn call(&self, caller: &Arc<Caller>, call: Call, reply: Replier) {
        let identity = match identity(caller) {
            Ok(identity) => identity,
            Err(e) => return reply.err(e),
        };
        match call.method.as_str() {
            "startContainers" => self.start(identity, &call, reply),
            "updateContainer" => self.update(identity, &call, reply),
            "increaseContainersResource" => self.increase(identity, &call, reply),
            "stopContainers" => self.stop(identity, &call, reply),
            "getContainerStatuses" => self.statuses(identity, &call, reply),
            "signalToContainer" => self.signal(identity, &call, reply),
            name if NOT_BUILT.contains(&name) => reply.err(RemoteException::new(
                "java.lang.UnsupportedOperationException",
                format!("{name} is not supported by this NodeManager"),
            )),
            name => reply.err(RemoteException::no_such_method(PROTOCOL, name)),
        }
    }

    fn protocols(&self) -> &[(&'static str, u64)] {
        &[(PROTOCOL, 1)]
    }
}

impl Containers {
    fn stop(&self, who: Identity, call: &Call, reply: Replier) {
        let request: StopContainersRequestProto = match call.decode() {
            Ok(request) => request,
            Err(e) => return reply.err(e),
        };
        let containers = known(&request.container_id);
        let caller = who.attempt;
        let event = move |call: CallId| Event::Stop {
            call,
            caller,
            containers,
        };
        self.ask(event, Launches::new(), reply, |answer, reply| {
            if let Reply::Containers { succeeded, failed } = answer {
                reply.ok(&StopContainersResponseProto {
                    succeeded_requests: succeeded
                        .into_iter()
                        .map(ids::container_id_proto)
                        .collect(),
                    failed_requests: errors::failed(failed),
                });
            }
        });
    }

    fn statuses(&self, who: Identity, call: &Call, reply: Replier) {
        let request: GetContainerStatusesRequestProto = match call.decode() {
            Ok(request) => request,
            Err(e) => return reply.err(e),
        };
        let containers = known(&request.container_id);
        let caller = who.attempt;
        let event = move |call: CallId| Event::Statuses {
            call,
            caller,
            containers,
        };
        let types = self.types.clone();
        self.ask(event, Launches::new(), reply, move |answer, reply| {
            if let Reply::Statuses { statuses, failed } = answer {
                reply.ok(&GetContainerStatusesResponseProto {
                    status: statuses.iter().map(|s| status(s, &types)).collect(),
                    failed_requests: errors::failed(failed),
                });
            }
        });
    }

    fn signal(&self, who: Identity, call: &Call, reply: Replier) {
        let request: SignalContainerRequestProto = match call.decode() {
            Ok(request) => request,
            Err(e) => return reply.err(e),
        };
        let Some(container) = ids::container_id(&request.container_id) else {
            return reply.err(RemoteException::invalid_request(
                &"container_id is not complete",
            ));
        };
        let signal = signal_of(request.command());
        let caller = who.attempt;
        let event = move |call: CallId| Event::SignalRequest {
            call,
            caller,
            container,
            signal,
        };
        self.ask(event, Launches::new(), reply, |_, reply| {
            reply.ok(&SignalContainerResponseProto {});
        });
    }

    /// Sends a call to the core; `encode` answers when it is not refused as a whole.
    fn ask(
        &self,
        event: impl FnOnce(CallId) -> Event + Send + 'static,
        launches: Launches,
        reply: Replier,
        encode: impl FnOnce(Reply, Replier) + Send + 'static,
    ) {
        if self.inbox.is_full() {
            return reply.err(RemoteException::retriable("server too busy"));
        }
        let answer = move |result: Result<Reply, Reject>| match result {
            Ok(answer) => encode(answer, reply),
            Err(reject) => reply.err(errors::exception(&reject)),
        };
        self.inbox.call(event, launches, answer);
    }
}

/// Wire command to signal (`SignalContainerCommand`).
pub(crate) fn signal_of(command: SignalContainerCommandProto) -> Signal {
    match command {
        SignalContainerCommandProto::OutputThreadDump => Signal::Quit,
        SignalContainerCommandProto::GracefulShutdown => Signal::Term,
        SignalContainerCommandProto::ForcefulShutdown => Signal::Kill,
    }
}

/// Complete ids; one that is not complete names no container of anybody.
fn known(protos: &[ContainerIdProto]) -> Vec<ContainerId> {
    protos.iter().filter_map(ids::container_id).collect()
}

fn identity(caller: &Caller) -> Result<Identity, RemoteException> {
    let invalid = || RemoteException::yarn("YarnException", "Invalid NMToken");
    let bytes = caller.identifier.as_deref().ok_or_else(invalid)?;
    let said: NmTokenIdentifierProto = parse(bytes).map_err(|_| invalid())?;
    let attempt = said.app_attempt_id.as_ref().and_then(ids::attempt_id);
    Ok(Identity {
        attempt: attempt.ok_or_else(invalid)?,
        key_id: Identifier::master_key_id(&said).unwrap_or(-1),
    })
}
