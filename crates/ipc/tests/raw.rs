//! Raw bytes against the server over loopback: strangers, slow peers, limits.
//! May touch: sockets on ports from the OS.
//! Must not: sleep, or need a Hadoop installation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use common::*;
use hadoop_ipc::server::{AuthPolicy, InputBudget};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends bytes and reads until the server closes.
async fn raw(addr: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn strangers_get_an_answer_they_understand() {
    let fixture = serve(AuthPolicy::SimpleOnly);
    let http =
        String::from_utf8(raw(fixture.addr, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await).unwrap();
    assert!(
        http.starts_with("HTTP/1.1 404 Not Found\r\n") && http.contains("Hadoop IPC port"),
        "{http}"
    );
    let old = raw(fixture.addr, b"hrpc\x08\x00\x00").await;
    assert!(old.starts_with(&[0xff; 8]) && old.ends_with(b"client version 8"));
    // A frame that announces 2 GiB, and one that is negative.
    assert_eq!(
        raw(fixture.addr, b"hrpc\x09\x00\x00\x7f\xff\xff\xff").await,
        b""
    );
    assert_eq!(
        raw(fixture.addr, b"hrpc\x09\x00\x00\xff\xff\xff\xff").await,
        b""
    );
}

#[tokio::test]
async fn silence_and_slow_handshakes_are_cut_off() {
    let fixture = serve_with(tokens_only(), |options| {
        options.handshake_timeout = Duration::from_millis(50);
    });
    assert_eq!(raw(fixture.addr, b"").await, b"");
    assert_eq!(raw(fixture.addr, b"hrpc\x09\x00\xdf\x00\x00").await, b"");
}

#[tokio::test]
async fn idle_connections_are_closed_but_not_those_that_wait_for_an_answer() {
    let mut fixture = serve_with(AuthPolicy::SimpleOnly, |options| {
        options.idle_timeout = Duration::from_millis(50);
    });
    let (idle, waiting) = (
        connect(fixture.addr, alice()).await.unwrap(),
        connect(fixture.addr, alice()).await.unwrap(),
    );
    let test = async {
        let (name, reply) = fixture.held.recv().await.unwrap();
        // The idle connection's end shows that the time has passed.
        while idle.is_open() {
            tokio::time::timeout(Duration::from_millis(5), std::future::pending::<()>())
                .await
                .unwrap_err();
        }
        reply.ok(&text(name));
    };
    let (answer, ()) = tokio::join!(ask(&waiting, "hold", "x"), test);
    assert_eq!(answer.unwrap(), "x");
}

#[tokio::test]
async fn a_peer_that_takes_no_answers_is_cut_off() {
    let fixture = serve_with(AuthPolicy::SimpleOnly, |options| {
        options.write_timeout = Duration::from_millis(100);
    });
    let _stream = ask_for_200_mib(fixture.addr).await;
    assert_eq!(fixture.server.connections(), 1);
    // 200 MiB were asked for; the server reads no more calls after the first, and gives up.
    until_closed(&fixture).await;
}

#[tokio::test]
async fn answers_over_the_cap_end_the_connection_at_once() {
    let fixture = serve_with(AuthPolicy::SimpleOnly, |options| {
        options.outbound_bytes_pause = usize::MAX;
        options.outbound_bytes_max = 8 << 20;
    });
    let _stream = ask_for_200_mib(fixture.addr).await;
    assert_eq!(fixture.server.connections(), 1);
    until_closed(&fixture).await;
}

#[tokio::test]
async fn answers_that_pile_up_one_by_one_end_the_connection_too() {
    let mut fixture = serve_with(AuthPolicy::SimpleOnly, |options| {
        options.outbound_bytes_pause = usize::MAX;
        options.outbound_bytes_max = 8 << 20;
    });
    let mut stream = TcpStream::connect(fixture.addr).await.unwrap();
    let mut bytes = b"hrpc\x09\x00\x00".to_vec();
    bytes.extend(frame(-3, b"\x0a\x12\x08\x0a\x06mallet"));
    bytes.extend((0..40).flat_map(|_| call_frame(1, "hold")));
    stream.write_all(&bytes).await.unwrap();
    for _ in 0..40 {
        let (_, reply) = fixture.held.recv().await.unwrap();
        reply.ok(&text("x".repeat(1 << 20)));
        // The connection's task moves each answer to its send buffer before the next is given.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
    until_closed(&fixture).await;
}

/// Peers that really send large frames, whole and half, on one small budget.
#[tokio::test]
async fn a_flood_of_large_requests_is_bounded_and_keeps_nobody_out() {
    const MIB: usize = 1 << 20;
    let budget = InputBudget::new(4 * MIB);
    let fixture = serve_with(AuthPolicy::SimpleOnly, |options| {
        options.input = Arc::clone(&budget);
    });
    let opened = {
        let mut bytes = b"hrpc\x09\x00\x00".to_vec();
        bytes.extend(frame(-3, b"\x0a\x12\x08\x0a\x06mallet"));
        bytes
    };
    let mut flood = Vec::new();
    for _ in 0..16 {
        let mut stream = TcpStream::connect(fixture.addr).await.unwrap();
        stream.write_all(&opened).await.unwrap();
        flood.push(tokio::spawn(async move {
            let mut large = u32::try_from(3 * MIB).unwrap().to_be_bytes().to_vec();
            large.resize(2 * MIB, 0);
            // Whoever is closed meanwhile cannot send on.
            let _ = stream.write_all(&large).await;
            stream
        }));
    }
    let counted = async {
        while budget.used() < MIB {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), counted)
        .await
        .expect("what has come counts");
    let client = connect(fixture.addr, alice()).await.unwrap();
    let message = "x".repeat(MIB / 2);
    let mut most = 0;
    for _ in 0..50 {
        assert_eq!(ask(&client, "echo", &message).await.unwrap(), message);
        most = most.max(budget.used());
    }
    assert!(most <= 4 * MIB, "{most}");
    // A message of two bytes an element takes a hundred times as much.
    let many = call_with(2, "echo", &[0x0a, 0x00].repeat(MIB / 8));
    let refused = raw(
        fixture.addr,
        &[&opened[..], &many, &frame(-7, b"")].concat(),
    )
    .await;
    let refused = String::from_utf8_lossy(&refused);
    assert!(
        refused.contains("Protocol message was too large"),
        "{refused}"
    );
    // One that says more than may ever be held is not listened to.
    let mut huge = opened.clone();
    huge.extend(u32::try_from(5 * MIB).unwrap().to_be_bytes());
    raw(fixture.addr, &huge).await;
    for task in flood {
        drop(task.await.unwrap());
    }
    drop(client);
    until_closed(&fixture).await;
    assert_eq!(budget.used(), 0);
}

/// A connection that is known to be open, asks for 200 answers of 1 MiB and reads none of them.
async fn ask_for_200_mib(addr: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let mut bytes = b"hrpc\x09\x00\x00".to_vec();
    bytes.extend(frame(-3, b"\x0a\x12\x08\x0a\x06mallet"));
    bytes.extend(call_frame(1, "whoami"));
    stream.write_all(&bytes).await.unwrap();
    stream.read_u32().await.unwrap();
    let calls: Vec<u8> = (0..200).flat_map(|_| call_frame(1, "large")).collect();
    stream.write_all(&calls).await.unwrap();
    stream
}

/// Returns when the server has no connection left, long before its timeouts.
async fn until_closed(fixture: &Fixture) {
    let closed = async {
        while fixture.server.connections() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), closed)
        .await
        .expect("the server cuts the connection off");
}

/// A request frame as a Java client writes it.
fn frame(call_id: i32, rest: &[u8]) -> Vec<u8> {
    let zigzag = u8::try_from((call_id << 1) ^ (call_id >> 31)).unwrap();
    let mut body = vec![
        12, 0x08, 2, 0x10, 0, 0x18, zigzag, 0x22, 2, b'c', b'c', 0x28, 0,
    ];
    body.extend(rest);
    let mut out = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    out.extend(body);
    out
}

/// A call of `method` with an empty message.
fn call_frame(call_id: i32, method: &str) -> Vec<u8> {
    call_with(call_id, method, b"")
}

/// A call of `method` with these bytes as its message.
fn call_with(call_id: i32, method: &str, message: &[u8]) -> Vec<u8> {
    let byte = |len: usize| u8::try_from(len).unwrap();
    let mut header = vec![0x0a, byte(method.len())];
    header.extend(method.as_bytes());
    header.extend([0x12, byte(PROTOCOL.len())]);
    header.extend(PROTOCOL.as_bytes());
    header.extend([0x18, 1]);
    let mut rest = vec![byte(header.len())];
    rest.extend(header);
    let mut length = message.len();
    while length > 0x7f {
        rest.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    rest.push(byte(length));
    rest.extend(message);
    frame(call_id, &rest)
}

#[tokio::test]
async fn a_sasl_client_without_token_goes_on_in_plain_mode() {
    let fixture = serve(tokens_and_simple());
    let mut bytes = b"hrpc\x09\x00\xdf".to_vec();
    bytes.extend(frame(-33, b"\x02\x10\x01"));
    // INITIATE of SIMPLE, context and call come in one burst, before any answer was read.
    bytes.extend(frame(-33, b"\x0e\x10\x02\x22\x0a\x0a\x06SIMPLE\x12\x00"));
    bytes.extend(frame(-3, b"\x09\x12\x07\x0a\x05alice"));
    bytes.extend(call_frame(5, "whoami"));
    // A ping gets no answer; a bad call at the end makes the server close.
    bytes.extend(frame(-4, b""));
    bytes.extend(frame(-7, b""));
    let answer = raw(fixture.addr, &bytes).await;
    let mut frames = Vec::new();
    let mut rest = answer.as_slice();
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        let (body, next) = tail.split_at(usize::try_from(u32::from_be_bytes(*length)).unwrap());
        frames.push(body.to_vec());
        rest = next;
    }
    let [offer, whoami, fatal] = frames.as_slice() else {
        panic!("{} answers", frames.len())
    };
    assert_eq!(
        offer.get(1..7),
        Some(&[0x08, 0xdf, 0xff, 0xff, 0xff, 0x0f][..]),
        "callId -33 as uint32"
    );
    assert_eq!(whoami.get(1..3), Some(&[0x08, 5][..]));
    assert!(whoami.ends_with(b"alice None false"));
    assert!(String::from_utf8_lossy(fatal).contains("Unknown out of band call #-7"));
}

#[tokio::test]
async fn one_connection_too_many_is_closed() {
    let fixture = serve_with(AuthPolicy::SimpleOnly, |options| {
        options.connections_max = 1;
    });
    let first = connect(fixture.addr, alice()).await.unwrap();
    assert_eq!(ask(&first, "echo", "a").await.unwrap(), "a");
    assert_eq!(raw(fixture.addr, b"").await, b"");
    assert_eq!(ask(&first, "echo", "b").await.unwrap(), "b");
}
