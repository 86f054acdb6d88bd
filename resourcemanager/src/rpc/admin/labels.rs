//! Calls of an administrator about node labels.
//! May touch: wire messages.
//! Must not: judge a label (the core does), or answer with an IOException (clients would try again).

use std::sync::Arc;

use hadoop_ipc::server::RemoteException;
use prost::Message;
use rm_core::{
    Event, Reply,
    event::{AdminRequest, LabelRequest},
};
use yarn_proto::yarn::{
    AddToClusterNodeLabelsRequestProto, AddToClusterNodeLabelsResponseProto,
    RemoveFromClusterNodeLabelsRequestProto, RemoveFromClusterNodeLabelsResponseProto,
    ReplaceLabelsOnNodeRequestProto, ReplaceLabelsOnNodeResponseProto,
};

use super::{Context, Incoming, encoded, finish};
use crate::{
    driver::Refusal,
    labels,
    rpc::{convert, errors},
};

/// Why labels cannot be changed now in this way, in Hadoop's words; `None` when they can.
///
/// Where nodes say their labels themselves, nobody else may map them.
pub(crate) fn labels_refused(context: &Context, maps: bool) -> Option<String> {
    if maps && context.labels_are_distributed() {
        let text = "Error when invoke method=replaceLabelsOnNode because centralized node label \
                    configuration is not enabled.";
        return Some(text.to_owned());
    }
    let text = "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled";
    context.node_labels.is_none().then(|| text.to_owned())
}

/// Stock wraps the exception of its label manager (`AdminService.logAndWrapException`).
fn wrapped(text: &str) -> RemoteException {
    errors::yarn(format!("java.io.IOException: {text}"))
}

fn change<M, R>(
    context: &Arc<Context>,
    incoming: Incoming,
    maps: bool,
    make: impl FnOnce(&M) -> Result<LabelRequest, RemoteException>,
    done: R,
) where
    M: Message + Default,
    R: Message + 'static,
{
    let Incoming {
        caller,
        call,
        reply,
        received,
    } = incoming;
    let request = match call.decode().and_then(|m| make(&m)) {
        Ok(request) => request,
        Err(e) => return reply.err(e),
    };
    if let Some(text) = labels_refused(context, maps) {
        return reply.err(wrapped(&text));
    }
    tracing::info!(user = caller.user, peer = %caller.peer, "asked to change node labels: {request:?}");
    let request = AdminRequest::Labels(request);
    context.driver.call(
        received,
        |call| Event::Admin { call, request },
        move |answer| {
            let answer = match answer {
                Err(Refusal::Reject(r)) => return reply.err(wrapped(&r.message)),
                answer => answer,
            };
            let encode = |reply| matches!(reply, Reply::Done).then_some(done);
            finish(reply, encoded(&call.method, answer, encode));
        },
    );
}

pub(super) fn add(context: &Arc<Context>, incoming: Incoming) {
    change(
        context,
        incoming,
        false,
        |m: &AddToClusterNodeLabelsRequestProto| Ok(LabelRequest::Add(labels::to_add(m))),
        AddToClusterNodeLabelsResponseProto {},
    );
}

pub(super) fn remove(context: &Arc<Context>, incoming: Incoming) {
    change(
        context,
        incoming,
        false,
        |m: &RemoveFromClusterNodeLabelsRequestProto| {
            Ok(LabelRequest::Remove(labels::names(&m.node_labels)))
        },
        RemoveFromClusterNodeLabelsResponseProto {},
    );
}

pub(super) fn replace(context: &Arc<Context>, incoming: Incoming) {
    change(
        context,
        incoming,
        true,
        |m: &ReplaceLabelsOnNodeRequestProto| {
            let nodes = labels::mapping(&m.node_to_labels);
            let nodes = nodes.ok_or_else(|| convert::missing("node id"))?;
            Ok(LabelRequest::Replace {
                nodes: nodes.into_iter().collect(),
                known_only: m.fail_on_unknown_nodes(),
            })
        },
        ReplaceLabelsOnNodeResponseProto {},
    );
}
