//! Refusals as Java exceptions.
//! May touch: class names and texts.
//! Must not: decide anything.

use hadoop_ipc::server::RemoteException;
use nm_core::Reject;
use yarn_proto::{
    convert::container_id_proto,
    yarn::{ContainerExceptionMapProto, SerializedExceptionProto},
};
use yarn_types::ContainerId;

const PACKAGE: &str = "org.apache.hadoop.yarn.exceptions.";

/// Simple name of the class in `org.apache.hadoop.yarn.exceptions`; clients branch on it.
fn class(reject: &Reject) -> &'static str {
    match reject {
        Reject::NotYetReady => "NMNotYetReadyException",
        Reject::PreviousRm(_) => "InvalidContainerException",
        Reject::AuxService(_) => "InvalidAuxServiceException",
        Reject::ShuttingDown
        | Reject::OtherApplication { .. }
        | Reject::Relaunch(_)
        | Reject::Expired { .. }
        | Reject::AppFinishing(_)
        | Reject::LaunchContext(_)
        | Reject::OldVersion { .. }
        | Reject::Devices(_)
        | Reject::ExecutionType(_)
        | Reject::NoUpdates
        | Reject::Foreign { .. }
        | Reject::RecentlyStopped(_)
        | Reject::Unknown(_) => "YarnException",
    }
}

/// The refusal of a whole call.
pub(super) fn exception(reject: &Reject) -> RemoteException {
    RemoteException::yarn(class(reject), reject.to_string())
}

/// Refusals of single containers.
pub(super) fn failed(failed: Vec<(ContainerId, Reject)>) -> Vec<ContainerExceptionMapProto> {
    failed
        .into_iter()
        .map(|(id, reject)| {
            tracing::warn!(container = %id, reason = %reject, "refused");
            ContainerExceptionMapProto {
                container_id: Some(container_id_proto(id)),
                exception: Some(SerializedExceptionProto {
                    message: Some(reject.to_string()),
                    trace: Some(String::new()),
                    class_name: Some(format!("{PACKAGE}{}", class(&reject))),
                    cause: None,
                }),
            }
        })
        .collect()
}
