//! Tests of the buffer of a connection.
//! May touch: memory.
//! Must not: open a socket.

use super::*;

/// Feeds `bytes` as a connection does, in reads of what there is room for; the frames that came.
async fn feed(bytes: &[u8]) -> (Vec<Bytes>, Input, usize) {
    let mut input = Input::default();
    let (mut from, mut frames, mut reads) = (bytes, Vec::new(), 0);
    loop {
        while let Some(frame) = input.next_frame(64 << 20).unwrap() {
            frames.push(frame);
        }
        assert!(!input.has_frame(64 << 20));
        input.open_map().unwrap();
        let room = input.room(true);
        assert!(room > 0 && room <= input.len().max(READ_BYTES), "{room}");
        reads += 1;
        if input.read(&mut from, room).await.unwrap() == 0 {
            return (frames, input, reads);
        }
    }
}

fn frame(fill: u8, count: usize) -> Vec<u8> {
    let mut out = u32::try_from(count).unwrap().to_be_bytes().to_vec();
    out.resize(4 + count, fill);
    out
}

#[tokio::test]
async fn small_and_large_frames_come_out_as_they_went_in() {
    let sizes = [
        0,
        10,
        3 << 20,
        1,
        READ_BYTES_MAX - 4,
        READ_BYTES_MAX - 3,
        7,
        1 << 20,
    ];
    let mut bytes = Vec::new();
    for (fill, size) in (1..).zip(sizes) {
        bytes.extend(frame(fill, size));
    }
    bytes.extend(&frame(9, 1 << 20)[..1000]);
    let (frames, input, reads) = feed(&bytes).await;
    assert_eq!(frames.len(), sizes.len());
    for ((fill, size), got) in (1..).zip(sizes).zip(&frames) {
        assert!(
            got.len() == size && got.iter().all(|b| *b == fill),
            "{size}"
        );
    }
    assert_eq!(input.len(), 1000);
    assert!(reads < 80, "reads grow with the frame: {reads}");
}

#[tokio::test]
async fn a_bad_length_is_said_before_room_is_made() {
    let mut input = Input::default();
    input.small.extend_from_slice(&[0xff; 4]);
    assert!(input.has_frame(1 << 20));
    assert!(input.next_frame(1 << 20).is_err());
}
