//! Tests of the preamble and its raw answers.
//! May touch: the module under test.
//! Must not: do IO.

use proptest::prelude::*;

use super::*;

#[test]
fn preambles_recorded_from_clients() {
    let simple = [0x68, 0x72, 0x70, 0x63, 0x09, 0x00, 0x00];
    let sasl = [0x68, 0x72, 0x70, 0x63, 0x09, 0x00, 0xdf];
    assert_eq!(
        read_preamble(&simple),
        Some(Preamble::Good {
            service_class: 0,
            auth: AuthProtocol::None
        })
    );
    assert_eq!(
        read_preamble(&sasl),
        Some(Preamble::Good {
            service_class: 0,
            auth: AuthProtocol::Sasl
        })
    );
    assert_eq!(client_preamble(AuthProtocol::None), simple);
    assert_eq!(client_preamble(AuthProtocol::Sasl), sasl);
}

#[test]
fn other_openings_are_told_apart() {
    assert_eq!(read_preamble(b"hrpc\x09\x00"), None);
    assert_eq!(
        read_preamble(b"hrpc\x08\x00\x00"),
        Some(Preamble::Version(8))
    );
    assert_eq!(read_preamble(b"GET / HTTP/1.1"), Some(Preamble::Http));
    assert_eq!(
        read_preamble(b"SSH-2.0-x"),
        Some(Preamble::Version(i8::from_be_bytes([b'2'])))
    );
    assert_eq!(
        read_preamble(b"hrpc\x09\x00\x11"),
        Some(Preamble::UnknownAuth(17))
    );
    assert_eq!(
        read_preamble(b"hrpc\x09\x00\xfe"),
        Some(Preamble::UnknownAuth(-2))
    );
}

#[test]
fn version_8_gets_the_raw_frame_of_a_stock_server() {
    let mut out = BytesMut::new();
    assert_eq!(bad_version_reply(&mut out, 8), VersionReply::Old);
    let mut expected = vec![0xff; 8];
    expected.extend(b"\0\0\0\x29org.apache.hadoop.ipc.RPC$VersionMismatch");
    expected.extend(b"\0\0\0\x3dServer IPC version 9 cannot communicate with client version 8");
    assert_eq!(out.as_ref(), expected.as_slice());
}

#[test]
fn each_age_of_client_gets_its_own_answer() {
    let reply = |version| {
        let mut out = BytesMut::new();
        (bad_version_reply(&mut out, version), out)
    };
    let (kind, frame) = reply(10);
    assert_eq!(kind, VersionReply::Frame);
    let length = u32::from_be_bytes(*frame.first_chunk().unwrap());
    assert_eq!(usize::try_from(length).unwrap(), frame.len() - 4);
    assert_eq!(reply(2).1.get(..5), Some(&[0, 0, 0, 0, 1][..]));
    assert_eq!(reply(1), (VersionReply::Silence, BytesMut::new()));
    assert_eq!(reply(-1).0, VersionReply::Silence);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        if let Some(Preamble::Version(version)) = read_preamble(&bytes) {
            bad_version_reply(&mut BytesMut::new(), version);
        }
    }
}
