//! updateContainer, and its older name increaseContainersResource.
//! May touch: token keys, container tokens.
//! Must not: decide whether a container may change (the core does).

use hadoop_ipc::server::{Call, RemoteException, Replier};
use nm_core::{CallId, Event, Reply, UpdateSpec};
use prost::Message;
use yarn_proto::{
    common::TokenProto,
    convert as ids, gpu,
    yarn::{
        ContainerExceptionMapProto, ContainerIdProto, ContainerTokenIdentifierProto,
        ContainerUpdateRequestProto, ContainerUpdateResponseProto, ExecutionTypeProto,
        IncreaseContainersResourceRequestProto, IncreaseContainersResourceResponseProto,
    },
};
use yarn_types::ResourceTypes;

use super::{Containers, Identity, errors};
use crate::driver::Launches;

impl Containers {
    pub(super) fn update(&self, who: Identity, call: &Call, reply: Replier) {
        match call.decode::<ContainerUpdateRequestProto>() {
            Ok(request) => {
                let answer = |succeeded_requests, failed_requests| ContainerUpdateResponseProto {
                    succeeded_requests,
                    failed_requests,
                };
                self.change(who, &request.update_container_token, reply, answer);
            }
            Err(e) => reply.err(e),
        }
    }

    pub(super) fn increase(&self, who: Identity, call: &Call, reply: Replier) {
        match call.decode::<IncreaseContainersResourceRequestProto>() {
            Ok(request) => {
                let answer =
                    |succeeded_requests, failed_requests| IncreaseContainersResourceResponseProto {
                        succeeded_requests,
                        failed_requests,
                    };
                self.change(who, &request.increase_containers, reply, answer);
            }
            Err(e) => reply.err(e),
        }
    }

    fn change<M: Message + 'static>(
        &self,
        who: Identity,
        tokens: &[TokenProto],
        reply: Replier,
        encode: impl FnOnce(Vec<ContainerIdProto>, Vec<ContainerExceptionMapProto>) -> M
        + Send
        + 'static,
    ) {
        let mut updates = Vec::new();
        for token in tokens {
            let said = match self.keys.container_token(token) {
                Ok(said) => said,
                // One bad signature ends the whole call, as for a start.
                Err(e) => return reply.err(RemoteException::invalid_token(e.0)),
            };
            match update_spec(&said, &self.types) {
                Some(update) => updates.push(update),
                None => return reply.err(RemoteException::io("Invalid ContainerToken")),
            }
        }
        let caller = who.attempt;
        let event = move |call: CallId| Event::Update {
            call,
            caller,
            updates,
        };
        let keys = std::sync::Arc::clone(&self.keys);
        self.ask(event, Launches::new(), reply, move |answer, reply| {
            let Reply::Containers { succeeded, failed } = answer else {
                return;
            };
            if !succeeded.is_empty() {
                keys.remember(who.attempt, who.key_id);
            }
            let succeeded = succeeded.into_iter().map(ids::container_id_proto);
            reply.ok(&encode(succeeded.collect(), errors::failed(failed)));
        });
    }
}

/// What a token of a changed container says; `None` where it names no container, or devices that
/// cannot be read.
pub(crate) fn update_spec(
    said: &ContainerTokenIdentifierProto,
    types: &ResourceTypes,
) -> Option<UpdateSpec> {
    let container = said.container_id.as_ref().and_then(ids::container_id)?;
    let resource = said.resource.as_ref();
    let resource = resource.map(|r| ids::resource(r, types).resource);
    let resource = resource.unwrap_or_default();
    let gpus = said.heddle_gpus.as_ref().map(gpu::grants).transpose();
    let gpus = gpus
        .inspect_err(|e| tracing::error!(%container, error = %e, "a container token's devices"))
        .ok()?;
    let count = types.gpu_lane().map_or(0, |l| types.wire(l, resource));
    Some(UpdateSpec {
        container,
        resource,
        version: said.version(),
        expires_wall_ms: said.expiry_time_stamp(),
        rm_identifier: said.rm_identifier(),
        guaranteed: said.execution_type() == ExecutionTypeProto::Guaranteed,
        gpus: gpus.unwrap_or_default(),
        gpu_count: usize::try_from(count).unwrap_or(0),
    })
}
