//! Units of resource amounts (`UnitsConversionUtil`).
//! May touch: one table.
//! Must not: round up; Hadoop divides and drops the rest.

/// Hadoop's list, in the order its error text prints it.
const KNOWN_TEXT: &str = "[, Gi, G, k, m, M, n, p, P, T, u, Ti, Pi, Mi, Ki]";

/// Numerator and denominator of one `unit` in units of one.
fn factor(unit: &str) -> Option<(i128, i128)> {
    Some(match unit {
        "p" => (1, 1_000_000_000_000),
        "n" => (1, 1_000_000_000),
        "u" => (1, 1_000_000),
        "m" => (1, 1_000),
        "" => (1, 1),
        "k" => (1_000, 1),
        "M" => (1_000_000, 1),
        "G" => (1_000_000_000, 1),
        "T" => (1_000_000_000_000, 1),
        "P" => (1_000_000_000_000_000, 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        _ => return None,
    })
}

/// Whether Hadoop knows `unit`; else its text.
pub(crate) fn check(unit: &str) -> Result<(), String> {
    factor(unit)
        .map(|_| ())
        .ok_or_else(|| format!("Unknown unit '{unit}'. Known units are {KNOWN_TEXT}"))
}

/// `amount` of `from` in whole units of `to`, rounded towards zero (`UnitsConversionUtil.convert`).
///
/// # Errors
/// An unknown unit, or a result beyond 64 bits.
pub fn convert(from: &str, to: &str, amount: i64) -> Result<i64, String> {
    check(from)?;
    check(to)?;
    let (Some((from_up, from_down)), Some((to_up, to_down))) = (factor(from), factor(to)) else {
        return Err(format!("cannot convert '{from}' to '{to}'"));
    };
    i128::from(amount)
        .checked_mul(from_up * to_down)
        .map(|v| v / (from_down * to_up))
        .and_then(|v| i64::try_from(v).ok())
        .ok_or_else(|| {
            format!(
                "Converting {amount} from '{from}' to '{to}' will result in an overflow of Long"
            )
        })
}

#[cfg(test)]
#[path = "units_test.rs"]
mod tests;
