//! Tests of the Writable integers and strings.
//! May touch: the module under test.
//! Must not: do IO.

use proptest::prelude::*;

use super::*;

/// Values and bytes as `WritableUtils.writeVLong` writes them.
const GOLDEN: &[(i64, &[u8])] = &[
    (0, &[0x00]),
    (127, &[0x7f]),
    (-1, &[0xff]),
    (-112, &[0x90]),
    (128, &[0x8f, 0x80]),
    (255, &[0x8f, 0xff]),
    (256, &[0x8e, 0x01, 0x00]),
    (-113, &[0x87, 0x70]),
    (-257, &[0x86, 0x01, 0x00]),
    (
        1_796_070_485_750,
        &[0x8a, 0x01, 0xa2, 0x2e, 0x24, 0xae, 0xf6],
    ),
    (
        i64::MAX,
        &[0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ),
    (
        i64::MIN,
        &[0x80, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ),
];

#[test]
fn golden_values_both_ways() {
    for (value, bytes) in GOLDEN {
        let mut out = Vec::new();
        write_vlong(&mut out, *value);
        assert_eq!(out, *bytes, "bytes of {value}");
        assert_eq!(read_vlong(bytes), Ok((*value, bytes.len())));
    }
}

#[test]
fn lengths_are_capped_by_the_bytes_at_hand() {
    let max = 2;
    let what = "x";
    assert_eq!(
        Reader::new(&[3, 1, 2]).bytes(what),
        Err(TokenError::Length {
            what,
            length: 3,
            max
        })
    );
    assert_eq!(
        Reader::new(&[0xff, 1, 2]).bytes(what),
        Err(TokenError::Length {
            what,
            length: -1,
            max
        })
    );
    let huge = [0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(
        Reader::new(&huge).bytes(what),
        Err(TokenError::Length {
            what,
            length: i64::MAX,
            max: 0
        })
    );
    assert_eq!(
        Reader::new(&[2, 0xc3, 0x28]).text(what),
        Err(TokenError::Text { what })
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read(value: i64, tail: Vec<u8>) {
        let mut out = Vec::new();
        write_vlong(&mut out, value);
        let used = out.len();
        out.extend(tail);
        prop_assert_eq!(read_vlong(&out), Ok((value, used)));
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = read_vlong(&bytes);
        let _ = Reader::new(&bytes).text("x");
    }
}
