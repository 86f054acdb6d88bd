//! The internal subset of a DOCTYPE: text entities, and nothing that reaches outside the file.
//! May touch: the text between `<!DOCTYPE` and `>`.
//! Must not: know external entities, external subsets, or parameter entities other than to refuse them.

use std::collections::BTreeMap;

/// Entities by name, with character references in their text already resolved.
pub(crate) type Entities = BTreeMap<String, String>;

/// Reads `doctype`, e.g. `configuration [<!ENTITY e "text">]`.
pub(crate) fn entities(doctype: &str) -> Result<Entities, String> {
    let mut found = Entities::new();
    let (before, subset) = match doctype.split_once('[') {
        Some((before, rest)) => (before, rest.rsplit_once(']').map(|(subset, _)| subset)),
        None => (doctype, Some("")),
    };
    let Some(mut rest) = subset else {
        return Err("DOCTYPE without the closing ']'".to_owned());
    };
    if before.contains("SYSTEM") || before.contains("PUBLIC") {
        return Err(
            "DOCTYPE names an external DTD: only entities declared in the file itself are read"
                .to_owned(),
        );
    }
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(found);
        }
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = after(comment, "-->")?;
        } else if let Some(pi) = rest.strip_prefix("<?") {
            rest = after(pi, "?>")?;
        } else if let Some(declaration) = rest.strip_prefix("<!ENTITY") {
            rest = entity(declaration, &mut found)?;
        } else if rest.starts_with("<!ELEMENT") || rest.starts_with("<!NOTATION") {
            rest = after(rest, ">")?;
        } else {
            let start: String = rest.chars().take(20).collect();
            return Err(format!(
                "DOCTYPE holds '{start}': only entities with a text are read there"
            ));
        }
    }
}

fn after<'t>(text: &'t str, end: &str) -> Result<&'t str, String> {
    text.split_once(end)
        .map(|(_, rest)| rest)
        .ok_or_else(|| format!("DOCTYPE holds something without its '{end}'"))
}

/// One declaration from behind `<!ENTITY`; gives what follows it. The first declaration of a name counts.
fn entity<'t>(text: &'t str, found: &mut Entities) -> Result<&'t str, String> {
    let text = text.trim_start();
    let (name, text) = text
        .split_once([' ', '\t', '\n'])
        .ok_or("DOCTYPE holds an entity without a text")?;
    if name == "%" {
        return Err(
            "DOCTYPE declares a parameter entity: only entities with a text are read there"
                .to_owned(),
        );
    }
    let text = text.trim_start();
    let quote = match text.chars().next() {
        Some(q @ ('"' | '\'')) => q,
        _ if text.starts_with("SYSTEM") || text.starts_with("PUBLIC") => {
            return Err(format!(
                "entity '{name}' is external: external entities are refused, write its text into the file"
            ));
        }
        _ => return Err(format!("entity '{name}' has no quoted text")),
    };
    let (value, rest) = text[1..]
        .split_once(quote)
        .ok_or_else(|| format!("text of entity '{name}' is not closed"))?;
    let rest = rest
        .trim_start()
        .strip_prefix('>')
        .ok_or_else(|| format!("declaration of entity '{name}' is not closed"))?;
    let value = resolve_characters(value)?;
    found.entry(name.to_owned()).or_insert(value);
    Ok(rest)
}

/// Character references are resolved when an entity is declared, others when it is used.
fn resolve_characters(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, reference)) = rest.split_once("&#") {
        let (number, after) = reference
            .split_once(';')
            .ok_or("character reference without ';'")?;
        out.push_str(before);
        out.push(character(number, false)?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The character of `&#…;` without `&#` and `;`, if XML allows it there.
pub(crate) fn character(number: &str, xml11: bool) -> Result<char, String> {
    let parsed = match number.strip_prefix('x') {
        Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => u32::from_str_radix(hex, 16),
        None if number.bytes().all(|b| b.is_ascii_digit()) => number.parse(),
        _ => return Err(format!("'&#{number};' is no character reference")),
    };
    let allowed = |c: &char| match c {
        '\t' | '\n' | '\r' => true,
        '\0' | '\u{fffe}' | '\u{ffff}' => false,
        c => xml11 || *c >= ' ',
    };
    parsed
        .ok()
        .and_then(char::from_u32)
        .filter(allowed)
        .ok_or_else(|| format!("'&#{number};' is a character that XML does not allow"))
}
