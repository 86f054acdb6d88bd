//! startContainers: verifies container tokens and takes launch contexts apart.
//! May touch: token keys, credentials bytes, launch contexts.
//! Must not: put a launch context or a token into an event or a log.

use std::collections::BTreeMap;

use hadoop_ipc::{
    server::{Call, RemoteException, Replier},
    token::Credentials,
};
use nm_core::{
    CallId, Event, Reject, Reply, StartSpec,
    localize::{LocalResource, ResourceKind, ResourceUrl, Visibility},
};
use yarn_proto::{
    convert as ids,
    yarn::{
        ContainerLaunchContextProto, ContainerTokenIdentifierProto, ExecutionTypeProto,
        LocalResourceProto, LocalResourceTypeProto, LocalResourceVisibilityProto,
        StartContainersRequestProto, StartContainersResponseProto,
    },
};
use yarn_types::Resource;

use super::{Containers, Identity, errors};
use crate::{driver::Launches, exec::account::is_valid_user, runner::Launch};

impl Containers {
    pub(super) fn start(&self, who: Identity, call: &Call, reply: Replier) {
        let request: StartContainersRequestProto = match call.decode() {
            Ok(request) => request,
            Err(e) => return reply.err(e),
        };
        let mut starts = Vec::new();
        let mut launches = Launches::new();
        for start in request.start_container_request {
            let Some(token) = start.container_token else {
                return reply.err(RemoteException::io("Invalid ContainerToken"));
            };
            let said = match self.keys.container_token(&token) {
                Ok(said) => said,
                // One bad signature ends the whole call, as in Hadoop.
                Err(e) => return reply.err(RemoteException::invalid_token(e.0)),
            };
            let context = start.container_launch_context.unwrap_or_default();
            let Some((spec, launch)) = self.take(&said, context) else {
                return reply.err(RemoteException::io("Invalid ContainerToken"));
            };
            if let Some(launch) = launch {
                launches.insert(spec.container, launch);
            }
            starts.push(spec);
        }
        let caller = who.attempt;
        let event = move |call: CallId| Event::Start {
            call,
            caller,
            starts,
        };
        let keys = std::sync::Arc::clone(&self.keys);
        self.ask(event, launches, reply, move |answer, reply| {
            let Reply::Containers { succeeded, failed } = answer else {
                return;
            };
            if !succeeded.is_empty() {
                keys.remember(who.attempt, who.key_id);
            }
            reply.ok(&StartContainersResponseProto {
                services_meta_data: Vec::new(),
                succeeded_requests: succeeded.into_iter().map(ids::container_id_proto).collect(),
                failed_requests: errors::failed(failed),
            });
        });
    }

    /// What the token and the context say; no launch where the context has a fault, `None` where
    /// the token names no container.
    fn take(
        &self,
        said: &ContainerTokenIdentifierProto,
        context: ContainerLaunchContextProto,
    ) -> Option<(StartSpec, Option<Launch>)> {
        let container = said.container_id.as_ref().and_then(ids::container_id)?;
        let user = said.app_submitter().to_owned();
        let resource = said
            .resource
            .as_ref()
            .map(|r| ids::resource(r, &self.types));
        let resource = resource.map(|r| r.resource).unwrap_or_default();
        // The token is signed: a list that cannot be read is the ResourceManager's fault, and no
        // device is given for it.
        let gpus = match said.heddle_gpus.as_ref().map(yarn_proto::gpu::grants) {
            Some(Ok(grants)) => grants,
            Some(Err(e)) => {
                tracing::error!(%container, error = %e, "a container token's devices");
                return None;
            }
            None => Vec::new(),
        };
        let count = self
            .types
            .gpu_lane()
            .map_or(0, |l| self.types.wire(l, resource));
        let mut spec = StartSpec {
            container,
            user: user.as_str().into(),
            resource,
            priority: said
                .priority
                .as_ref()
                .map_or(0, yarn_proto::yarn::PriorityProto::priority),
            created_wall_ms: said.creation_time(),
            expires_wall_ms: said.expiry_time_stamp(),
            rm_identifier: said.rm_identifier(),
            allocation_request_id: said.allocation_request_id(),
            version: said.version(),
            guaranteed: said.execution_type() == ExecutionTypeProto::Guaranteed,
            gpus,
            gpu_count: usize::try_from(count).unwrap_or(0),
            aux_services: context
                .service_data
                .iter()
                .map(|s| s.key().to_owned())
                .collect(),
            fault: None,
        };
        self.acls.remember(container.app(), &user, &context);
        match launch(user, spec.resource, context) {
            Ok(launch) => Some((spec, Some(launch))),
            Err(text) => {
                spec.fault = Some(Reject::LaunchContext(text));
                Some((spec, None))
            }
        }
    }
}

/// The parts of a launch context; the credentials are written anew, since clients send what
/// lies behind them in their buffers too.
fn launch(
    user: String,
    resource: Resource,
    context: ContainerLaunchContextProto,
) -> Result<Launch, String> {
    if !is_valid_user(&user) {
        return Err(format!("user {user:?} is not a valid user name"));
    }
    let credentials = Credentials::from_bytes(context.tokens.as_deref().unwrap_or_default())
        .map_err(|e| format!("cannot read the credentials of the launch context: {e}"))?;
    let mut resources = Vec::new();
    for entry in context.local_resources {
        let key = entry.key.unwrap_or_default();
        let resource = local_resource(&key, entry.value.unwrap_or_default())?;
        resources.push((key, resource));
    }
    Ok(Launch {
        user,
        resource,
        env: context
            .environment
            .into_iter()
            .map(|e| (e.key.unwrap_or_default(), e.value.unwrap_or_default()))
            .collect::<BTreeMap<_, _>>(),
        commands: context.command,
        resources,
        tokens: credentials.to_bytes(),
    })
}

fn local_resource(key: &str, proto: LocalResourceProto) -> Result<LocalResource, String> {
    let kind = match proto
        .r#type
        .and_then(|t| LocalResourceTypeProto::try_from(t).ok())
    {
        Some(LocalResourceTypeProto::Archive) => ResourceKind::Archive,
        Some(LocalResourceTypeProto::File) => ResourceKind::File,
        Some(LocalResourceTypeProto::Pattern) => ResourceKind::Pattern,
        None => return Err(format!("Null resource type for local resource {key}")),
    };
    let visibility = proto
        .visibility
        .and_then(|v| LocalResourceVisibilityProto::try_from(v).ok());
    let visibility = match visibility {
        Some(LocalResourceVisibilityProto::Public) => Visibility::Public,
        Some(LocalResourceVisibilityProto::Private) => Visibility::Private,
        Some(LocalResourceVisibilityProto::Application) => Visibility::Application,
        None => return Err(format!("Null resource visibility for local resource {key}")),
    };
    let url = proto
        .resource
        .ok_or_else(|| format!("Null resource URL for local resource {key}"))?;
    Ok(LocalResource {
        url: ResourceUrl {
            scheme: url.scheme.unwrap_or_default(),
            host: url.host.unwrap_or_default(),
            port: url.port.unwrap_or(-1),
            path: url.file.unwrap_or_default(),
        },
        size: proto.size.unwrap_or(-1),
        timestamp_ms: proto.timestamp.unwrap_or(0),
        kind,
        visibility,
        pattern: proto.pattern,
    })
}

#[cfg(test)]
#[path = "start_test.rs"]
mod tests;
