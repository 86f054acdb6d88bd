//! Times as Hadoop's REST writes them.
//! May touch: numbers.
//! Must not: need a server.

use super::*;

#[test]
fn times_read_as_javas() {
    assert_eq!(java_time(0), "Thu Jan 01 00:00:00 +0000 1970");
    assert_eq!(
        java_time(1_709_210_096_789),
        "Thu Feb 29 12:34:56 +0000 2024"
    );
}
