//! Numbers and switches as Hadoop's `Configuration` and Java read them.
//! May touch: text.
//! Must not: guess: what Java refuses is refused with Java's text.

/// `Float.parseFloat`, without what is no number to a scheduler (`NaN`, `Infinity`, hexadecimal).
///
/// # Errors
/// Java's text.
pub(super) fn float(text: &str) -> Result<f32, String> {
    decimal(text)?.parse().map_err(|_| refusal(text))
}

/// `Double.parseDouble` likewise.
///
/// # Errors
/// Java's text.
pub(super) fn double(text: &str) -> Result<f64, String> {
    decimal(text)?.parse().map_err(|_| refusal(text))
}

/// The part of `text` that Rust reads the same way, when there is one.
fn decimal(text: &str) -> Result<&str, String> {
    let trimmed = text.trim_matches(|c: char| c <= ' ');
    let bare = trimmed
        .strip_suffix(['f', 'F', 'd', 'D'])
        .unwrap_or(trimmed);
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    if bare.len() > 64 || bare.is_empty() || !bare.chars().all(plain) {
        return Err(refusal(text));
    }
    Ok(bare)
}

/// `Integer.parseInt` as `Configuration.getInt` uses it: trimmed, `0x` for hexadecimal.
///
/// # Errors
/// Java's text.
pub(super) fn int(text: &str) -> Result<i32, String> {
    i32::try_from(long(text)?).map_err(|_| refusal(text.trim()))
}

/// `Configuration.getLong` likewise.
///
/// # Errors
/// Java's text.
pub(super) fn long(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let hex = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"));
    let parsed = match hex {
        Some(hex) if !hex.starts_with(['+', '-']) => {
            i64::from_str_radix(&format!("{sign}{hex}"), 16)
        }
        Some(_) => return Err(refusal(text)),
        None => text.parse(),
    };
    parsed.map_err(|_| refusal(text))
}

/// `Configuration.getBoolean`: anything but the two words leaves the default.
pub(super) fn boolean(text: &str) -> Option<bool> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// Java's text of a number that is none.
pub(super) fn refusal(text: &str) -> String {
    if text.trim().is_empty() {
        "empty String".to_owned()
    } else {
        format!("For input string: \"{text}\"")
    }
}

#[cfg(test)]
#[path = "number_test.rs"]
mod tests;
