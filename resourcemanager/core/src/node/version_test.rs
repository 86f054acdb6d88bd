//! Order of version texts.
//! May touch: the tested module.
//! Must not: know nodes.

use std::cmp::Ordering::{Equal, Greater, Less};

use super::compare;

#[test]
fn versions_compare_as_hadoops_do() {
    for (a, b, order) in [
        ("3.5.0", "3.5.0", Equal),
        ("3.5", "3.5.0", Equal),
        ("3.4.1", "3.5.0", Less),
        ("3.10.0", "3.9.9", Greater),
        ("3.5.0-SNAPSHOT", "3.5.0", Less),
        ("3.5.1", "3.5.0-SNAPSHOT", Greater),
        ("2.0.0-alpha", "2.0.0-beta", Less),
        ("", "3.5.0", Less),
        ("99999999999999999999999999999999999999999999", "3", Greater),
        ("ünïcödé", "3.5.0", Less),
    ] {
        assert_eq!(compare(a, b), order, "{a} and {b}");
        assert_eq!(compare(b, a), order.reverse(), "{b} and {a}");
    }
}
