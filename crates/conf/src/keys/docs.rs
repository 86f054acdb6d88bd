//! docs/config.md from the key tables.
//! May touch: text.
//! Must not: say anything that the tables do not.

/// docs/config.md.
pub fn markdown() -> String {
    String::new()
}
