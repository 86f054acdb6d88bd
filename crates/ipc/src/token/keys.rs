//! Master keys of the ResourceManager's secret managers and how they roll.
//! May touch: key bytes, times given by the caller.
//! Must not: read a clock or a random source, or show key bytes in Debug.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use yarn_proto::server::MasterKeyProto;

/// HMAC-SHA1, Hadoop's default `hadoop.security.secret-manager.key-generator.algorithm`.
pub fn hmac_sha1(key: &[u8], message: &[u8]) -> [u8; 20] {
    // HMAC takes a key of any length; the Err of this constructor is for algorithms that do not.
    match Hmac::<Sha1>::new_from_slice(key) {
        Ok(mut mac) => {
            mac.update(message);
            mac.finalize().into_bytes().into()
        }
        Err(_) => [0; 20],
    }
}

/// A key and its id. `org.apache.hadoop.yarn.server.api.records.MasterKey`.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey {
    /// Id that identifiers carry; starts random, grows by one a roll, may be negative.
    pub id: i32,
    /// Key bytes; a stock NodeManager wants exactly 8 (`…key-length` 64 bits).
    pub bytes: Vec<u8>,
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl MasterKey {
    /// Length of a fresh key: `hadoop.security.secret-manager.key-generator.length` 64 bits.
    pub const BYTES: usize = 8;

    /// The password for an identifier: HMAC over exactly these bytes.
    pub fn password(&self, identifier: &[u8]) -> [u8; 20] {
        hmac_sha1(&self.bytes, identifier)
    }
}

impl From<&MasterKey> for MasterKeyProto {
    fn from(key: &MasterKey) -> Self {
        Self {
            key_id: Some(key.id),
            bytes: Some(key.bytes.clone()),
        }
    }
}

impl From<MasterKeyProto> for MasterKey {
    fn from(proto: MasterKeyProto) -> Self {
        Self {
            id: proto.key_id(),
            bytes: proto.bytes.unwrap_or_default(),
        }
    }
}

/// When keys roll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRingOptions {
    /// Time between rolls, `…master-key-rolling-interval-secs` (86,400 s).
    pub roll_interval_ms: u64,
    /// Time from a roll to the new key's activation: 1.5 times the expiry of AMs or nodes.
    pub activation_delay_ms: u64,
}

/// The current key and, between a roll and its activation, the next one.
///
/// AMRM tokens are made with [`newest`](Self::newest), NM and container tokens with
/// [`current`](Self::current); both keys are accepted. Sources: AMRMTokenSecretManager,
/// NMTokenSecretManagerInRM, RMContainerTokenSecretManager.
#[derive(Debug, Clone)]
pub struct KeyRing {
    options: KeyRingOptions,
    current: MasterKey,
    next: Option<MasterKey>,
    rolled_at_ms: u64,
}

impl KeyRing {
    /// Starts with one key.
    pub const fn new(first: MasterKey, now_ms: u64, options: KeyRingOptions) -> Self {
        Self {
            options,
            current: first,
            next: None,
            rolled_at_ms: now_ms,
        }
    }

    /// The key that is in force.
    pub const fn current(&self) -> &MasterKey {
        &self.current
    }

    /// The key that waits for its activation.
    pub const fn next(&self) -> Option<&MasterKey> {
        self.next.as_ref()
    }

    /// The next key, or the current one when none waits.
    pub fn newest(&self) -> &MasterKey {
        self.next.as_ref().unwrap_or(&self.current)
    }

    /// The key of that id, if tokens made with it are accepted.
    pub fn accepts(&self, key_id: i32) -> Option<&MasterKey> {
        self.next
            .iter()
            .chain([&self.current])
            .find(|key| key.id == key_id)
    }

    /// When [`roll`](Self::roll) is due next.
    pub const fn roll_due_ms(&self) -> u64 {
        self.rolled_at_ms
            .saturating_add(self.options.roll_interval_ms)
    }

    /// When the waiting key is to be activated.
    pub const fn activation_due_ms(&self) -> Option<u64> {
        match self.next {
            Some(_) => Some(
                self.rolled_at_ms
                    .saturating_add(self.options.activation_delay_ms),
            ),
            None => None,
        }
    }

    /// Puts a new key in waiting, with the id after the newest one's; a key that still waited becomes current.
    pub fn roll(&mut self, now_ms: u64, bytes: Vec<u8>) -> &MasterKey {
        self.activate_now();
        self.rolled_at_ms = now_ms;
        let key = MasterKey {
            id: self.current.id.wrapping_add(1),
            bytes,
        };
        self.next.insert(key)
    }

    /// Makes the waiting key current if its time has come; true if it did.
    pub fn activate(&mut self, now_ms: u64) -> bool {
        self.activation_due_ms().is_some_and(|due| due <= now_ms) && self.activate_now()
    }

    fn activate_now(&mut self) -> bool {
        match self.next.take() {
            Some(key) => {
                self.current = key;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
#[path = "keys_test.rs"]
mod tests;
