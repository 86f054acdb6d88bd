//! The master keys that the ResourceManager hands out, and the tokens judged by them.
//! May touch: keys and token bytes.
//! Must not: log a key or a password, or sign anything.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use hadoop_ipc::{
    server::{InvalidToken, Secret, Secrets},
    token::{Identifier, MasterKey, NodeKeys, kinds, parse, verify_password},
};
use yarn_proto::{
    common::TokenProto,
    convert,
    yarn::{ContainerTokenIdentifierProto, NmTokenIdentifierProto},
};
use yarn_types::{ApplicationAttemptId, ApplicationId, NodeId};

/// Keys for NMTokens and container tokens of one node.
#[derive(Debug, Default)]
pub struct TokenKeys {
    /// Known once the container port is open.
    node: OnceLock<NodeId>,
    nm: Mutex<NodeKeys>,
    container: Mutex<NodeKeys>,
}

impl TokenKeys {
    /// No keys yet, and no node: nothing is accepted.
    pub fn new() -> Self {
        Self {
            node: OnceLock::new(),
            nm: Mutex::new(NodeKeys::new()),
            container: Mutex::new(NodeKeys::new()),
        }
    }

    /// Tokens must be for `node` from now on; the first call counts.
    pub fn set_node(&self, node: NodeId) {
        let _ = self.node.set(node);
    }

    /// Takes keys from a registration or a heartbeat.
    pub fn set(&self, nm: Option<MasterKey>, container: Option<MasterKey>) {
        if let Some(key) = nm {
            lock(&self.nm).set(key);
        }
        if let Some(key) = container {
            lock(&self.container).set(key);
        }
    }

    /// Current keys, which heartbeats name: for NMTokens and for container tokens.
    pub fn current(&self) -> (Option<MasterKey>, Option<MasterKey>) {
        (
            lock(&self.nm).current().cloned(),
            lock(&self.container).current().cloned(),
        )
    }

    /// Keeps the key of the NMToken that `attempt` started a container with.
    pub fn remember(&self, attempt: ApplicationAttemptId, key_id: i32) {
        lock(&self.nm).remember(&attempt.to_string(), key_id);
    }

    /// Drops the keys kept for attempts of `app`.
    pub fn forget(&self, app: ApplicationId) {
        let of_app = |text: &str| {
            text.parse::<ApplicationAttemptId>()
                .is_ok_and(|attempt| attempt.app == app)
        };
        lock(&self.nm).forget(of_app);
    }

    /// What a container token says, if its password is right and it is for this node. The
    /// password is computed over the received bytes.
    ///
    /// # Errors
    /// Hadoop's text for an `InvalidToken`.
    pub fn container_token(
        &self,
        token: &TokenProto,
    ) -> Result<ContainerTokenIdentifierProto, InvalidToken> {
        let said: ContainerTokenIdentifierProto = parse(&token.identifier)
            .map_err(|_| InvalidToken("Invalid ContainerToken".to_owned()))?;
        let id = said.container_id.as_ref().and_then(convert::container_id);
        let key_id = Identifier::master_key_id(&said).unwrap_or(-1);
        let key = lock(&self.container).accepts("", key_id).cloned();
        let Some(key) = key else {
            let id = id.map_or_else(|| "?".to_owned(), |id| id.to_string());
            return Err(InvalidToken(format!(
                "Given Container {id} seems to have an illegally generated token."
            )));
        };
        let node = self.node.get().map(ToString::to_string).unwrap_or_default();
        let right = verify_password(&key, &token.identifier, &token.password)
            && said.nm_host_addr.as_deref() == Some(node.as_str());
        if right {
            Ok(said)
        } else {
            Err(InvalidToken(format!(
                "Invalid container token used for starting container on : {node}"
            )))
        }
    }
}

impl Secrets for TokenKeys {
    fn lookup(&self, identifier: &[u8]) -> Result<Secret, InvalidToken> {
        let said: NmTokenIdentifierProto =
            parse(identifier).map_err(|_| InvalidToken("Invalid NMToken".to_owned()))?;
        let user = said.user();
        let illegal = || {
            InvalidToken(format!(
                "Given NMToken for application : {user} seems to have been generated illegally."
            ))
        };
        let node = said.node_id.as_ref().and_then(convert::node_id);
        if node.is_none() || node.as_ref() != self.node.get() {
            return Err(illegal());
        }
        let key_id = Identifier::master_key_id(&said).unwrap_or(-1);
        let key = lock(&self.nm)
            .accepts(&user, key_id)
            .cloned()
            .ok_or_else(illegal)?;
        Ok(Secret {
            password: key.password(identifier).to_vec(),
            user,
        })
    }

    fn kind(&self) -> &'static str {
        kinds::NM
    }
}

fn lock(keys: &Mutex<NodeKeys>) -> MutexGuard<'_, NodeKeys> {
    // Nothing panics while it holds the lock.
    keys.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "keys_test.rs"]
mod tests;
