//! Tests of identifiers and passwords.
//! May touch: the module under test.
//! Must not: do IO.

use proptest::prelude::*;
use yarn_proto::yarn::ApplicationIdProto;

use super::*;

/// Recorded from a live AM: attempt 1 of application 1 of 1796070485750, key 7.
const AMRM: [u8; 17] = [
    0x0a, 0x0d, 0x0a, 0x09, 0x08, 0x02, 0x10, 0xf6, 0xdd, 0x92, 0xf1, 0xa2, 0x34, 0x10, 0x01, 0x10,
    0x07,
];

fn attempt() -> ApplicationAttemptIdProto {
    let application_id = Some(ApplicationIdProto {
        id: Some(2),
        cluster_timestamp: Some(1_796_070_485_750),
    });
    ApplicationAttemptIdProto {
        application_id,
        attempt_id: Some(1),
    }
}

#[test]
fn amrm_identifier_has_the_recorded_bytes() {
    let identifier = AmrmTokenIdentifierProto {
        app_attempt_id: Some(attempt()),
        key_id: Some(7),
    };
    assert_eq!(identifier.encode_to_vec(), AMRM);
    let read: AmrmTokenIdentifierProto = parse(&AMRM).unwrap();
    assert_eq!(read, identifier);
    assert_eq!(read.user(), "appattempt_1796070485750_0002_000001");
    assert_eq!(Identifier::master_key_id(&read), Some(7));
}

#[test]
fn users_are_those_of_hadoop() {
    let nm = NmTokenIdentifierProto {
        app_attempt_id: Some(attempt()),
        key_id: Some(-3),
        ..Default::default()
    };
    assert_eq!(nm.user(), "appattempt_1796070485750_0002_000001");
    let read: NmTokenIdentifierProto = parse(&nm.encode_to_vec()).unwrap();
    assert_eq!(
        Identifier::master_key_id(&read),
        Some(-3),
        "negative ids survive"
    );
    let container = |id| ContainerTokenIdentifierProto {
        container_id: Some(ContainerIdProto {
            app_id: None,
            app_attempt_id: Some(attempt()),
            id: Some(id),
        }),
        ..Default::default()
    };
    assert_eq!(
        container(3).user(),
        "container_1796070485750_0002_01_000003"
    );
    assert_eq!(
        container((17 << 40) | 3).user(),
        "container_e17_1796070485750_0002_01_000003"
    );
    let client = ClientToAmTokenIdentifierProto {
        app_attempt_id: Some(attempt()),
        client_name: Some("alice".into()),
    };
    assert_eq!(client.user(), "alice");
}

#[test]
fn hmac_is_that_of_rfc_2202() {
    use crate::token::hmac_sha1;
    let hex = |bytes: [u8; 20]| {
        bytes
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect::<Vec<_>>()
            .concat()
    };
    assert_eq!(
        hex(hmac_sha1(&[0x0b; 20], b"Hi There")),
        "b617318655057264e28bc0b6fb378c8ef146be00"
    );
    assert_eq!(
        hex(hmac_sha1(b"Jefe", b"what do ya want for nothing?")),
        "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
    );
}

#[test]
fn a_minted_token_verifies_with_its_key_only() {
    let key = MasterKey {
        id: 7,
        bytes: b"01234567".to_vec(),
    };
    let token = mint(
        &key,
        &AmrmTokenIdentifierProto {
            app_attempt_id: Some(attempt()),
            key_id: Some(7),
        },
        "",
    );
    assert_eq!(
        (
            token.kind.as_str(),
            token.service.as_str(),
            token.password.len()
        ),
        (kinds::AMRM, "", 20)
    );
    assert!(verify_password(&key, &token.identifier, &token.password));
    let other = MasterKey {
        bytes: b"01234568".to_vec(),
        ..key.clone()
    };
    assert!(!verify_password(&other, &token.identifier, &token.password));
    assert!(!verify_password(
        &key,
        &token.identifier,
        &token.password[..19]
    ));
    assert!(!verify_password(
        &key,
        &token.identifier[1..],
        &token.password
    ));
    assert!(!verify_password(&key, &token.identifier, &[]));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = parse::<AmrmTokenIdentifierProto>(&bytes).map(|i| i.user());
        let _ = parse::<NmTokenIdentifierProto>(&bytes).map(|i| i.user());
        let _ = parse::<ContainerTokenIdentifierProto>(&bytes).map(|i| i.user());
        let _ = parse::<ClientToAmTokenIdentifierProto>(&bytes).map(|i| i.user());
    }
}
