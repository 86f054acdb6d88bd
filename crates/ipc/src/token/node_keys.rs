//! Keys that a NodeManager accepts: current, previous and those remembered per application attempt.
//! May touch: keys handed out by the ResourceManager.
//! Must not: make keys, read a clock, or forget an attempt's key before the application ended.

use std::collections::BTreeMap;

use super::MasterKey;

/// The key store of one kind on a node. `NMTokenSecretManagerInNM` and `NMContainerTokenSecretManager`.
#[derive(Debug, Clone, Default)]
pub struct NodeKeys {
    current: Option<MasterKey>,
    previous: Option<MasterKey>,
    remembered: BTreeMap<String, MasterKey>,
}

impl NodeKeys {
    /// No key yet: the node has not registered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a key from a registration or heartbeat response; the key it replaces stays accepted.
    pub fn set(&mut self, key: MasterKey) {
        if self
            .current
            .as_ref()
            .is_none_or(|current| current.id != key.id)
        {
            self.previous = self.current.replace(key);
        } else {
            self.current = Some(key);
        }
    }

    /// The key that heartbeats name as last known.
    pub const fn current(&self) -> Option<&MasterKey> {
        self.current.as_ref()
    }

    /// The key for a token of `attempt` (its id as text) made with `key_id`.
    pub fn accepts(&self, attempt: &str, key_id: i32) -> Option<&MasterKey> {
        let known = self
            .previous
            .iter()
            .chain(&self.current)
            .chain(self.remembered.get(attempt));
        known.into_iter().find(|key| key.id == key_id)
    }

    /// Keeps the key that `attempt` used for its first start, so that its connections outlive later rolls.
    pub fn remember(&mut self, attempt: &str, key_id: i32) {
        if let Some(key) = self.accepts(attempt, key_id).cloned() {
            self.remembered.insert(attempt.to_owned(), key);
        }
    }

    /// Drops the keys of the attempts that `ended` says are over.
    pub fn forget(&mut self, ended: impl Fn(&str) -> bool) {
        self.remembered.retain(|attempt, _| !ended(attempt));
    }
}

#[cfg(test)]
#[path = "node_keys_test.rs"]
mod tests;
