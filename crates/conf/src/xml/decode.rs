//! Bytes of an XML file to text: encoding, line ends, characters XML does not allow.
//! May touch: bytes.
//! Must not: guess an encoding that is not declared.

use std::borrow::Cow;

/// A fault with its line.
#[derive(Debug)]
pub(crate) struct Fault {
    pub line: u32,
    pub text: String,
}

/// The text of `bytes` in the encoding that its mark or declaration names, with `\n` line ends.
pub(crate) fn decode(bytes: &[u8]) -> Result<String, Fault> {
    let text: Cow<'_, str> = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest)?,
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0x00, b'<', 0x00, b'?', ..] => utf16(bytes, u16::from_be_bytes)?,
        [b'<', 0x00, b'?', 0x00, ..] => utf16(bytes, u16::from_le_bytes)?,
        _ => eight_bit(bytes)?,
    };
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let bad =
        |c: char| (c < ' ' && !matches!(c, '\t' | '\n')) || matches!(c, '\u{fffe}' | '\u{ffff}');
    match text.find(bad) {
        None => Ok(text),
        Some(at) => Err(Fault {
            line: line_at(text.as_bytes(), at),
            text: "holds a character that XML does not allow (control or U+FFFE, U+FFFF)"
                .to_owned(),
        }),
    }
}

/// Line of byte `at`, from 1.
pub(crate) fn line_at(text: &[u8], at: usize) -> u32 {
    let before = text.get(..at).unwrap_or(text);
    let lines = before.split(|b| *b == b'\n').count();
    u32::try_from(lines).unwrap_or(u32::MAX)
}

fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, Fault> {
    std::str::from_utf8(bytes)
        .map(Cow::Borrowed)
        .map_err(|e| Fault {
            line: line_at(bytes, e.valid_up_to()),
            text: "is not UTF-8 here; save the file as UTF-8 or declare its encoding in <?xml … ?>"
                .to_owned(),
        })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Cow<'_, str>, Fault> {
    let broken = || Fault {
        line: 1,
        text: "is not valid UTF-16, which its first bytes announce".to_owned(),
    };
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(broken());
    }
    char::decode_utf16(pairs.iter().map(|p| unit(*p)))
        .collect::<Result<String, _>>()
        .map(Cow::Owned)
        .map_err(|_| broken())
}

fn eight_bit(bytes: &[u8]) -> Result<Cow<'_, str>, Fault> {
    let encoding = declared(bytes).unwrap_or_else(|| "utf-8".to_owned());
    match encoding.as_str() {
        "utf-8" | "utf8" => utf8(bytes),
        "us-ascii" | "ascii" => match bytes.iter().position(|b| !b.is_ascii()) {
            None => utf8(bytes),
            Some(at) => Err(Fault {
                line: line_at(bytes, at),
                text: "declares US-ASCII but holds other bytes".to_owned(),
            }),
        },
        "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin1" | "l1" => Ok(bytes
            .iter()
            .map(|b| char::from(*b))
            .collect::<String>()
            .into()),
        other => Err(Fault {
            line: 1,
            text: format!(
                "declares encoding '{other}'; UTF-8, UTF-16 with its mark, ISO-8859-1 and US-ASCII are read"
            ),
        }),
    }
}

/// The encoding named in the XML declaration, in lower case.
fn declared(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(256)];
    let end = head.windows(2).position(|w| w == b"?>")?;
    let declaration = std::str::from_utf8(&head[..end]).ok()?;
    let (_, after) = declaration.strip_prefix("<?xml")?.split_once("encoding")?;
    let after = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (name, _) = after[1..].split_once(quote)?;
    Some(name.to_ascii_lowercase())
}
