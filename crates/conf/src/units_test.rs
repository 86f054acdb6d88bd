//! Tests of unit conversion.
//! May touch: nothing.
//! Must not: round up.

use super::convert;

#[test]
fn conversions() {
    assert_eq!(convert("Gi", "Mi", 5), Ok(5120));
    assert_eq!(convert("G", "Mi", 1), Ok(953));
    assert_eq!(convert("", "Mi", 4096), Ok(0));
    assert_eq!(convert("m", "", 2500), Ok(2));
    assert_eq!(convert("p", "P", i64::MAX), Ok(0));
    assert!(
        convert("P", "p", i64::MAX)
            .unwrap_err()
            .contains("overflow")
    );
    assert!(
        convert("Q", "", 1)
            .unwrap_err()
            .starts_with("Unknown unit 'Q'")
    );
}
