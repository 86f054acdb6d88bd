//! Tests of frames and delimited messages.
//! May touch: the module under test.
//! Must not: do IO.

use proptest::prelude::*;

use super::*;

#[test]
fn frames_come_off_whole_and_in_order() {
    let mut buffer = BytesMut::from(&b"\0\0\0\x02ab\0\0\0\0\0\0\0\x03cd"[..]);
    assert_eq!(
        next_frame(&mut buffer, 10),
        Ok(Some(Bytes::from_static(b"ab")))
    );
    assert_eq!(next_frame(&mut buffer, 10), Ok(Some(Bytes::new())));
    assert_eq!(next_frame(&mut buffer, 10), Ok(None));
    buffer.extend_from_slice(b"e");
    assert_eq!(
        next_frame(&mut buffer, 10),
        Ok(Some(Bytes::from_static(b"cde")))
    );
    assert!(buffer.is_empty());
}

#[test]
fn lengths_over_the_cap_or_negative_are_refused_before_the_bytes_come() {
    let long = &mut BytesMut::from(&b"\0\0\0\x0b"[..]);
    assert_eq!(
        next_frame(long, 10),
        Err(FrameError::Length {
            length: 11,
            max: 10
        })
    );
    let negative = &mut BytesMut::from(&b"\xff\xff\xff\xff"[..]);
    assert_eq!(
        next_frame(negative, 10),
        Err(FrameError::Length {
            length: -1,
            max: 10
        })
    );
}

#[test]
fn an_announced_length_reserves_nothing() {
    let mut buffer = BytesMut::from(&b"\x08\0\0\0abc"[..]);
    assert_eq!(next_frame(&mut buffer, FRAME_BYTES_MAX), Ok(None));
    assert!(buffer.capacity() < 1024, "{}", buffer.capacity());
}

#[test]
fn delimited_messages_split_and_faults_are_named() {
    let mut bytes = Bytes::from_static(b"\x02ab\x00\x05abc");
    assert_eq!(split_delimited(&mut bytes), Ok(Bytes::from_static(b"ab")));
    assert_eq!(split_delimited(&mut bytes), Ok(Bytes::new()));
    assert_eq!(
        split_delimited(&mut bytes),
        Err(FrameError::Delimited { length: 5, left: 3 })
    );
    assert_eq!(split_delimited(&mut Bytes::new()), Err(FrameError::Varint));
    let endless = &mut Bytes::from_static(&[0xff; 6]);
    assert_eq!(split_delimited(endless), Err(FrameError::Varint));
    let negative = &mut Bytes::from_static(&[0xff, 0xff, 0xff, 0xff, 0x0f]);
    assert_eq!(split_delimited(negative), Err(FrameError::Varint));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, max: u16) {
        let mut buffer = BytesMut::from(bytes.as_slice());
        while let Ok(Some(mut frame)) = next_frame(&mut buffer, usize::from(max)) {
            prop_assert!(frame.len() <= usize::from(max));
            while split_delimited(&mut frame).is_ok() {}
        }
    }

    #[test]
    fn what_is_written_is_read(content: Vec<u8>, tail: Vec<u8>) {
        let mut buffer = BytesMut::new();
        let start = begin_frame(&mut buffer);
        buffer.extend_from_slice(&content);
        prop_assert!(end_frame(&mut buffer, start));
        buffer.extend_from_slice(&tail);
        prop_assert_eq!(next_frame(&mut buffer, FRAME_BYTES_MAX), Ok(Some(Bytes::from(content))));
        prop_assert_eq!(buffer.as_ref(), tail.as_slice());
    }
}
