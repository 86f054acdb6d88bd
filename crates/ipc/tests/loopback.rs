//! Client and server against each other over loopback.
//! May touch: sockets on ports from the OS.
//! Must not: sleep, or need a Hadoop installation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::*;
use hadoop_ipc::client::{Auth, CallError, Client, ClientOptions};
use hadoop_ipc::server::AuthPolicy;
use hadoop_ipc::token::MasterKey;
use yarn_proto::common::{GetProtocolVersionsRequestProto, GetProtocolVersionsResponseProto};

#[tokio::test]
async fn simple_callers_are_who_they_say() {
    for auth in [AuthPolicy::SimpleOnly, tokens_and_simple()] {
        let fixture = serve(auth);
        let client = connect(fixture.addr, alice()).await.unwrap();
        assert_eq!(
            ask(&client, "whoami", "").await.unwrap(),
            "alice None false"
        );
        // The empty message is one zero byte both ways.
        assert_eq!(ask(&client, "echo", "").await.unwrap(), "");
        fixture.server.shutdown().await;
    }
}

#[tokio::test]
async fn token_callers_are_who_the_token_says() {
    for auth in [tokens_only(), tokens_and_simple()] {
        let fixture = serve(auth);
        let client = connect(
            fixture.addr,
            Auth::Token {
                token: token(&key()),
            },
        )
        .await
        .unwrap();
        assert_eq!(
            ask(&client, "whoami", "").await.unwrap(),
            "appattempt_1796070485750_0002_000001 Some(17) true"
        );
    }
}

#[tokio::test]
async fn unknown_key_and_wrong_password_are_fatal_and_named() {
    let fixture = serve(tokens_only());
    let unknown = MasterKey { id: 99, ..key() };
    let e = connect(
        fixture.addr,
        Auth::Token {
            token: token(&unknown),
        },
    )
    .await
    .unwrap_err();
    let class = "org.apache.hadoop.security.token.SecretManager$InvalidToken";
    assert_eq!(remote(e), (class.into(), "no such key 99".into(), true));

    let wrong = MasterKey {
        bytes: b"76543210".to_vec(),
        ..key()
    };
    let e = connect(
        fixture.addr,
        Auth::Token {
            token: token(&wrong),
        },
    )
    .await
    .unwrap_err();
    let text = "DIGEST-MD5: digest response format violation. Mismatched response.";
    assert_eq!(
        remote(e),
        (
            "javax.security.sasl.SaslException".into(),
            text.into(),
            true
        )
    );
}

#[tokio::test]
async fn simple_on_a_token_port_is_refused_and_the_answer_arrives() {
    let fixture = serve(tokens_only());
    let refused = match connect(fixture.addr, alice()).await {
        Ok(client) => ask(&client, "whoami", "").await.unwrap_err(),
        Err(e) => e,
    };
    let text = "SIMPLE authentication is not enabled.  Available:[TOKEN]";
    assert_eq!(
        remote(refused),
        (
            "org.apache.hadoop.security.AccessControlException".into(),
            text.into(),
            true
        )
    );
}

#[tokio::test]
async fn token_client_does_not_trust_a_port_without_tokens() {
    let fixture = serve(AuthPolicy::SimpleOnly);
    let e = connect(
        fixture.addr,
        Auth::Token {
            token: token(&key()),
        },
    )
    .await
    .unwrap_err();
    assert!(
        matches!(&e, CallError::Protocol(text) if text.contains("no token")),
        "{e}"
    );
}

#[tokio::test]
async fn exceptions_carry_class_and_text_and_the_connection_lives() {
    let fixture = serve(AuthPolicy::SimpleOnly);
    let client = connect(fixture.addr, alice()).await.unwrap();
    let fail = remote(ask(&client, "fail", "").await.unwrap_err());
    let class = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException";
    assert_eq!(fail, (class.into(), "no app".into(), false));
    let unknown = remote(ask(&client, "nope", "").await.unwrap_err());
    let text = format!("Unknown method nope called on {PROTOCOL} protocol.");
    assert_eq!(
        unknown,
        (
            "org.apache.hadoop.ipc.RpcNoSuchMethodException".into(),
            text,
            false
        )
    );
    let dropped = remote(ask(&client, "drop", "").await.unwrap_err());
    assert_eq!(
        (dropped.0.as_str(), dropped.2),
        ("java.io.IOException", false)
    );
    assert_eq!(
        ask(&client, "echo", "still here").await.unwrap(),
        "still here"
    );
}

#[tokio::test]
async fn unknown_protocols_are_refused_and_versions_told() {
    let fixture = serve(AuthPolicy::SimpleOnly);
    let other = Client::connect(fixture.addr, "x.Y", alice(), ClientOptions::default())
        .await
        .unwrap();
    let refused = remote(ask(&other, "whoami", "").await.unwrap_err());
    assert_eq!(
        refused,
        (
            "org.apache.hadoop.ipc.RpcNoSuchProtocolException".into(),
            "Unknown protocol: x.Y".into(),
            false
        )
    );

    let meta = "org.apache.hadoop.ipc.ProtocolMetaInfoPB";
    let meta = Client::connect(fixture.addr, meta, alice(), ClientOptions::default())
        .await
        .unwrap();
    let request = GetProtocolVersionsRequestProto {
        protocol: PROTOCOL.into(),
    };
    let answer: GetProtocolVersionsResponseProto =
        meta.call("getProtocolVersions", &request).await.unwrap();
    let versions: Vec<_> = answer
        .protocol_versions
        .iter()
        .map(|v| (v.rpc_kind.as_str(), v.versions.as_slice()))
        .collect();
    assert_eq!(
        versions,
        [
            ("RPC_BUILTIN", &[][..]),
            ("RPC_WRITABLE", &[]),
            ("RPC_PROTOCOL_BUFFER", &[1])
        ]
    );
}

#[tokio::test]
async fn answers_come_in_any_order_and_from_any_thread() {
    let mut fixture = serve(AuthPolicy::SimpleOnly);
    let client = connect(fixture.addr, alice()).await.unwrap();
    let test = async {
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(fixture.held.recv().await.unwrap());
        }
        // Answered last to first, on another thread.
        std::thread::spawn(move || {
            while let Some((name, reply)) = held.pop() {
                reply.ok(&text(format!("answer to {name}")));
            }
        })
        .join()
        .unwrap();
    };
    let (a, b, c, ()) = tokio::join!(
        ask(&client, "hold", "a"),
        ask(&client, "hold", "b"),
        ask(&client, "hold", "c"),
        test
    );
    assert_eq!(
        [a.unwrap(), b.unwrap(), c.unwrap()],
        ["answer to a", "answer to b", "answer to c"]
    );
}

#[tokio::test]
async fn no_more_calls_are_open_than_allowed_and_all_are_answered() {
    let mut fixture = serve_with(AuthPolicy::SimpleOnly, |options| {
        options.calls_in_flight_max = 4;
    });
    let client = Arc::new(connect(fixture.addr, alice()).await.unwrap());
    let calls: Vec<_> = (0..20)
        .map(|n| {
            let client = Arc::clone(&client);
            tokio::spawn(async move { ask(&client, "hold", &n.to_string()).await })
        })
        .collect();
    for _ in 0..20 {
        let (name, reply) = fixture.held.recv().await.unwrap();
        // Let every other task run first: whatever would arrive too early arrives now.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        fixture.service.open.lock().unwrap().0 -= 1;
        reply.ok(&text(name));
    }
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap().unwrap(), n.to_string());
    }
    assert_eq!(fixture.service.open.lock().unwrap().1, 4);
}

#[tokio::test]
async fn thousands_of_pipelined_calls_are_answered() {
    let fixture = serve(tokens_only());
    let client = Arc::new(
        connect(
            fixture.addr,
            Auth::Token {
                token: token(&key()),
            },
        )
        .await
        .unwrap(),
    );
    let calls: Vec<_> = (0..3_000)
        .map(|n| {
            let client = Arc::clone(&client);
            tokio::spawn(async move {
                ask(&client, "echo", &format!("{n}")).await.unwrap() == format!("{n}")
            })
        })
        .collect();
    for call in calls {
        assert!(call.await.unwrap());
    }
}

#[tokio::test]
async fn large_messages_pass_and_the_cap_ends_the_connection() {
    let fixture = serve_with(AuthPolicy::SimpleOnly, |options| {
        options.frame_bytes_max = 3 << 20;
    });
    let client = connect(fixture.addr, alice()).await.unwrap();
    let large = "x".repeat(2 << 20);
    assert_eq!(ask(&client, "echo", &large).await.unwrap(), large);
    let too_large = "x".repeat(4 << 20);
    assert!(matches!(
        ask(&client, "echo", &too_large).await,
        Err(CallError::Io(_))
    ));
    assert!(!client.is_open());
}

#[tokio::test]
async fn a_call_that_times_out_leaves_the_connection_usable() {
    let mut fixture = serve(AuthPolicy::SimpleOnly);
    let options = ClientOptions {
        call_timeout: Duration::from_millis(500),
        ..ClientOptions::default()
    };
    let client = Client::connect(fixture.addr, PROTOCOL, alice(), options)
        .await
        .unwrap();
    assert!(matches!(
        ask(&client, "hold", "a").await,
        Err(CallError::Timeout)
    ));
    let (_, late) = fixture.held.recv().await.unwrap();
    late.ok(&text("too late"));
    assert_eq!(ask(&client, "echo", "b").await.unwrap(), "b");
}

#[tokio::test]
async fn shutdown_lets_open_calls_end_and_then_refuses() {
    let mut fixture = serve(AuthPolicy::SimpleOnly);
    let client = connect(fixture.addr, alice()).await.unwrap();
    let Fixture { server, addr, .. } = fixture;
    let test = async {
        let (name, reply) = fixture.held.recv().await.unwrap();
        let stopping = tokio::spawn(server.shutdown());
        tokio::task::yield_now().await;
        reply.ok(&text(name));
        stopping.await.unwrap();
    };
    let (answer, ()) = tokio::join!(ask(&client, "hold", "last"), test);
    assert_eq!(answer.unwrap(), "last");
    assert!(matches!(
        ask(&client, "echo", "x").await,
        Err(CallError::Io(_))
    ));
    assert!(matches!(
        connect(addr, alice()).await,
        Err(CallError::Io(_))
    ));
}

#[tokio::test]
async fn a_server_that_goes_away_is_an_io_error_for_open_calls() {
    let mut fixture = serve_with(AuthPolicy::SimpleOnly, |options| {
        options.shutdown_grace = Duration::from_millis(10);
    });
    let client = connect(fixture.addr, alice()).await.unwrap();
    let test = async {
        let held = fixture.held.recv().await.unwrap();
        fixture.server.shutdown().await;
        drop(held);
    };
    let (answer, ()) = tokio::join!(ask(&client, "hold", "x"), test);
    assert!(matches!(answer, Err(CallError::Io(_))), "{answer:?}");
}
