//! Tests of a connection's state without a socket.
//! May touch: the module under test.
//! Must not: open a socket.

use proptest::prelude::*;

use super::*;
use crate::codec::{Reply, next_frame, read_response, write_context, write_sasl_request};
use crate::sasl::{InvalidToken, Secret, Secrets};

struct Nobody;

impl Secrets for Nobody {
    fn lookup(&self, _: &[u8]) -> Result<Secret, InvalidToken> {
        Err(InvalidToken("nobody".into()))
    }

    fn kind(&self) -> &'static str {
        "x"
    }
}

fn session(auth: AuthPolicy, preamble: &[u8]) -> (Session, BytesMut) {
    let mut session = Session::new(auth, None, ([127, 0, 0, 1], 9).into());
    let mut out = BytesMut::new();
    let preamble = crate::codec::read_preamble(preamble).unwrap();
    session.on_preamble(preamble, &mut out, || "nonce".into());
    (session, out)
}

const SIMPLE: &[u8] = b"hrpc\x09\x00\x00";
const SASL: &[u8] = b"hrpc\x09\x00\xdf";

fn frame(write: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut out = BytesMut::new();
    write(&mut out);
    next_frame(&mut out, 1 << 20).unwrap().unwrap()
}

fn context(user: &str, real: Option<&str>) -> Bytes {
    let user_info = UserInformationProto {
        effective_user: Some(user.to_owned()).filter(|u| !u.is_empty()),
        real_user: real.map(ToOwned::to_owned),
    };
    let context = IpcConnectionContextProto {
        user_info: Some(user_info),
        protocol: None,
    };
    frame(|out| {
        write_context(out, b"c", &context);
    })
}

/// Class and text of the FATAL frame that a session ends with.
fn fatal(session: &mut Session, frame: Bytes) -> (String, String) {
    let mut out = BytesMut::new();
    assert!(matches!(session.on_frame(frame, &mut out), Input::Close));
    error(&mut out)
}

fn error(out: &mut BytesMut) -> (String, String) {
    match read_response(next_frame(out, 1 << 20).unwrap().unwrap()).unwrap() {
        Reply::Error {
            fatal: true,
            class,
            message,
            ..
        } => (class, message),
        other => panic!("{other:?}"),
    }
}

const RPC: &str = "org.apache.hadoop.ipc.RpcServerException";
const ACCESS: &str = "org.apache.hadoop.security.AccessControlException";

fn pair(class: &str, text: &str) -> (String, String) {
    (class.to_owned(), text.to_owned())
}

#[test]
fn simple_on_a_token_port_is_refused_at_once_with_call_id_minus_one() {
    let (_, mut out) = session(AuthPolicy::TokenOnly(Arc::new(Nobody)), SIMPLE);
    // Frame length, header length, then callId -1 as uint32.
    assert_eq!(
        out.get(5..11),
        Some(&[0x08, 0xff, 0xff, 0xff, 0xff, 0x0f][..])
    );
    assert_eq!(
        error(&mut out),
        pair(
            ACCESS,
            "SIMPLE authentication is not enabled.  Available:[TOKEN]"
        )
    );
}

#[test]
fn unknown_auth_byte_is_an_ipc_exception() {
    let (_, mut out) = session(AuthPolicy::SimpleOnly, b"hrpc\x09\x00\x11");
    assert_eq!(
        error(&mut out),
        pair(
            "org.apache.hadoop.ipc.IpcException",
            "Unknown auth protocol:17"
        )
    );
}

#[test]
fn frames_out_of_order_end_the_connection_with_the_texts_of_a_stock_server() {
    let call = |id| Bytes::from(vec![9, 0x08, 2, 0x10, 0, 0x18, id, 0x22, 1, 7]);
    let sasl = || {
        frame(|out| {
            write_sasl_request(
                out,
                &RpcSaslProto {
                    state: 1,
                    ..RpcSaslProto::default()
                },
            );
        })
    };
    let open = || {
        let (mut session, mut out) = session(AuthPolicy::SimpleOnly, SIMPLE);
        assert!(matches!(
            session.on_frame(context("bob", None), &mut out),
            Input::Nothing
        ));
        session
    };
    let (mut early, _) = session(AuthPolicy::SimpleOnly, SIMPLE);
    assert_eq!(
        fatal(&mut early, call(10)),
        pair(RPC, "Connection context not established")
    );
    assert_eq!(
        fatal(&mut open(), context("bob", None)),
        pair(RPC, "Connection context already processed")
    );
    assert_eq!(
        fatal(&mut open(), sasl()),
        pair(RPC, "SASL protocol not requested by client")
    );
    assert_eq!(
        fatal(&mut open(), call(9)),
        pair(RPC, "Unknown out of band call #-5")
    );
    let (mut negotiating, _) = session(AuthPolicy::TokenOnly(Arc::new(Nobody)), SASL);
    let text = "Connection header sent during SASL negotiation";
    assert_eq!(
        fatal(&mut negotiating, context("bob", None)),
        pair(RPC, text)
    );
    let mut out = BytesMut::new();
    assert!(
        matches!(open().on_frame(call(10), &mut out), Input::Call(caller, request) if caller.user == "bob" && request.call_id == 5)
    );
    assert!(
        matches!(open().on_frame(call(7), &mut out), Input::Nothing),
        "a ping gets no answer"
    );
    assert!(out.is_empty());
}

#[test]
fn nobody_acts_for_another_without_a_rule() {
    let (mut session, mut out) = session(AuthPolicy::SimpleOnly, SIMPLE);
    let class = "org.apache.hadoop.security.authorize.AuthorizationException";
    let text = "User: oozie is not allowed to impersonate bob";
    assert_eq!(
        fatal(&mut session, context("bob", Some("oozie"))),
        pair(class, text)
    );

    let rule: ProxyRule =
        Arc::new(|real, user, ip| (real, user, ip.is_loopback()) == ("oozie", "bob", true));
    session = Session::new(
        AuthPolicy::SimpleOnly,
        Some(rule),
        ([127, 0, 0, 1], 9).into(),
    );
    session.on_preamble(
        crate::codec::read_preamble(SIMPLE).unwrap(),
        &mut out,
        String::new,
    );
    assert!(matches!(
        session.on_frame(context("bob", Some("oozie")), &mut out),
        Input::Nothing
    ));
    let Phase::Open { caller, .. } = &session.phase else {
        panic!("not open")
    };
    assert_eq!(
        (caller.user.as_str(), caller.real_user.as_deref()),
        ("bob", Some("oozie"))
    );
}

#[test]
fn a_simple_context_must_name_a_user() {
    let (mut session, _) = session(AuthPolicy::SimpleOnly, SIMPLE);
    assert_eq!(fatal(&mut session, context("", None)).0, ACCESS);
}

#[test]
fn a_token_connection_may_claim_only_the_tokens_user() {
    let token = || Phase::Token {
        identifier: vec![1],
        user: "appattempt_1_0001_000001".into(),
    };
    let (mut session, mut out) = session(AuthPolicy::TokenOnly(Arc::new(Nobody)), SASL);
    session.phase = token();
    let text = "Authenticated user (appattempt_1_0001_000001 (auth:TOKEN)) doesn't match what the client claims to be (bob (auth:SIMPLE))";
    assert_eq!(
        fatal(&mut session, context("bob", None)),
        pair(ACCESS, text)
    );
    for user in ["", "appattempt_1_0001_000001"] {
        session.phase = token();
        assert!(
            matches!(
                session.on_frame(context(user, None), &mut out),
                Input::Nothing
            ),
            "{user}"
        );
        let Phase::Open { caller, .. } = &session.phase else {
            panic!("not open")
        };
        assert_eq!(
            (
                caller.user.as_str(),
                caller.identifier.as_deref(),
                caller.token
            ),
            ("appattempt_1_0001_000001", Some(&[1][..]), true)
        );
    }
}

proptest! {
    #[test]
    fn no_frame_panics(sasl: bool, frames: Vec<Vec<u8>>) {
        let (mut session, mut out) = session(AuthPolicy::TokenAndSimple(Arc::new(Nobody)), if sasl { SASL } else { SIMPLE });
        for frame in frames {
            let _ = session.on_frame(frame.into(), &mut out);
        }
    }
}
