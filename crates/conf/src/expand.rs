//! `${…}` in values (`Configuration.substituteVars` and `findSubVariable`).
//! May touch: the table and what the caller gave as environment and system properties.
//! Must not: read the process environment, or grow without bound.

use crate::table::{Configuration, Outside};

/// Rounds of substitution before Hadoop gives up (`MAX_SUBST`).
const ROUNDS_MAX: usize = 20;
/// An expanded value longer than this is refused; nothing real comes near it.
const EXPANDED_BYTES_MAX: usize = 1024 * 1024;

/// Expands `raw`, one reference a round; the first that is unknown ends it and stays as it is.
pub(crate) fn expand(conf: &Configuration, raw: &str) -> Result<String, String> {
    let mut text = raw.to_owned();
    for _ in 0..ROUNDS_MAX {
        let Some((start, end)) = find_variable(&text) else {
            return Ok(text);
        };
        let name = &text[start..end];
        let Some(value) =
            outside(&conf.0.outside, name).or_else(|| conf.raw(name).map(str::to_owned))
        else {
            return Ok(text);
        };
        if text.len() + value.len() > EXPANDED_BYTES_MAX {
            return Err(format!(
                "its references expand to more than {EXPANDED_BYTES_MAX} bytes"
            ));
        }
        text = format!("{}{value}{}", &text[..start - 2], &text[end + 1..]);
    }
    // Hadoop does not look again after the last round
    Err(format!(
        "Variable substitution depth too large: {ROUNDS_MAX} {raw}"
    ))
}

/// `${env.X}` forms and system properties; those come before keys of the same name.
fn outside(outside: &Outside, name: &str) -> Option<String> {
    let Some(var) = name.strip_prefix("env.").filter(|v| !v.is_empty()) else {
        return outside.properties.get(name).cloned();
    };
    let env = |n: &str| outside.env.get(n).cloned();
    let bytes = var.as_bytes();
    for (i, b) in bytes.iter().enumerate() {
        if *b == b':' && bytes.get(i + 1) == Some(&b'-') {
            let set = env(&var[..i]).filter(|v| !v.is_empty());
            return Some(set.unwrap_or_else(|| var[i + 2..].to_owned()));
        }
        if *b == b'-' {
            return Some(env(&var[..i]).unwrap_or_else(|| var[i + 1..].to_owned()));
        }
    }
    env(var)
}

/// Byte bounds of the first name in `${name}` that holds no blank, `$` or `}`.
fn find_variable(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(dollar) = text.get(from..)?.find("${").map(|i| i + from) {
        let start = dollar + 2;
        let end = (start..bytes.len()).find(|i| matches!(bytes[*i], b'}' | b' ' | b'$'))?;
        if bytes[end] == b'}' && end > start {
            return Some((start, end));
        }
        // a '$' may itself open the next reference
        from = if bytes[end] == b'$' { end } else { end + 1 };
    }
    None
}

#[cfg(test)]
#[path = "expand_test.rs"]
mod tests;
