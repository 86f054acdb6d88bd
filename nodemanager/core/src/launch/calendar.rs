//! Wall-clock milliseconds as the two texts Hadoop prints, in UTC.
//! May touch: numbers.
//! Must not: read a clock.

/// Year, month and day of a count of days after 1970-01-01 (proleptic Gregorian calendar).
fn date(days: i64) -> (i64, i64, i64) {
    // Days are counted from 0000-03-01, so that the leap day ends a year; 146097 days are 400 years.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

fn parts(wall_ms: i64) -> (String, String) {
    let (year, month, day) = date(wall_ms.div_euclid(86_400_000));
    let ms = wall_ms.rem_euclid(86_400_000);
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    let milli = ms % 1000;
    (
        format!("{year:04}-{month:02}-{day:02}"),
        format!("{hour:02}:{minute:02}:{second:02}.{milli:03}"),
    )
}

/// `yyyy-MM-dd'T'HH:mm:ss.SSSZ` of `Times.formatISO8601`, in UTC.
pub fn iso8601_utc(wall_ms: i64) -> String {
    let (date, time) = parts(wall_ms);
    format!("{date}T{time}+0000")
}

/// `yyyy-MM-dd HH:mm:ss.SSS`, with which container diagnostics begin, in UTC.
pub fn stamp_utc(wall_ms: i64) -> String {
    let (date, time) = parts(wall_ms);
    format!("{date} {time}")
}

#[cfg(test)]
#[path = "calendar_test.rs"]
mod tests;
