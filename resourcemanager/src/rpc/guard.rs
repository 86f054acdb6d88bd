//! Calls that depend on who calls: groups are looked up off the connection's task, then the core or
//! a picture of it is asked.
//! May touch: wire messages, lists of access, the driver.
//! Must not: block a connection's task, or answer with a class that clients try again.

use std::sync::Arc;

use hadoop_ipc::server::{Caller, RemoteException};
use prost::Message;
use rm_core::{
    Event, Reply, Rm,
    event::{ClientRequest, Who},
    view::View,
};

use super::{Context, Incoming, encoded, errors, event, finish};
use crate::groups;

/// A client changes an application: refused to those who may not.
pub(super) fn change<M, R>(
    context: &Arc<Context>,
    incoming: Incoming,
    make: impl FnOnce(&Caller, M) -> Result<ClientRequest, RemoteException>,
    encode: impl FnOnce(Reply) -> Option<R> + Send + 'static,
) where
    M: Message + Default,
    R: Message,
{
    let wrap = |call, request| Event::Client { call, request };
    if !context.acls.enabled() {
        return event(context, incoming, make, wrap, encode);
    }
    let Incoming {
        caller,
        call,
        reply,
        received,
    } = incoming;
    let mut request = match call.decode().and_then(|m| make(&caller, m)) {
        Ok(request) => request,
        Err(e) => return reply.err(e),
    };
    let (shared, method) = (Arc::clone(context), call.method);
    context.runtime.spawn_blocking(move || {
        let who = groups::who(&caller.user);
        let driver = shared.driver.clone();
        driver.read(move |rm| {
            let Some(rm) = rm else {
                return reply.err(errors::busy());
            };
            if let Err(e) = shared.acls.check_change(rm, &who, &request) {
                tracing::warn!(user = caller.user, peer = %caller.peer, method, "refused: {}", e.message);
                return reply.err(errors::reject(e));
            }
            if let ClientRequest::SetPriority { caller, .. } = &mut request {
                *caller = Some(who);
            }
            shared.driver.call(
                received,
                |call| wrap(call, request),
                move |answer| finish(reply, encoded(&method, answer, encode)),
            );
        });
    });
}

/// Runs `then` with the caller, and with its groups where they are wanted.
fn with_who(
    context: &Arc<Context>,
    caller: &Caller,
    groups: bool,
    then: impl FnOnce(Who) + Send + 'static,
) {
    let user = caller.user.clone();
    if groups {
        context
            .runtime
            .spawn_blocking(move || then(groups::who(&user)));
    } else {
        then(Who {
            user: user.into(),
            groups: Vec::new(),
        });
    }
}

/// A query about one thing, on the core itself.
pub(super) fn read<M, Q, R>(
    context: &Arc<Context>,
    incoming: Incoming,
    make: impl FnOnce(M) -> Result<Q, RemoteException>,
    answer: impl FnOnce(&Context, &Rm, &Who, Q) -> Result<R, RemoteException> + Send + 'static,
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
    let request = match call.decode().and_then(make) {
        Ok(request) => request,
        Err(e) => return reply.err(e),
    };
    let shared = Arc::clone(context);
    with_who(context, &caller, context.acls.enabled(), move |who| {
        let driver = shared.driver.clone();
        driver.read(move |rm| match rm {
            Some(rm) => finish(reply, answer(&shared, rm, &who, request)),
            None => reply.err(errors::busy()),
        });
    });
}

/// A query about many things, on a picture of the core.
pub(super) fn view<M, R>(
    context: &Arc<Context>,
    incoming: Incoming,
    answer: impl FnOnce(&Context, &View, &Who, M) -> Result<R, RemoteException> + Send + 'static,
) where
    M: Message + Default + Send + 'static,
    R: Message,
{
    view_of(context, incoming, context.acls.enabled(), answer);
}

/// [`view`] with the caller's groups even where lists do not count.
pub(super) fn view_with_groups<M, R>(
    context: &Arc<Context>,
    incoming: Incoming,
    answer: impl FnOnce(&Context, &View, &Who, M) -> Result<R, RemoteException> + Send + 'static,
) where
    M: Message + Default + Send + 'static,
    R: Message,
{
    view_of(context, incoming, true, answer);
}

fn view_of<M, R>(
    context: &Arc<Context>,
    incoming: Incoming,
    groups: bool,
    answer: impl FnOnce(&Context, &View, &Who, M) -> Result<R, RemoteException> + Send + 'static,
) where
    M: Message + Default + Send + 'static,
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
    with_who(context, &caller, groups, move |who| {
        let runtime = shared.runtime.clone();
        runtime.spawn(async move {
            match shared.driver.view().await {
                Some(view) => finish(reply, answer(&shared, &view, &who, request)),
                None => reply.err(errors::busy()),
            }
        });
    });
}

/// Lets an administrator through; others read why not. `operation` as stock calls it.
pub(super) fn administrator(
    context: &Arc<Context>,
    incoming: Incoming,
    operation: &'static str,
    then: fn(&Arc<Context>, Incoming),
) {
    if context.acls.everybody_administers() {
        return then(context, incoming);
    }
    let context = Arc::clone(context);
    context.runtime.clone().spawn_blocking(move || {
        let who = groups::who(&incoming.caller.user);
        if context.acls.is_admin(who.caller()) {
            return then(&context, incoming);
        }
        let text = format!(
            "User {} doesn't have permission to call '{operation}'",
            who.user
        );
        tracing::warn!(peer = %incoming.caller.peer, "{text}");
        incoming
            .reply
            .err(errors::reject(rm_core::sched::denied(&text)));
    });
}
