//! Exceptions as clients see them: Java class name, message, error code.
//! May touch: nothing but text.
//! Must not: invent class names; clients branch on them.

use std::borrow::Cow;
use std::fmt;

pub use yarn_proto::common::rpc_response_header_proto::RpcErrorCodeProto as ErrorCode;

use crate::sasl::SaslFailure;

/// An exception for the caller. The class name decides what the client does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteException {
    /// Full Java class name.
    pub class: Cow<'static, str>,
    /// Hadoop's text.
    pub message: String,
    /// `errorDetail`.
    pub code: ErrorCode,
}

impl fmt::Display for RemoteException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.message)
    }
}

impl std::error::Error for RemoteException {}

impl RemoteException {
    /// An exception thrown by the application, `ERROR_APPLICATION`.
    pub fn new(class: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            class: class.into(),
            message: message.into(),
            code: ErrorCode::ErrorApplication,
        }
    }

    /// An exception of package `org.apache.hadoop.yarn.exceptions`, by its simple name.
    pub fn yarn(simple_name: &str, message: impl Into<String>) -> Self {
        Self::new(
            format!("org.apache.hadoop.yarn.exceptions.{simple_name}"),
            message,
        )
    }

    /// `java.io.IOException`.
    pub fn io(message: impl Into<String>) -> Self {
        Self::new("java.io.IOException", message)
    }

    /// `AccessControlException`.
    pub fn access_control(message: impl Into<String>) -> Self {
        Self::new("org.apache.hadoop.security.AccessControlException", message)
    }

    /// `SecretManager$InvalidToken`.
    pub fn invalid_token(message: impl Into<String>) -> Self {
        Self::new(
            "org.apache.hadoop.security.token.SecretManager$InvalidToken",
            message,
        )
    }

    /// `RetriableException`: the client tries again later.
    pub fn retriable(message: impl Into<String>) -> Self {
        Self::new("org.apache.hadoop.ipc.RetriableException", message)
    }

    /// `StandbyException`: the client tries the next server.
    pub fn standby(message: impl Into<String>) -> Self {
        Self::new("org.apache.hadoop.ipc.StandbyException", message)
    }

    /// A method that the protocol does not have (`ProtobufRpcEngine2`).
    pub fn no_such_method(protocol: &str, method: &str) -> Self {
        let message = format!("Unknown method {method} called on {protocol} protocol.");
        let code = ErrorCode::ErrorNoSuchMethod;
        Self {
            code,
            ..Self::new("org.apache.hadoop.ipc.RpcNoSuchMethodException", message)
        }
    }

    /// A protocol that the port does not serve.
    pub fn no_such_protocol(protocol: &str) -> Self {
        let code = ErrorCode::ErrorNoSuchProtocol;
        Self {
            code,
            ..Self::new(
                "org.apache.hadoop.ipc.RpcNoSuchProtocolException",
                format!("Unknown protocol: {protocol}"),
            )
        }
    }

    /// A protocol of another version (`RPC.VersionMismatch`).
    pub fn version_mismatch(protocol: &str, client: u64, server: u64) -> Self {
        let message =
            format!("Protocol {protocol} version mismatch. (client = {client}, server = {server})");
        let code = ErrorCode::ErrorRpcVersionMismatch;
        Self {
            code,
            ..Self::new("org.apache.hadoop.ipc.RPC$VersionMismatch", message)
        }
    }

    /// Request bytes that are not the method's message.
    pub fn invalid_request(reason: &dyn fmt::Display) -> Self {
        let message = format!("protocol message cannot be read: {reason}");
        Self::new(
            "org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException",
            message,
        )
    }

    /// A request whose message would take more memory than there is for requests; Hadoop's text.
    pub(super) fn too_large() -> Self {
        Self::new(
            "org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException",
            "Protocol message was too large.  May be malicious.",
        )
    }

    /// An answer that cannot be sent.
    pub(super) fn unserializable(message: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::ErrorSerializingResponse,
            ..Self::io(message)
        }
    }

    /// A fault of the RPC layer itself, for FATAL frames.
    pub(super) fn rpc_server(message: impl Into<String>, code: ErrorCode) -> Self {
        Self {
            code,
            ..Self::new("org.apache.hadoop.ipc.RpcServerException", message)
        }
    }
}

impl From<SaslFailure> for RemoteException {
    fn from(failure: SaslFailure) -> Self {
        Self {
            class: Cow::Borrowed(failure.class),
            message: failure.text,
            code: failure.code,
        }
    }
}
