//! Tests of DIGEST-MD5, with RFC 2831's example and one recorded from a Java client.
//! May touch: the module under test.
//! Must not: do IO.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;

#[test]
fn values_of_rfc_2831_section_4() {
    let digest = Digest {
        username: "chris",
        realm: "elwood.innosoft.com",
        password: "secret",
        nonce: "OA6MG9tEQGm2hh",
        cnonce: "OA6MHXh6VqTrRk",
        nc: "00000001",
        digest_uri: "imap/elwood.innosoft.com",
    };
    assert_eq!(digest.response(), "d388dad90d4bbd760a152321f2143af7");
    assert_eq!(digest.rspauth(), "ea40f60335c427b5527b84dbabcdfffd");
}

#[test]
fn response_recorded_from_a_spark_application_master() {
    let password = [
        0xdd, 0xed, 0x6c, 0x42, 0x1d, 0x1e, 0x58, 0x38, 0x1b, 0x92, 0xf1, 0x36, 0x83, 0x28, 0xb8,
        0x10, 0x75, 0x3e, 0x38, 0x4e,
    ];
    let digest = Digest {
        username: "Cg0KCQgCEPbdkvGiNBABEAc=",
        realm: "default",
        password: &STANDARD.encode(password),
        nonce: "XbmppbUR33lT2DnxkVNGeGpBDwyoq0r1",
        cnonce: "3eyFS8rcaXbFP5F9FnCWtCl6au5ohkVtTlrXAM8a",
        nc: "00000001",
        digest_uri: "/default",
    };
    assert_eq!(digest.response(), "84d491b992e1214b78a7d61d03682cc1");
}

#[test]
fn directives_may_be_quoted_or_not_and_hold_equal_signs() {
    let text = br#"charset=utf-8,username="Cg0KCQ==",realm="a,b\"c\\",nc=00000001, digest-uri="/default" ,odd=x=y,,qop=auth"#;
    let directives = Directives::parse(text).unwrap();
    assert_eq!(directives.get("username"), Some("Cg0KCQ=="));
    assert_eq!(directives.get("realm"), Some(r#"a,b"c\"#));
    assert_eq!(directives.get("digest-uri"), Some("/default"));
    assert_eq!(directives.get("odd"), Some("x=y"));
    assert_eq!(directives.get("qop"), Some("auth"));
    assert_eq!(directives.get("absent"), None);
}

#[test]
fn bad_directives_are_refused() {
    assert_eq!(Directives::parse(b"username"), Err(DigestError::Syntax(0)));
    assert_eq!(Directives::parse(b"a=1,=2"), Err(DigestError::Syntax(4)));
    assert_eq!(Directives::parse(b"a=\"1"), Err(DigestError::Quote(0)));
    assert_eq!(Directives::parse(b"a=\"1\\"), Err(DigestError::Quote(0)));
    assert_eq!(
        Directives::parse(b"a=\"1\"b=2"),
        Err(DigestError::Syntax(5))
    );
    assert_eq!(
        Directives::parse(b"a=1,a=2"),
        Err(DigestError::Twice("a".into()))
    );
    assert_eq!(Directives::parse(&[0xff]), Err(DigestError::Text));
    let many = (0..40)
        .map(|n| format!("d{n}=1"))
        .collect::<Vec<_>>()
        .join(",");
    assert_eq!(
        Directives::parse(many.as_bytes()),
        Err(DigestError::TooMany)
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = Directives::parse(&bytes);
    }

    #[test]
    fn no_text_panics(text in "[a-c=,\" \\\\é]*") {
        let _ = Directives::parse(text.as_bytes());
    }
}
