//! The keys Heddle honours: one table, from which docs/config.md is generated.
//! May touch: tables compiled in.
//! Must not: hold a key that no code reads.

mod common;
mod docs;
mod isolation;
mod nm;
mod rm;

pub use docs::markdown;

/// Which daemon reads a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// ResourceManager.
    Rm,
    /// NodeManager.
    Nm,
    /// Both.
    Both,
}

/// What a value may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// `getInt` (32 bits).
    Int,
    /// `getLong` (64 bits).
    Long,
    /// `getTimeDuration`, a bare number in milliseconds.
    Duration,
    /// `getFloat`.
    Float,
    /// `true` or `false`.
    Bool,
    /// `host:port`.
    Address,
    /// Comma-separated.
    List,
    /// One file or directory.
    Path,
    /// One of a few words or classes.
    Choice,
}

/// One key, or a family of keys.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Hadoop's spelling; a part in `<…>` stands for any text.
    pub name: &'static str,
    /// Who reads it.
    pub reader: Reader,
    /// What its value is.
    pub kind: Kind,
    /// One line for docs/config.md.
    pub doc: &'static str,
}

const fn key(name: &'static str, reader: Reader, kind: Kind, doc: &'static str) -> Key {
    Key {
        name,
        reader,
        kind,
        doc,
    }
}

/// Every key in the order of docs/config.md, with the heading it stands under.
pub fn all() -> impl Iterator<Item = (&'static str, &'static [Key])> {
    common::GROUPS
        .iter()
        .chain(rm::GROUPS)
        .chain(nm::GROUPS)
        .chain(isolation::GROUPS)
        .map(|(heading, keys)| (*heading, *keys))
}

/// The entry that covers `key`.
pub fn find(key: &str) -> Option<&'static Key> {
    all()
        .flat_map(|(_, keys)| keys)
        .find(|known| matches(known.name, key))
}

/// Whether Heddle acts on `key`.
pub fn honoured(key: &str) -> bool {
    find(key).is_some()
}

/// `name` with at most one `<…>` part, which stands for at least one character.
fn matches(name: &str, key: &str) -> bool {
    let Some((before, rest)) = name.split_once('<') else {
        return name == key;
    };
    let after = rest.split_once('>').map_or("", |(_, after)| after);
    key.strip_prefix(before)
        .and_then(|k| k.strip_suffix(after))
        .is_some_and(|middle| !middle.is_empty())
}

#[cfg(test)]
#[path = "keys_test.rs"]
mod tests;
