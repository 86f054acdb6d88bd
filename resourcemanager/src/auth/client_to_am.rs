//! Client-to-AM tokens: each attempt has a key of its own, shared with its ApplicationMaster.
//! May touch: that key.
//! Must not: hand anything out while Kerberos security is off (Hadoop does not either).

use hadoop_ipc::token::{MasterKey, Token, mint};
use yarn_proto::{convert::attempt_id_proto, yarn::ClientToAmTokenIdentifierProto};
use yarn_types::ApplicationAttemptId;

/// `ClientToAMTokenSecretManagerInRM` for one attempt.
pub struct ClientToAm {
    key: MasterKey,
    security: bool,
}

impl ClientToAm {
    /// `security`: Kerberos is on.
    pub fn new(key: Vec<u8>, security: bool) -> Self {
        Self {
            // The key belongs to the attempt, so its id never travels.
            key: MasterKey { id: 0, bytes: key },
            security,
        }
    }

    /// `client_to_am_token_master_key` of the answer to `registerApplicationMaster`.
    pub fn master_key(&self) -> Option<Vec<u8>> {
        self.security.then(|| self.key.bytes.clone())
    }

    /// `client_to_am_token` of an application report for `client`.
    pub fn token(&self, attempt: ApplicationAttemptId, client: &str) -> Option<Token> {
        let identifier = ClientToAmTokenIdentifierProto {
            app_attempt_id: Some(attempt_id_proto(attempt)),
            client_name: Some(client.to_owned()),
        };
        self.security.then(|| mint(&self.key, &identifier, ""))
    }
}
