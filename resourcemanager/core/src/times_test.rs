//! Tests of times.rs.
//! May touch: fixed times.
//! Must not: ask what time it is.

use super::{from_iso8601, iso8601};

#[test]
fn times_are_written_and_read_like_hadoop_s() {
    let text = "2026-01-31T12:00:00.007+0000";
    assert_eq!(iso8601(1_769_860_800_007), text);
    assert_eq!(from_iso8601(text), Some(1_769_860_800_007));
    assert_eq!(
        from_iso8601("2026-01-31T13:30:00.007+0130"),
        Some(1_769_860_800_007)
    );
    for wrong in [
        "",
        "soon",
        "2026-01-31T12:00:00Z",
        "2026-13-31T12:00:00.007+0000",
    ] {
        assert_eq!(from_iso8601(wrong), None, "{wrong}");
    }
}
