//! The RM's secret managers: AMRM, NM, container and client-to-AM tokens over rolling master keys.
//! May touch: key rings, the system's random source, a monotonic clock.
//! Must not: log a key or token, or let one leave by any way but the token's own field.

mod client_to_am;
mod roll;
mod secrets;

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use hadoop_ipc::token::{KeyRing, KeyRingOptions, MasterKey, Token, mint};
use rand::{RngCore as _, TryRngCore as _, rngs::OsRng};
use rm_core::effect::Grant;
use yarn_proto::{
    convert::{attempt_id_proto, container_id_proto, node_id_proto, resource_proto},
    gpu,
    yarn::{
        AmrmTokenIdentifierProto, ContainerTokenIdentifierProto, ContainerTypeProto,
        ExecutionTypeProto, LogAggregationContextProto, NmTokenIdentifierProto, PriorityProto,
    },
};
use yarn_types::{ApplicationAttemptId, NodeId, ResourceTypes};

pub use client_to_am::ClientToAm;
pub use roll::keep_rolling;
pub use secrets::AmrmSecrets;

/// When the keys of each ring roll and how long container tokens hold.
#[derive(Clone, Copy, Debug)]
pub struct AuthOptions {
    /// `yarn.resourcemanager.am-rm-tokens.…`
    pub amrm: KeyRingOptions,
    /// `yarn.resourcemanager.nm-tokens.…`
    pub nm: KeyRingOptions,
    /// `yarn.resourcemanager.container-tokens.…`
    pub container: KeyRingOptions,
    /// `yarn.resourcemanager.rm.container-allocation.expiry-interval-ms`
    pub container_expiry_ms: i64,
    /// Start of this RM, wall milliseconds: `rmIdentifier` of every container token.
    pub rm_identifier: i64,
    /// Kerberos security is on: only then do client-to-AM tokens travel.
    pub security: bool,
}

/// The keys that a node must know. Hadoop hands both out at registration.
#[derive(Clone, Debug)]
pub struct NodeKeys {
    /// Key that container tokens will be made with.
    pub container: MasterKey,
    /// Key that NMTokens will be made with.
    pub nm: MasterKey,
}

struct Rings {
    amrm: KeyRing,
    nm: KeyRing,
    container: KeyRing,
    /// Attempts that may authenticate, each with its client-to-AM key.
    attempts: HashMap<ApplicationAttemptId, ClientToAm>,
}

/// All secrets of the RM.
pub struct Auth {
    options: AuthOptions,
    types: ResourceTypes,
    start: Instant,
    rings: Mutex<Rings>,
}

/// `len` bytes of the system's random source.
fn random_bytes(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    OsRng.unwrap_mut().fill_bytes(&mut bytes);
    bytes
}

fn fresh_key() -> MasterKey {
    MasterKey {
        id: i32::from_be_bytes(random_bytes(4).try_into().unwrap_or_default()),
        bytes: random_bytes(MasterKey::BYTES),
    }
}

impl Auth {
    /// Fresh random keys.
    pub fn new(options: AuthOptions, types: ResourceTypes) -> Self {
        let rings = Rings {
            amrm: KeyRing::new(fresh_key(), 0, options.amrm),
            nm: KeyRing::new(fresh_key(), 0, options.nm),
            container: KeyRing::new(fresh_key(), 0, options.container),
            attempts: HashMap::new(),
        };
        Self {
            options,
            types,
            start: Instant::now(),
            rings: Mutex::new(rings),
        }
    }

    fn rings(&self) -> MutexGuard<'_, Rings> {
        // Rings are whole between any two statements.
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Start of this RM, as container tokens and registrations carry it.
    pub fn rm_identifier(&self) -> i64 {
        self.options.rm_identifier
    }

    /// From now on `attempt` may authenticate.
    pub fn attempt_started(&self, attempt: ApplicationAttemptId) {
        let key = ClientToAm::new(random_bytes(MasterKey::BYTES), self.options.security);
        self.rings().attempts.insert(attempt, key);
    }

    /// From now on it may not.
    pub fn attempt_ended(&self, attempt: ApplicationAttemptId) {
        self.rings().attempts.remove(&attempt);
    }

    /// Whether the attempt may authenticate.
    pub fn is_live(&self, attempt: ApplicationAttemptId) -> bool {
        self.rings().attempts.contains_key(&attempt)
    }

    /// An AMRMToken for `attempt`, made with the newest key; `None` when it is not live. The service
    /// is empty, as Hadoop makes it: the ApplicationMaster's side fills it in.
    pub fn amrm_token(&self, attempt: ApplicationAttemptId) -> Option<Token> {
        let rings = self.rings();
        rings.attempts.contains_key(&attempt).then(|| {
            let key = rings.amrm.newest();
            let identifier = AmrmTokenIdentifierProto {
                app_attempt_id: Some(attempt_id_proto(attempt)),
                key_id: Some(key.id),
            };
            mint(key, &identifier, "")
        })
    }

    /// A new AMRMToken when the one behind the caller's connection was made with an older key.
    pub fn renewed_amrm_token(&self, attempt: ApplicationAttemptId, key_id: i32) -> Option<Token> {
        let newest = self.rings().amrm.newest().id;
        (newest != key_id)
            .then(|| self.amrm_token(attempt))
            .flatten()
    }

    /// Permission for `attempt` (or for the RM acting for it) to talk to `node`.
    pub fn nm_token(&self, attempt: ApplicationAttemptId, node: &NodeId, user: &str) -> Token {
        let rings = self.rings();
        let key = rings.nm.current();
        let identifier = NmTokenIdentifierProto {
            app_attempt_id: Some(attempt_id_proto(attempt)),
            node_id: Some(node_id_proto(node)),
            app_submitter: Some(user.to_owned()),
            key_id: Some(key.id),
        };
        mint(key, &identifier, &node.to_string())
    }

    /// Permission to start `grant`'s container. `wall_ms` is now.
    pub fn container_token(
        &self,
        grant: &Grant,
        user: &str,
        log_aggregation: Option<LogAggregationContextProto>,
        wall_ms: i64,
    ) -> Token {
        let container_type = if grant.is_am {
            ContainerTypeProto::ApplicationMaster
        } else {
            ContainerTypeProto::Task
        };
        let node = grant.node.to_string();
        let rings = self.rings();
        let key = rings.container.current();
        let identifier = ContainerTokenIdentifierProto {
            container_id: Some(container_id_proto(grant.container)),
            nm_host_addr: Some(node.clone()),
            app_submitter: Some(user.to_owned()),
            resource: Some(resource_proto(grant.resource, &self.types)),
            expiry_time_stamp: Some(wall_ms.saturating_add(self.options.container_expiry_ms)),
            master_key_id: Some(key.id),
            rm_identifier: Some(self.options.rm_identifier),
            priority: Some(PriorityProto {
                priority: Some(grant.priority),
            }),
            creation_time: Some(grant.created_wall_ms),
            log_aggregation_context: log_aggregation,
            node_label_expression: Some(String::new()),
            container_type: Some(container_type as i32),
            execution_type: Some(ExecutionTypeProto::Guaranteed as i32),
            version: Some(grant.version),
            allocation_request_id: Some(grant.allocation_request_id),
            // A stock NodeManager checks the token over the bytes that it knows: no field for it.
            heddle_gpus: (!grant.gpus.is_empty()).then(|| gpu::grants_proto(&grant.gpus)),
            ..Default::default()
        };
        mint(key, &identifier, &node)
    }

    /// The keys in force, for a node that registers.
    pub fn current_node_keys(&self) -> NodeKeys {
        let rings = self.rings();
        NodeKeys {
            container: rings.container.current().clone(),
            nm: rings.nm.current().clone(),
        }
    }

    /// The keys that every node must know before tokens use them, for heartbeats.
    pub fn newest_node_keys(&self) -> NodeKeys {
        let rings = self.rings();
        NodeKeys {
            container: rings.container.newest().clone(),
            nm: rings.nm.newest().clone(),
        }
    }

    /// Key of the client-to-AM tokens for the answer to `registerApplicationMaster`; `None` without
    /// security, as in Hadoop.
    pub fn client_to_am_key(&self, attempt: ApplicationAttemptId) -> Option<Vec<u8>> {
        self.rings().attempts.get(&attempt)?.master_key()
    }

    /// Token with which `client` may talk to the ApplicationMaster of `attempt`; `None` without
    /// security, as in Hadoop.
    pub fn client_to_am_token(&self, attempt: ApplicationAttemptId, client: &str) -> Option<Token> {
        self.rings().attempts.get(&attempt)?.token(attempt, client)
    }
}

#[cfg(test)]
#[path = "auth_test.rs"]
mod tests;
