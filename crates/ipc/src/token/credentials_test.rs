//! Tests of the token storage, with bytes recorded from Spark.
//! May touch: the module under test.
//! Must not: do IO.

use proptest::prelude::*;

use super::*;
use crate::token::kinds;

/// What a Spark 4.3.0 AM put into an executor's launch context: one AMRM token, then 48 bytes of the array behind it.
fn recorded() -> Vec<u8> {
    let mut bytes = b"HDTS\x00\x01\x00\x11".to_vec();
    bytes.extend([
        0x0a, 0x0d, 0x0a, 0x09, 0x08, 0x02, 0x10, 0xf6, 0xdd, 0x92, 0xf1, 0xa2, 0x34, 0x10, 0x01,
        0x10, 0x07,
    ]);
    bytes.push(0x14);
    bytes.extend([0xdd, 0xed, 0x6c, 0x42, 0x1d, 0x1e, 0x58, 0x38, 0x1b, 0x92]);
    bytes.extend([0xf1, 0x36, 0x83, 0x28, 0xb8, 0x10, 0x75, 0x3e, 0x38, 0x4e]);
    bytes.extend(b"\x10YARN_AM_RM_TOKEN\x0f127.0.0.1:18030\x00");
    assert_eq!(bytes.len(), 80);
    bytes
}

#[test]
fn empty_credentials_are_the_seven_bytes_that_spark_sends() {
    let bytes = b"HDTS\x00\x00\x00";
    assert_eq!(Credentials::from_bytes(bytes), Ok(Credentials::default()));
    assert_eq!(Credentials::default().to_bytes(), bytes);
    assert_eq!(Credentials::from_bytes(&[]), Ok(Credentials::default()));
}

#[test]
fn junk_after_the_credentials_is_read_over_and_not_written() {
    let mut sent = recorded();
    sent.extend([0xa5; 48]);
    let credentials = Credentials::from_bytes(&sent).unwrap();
    let token = credentials.of_kind(kinds::AMRM).unwrap();
    assert_eq!((token.identifier.len(), token.password.len()), (17, 20));
    assert_eq!(token.service, "127.0.0.1:18030");
    assert_eq!(credentials.tokens.keys().collect::<Vec<_>>(), [""]);
    assert_eq!(credentials.to_bytes(), recorded());
}

#[test]
fn protobuf_storage_is_read_and_written_back_as_writable() {
    let expected = {
        let mut credentials = Credentials::from_bytes(&recorded()).unwrap();
        credentials.secrets.insert("s".into(), vec![1, 2]);
        credentials
    };
    let token = expected.of_kind(kinds::AMRM).unwrap().clone();
    let entry = |alias: &str, token, secret| yarn_proto::common::CredentialsKvProto {
        alias: alias.into(),
        token,
        secret,
    };
    let proto = CredentialsProto {
        tokens: vec![entry("", Some(token.into()), None)],
        secrets: vec![entry("s", None, Some(vec![1, 2]))],
    };
    let mut bytes = b"HDTS\x01".to_vec();
    bytes.extend(proto.encode_length_delimited_to_vec());
    bytes.extend(b"junk");
    assert_eq!(Credentials::from_bytes(&bytes), Ok(expected));
}

#[test]
fn faults_are_named() {
    assert_eq!(
        Credentials::from_bytes(b"HDTX\x00\x00\x00"),
        Err(TokenError::Magic)
    );
    assert_eq!(
        Credentials::from_bytes(b"HDTS\x02\x00\x00"),
        Err(TokenError::Format(2))
    );
    let truncated = recorded();
    for end in 1..truncated.len() {
        assert!(
            Credentials::from_bytes(&truncated[..end]).is_err(),
            "{end} bytes were accepted"
        );
    }
    // 2^31 tokens announced, nothing there: refused before anything is reserved.
    let many = b"HDTS\x00\x8c\x7f\xff\xff\xff";
    assert!(matches!(
        Credentials::from_bytes(many),
        Err(TokenError::Length {
            what: "number of tokens",
            ..
        })
    ));
}

#[test]
fn a_token_is_added_under_its_service_and_replaces_its_namesake() {
    let mut credentials = Credentials::from_bytes(&recorded()).unwrap();
    credentials.add(Token {
        kind: "NMToken".into(),
        ..Token::default()
    });
    assert_eq!(credentials.tokens.len(), 1);
    assert_eq!(credentials.tokens[""].kind, "NMToken");
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        tokens in proptest::collection::btree_map(".*", (any::<Vec<u8>>(), any::<Vec<u8>>(), ".*", ".*"), 0..5),
        secrets: BTreeMap<String, Vec<u8>>,
        junk: Vec<u8>,
    ) {
        let tokens = tokens.into_iter().map(|(alias, (identifier, password, kind, service))| {
            (alias, Token { identifier, password, kind, service })
        }).collect();
        let credentials = Credentials { tokens, secrets };
        let mut bytes = credentials.to_bytes();
        bytes.extend(junk);
        prop_assert_eq!(Credentials::from_bytes(&bytes), Ok(credentials));
    }

    #[test]
    fn no_bytes_panic(format: u8, bytes: Vec<u8>) {
        let _ = Credentials::from_bytes(&bytes);
        let mut storage = b"HDTS".to_vec();
        storage.push(format % 3);
        storage.extend(bytes);
        let _ = Credentials::from_bytes(&storage);
    }
}
