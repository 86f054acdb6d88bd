//! Tests of tokens.
//! May touch: the module under test.
//! Must not: do IO.

use proptest::prelude::*;

use super::*;

#[test]
fn debug_shows_no_password() {
    let token = Token {
        identifier: vec![1],
        password: b"hunter2".to_vec(),
        kind: "k".into(),
        service: "s".into(),
    };
    let shown = format!(
        "{token:?} {:?}",
        MasterKey {
            id: 7,
            bytes: b"hunter2".to_vec()
        }
    );
    assert!(
        !shown.contains("hunter2") && !shown.contains("104, 117"),
        "{shown}"
    );
    assert!(shown.contains("id: 7"));
}

#[test]
fn proto_form_has_the_same_four_parts() {
    let token = Token {
        identifier: vec![1],
        password: vec![2],
        kind: "k".into(),
        service: "s".into(),
    };
    let proto = TokenProto::from(token.clone());
    assert_eq!(
        (proto.identifier.as_slice(), proto.password.as_slice()),
        ([1].as_slice(), [2].as_slice())
    );
    assert_eq!(Token::from(proto), token);
}

proptest! {
    #[test]
    fn what_is_written_is_read(identifier: Vec<u8>, password: Vec<u8>, kind: String, service: String, tail: Vec<u8>) {
        let token = Token { identifier, password, kind, service };
        let mut out = Vec::new();
        token.write(&mut out);
        out.extend(tail);
        prop_assert_eq!(Token::from_bytes(&out), Ok(token));
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = Token::from_bytes(&bytes);
    }
}
