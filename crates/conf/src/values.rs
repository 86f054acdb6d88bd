//! Typed reads with Hadoop's rules: numbers, durations, sizes, lists, addresses.
//! May touch: the table.
//! Must not: resolve names, or guess at values that Hadoop refuses.

use std::fmt;

use crate::{error::Problem, table::Configuration};

/// Java's `String.trim`: everything up to the blank goes, at both ends.
pub(crate) fn java_trim(text: &str) -> &str {
    text.trim_matches(|c: char| c <= ' ')
}

/// Units of `Configuration.getTimeDuration`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeUnit {
    /// `ns`
    Nanoseconds,
    /// `us`
    Microseconds,
    /// `ms`
    Milliseconds,
    /// `s`
    Seconds,
    /// `m`
    Minutes,
    /// `h`
    Hours,
    /// `d`
    Days,
}

impl TimeUnit {
    const SUFFIXES: [(&'static str, Self); 7] = [
        ("ns", Self::Nanoseconds),
        ("us", Self::Microseconds),
        ("ms", Self::Milliseconds),
        ("s", Self::Seconds),
        ("m", Self::Minutes),
        ("h", Self::Hours),
        ("d", Self::Days),
    ];

    fn nanoseconds(self) -> i128 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
            Self::Minutes => 60_000_000_000,
            Self::Hours => 3_600_000_000_000,
            Self::Days => 86_400_000_000_000,
        }
    }
}

/// A host and port as written; the host is not resolved.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostPort {
    /// Name or address; an IPv6 address keeps its brackets.
    pub host: String,
    /// Port; 0 asks the system for a free one.
    pub port: u16,
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Configuration {
    /// `getInt`: decimal or `0x…`, blanks around it do not matter; `default` when unset.
    ///
    /// # Errors
    /// Anything else, also a number with a unit or beyond 32 bits.
    pub fn i32(&self, key: &str, default: i32) -> Result<i32, Problem> {
        let wanted = "an integer (decimal or 0x…, no unit) from -2147483648 to 2147483647";
        let value = self.integer(key, wanted)?;
        value.map_or(Ok(default), |v| {
            i32::try_from(v).map_err(|_| self.problem(key, format!("is not {wanted}")))
        })
    }

    /// `getLong`: as [`Configuration::i32`] in 64 bits.
    ///
    /// # Errors
    /// Anything that is not such a number.
    pub fn i64(&self, key: &str, default: i64) -> Result<i64, Problem> {
        let wanted = "an integer (decimal or 0x…, no unit) in 64 bits";
        let value = self.integer(key, wanted)?;
        value.map_or(Ok(default), |v| {
            i64::try_from(v).map_err(|_| self.problem(key, format!("is not {wanted}")))
        })
    }

    /// [`Configuration::i32`] that may not be below zero.
    ///
    /// # Errors
    /// As [`Configuration::i32`], and a negative number.
    pub fn u32(&self, key: &str, default: u32) -> Result<u32, Problem> {
        if self.raw(key).is_none() {
            return Ok(default);
        }
        u32::try_from(self.i32(key, 0)?).map_err(|_| self.problem(key, "must not be below 0"))
    }

    /// [`Configuration::i64`] that may not be below zero.
    ///
    /// # Errors
    /// As [`Configuration::i64`], and a negative number.
    pub fn u64(&self, key: &str, default: u64) -> Result<u64, Problem> {
        if self.raw(key).is_none() {
            return Ok(default);
        }
        u64::try_from(self.i64(key, 0)?).map_err(|_| self.problem(key, "must not be below 0"))
    }

    fn integer(&self, key: &str, wanted: &str) -> Result<Option<i128>, Problem> {
        let Some(text) = self.get_trimmed(key)? else {
            return Ok(None);
        };
        parse_integer(&text)
            .map(Some)
            .ok_or_else(|| self.problem(key, format!("is not {wanted}")))
    }

    /// `getFloat`.
    ///
    /// # Errors
    /// What Java's `Float.parseFloat` refuses.
    pub fn f32(&self, key: &str, default: f32) -> Result<f32, Problem> {
        let Some(text) = self.get_trimmed(key)? else {
            return Ok(default);
        };
        parse_float(&text).ok_or_else(|| self.problem(key, "is not a number such as 2.1"))
    }

    /// `getBoolean`: `true` or `false` in any case; anything else silently is `default`.
    ///
    /// # Errors
    /// Only references that cannot be expanded.
    pub fn bool(&self, key: &str, default: bool) -> Result<bool, Problem> {
        Ok(self
            .get_trimmed(key)?
            .and_then(|text| parse_bool(&text))
            .unwrap_or(default))
    }

    /// `getTimeDuration` in milliseconds, rounded towards zero; a bare number is in `unit`.
    ///
    /// # Errors
    /// A number that does not touch its suffix (`5 m`), or none.
    pub fn duration_ms(&self, key: &str, unit: TimeUnit, default_ms: i64) -> Result<i64, Problem> {
        let Some(text) = self.get_trimmed(key)? else {
            return Ok(default_ms);
        };
        parse_duration_ms(&text, unit).ok_or_else(|| {
            self.problem(
                key,
                "is not a duration such as 10s (suffixes ns us ms s m h d, no blank before them)",
            )
        })
    }

    /// `getLongBytes`: a number with at most one letter k m g t p e (powers of 1024).
    ///
    /// # Errors
    /// Hadoop's text for a bad prefix, e.g. for `512mb`.
    pub fn long_bytes(&self, key: &str, default: i64) -> Result<i64, Problem> {
        let Some(text) = self.get_trimmed(key)? else {
            return Ok(default);
        };
        parse_long_bytes(&text).map_err(|what| self.problem(key, what))
    }

    /// `getStorageSize` in bytes: a number with a unit, e.g. `512mb`, `1.5 gb`; the unit is required.
    ///
    /// # Errors
    /// No unit or no number.
    pub fn storage_size(&self, key: &str, default_bytes: f64) -> Result<f64, Problem> {
        let Some(text) = self.get(key)?.filter(|text| !java_trim(text).is_empty()) else {
            return Ok(default_bytes);
        };
        parse_storage_size(&text).ok_or_else(|| {
            self.problem(
                key,
                "is not in expected format.Expected format is <number><unit>. e.g. 1000MB",
            )
        })
    }

    /// `getStrings`: split at commas, blanks kept, empty parts dropped.
    ///
    /// # Errors
    /// Only references that cannot be expanded.
    pub fn strings(&self, key: &str) -> Result<Vec<String>, Problem> {
        let text = self.get(key)?.unwrap_or_default();
        Ok(text
            .split(',')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// `getTrimmedStrings`: split at commas and line ends, each trimmed; inner empty parts stay.
    ///
    /// # Errors
    /// Only references that cannot be expanded.
    pub fn trimmed_strings(&self, key: &str) -> Result<Vec<String>, Problem> {
        let text = self.get(key)?.unwrap_or_default();
        let text = java_trim(&text);
        let mut parts: Vec<String> = text
            .split([',', '\n'])
            .map(|part| {
                part.trim_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r'])
                    .to_owned()
            })
            .collect();
        while parts.last().is_some_and(String::is_empty) {
            parts.pop();
        }
        Ok(parts)
    }

    /// `getSocketAddr`: `host[:port]`, with or without a scheme in front.
    ///
    /// # Errors
    /// Hadoop's text (`NetUtils.createSocketAddr`), naming the key.
    pub fn host_port(
        &self,
        key: &str,
        default: &str,
        default_port: u16,
    ) -> Result<HostPort, Problem> {
        let text = self.get(key)?.unwrap_or_else(|| default.to_owned());
        let target = java_trim(&text);
        parse_host_port(target, default_port).ok_or_else(|| {
            self.problem(
                key,
                format!(
                    "Does not contain a valid host:port authority: {target} (configuration property '{key}')"
                ),
            )
        })
    }
}

pub(crate) fn parse_integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let hex = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"));
    if let Some(hex) = hex {
        // the sign is put before the digits again, so '0x+1' passes only without '-'
        if negative && hex.starts_with(['+', '-']) {
            return None;
        }
        let value = i128::from_str_radix(hex, 16).ok()?;
        return Some(if negative { -value } else { value });
    }
    text.parse().ok()
}

pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        return Some(true);
    }
    text.eq_ignore_ascii_case("false").then_some(false)
}

/// `Float.parseFloat`.
pub(crate) fn parse_float(text: &str) -> Option<f32> {
    match java_number(text)? {
        Number::Decimal(number) => number.parse().ok(),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "one rounding more than Java's, far below what any key tells apart"
        )]
        Number::Hex(value) => Some(value as f32),
    }
}

/// `Double.parseDouble`.
fn parse_double(text: &str) -> Option<f64> {
    match java_number(text)? {
        Number::Decimal(number) => number.parse().ok(),
        Number::Hex(value) => Some(value),
    }
}

enum Number<'t> {
    /// What Rust reads as Java does.
    Decimal(&'t str),
    Hex(f64),
}

/// The grammar of `Double.valueOf`: blanks around it, a sign, digits or `0x…p…`, then at most one
/// of f F d D.
fn java_number(text: &str) -> Option<Number<'_>> {
    let text = java_trim(text);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned {
        "NaN" | "Infinity" => return Some(Number::Decimal(text)),
        _ if unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {}
        _ => return None,
    }
    let hex = unsigned
        .strip_prefix("0x")
        .or_else(|| unsigned.strip_prefix("0X"));
    if let Some(hex) = hex {
        let value = hex_float(hex)?;
        let negative = text.starts_with('-');
        return Some(Number::Hex(if negative { -value } else { value }));
    }
    let number = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    Some(Number::Decimal(number))
}

/// `1.8p1` behind `0x`: hexadecimal digits, then a power of two in decimal.
fn hex_float(text: &str) -> Option<f64> {
    let (digits, power) = text.split_once(['p', 'P'])?;
    let power = power.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(power);
    let power: i32 = power.parse().ok()?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0_f64;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value.mul_add(16.0, f64::from(digit.to_digit(16)?));
    }
    let places = i32::try_from(fraction.len()).ok()?;
    Some(value * 2.0_f64.powi(power.checked_sub(places.checked_mul(4)?)?))
}

pub(crate) fn parse_duration_ms(text: &str, unit: TimeUnit) -> Option<i64> {
    let text = text.to_ascii_lowercase();
    let found = TimeUnit::SUFFIXES
        .iter()
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)));
    let (number, unit) = found.unwrap_or((&text, unit));
    let number: i64 = number.parse().ok()?;
    let ms = i128::from(number) * unit.nanoseconds() / 1_000_000;
    // Java's TimeUnit.convert saturates
    Some(i64::try_from(ms).unwrap_or(if ms > 0 { i64::MAX } else { i64::MIN }))
}

pub(crate) fn parse_long_bytes(text: &str) -> Result<i64, String> {
    let not_a_number = || {
        format!(
            "'{text}' is not a number of bytes such as 2g (one letter k, m, g, t, p, e or none)"
        )
    };
    let last = text.chars().next_back().ok_or_else(not_a_number)?;
    if last.is_ascii_digit() {
        return text.parse().map_err(|_| not_a_number());
    }
    let power = "kmgtpe"
        .find(last.to_ascii_lowercase())
        .and_then(|i| u32::try_from(i + 1).ok())
        .ok_or_else(|| {
            format!("Invalid size prefix '{last}' in '{text}'. Allowed prefixes are k, m, g, t, p, e(case insensitive)")
        })?;
    let number: i64 = text[..text.len() - last.len_utf8()]
        .parse()
        .map_err(|_| not_a_number())?;
    number
        .checked_mul(1024_i64.pow(power))
        .ok_or_else(|| format!("{text} does not fit in a Long"))
}

fn parse_storage_size(text: &str) -> Option<f64> {
    const UNITS: [(&str, &str, &str, i32); 7] = [
        ("exabytes", "eb", "e", 6),
        ("petabytes", "pb", "p", 5),
        ("terabytes", "tb", "t", 4),
        ("gigabytes", "gb", "g", 3),
        ("megabytes", "mb", "m", 2),
        ("kilobytes", "kb", "k", 1),
        ("bytes", "b", "b", 0),
    ];
    // Not trimmed before the unit is looked for, so that no blank may follow it.
    let lower = text.to_ascii_lowercase();
    let (suffix, power) = UNITS.iter().find_map(|(long, short, letter, power)| {
        let suffix = [long, short, letter];
        let suffix = suffix.into_iter().find(|s| lower.ends_with(**s))?;
        Some((suffix.len(), *power))
    })?;
    let number = lower.get(..lower.len().checked_sub(suffix)?)?;
    let number = parse_double(number)?;
    Some(number * 1024_f64.powi(power))
}

/// The authority part as `java.net.URI` takes it: no underscores, no user of a colon twice.
pub(crate) fn parse_host_port(target: &str, default_port: u16) -> Option<HostPort> {
    let (authority, path) = match target.split_once("://") {
        Some((scheme, rest)) => {
            let letters = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
            letters.then_some(())?;
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            (&rest[..end], "")
        }
        None => match target.find(['/', '?', '#']) {
            Some(at) => target.split_at(at),
            None => (target, ""),
        },
    };
    if path.starts_with('/') {
        return None;
    }
    let authority = authority.rsplit_once('@').map_or(authority, |(_, a)| a);
    let (host, port) = if authority.starts_with('[') {
        let end = authority.find(']')?;
        authority[1..end].parse::<std::net::Ipv6Addr>().ok()?;
        let rest = &authority[end + 1..];
        match rest.strip_prefix(':') {
            Some(port) => (&authority[..=end], port),
            None if rest.is_empty() => (authority, ""),
            None => return None,
        }
    } else {
        let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
        is_host(host).then_some((host, port))?
    };
    let port = if port.is_empty() {
        default_port
    } else if port.bytes().all(|b| b.is_ascii_digit()) {
        port.parse().ok()?
    } else {
        return None;
    };
    Some(HostPort {
        host: host.to_owned(),
        port,
    })
}

/// A host name or IPv4 address in the grammar of `java.net.URI`.
fn is_host(host: &str) -> bool {
    if host.parse::<std::net::Ipv4Addr>().is_ok() {
        return true;
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let label_ok = |label: &str| {
        let bytes = label.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.iter()
            .all(|b| b.is_some_and(u8::is_ascii_alphanumeric))
            && bytes
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || *b == b'-')
    };
    if !name.split('.').all(label_ok) {
        return false;
    }
    match name.rsplit_once('.') {
        Some((_, top)) => top.starts_with(|c: char| c.is_ascii_alphabetic()),
        None => true,
    }
}

#[cfg(test)]
#[path = "values_test.rs"]
mod tests;
