//! Units of resource amounts and exact conversion between them (`UnitsConversionUtil`).
//! May touch: integers.
//! Must not: round up (Hadoop's conversion cuts off).

/// Hadoop's known units with their size as a fraction of 1.
const UNITS: &[(&str, i128, i128)] = &[
    ("", 1, 1),
    ("p", 1, 1_000_000_000_000),
    ("n", 1, 1_000_000_000),
    ("u", 1, 1_000_000),
    ("m", 1, 1_000),
    ("k", 1_000, 1),
    ("M", 1_000_000, 1),
    ("G", 1_000_000_000, 1),
    ("T", 1_000_000_000_000, 1),
    ("P", 1_000_000_000_000_000, 1),
    ("Ki", 1 << 10, 1),
    ("Mi", 1 << 20, 1),
    ("Gi", 1 << 30, 1),
    ("Ti", 1 << 40, 1),
    ("Pi", 1 << 50, 1),
];

/// Whether `unit` is one of Hadoop's.
pub fn is_known(unit: &str) -> bool {
    UNITS.iter().any(|(name, ..)| *name == unit)
}

/// `value` of unit `from` in unit `to`, fractions cut off; `None` for an unknown unit or an
/// amount beyond `i64`.
pub fn convert(value: i64, from: &str, to: &str) -> Option<i64> {
    if from == to && is_known(from) {
        return Some(value);
    }
    let find = |unit: &str| UNITS.iter().find(|(name, ..)| *name == unit);
    let (_, from_up, from_down) = find(from)?;
    let (_, to_up, to_down) = find(to)?;
    let up = i128::from(value).checked_mul(from_up * to_down)?;
    i64::try_from(up / (from_down * to_up)).ok()
}

#[cfg(test)]
mod tests {
    use super::convert;

    #[test]
    fn amounts_convert_as_hadoop_converts_them() {
        assert_eq!(convert(8, "G", "Mi"), Some(7629));
        assert_eq!(convert(5, "Gi", "Mi"), Some(5120));
        assert_eq!(convert(1500, "m", ""), Some(1));
        assert_eq!(convert(7, "Q", ""), None);
        assert_eq!(convert(i64::MAX, "Pi", "Mi"), None);
    }
}
