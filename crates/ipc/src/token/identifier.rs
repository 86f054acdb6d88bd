//! Identifiers of YARN tokens: bare protobuf messages, signed with a master key.
//! May touch: identifier messages of `yarn-proto`, keys.
//! Must not: sign or verify anything but the bytes as received (never a re-encoding).

use prost::Message;
use subtle::ConstantTimeEq;
use yarn_proto::yarn::{
    AmrmTokenIdentifierProto, ApplicationAttemptIdProto, ClientToAmTokenIdentifierProto,
    ContainerIdProto, ContainerTokenIdentifierProto, NmTokenIdentifierProto,
};

use super::{MasterKey, Token, TokenError};

/// Token kinds: the text that clients select tokens by.
pub mod kinds {
    /// AM to ResourceManager scheduler port. `AMRMTokenIdentifier.KIND_NAME`.
    pub const AMRM: &str = "YARN_AM_RM_TOKEN";
    /// AM or ResourceManager to NodeManager. `NMTokenIdentifier.KIND`.
    pub const NM: &str = "NMToken";
    /// Permission to start one container. `ContainerTokenIdentifier.KIND`.
    pub const CONTAINER: &str = "ContainerToken";
    /// Client to AM. `ClientToAMTokenIdentifier.KIND_NAME`.
    pub const CLIENT_TO_AM: &str = "YARN_CLIENT_TOKEN";
    /// Client to ResourceManager. `RMDelegationTokenIdentifier.KIND_NAME`.
    pub const RM_DELEGATION: &str = "RM_DELEGATION_TOKEN";
}

/// A token identifier message.
pub trait Identifier: Message + Default {
    /// Kind of the tokens that carry it.
    const KIND: &'static str;
    /// Name of the message, for errors.
    const NAME: &'static str;

    /// Id of the master key that signed it; `None` for client-to-AM tokens, whose key belongs to the attempt.
    fn master_key_id(&self) -> Option<i32>;

    /// User name of a connection that authenticated with it (`TokenIdentifier.getUser`).
    fn user(&self) -> String;
}

impl Identifier for AmrmTokenIdentifierProto {
    const KIND: &'static str = kinds::AMRM;
    const NAME: &'static str = "AMRMTokenIdentifierProto";

    fn master_key_id(&self) -> Option<i32> {
        Some(self.key_id())
    }

    fn user(&self) -> String {
        attempt_text(self.app_attempt_id.as_ref())
    }
}

impl Identifier for NmTokenIdentifierProto {
    const KIND: &'static str = kinds::NM;
    const NAME: &'static str = "NMTokenIdentifierProto";

    fn master_key_id(&self) -> Option<i32> {
        Some(self.key_id())
    }

    fn user(&self) -> String {
        attempt_text(self.app_attempt_id.as_ref())
    }
}

impl Identifier for ContainerTokenIdentifierProto {
    const KIND: &'static str = kinds::CONTAINER;
    const NAME: &'static str = "ContainerTokenIdentifierProto";

    fn master_key_id(&self) -> Option<i32> {
        Some(ContainerTokenIdentifierProto::master_key_id(self))
    }

    fn user(&self) -> String {
        container_text(self.container_id.as_ref())
    }
}

impl Identifier for ClientToAmTokenIdentifierProto {
    const KIND: &'static str = kinds::CLIENT_TO_AM;
    const NAME: &'static str = "ClientToAMTokenIdentifierProto";

    fn master_key_id(&self) -> Option<i32> {
        None
    }

    fn user(&self) -> String {
        self.client_name().to_owned()
    }
}

/// Decodes identifier bytes.
pub fn parse<I: Identifier>(identifier: &[u8]) -> Result<I, TokenError> {
    I::decode(identifier).map_err(|source| TokenError::Proto {
        what: I::NAME,
        source,
    })
}

/// Makes a token of `kind` over identifier bytes: password is HMAC-SHA1 with `key`.
pub fn sign(key: &MasterKey, kind: &str, identifier: Vec<u8>, service: &str) -> Token {
    let password = key.password(&identifier).to_vec();
    Token {
        identifier,
        password,
        kind: kind.to_owned(),
        service: service.to_owned(),
    }
}

/// Serialises `identifier` and signs it. The caller has put the key's id into it.
pub fn mint<I: Identifier>(key: &MasterKey, identifier: &I, service: &str) -> Token {
    sign(key, I::KIND, identifier.encode_to_vec(), service)
}

/// True if `password` is the one that `key` gives for these identifier bytes; takes the same time for any wrong one.
pub fn verify_password(key: &MasterKey, identifier: &[u8], password: &[u8]) -> bool {
    key.password(identifier).as_slice().ct_eq(password).into()
}

/// `appattempt_<timestamp>_<application, 4 digits>_<attempt, 6 digits>`.
fn attempt_text(attempt: Option<&ApplicationAttemptIdProto>) -> String {
    let attempt = attempt.copied().unwrap_or_default();
    let app = attempt.application_id.unwrap_or_default();
    format!(
        "appattempt_{}_{:04}_{:06}",
        app.cluster_timestamp(),
        app.id(),
        attempt.attempt_id()
    )
}

/// `container_[e<epoch>_]<timestamp>_<application>_<attempt, 2 digits>_<container, 6 digits>`; the epoch is
/// the id's upper bits. `org.apache.hadoop.yarn.api.records.ContainerId`.
fn container_text(container: Option<&ContainerIdProto>) -> String {
    let container = container.copied().unwrap_or_default();
    let attempt = container.app_attempt_id.unwrap_or_default();
    let app = attempt.application_id.unwrap_or_default();
    let epoch = container.id() >> 40;
    let prefix = if epoch > 0 {
        format!("container_e{epoch:02}")
    } else {
        "container".to_owned()
    };
    let number = container.id() & 0xff_ffff_ffff;
    let (timestamp, id) = (app.cluster_timestamp(), app.id());
    format!(
        "{prefix}_{timestamp}_{id:04}_{:02}_{number:06}",
        attempt.attempt_id()
    )
}

#[cfg(test)]
#[path = "identifier_test.rs"]
mod tests;
