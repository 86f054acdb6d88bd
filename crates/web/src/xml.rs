//! XML of the same body that is written as JSON: an element for each key, repeated for a list.
//! May touch: serde.
//! Must not: know what the body says.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, SeqAccess, Visitor},
};

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#;
/// JAXB's subtypes: the key `type` in JSON, an attribute in XML.
const SUBTYPES: [&str; 2] = ["capacityScheduler", "capacitySchedulerLeafQueueInfo"];

/// A body, in the order in which it was written.
enum Tree {
    Nothing,
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// `body` as a document with the root element `root`.
///
/// # Errors
/// The body cannot be serialized.
pub(crate) fn document(root: &str, body: &impl Serialize) -> serde_json::Result<String> {
    // By way of JSON, because its numbers are those of Java: 100.0, not 100.
    let tree: Tree = serde_json::from_str(&serde_json::to_string(body)?)?;
    let mut out = HEAD.to_owned();
    tree.write(root, &mut out);
    Ok(out)
}

impl Tree {
    fn write(&self, name: &str, out: &mut String) {
        match self {
            // A null is left out.
            Self::Nothing => {}
            Self::List(all) => all.iter().for_each(|one| one.write(name, out)),
            Self::Text(text) => {
                open(name, "", text.is_empty(), out);
                if !text.is_empty() {
                    escape(text, out);
                    close(name, out);
                }
            }
            Self::Object(fields) => {
                let (kind, fields) = match fields.split_first() {
                    Some(((key, Self::Text(kind)), rest))
                        if key == "type" && SUBTYPES.contains(&kind.as_str()) =>
                    {
                        (kind.as_str(), rest)
                    }
                    _ => ("", fields.as_slice()),
                };
                open(name, kind, fields.is_empty(), out);
                for (key, field) in fields {
                    field.write(key, out);
                }
                if !fields.is_empty() {
                    close(name, out);
                }
            }
        }
    }
}

fn open(name: &str, kind: &str, empty: bool, out: &mut String) {
    out.push('<');
    out.push_str(name);
    if !kind.is_empty() {
        out.push_str(r#" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type=""#);
        out.push_str(kind);
        out.push('"');
    }
    out.push_str(if empty { "/>" } else { ">" });
}

fn close(name: &str, out: &mut String) {
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

/// Diagnostics may hold anything; XML cannot.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Readers make a line feed of it otherwise.
            '\r' => out.push_str("&#13;"),
            '\t' | '\n' | ' '..='\u{fffd}' | '\u{10000}'.. => out.push(c),
            _ => out.push('\u{fffd}'),
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Builder)
    }
}

struct Builder;

impl<'de> Visitor<'de> for Builder {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        // The shortest digits that mean the number, with a point.
        Ok(Tree::Text(format!("{value:?}")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Tree, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = from.next_element()? {
            all.push(one);
        }
        Ok(Tree::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = from.next_entry()? {
            fields.push(field);
        }
        Ok(Tree::Object(fields))
    }
}

#[cfg(test)]
#[path = "xml_test.rs"]
mod tests;
