//! Hostile bytes against every decoder of this crate: frames, SASL, Writable numbers, tokens, credentials.
//! May touch: tests/corpus.
//! Must not: open sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use bytes::{Bytes, BytesMut};
use fuzz_loop::fuzz;
use hadoop_ipc::codec::{
    Request, next_frame, read_call, read_context, read_request, read_response, split_delimited,
};
use hadoop_ipc::sasl::{
    ClientSasl, ClientStep, Directives, InvalidToken, Offer, Secret, Secrets, ServerSasl,
    ServerStep,
};
use hadoop_ipc::token::{Credentials, Reader, Token, kinds, parse, read_vlong, write_vlong};
use yarn_proto::common::{IpcConnectionContextProto, RpcSaslProto};
use yarn_proto::yarn::{
    AmrmTokenIdentifierProto, ContainerTokenIdentifierProto, NmTokenIdentifierProto,
};

/// Little more than the seeds have, so that mutations reach beyond it.
const FRAME_BYTES_MAX: usize = 512;

fn on(target: &str, check: impl Fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    fuzz(&corpus.join(target), check).unwrap();
}

/// The frames that a server would take from these bytes.
fn frames(input: &[u8]) -> Vec<Bytes> {
    let mut buffer = BytesMut::from(input);
    let mut found = Vec::new();
    while let Ok(Some(frame)) = next_frame(&mut buffer, FRAME_BYTES_MAX) {
        assert!(frame.len() <= FRAME_BYTES_MAX);
        found.push(frame);
    }
    found
}

fn requests(input: &[u8]) -> impl Iterator<Item = Request> {
    frames(input)
        .into_iter()
        .filter_map(|frame| read_request(frame).ok())
}

#[test]
fn frames_and_their_messages() {
    on("frame", |input| {
        for frame in frames(input) {
            let mut rest = frame.clone();
            while let Ok(message) = split_delimited(&mut rest) {
                assert!(message.len() < frame.len());
                if rest.is_empty() {
                    break;
                }
            }
            // Either may be what the other side meant; neither may fail in another way than by its error.
            drop(read_response(frame));
        }
        for request in requests(input) {
            drop(read_context::<IpcConnectionContextProto>(&request, "x"));
            if let Ok(call) = read_call(&request.rest) {
                assert!(call.body.len() <= request.rest.len());
            }
        }
    });
}

/// Knows one password, which no input holds.
struct OnePassword;

impl Secrets for OnePassword {
    fn lookup(&self, _identifier: &[u8]) -> Result<Secret, InvalidToken> {
        Ok(Secret {
            password: b"none of the seeds was made with this".to_vec(),
            user: "alice".into(),
        })
    }

    fn kind(&self) -> &'static str {
        kinds::AMRM
    }
}

#[test]
fn no_negotiation_proves_a_password_it_does_not_know() {
    on("sasl", |input| {
        let messages: Vec<RpcSaslProto> = requests(input)
            .filter_map(|request| read_context(&request, "RpcSaslProto").ok())
            .collect();
        for offer in [Offer::Simple, Offer::TokenAndSimple, Offer::Token] {
            let mut server = ServerSasl::new(offer, "bm9uY2U=".into());
            for message in &messages {
                match server.on_message(message, Some(&OnePassword)) {
                    Ok(ServerStep::Reply(_)) => {}
                    Ok(ServerStep::Simple(_)) => assert!(offer.allows_simple()),
                    Ok(step) => panic!("{step:?}"),
                    Err(_) => break,
                }
            }
        }
        let token = Token {
            identifier: b"id".to_vec(),
            password: b"neither with this".to_vec(),
            kind: kinds::AMRM.into(),
            service: String::new(),
        };
        let mut client = ClientSasl::new(token, "Y25vbmNl".into());
        for message in &messages {
            match client.on_message(message) {
                Ok(ClientStep::Send(_)) => {}
                Ok(step) => panic!("{step:?}"),
                Err(_) => break,
            }
        }
    });
}

#[test]
fn digest_directives() {
    on("directives", |input| drop(Directives::parse(input)));
}

#[test]
fn varints_read_back_what_they_are_written_from() {
    on("varint", |input| {
        if let Ok((value, used)) = read_vlong(input) {
            assert!((1..=9).contains(&used) && used <= input.len());
            let mut out = Vec::new();
            write_vlong(&mut out, value);
            assert_eq!(read_vlong(&out).unwrap(), (value, out.len()));
        }
        let mut reader = Reader::new(input);
        while reader.remaining() > 0 && reader.text("text").is_ok() {}
        let mut reader = Reader::new(input);
        while reader.remaining() > 0 && reader.bytes("bytes").is_ok() {}
    });
}

#[test]
fn tokens_read_back_what_they_are_written_from() {
    on("token", |input| {
        if let Ok(token) = Token::from_bytes(input) {
            let mut out = Vec::new();
            token.write(&mut out);
            assert_eq!(Token::from_bytes(&out).unwrap(), token);
        }
        drop(parse::<AmrmTokenIdentifierProto>(input));
        drop(parse::<NmTokenIdentifierProto>(input));
        drop(parse::<ContainerTokenIdentifierProto>(input));
    });
}

#[test]
fn credentials_read_back_what_they_are_written_from() {
    on("credentials", |input| {
        if let Ok(credentials) = Credentials::from_bytes(input) {
            let again = Credentials::from_bytes(&credentials.to_bytes()).unwrap();
            assert_eq!(again, credentials);
        }
    });
}
