//! The one table from refusals to Java exception classes.
//! May touch: class names.
//! Must not: change a message (clients print Hadoop's texts).

use hadoop_ipc::server::RemoteException;
use rm_core::{Reject, RejectKind};

use crate::driver::Refusal;

/// Class of each kind of refusal, as stock clients know it.
pub fn class(kind: RejectKind) -> &'static str {
    match kind {
        RejectKind::ApplicationNotFound => {
            "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
        }
        RejectKind::ApplicationAttemptNotFound => {
            "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
        }
        RejectKind::ContainerNotFound => {
            "org.apache.hadoop.yarn.exceptions.ContainerNotFoundException"
        }
        RejectKind::InvalidResourceRequest => {
            "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
        }
        RejectKind::InvalidLabelResourceRequest => {
            "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"
        }
        RejectKind::InvalidContainerRelease => {
            "org.apache.hadoop.yarn.exceptions.InvalidContainerReleaseException"
        }
        RejectKind::InvalidResourceBlacklistRequest => {
            "org.apache.hadoop.yarn.exceptions.InvalidResourceBlacklistRequestException"
        }
        RejectKind::InvalidApplicationMasterRequest => {
            "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException"
        }
        RejectKind::ApplicationMasterNotRegistered => {
            "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
        }
        RejectKind::AccessControl => "org.apache.hadoop.security.AccessControlException",
        RejectKind::Yarn => "org.apache.hadoop.yarn.exceptions.YarnException",
    }
}

/// A refusal of the core as its caller sees it; what it says besides goes to the log.
pub fn reject(reject: Reject) -> RemoteException {
    if let Some(detail) = &reject.detail {
        tracing::warn!("{detail}");
    }
    RemoteException::new(class(reject.kind), reject.message)
}

/// The driver's inbox is full: the client waits and tries again.
pub fn busy() -> RemoteException {
    RemoteException::retriable("ResourceManager is too busy")
}

/// Any refusal.
pub fn refused(refusal: Refusal) -> RemoteException {
    match refusal {
        Refusal::Busy => busy(),
        Refusal::Reject(r) => reject(r),
    }
}

/// `ApplicationNotFoundException`.
pub fn application_not_found(message: impl Into<String>) -> RemoteException {
    RemoteException::yarn("ApplicationNotFoundException", message)
}

/// `ApplicationAttemptNotFoundException`.
pub fn attempt_not_found(message: impl Into<String>) -> RemoteException {
    RemoteException::yarn("ApplicationAttemptNotFoundException", message)
}

/// `ContainerNotFoundException`.
pub fn container_not_found(message: impl Into<String>) -> RemoteException {
    RemoteException::yarn("ContainerNotFoundException", message)
}

/// `YarnException`.
pub fn yarn(message: impl Into<String>) -> RemoteException {
    RemoteException::yarn("YarnException", message)
}

/// A call that stock serves and this RM does not yet: `YARNFeatureNotEnabledException`, which
/// clients print as it is and do not retry.
pub fn not_enabled(method: &str) -> RemoteException {
    RemoteException::yarn(
        "YARNFeatureNotEnabledException",
        format!("{method} is not enabled on this ResourceManager"),
    )
}
