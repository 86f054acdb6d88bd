//! Tests: the bound of diagnostics.
//! May touch: the module under test.
//! Must not: sleep, or read clocks.

use super::*;

#[test]
fn the_newest_bytes_are_kept() {
    let mut d = Diagnostics::default();
    d.add(0, "first", 60);
    d.add(0, "", 60);
    assert_eq!(d.as_str(), "[1970-01-01 00:00:00.000]first\n");
    d.add(0, "é".repeat(40).as_str(), 60);
    assert!(d.as_str().len() <= 60, "{}", d.as_str().len());
    assert!(d.as_str().ends_with("é\n"));
}
