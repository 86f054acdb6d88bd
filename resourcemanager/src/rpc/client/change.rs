//! ApplicationClientProtocol: queue, priority and lifetime of a running application.
//! May touch: wire messages, the driver.
//! Must not: decide whether a change is possible (the core does).

use std::sync::Arc;

use hadoop_ipc::server::RemoteException;
use rm_core::{
    Reply,
    event::ClientRequest,
    times::{from_iso8601, iso8601},
};
use yarn_proto::yarn::{
    ApplicationTimeoutTypeProto, ApplicationUpdateTimeoutMapProto,
    MoveApplicationAcrossQueuesRequestProto, MoveApplicationAcrossQueuesResponseProto,
    PriorityProto, UpdateApplicationPriorityRequestProto, UpdateApplicationPriorityResponseProto,
    UpdateApplicationTimeoutsRequestProto, UpdateApplicationTimeoutsResponseProto,
};

use super::super::{Caller, Context, Incoming, convert, errors, guard};

pub(super) fn move_app(context: &Arc<Context>, incoming: Incoming) {
    let make = |_: &Caller, m: MoveApplicationAcrossQueuesRequestProto| {
        Ok(ClientRequest::Move {
            app: convert::app_id(Some(&m.application_id))?,
            queue: convert::bounded(m.target_queue, "queue")?,
        })
    };
    guard::change(context, incoming, make, |reply| match reply {
        Reply::Done => Some(MoveApplicationAcrossQueuesResponseProto {}),
        _ => None,
    });
}

pub(super) fn set_priority(context: &Arc<Context>, incoming: Incoming) {
    let make = |_: &Caller, m: UpdateApplicationPriorityRequestProto| {
        Ok(ClientRequest::SetPriority {
            app: convert::app_id(Some(&m.application_id))?,
            priority: m.application_priority.priority(),
            caller: None,
        })
    };
    guard::change(context, incoming, make, |reply| match reply {
        Reply::Priority(priority) => Some(UpdateApplicationPriorityResponseProto {
            application_priority: Some(PriorityProto {
                priority: Some(priority),
            }),
        }),
        _ => None,
    });
}

pub(super) fn set_timeouts(context: &Arc<Context>, incoming: Incoming) {
    let decoded: Result<UpdateApplicationTimeoutsRequestProto, _> = incoming.call.decode();
    let told = decoded.map(|m| m.application_timeouts).unwrap_or_default();
    let make = |_: &Caller, m: UpdateApplicationTimeoutsRequestProto| {
        Ok(ClientRequest::SetExpiry {
            app: convert::app_id(Some(&m.application_id))?,
            expiry_wall_ms: expiry(&m.application_timeouts)?,
        })
    };
    guard::change(context, incoming, make, move |reply| match reply {
        Reply::Done => Some(UpdateApplicationTimeoutsResponseProto {
            application_timeouts: told,
        }),
        _ => None,
    });
}

/// When an application must have ended, as clients read it (`ApplicationTimeout.getExpiryTime`).
pub(crate) fn expiry_time(wall_ms: Option<i64>) -> String {
    let text = wall_ms.map(iso8601).filter(|text| !text.is_empty());
    text.unwrap_or_else(|| "UNLIMITED".to_owned())
}

/// The one timeout that there is, LIFETIME, as wall milliseconds.
fn expiry(timeouts: &[ApplicationUpdateTimeoutMapProto]) -> Result<i64, RemoteException> {
    let lifetime = timeouts
        .iter()
        .find(|t| t.application_timeout_type() == ApplicationTimeoutTypeProto::AppTimeoutLifetime);
    let Some(lifetime) = lifetime else {
        let text =
            "At least one ApplicationTimeoutType should be configured for updating timeouts.";
        return Err(errors::yarn(text));
    };
    parse_expiry(lifetime.expire_time()).map_err(errors::yarn)
}

/// When an application shall have ended, as clients write it, as wall milliseconds.
///
/// # Errors
/// It is no time: Hadoop's text.
pub(crate) fn parse_expiry(text: &str) -> Result<i64, String> {
    from_iso8601(text).ok_or_else(|| {
        format!(
            "Expire time is not in ISO8601 format. ISO8601 supported format is yyyy-MM-dd'T'HH:mm:ss.SSSZ. Configured timeout value is {text}"
        )
    })
}
