//! Tests: which tokens a node takes.
//! May touch: the module under test.
//! Must not: open sockets.

use hadoop_ipc::token::mint;
use yarn_proto::yarn::ContainerIdProto;

use super::*;

fn key(id: i32) -> MasterKey {
    MasterKey {
        id,
        bytes: vec![u8::try_from(id).unwrap(); 8],
    }
}

fn attempt() -> ApplicationAttemptId {
    ApplicationId {
        cluster_timestamp: 7,
        id: 1,
    }
    .attempt(1)
}

fn nm_identifier(host: &str, key_id: i32) -> Vec<u8> {
    let said = NmTokenIdentifierProto {
        app_attempt_id: Some(convert::attempt_id_proto(attempt())),
        node_id: Some(convert::node_id_proto(&NodeId::new(host, 45_454))),
        app_submitter: Some("alice".to_owned()),
        key_id: Some(key_id),
    };
    mint(&key(key_id), &said, "").identifier
}

fn keys() -> TokenKeys {
    let keys = TokenKeys::new();
    keys.set_node(NodeId::new("n1", 45_454));
    keys.set(Some(key(1)), Some(key(11)));
    keys
}

#[test]
fn nm_tokens_of_the_current_the_previous_and_the_remembered_key() {
    let keys = keys();
    let first = nm_identifier("n1", 1);
    assert_eq!(
        keys.lookup(&first).unwrap().user,
        "appattempt_7_0001_000001"
    );
    keys.remember(attempt(), 1);
    keys.set(Some(key(2)), None);
    keys.set(Some(key(3)), None);
    assert!(keys.lookup(&nm_identifier("n1", 2)).is_ok());
    assert_eq!(
        keys.lookup(&first).unwrap().password,
        key(1).password(&first)
    );
    keys.forget(attempt().app);
    let text = keys.lookup(&first).unwrap_err().0;
    assert!(text.contains("generated illegally"), "{text}");
}

#[test]
fn an_nm_token_of_another_node_is_refused() {
    assert!(keys().lookup(&nm_identifier("n2", 1)).is_err());
    assert!(keys().lookup(b"\xff\xff").is_err());
}

fn container_token(key_id: i32, node: &str) -> TokenProto {
    let said = ContainerTokenIdentifierProto {
        container_id: Some(ContainerIdProto {
            app_id: None,
            app_attempt_id: Some(convert::attempt_id_proto(attempt())),
            id: Some(5),
        }),
        nm_host_addr: Some(node.to_owned()),
        master_key_id: Some(key_id),
        ..Default::default()
    };
    mint(&key(key_id), &said, "").into()
}

#[test]
fn container_tokens_are_judged_by_their_bytes() {
    let keys = keys();
    let good = container_token(11, "n1:45454");
    assert_eq!(
        keys.container_token(&good)
            .unwrap()
            .container_id
            .unwrap()
            .id(),
        5
    );
    let mut forged = good.clone();
    forged.password[0] ^= 1;
    let text = keys.container_token(&forged).unwrap_err().0;
    assert_eq!(
        text,
        "Invalid container token used for starting container on : n1:45454"
    );
    let mut changed = good;
    // An unknown field more: the same message for a decoder, other bytes for the HMAC.
    changed.identifier.extend([0xf8, 0x07, 0x01]);
    assert!(keys.container_token(&changed).is_err());
    assert!(
        keys.container_token(&container_token(11, "n2:45454"))
            .is_err()
    );
    let text = keys
        .container_token(&container_token(12, "n1:45454"))
        .unwrap_err()
        .0;
    assert!(
        text.contains("container_7_0001_01_000005 seems to have"),
        "{text}"
    );
}
