//! Times as Hadoop's clients read them.
//! May touch: wall milliseconds that it is given.
//! Must not: ask what time it is.

use time::{OffsetDateTime, format_description::BorrowedFormatItem, macros::format_description};

/// `yyyy-MM-dd'T'HH:mm:ss.SSSZ` (`Times.ISO8601_DATE_FORMAT`).
const ISO8601: &[BorrowedFormatItem<'static>] = format_description!(
    "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3][offset_hour sign:mandatory][offset_minute]"
);

/// Wall milliseconds as UTC; empty beyond the years that there are.
pub fn iso8601(wall_ms: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(wall_ms) * 1_000_000);
    at.ok()
        .and_then(|at| at.format(ISO8601).ok())
        .unwrap_or_default()
}

/// The wall milliseconds that a text means, where it is one of these.
pub fn from_iso8601(text: &str) -> Option<i64> {
    let at = OffsetDateTime::parse(text, ISO8601).ok()?;
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok()
}

#[cfg(test)]
#[path = "times_test.rs"]
mod tests;
