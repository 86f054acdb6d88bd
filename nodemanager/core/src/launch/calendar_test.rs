//! Tests of the calendar.
//! May touch: numbers.
//! Must not: read a clock.

use super::*;

#[test]
fn known_moments() {
    assert_eq!(iso8601_utc(0), "1970-01-01T00:00:00.000+0000");
    assert_eq!(iso8601_utc(951_782_400_123), "2000-02-29T00:00:00.123+0000");
    assert_eq!(stamp_utc(1_741_618_790_804), "2025-03-10 14:59:50.804");
    assert_eq!(stamp_utc(-1), "1969-12-31 23:59:59.999");
    assert_eq!(stamp_utc(4_107_542_399_999), "2100-02-28 23:59:59.999");
    assert_eq!(stamp_utc(4_107_542_400_000), "2100-03-01 00:00:00.000");
}
