//! Tokens, their keys, and what rolling does to both.
//! May touch: the secrets.
//! Must not: wait for real time.

use hadoop_ipc::{
    server::Secrets as _,
    token::{parse, verify_password},
};

use std::sync::Arc;

use super::*;

const HOUR_MS: u64 = 3_600_000;

fn auth(security: bool) -> Arc<Auth> {
    let ring = KeyRingOptions {
        roll_interval_ms: 24 * HOUR_MS,
        activation_delay_ms: HOUR_MS,
    };
    let options = AuthOptions {
        amrm: ring,
        nm: ring,
        container: ring,
        container_expiry_ms: 600_000,
        rm_identifier: 77,
        security,
    };
    Arc::new(Auth::new(options, ResourceTypes::memory_and_vcores()))
}

fn attempt(n: u32) -> ApplicationAttemptId {
    "application_77_0001"
        .parse::<yarn_types::ApplicationId>()
        .unwrap()
        .attempt(n)
}

fn key_id(token: &Token) -> i32 {
    parse::<AmrmTokenIdentifierProto>(&token.identifier)
        .unwrap()
        .key_id()
}

#[test]
fn a_token_is_known_while_its_attempt_lives() {
    let auth = auth(false);
    let secrets = AmrmSecrets(Arc::clone(&auth));
    assert_eq!(auth.amrm_token(attempt(1)), None);
    auth.attempt_started(attempt(1));
    let token = auth.amrm_token(attempt(1)).unwrap();
    let secret = secrets.lookup(&token.identifier).unwrap();
    assert_eq!(secret.password, token.password);
    assert_eq!(secret.user, "appattempt_77_0001_000001");
    auth.attempt_ended(attempt(1));
    let gone = secrets.lookup(&token.identifier).unwrap_err().to_string();
    let text = "appattempt_77_0001_000001 not found in AMRMTokenSecretManager.";
    assert_eq!(gone, text);
    assert!(secrets.lookup(b"\xff\xff").is_err());
}

#[test]
fn a_rolled_key_renews_tokens_and_the_old_one_holds_until_activation() {
    let auth = auth(false);
    let secrets = AmrmSecrets(Arc::clone(&auth));
    auth.attempt_started(attempt(1));
    let old = auth.amrm_token(attempt(1)).unwrap();
    assert_eq!(auth.renewed_amrm_token(attempt(1), key_id(&old)), None);

    assert!(!auth.roll_due(24 * HOUR_MS));
    let new = auth.renewed_amrm_token(attempt(1), key_id(&old)).unwrap();
    assert_ne!(key_id(&new), key_id(&old));
    assert!(secrets.lookup(&old.identifier).is_ok());
    assert!(secrets.lookup(&new.identifier).is_ok());

    assert!(auth.roll_due(25 * HOUR_MS), "NMTokens have a new key too");
    let gone = secrets.lookup(&old.identifier).unwrap_err().to_string();
    assert_eq!(gone, "Invalid AMRMToken from appattempt_77_0001_000001");
    // A connection that was made with the old key still gets the new token.
    assert!(auth.renewed_amrm_token(attempt(1), key_id(&old)).is_some());
    assert!(auth.renewed_amrm_token(attempt(1), key_id(&new)).is_none());
}

#[test]
fn nodes_hear_of_a_key_before_tokens_use_it() {
    let auth = auth(false);
    let node = NodeId::new("nm", 8041);
    let signed_with = |keys: &NodeKeys| {
        let token = auth.nm_token(attempt(1), &node, "alice");
        verify_password(&keys.nm, &token.identifier, &token.password)
    };
    auth.roll_due(24 * HOUR_MS);
    let (current, newest) = (auth.current_node_keys(), auth.newest_node_keys());
    assert_ne!(current.nm.id, newest.nm.id);
    assert_ne!(current.container.id, newest.container.id);
    assert!(signed_with(&current) && !signed_with(&newest));
    auth.roll_due(25 * HOUR_MS);
    assert!(signed_with(&newest));
    assert_eq!(
        newest.nm.bytes.len(),
        8,
        "a stock NodeManager takes exactly 8 bytes"
    );
}

#[test]
fn client_to_am_tokens_need_security() {
    let plain = auth(false);
    plain.attempt_started(attempt(1));
    assert_eq!(plain.client_to_am_key(attempt(1)), None);
    assert_eq!(plain.client_to_am_token(attempt(1), "bob"), None);
    let secure = auth(true);
    secure.attempt_started(attempt(1));
    let bytes = secure.client_to_am_key(attempt(1)).unwrap();
    let token = secure.client_to_am_token(attempt(1), "bob").unwrap();
    let key = MasterKey { id: 0, bytes };
    assert!(verify_password(&key, &token.identifier, &token.password));
    secure.attempt_ended(attempt(1));
    assert_eq!(secure.client_to_am_token(attempt(1), "bob"), None);
}
