//! Tests of the negotiation: both state machines against each other and against recorded messages.
//! May touch: the module under test.
//! Must not: do IO.

use proptest::prelude::*;
use prost::Message;
use yarn_proto::common::RpcSaslProto;
use yarn_proto::common::rpc_sasl_proto::{SaslAuth, SaslState};

use super::*;
use crate::token::Token;

const IDENTIFIER: &[u8] = &[10, 13, 10, 9, 8, 2, 16, 1];

struct One;

impl Secrets for One {
    fn lookup(&self, identifier: &[u8]) -> Result<Secret, InvalidToken> {
        if identifier == IDENTIFIER {
            return Ok(Secret {
                password: vec![7; 20],
                user: "appattempt_1_0001_000001".into(),
            });
        }
        Err(InvalidToken("no such key 99".into()))
    }

    fn kind(&self) -> &'static str {
        crate::token::kinds::AMRM
    }
}

fn token(password: u8) -> Token {
    Token {
        identifier: IDENTIFIER.to_vec(),
        password: vec![password; 20],
        ..Token::default()
    }
}

fn server(offer: Offer) -> ServerSasl {
    ServerSasl::new(offer, "XbmppbUR33lT2DnxkVNGeGpBDwyoq0r1".into())
}

fn message(state: SaslState) -> RpcSaslProto {
    RpcSaslProto {
        state: state.into(),
        ..RpcSaslProto::default()
    }
}

/// The server's answer to NEGOTIATE and the client's to that.
fn initiated(server: &mut ServerSasl, client: &mut ClientSasl) -> RpcSaslProto {
    let Ok(ServerStep::Reply(offer)) = server.on_message(&ClientSasl::start(), Some(&One)) else {
        panic!("no offer");
    };
    let Ok(ClientStep::Send(initiate)) = client.on_message(&offer) else {
        panic!("no initiate")
    };
    initiate
}

#[test]
fn offer_has_the_bytes_of_a_stock_server() {
    let Ok(ServerStep::Reply(reply)) =
        server(Offer::TokenAndSimple).on_message(&ClientSasl::start(), Some(&One))
    else {
        panic!("no reply");
    };
    let mut expected =
        b"\x10\x01\x22\x84\x01\x0a\x05TOKEN\x12\x0aDIGEST-MD5\x1a\x00\x22\x07default\x2a\x64"
            .to_vec();
    expected.extend(b"realm=\"default\",nonce=\"XbmppbUR33lT2DnxkVNGeGpBDwyoq0r1\",qop=\"auth\"");
    expected.extend(b",charset=utf-8,algorithm=md5-sess\x22\x0a\x0a\x06SIMPLE\x12\x00");
    assert_eq!(reply.encode_to_vec(), expected);
}

#[test]
fn simple_only_port_answers_success_and_nothing_else() {
    let step = server(Offer::Simple)
        .on_message(&ClientSasl::start(), None)
        .unwrap();
    let ServerStep::Simple(Some(reply)) = step else {
        panic!("{step:?}")
    };
    assert_eq!(reply.encode_to_vec(), [0x10, 0x00]);
}

#[test]
fn initiate_of_simple_gets_no_answer() {
    let mut sasl = server(Offer::TokenAndSimple);
    sasl.on_message(&ClientSasl::start(), Some(&One)).unwrap();
    let auths = vec![SaslAuth {
        method: "SIMPLE".into(),
        ..SaslAuth::default()
    }];
    let step = sasl.on_message(
        &RpcSaslProto {
            auths,
            ..message(SaslState::Initiate)
        },
        Some(&One),
    );
    assert_eq!(step, Ok(ServerStep::Simple(None)));
}

#[test]
fn simple_is_refused_where_only_tokens_are_offered() {
    let mut sasl = server(Offer::Token);
    let auths = vec![SaslAuth {
        method: "SIMPLE".into(),
        ..SaslAuth::default()
    }];
    let initiate = RpcSaslProto {
        auths,
        ..message(SaslState::Initiate)
    };
    // A guess before the offer is answered with the offer, as stock does.
    assert!(matches!(
        sasl.on_message(&initiate, Some(&One)),
        Ok(ServerStep::Reply(_))
    ));
    let failure = sasl.on_message(&initiate, Some(&One)).unwrap_err();
    assert_eq!(
        failure.class,
        "org.apache.hadoop.security.AccessControlException"
    );
    assert_eq!(
        failure.text,
        "SIMPLE authentication is not enabled.  Available:[TOKEN]"
    );
    assert_eq!(failure.code, RpcErrorCodeProto::FatalUnauthorized);
}

#[test]
fn token_is_proved_both_ways() {
    let (mut server, mut client) = (
        server(Offer::Token),
        ClientSasl::new(token(7), "3eyFS8rc".into()),
    );
    let initiate = initiated(&mut server, &mut client);
    assert_eq!(initiate.auths.len(), 1);
    assert_eq!(
        initiate.auths[0].challenge, None,
        "the chosen entry goes back without its challenge"
    );
    let step = server.on_message(&initiate, Some(&One)).unwrap();
    let ServerStep::Token {
        reply,
        identifier,
        user,
    } = step
    else {
        panic!("{step:?}")
    };
    assert_eq!(
        (identifier.as_slice(), user.as_str()),
        (IDENTIFIER, "appattempt_1_0001_000001")
    );
    assert!(reply.token.as_ref().unwrap().starts_with(b"rspauth="));
    assert_eq!(client.on_message(&reply), Ok(ClientStep::Done));
    let again = server.on_message(&initiate, Some(&One)).unwrap_err();
    assert_eq!(again.text, "Negotiation is already complete");
}

#[test]
fn an_offer_without_challenge_costs_one_round_more() {
    let (mut server, mut client) = (
        server(Offer::Token),
        ClientSasl::new(token(7), "3eyFS8rc".into()),
    );
    let Ok(ServerStep::Reply(mut offer)) = server.on_message(&ClientSasl::start(), Some(&One))
    else {
        panic!()
    };
    offer.auths[0].challenge = None;
    let mut step = client.on_message(&offer);
    for _ in 0..2 {
        let Ok(ClientStep::Send(message)) = &step else {
            panic!("{step:?}")
        };
        step = match server.on_message(message, Some(&One)).unwrap() {
            ServerStep::Reply(reply) | ServerStep::Token { reply, .. } => client.on_message(&reply),
            other @ ServerStep::Simple(_) => panic!("{other:?}"),
        };
    }
    assert_eq!(step, Ok(ClientStep::Done));
}

#[test]
fn wrong_password_is_a_sasl_exception() {
    let (mut server, mut client) = (
        server(Offer::Token),
        ClientSasl::new(token(8), "3eyFS8rc".into()),
    );
    let initiate = initiated(&mut server, &mut client);
    let failure = server.on_message(&initiate, Some(&One)).unwrap_err();
    assert_eq!(failure.class, "javax.security.sasl.SaslException");
    assert_eq!(
        failure.text,
        "DIGEST-MD5: digest response format violation. Mismatched response."
    );
}

#[test]
fn unknown_identifier_is_an_invalid_token_with_the_secrets_text() {
    let unknown = Token {
        identifier: vec![1],
        ..token(7)
    };
    let (mut server, mut client) = (
        server(Offer::Token),
        ClientSasl::new(unknown, "3eyFS8rc".into()),
    );
    let initiate = initiated(&mut server, &mut client);
    let failure = server.on_message(&initiate, Some(&One)).unwrap_err();
    assert_eq!(
        failure.class,
        "org.apache.hadoop.security.token.SecretManager$InvalidToken"
    );
    assert_eq!(failure.text, "no such key 99");
}

#[test]
fn responses_made_for_something_else_are_refused() {
    let changes = [
        (
            "default-realm",
            "realm=\"default\"",
            "realm=\"other\"",
            "Nonexistent realm: other",
        ),
        (
            "nonce",
            "nonce=\"XbmppbUR",
            "nonce=\"YbmppbUR",
            "Mismatched nonce.",
        ),
        (
            "replay",
            "nc=00000001",
            "nc=00000002",
            "Nonce count does not match: 00000002",
        ),
        (
            "uri",
            "digest-uri=\"/default\"",
            "digest-uri=\"/evil\"",
            "Mismatched URI: /evil; expecting: /default",
        ),
        ("qop", "qop=auth", "qop=auth-conf", "Invalid QOP: auth-conf"),
        ("missing", ",cnonce=\"3eyFS8rc\"", "", "Missing cnonce."),
    ];
    for (name, from, to, text) in changes {
        let (mut server, mut client) = (
            server(Offer::Token),
            ClientSasl::new(token(7), "3eyFS8rc".into()),
        );
        let mut initiate = initiated(&mut server, &mut client);
        let sent = String::from_utf8(initiate.token.unwrap()).unwrap();
        assert!(sent.contains(from), "{name}: {sent}");
        initiate.token = Some(sent.replace(from, to).into_bytes());
        let failure = server.on_message(&initiate, Some(&One)).unwrap_err();
        assert_eq!(
            failure.text,
            format!("DIGEST-MD5: digest response format violation. {text}"),
            "{name}"
        );
    }
}

#[test]
fn client_refuses_a_server_that_does_not_know_the_password() {
    let (mut server, mut client) = (
        server(Offer::Token),
        ClientSasl::new(token(7), "3eyFS8rc".into()),
    );
    initiated(&mut server, &mut client);
    let forged = Some(b"rspauth=00000000000000000000000000000000".to_vec());
    let success = RpcSaslProto {
        token: forged,
        ..message(SaslState::Success)
    };
    assert!(client.on_message(&success).unwrap_err().contains("rspauth"));
    assert!(
        client
            .on_message(&message(SaslState::Success))
            .unwrap_err()
            .contains("no rspauth")
    );
    let mut fresh = ClientSasl::new(token(7), "3eyFS8rc".into());
    assert!(
        fresh
            .on_message(&message(SaslState::Success))
            .unwrap_err()
            .contains("no token")
    );
}

#[test]
fn second_negotiate_and_wrong_states_are_refused() {
    let mut sasl = server(Offer::Token);
    let early = sasl
        .on_message(&message(SaslState::Response), Some(&One))
        .unwrap_err();
    assert_eq!(early.class, "javax.security.sasl.SaslException");
    sasl.on_message(&ClientSasl::start(), Some(&One)).unwrap();
    let text = |state| server_text(&mut sasl, state);
    let texts = [
        SaslState::Negotiate,
        SaslState::Success,
        SaslState::Wrap,
        SaslState::Initiate,
    ]
    .map(text);
    assert_eq!(
        texts,
        [
            "Client already attempted negotiation",
            "Client sent unsupported state SUCCESS",
            "Server is not wrapping data",
            "Client mechanism is malformed",
        ]
    );
}

fn server_text(sasl: &mut ServerSasl, state: SaslState) -> String {
    sasl.on_message(&message(state), Some(&One))
        .unwrap_err()
        .text
}

proptest! {
    #[test]
    fn no_message_panics(state in -1..8_i32, token: Option<Vec<u8>>, method in "TOKEN|SIMPLE|X", challenge: Option<Vec<u8>>) {
        let token_auth = SaslAuth {
            method,
            mechanism: "DIGEST-MD5".into(),
            protocol: Some(String::new()),
            server_id: Some("default".into()),
            challenge,
        };
        let message = RpcSaslProto { state, token, auths: vec![token_auth], ..RpcSaslProto::default() };
        let mut server = server(Offer::TokenAndSimple);
        let _ = server.on_message(&message, Some(&One));
        let _ = server.on_message(&message, Some(&One));
        let mut client = ClientSasl::new(self::token(7), "3eyFS8rc".into());
        let _ = client.on_message(&message);
        let _ = client.on_message(&message);
    }
}
