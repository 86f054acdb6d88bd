//! Hadoop's order of version texts (`VersionUtil.compareVersions`, Maven's rules in short).
//! May touch: text.
//! Must not: refuse any text (an odd one compares somewhere).

use std::cmp::Ordering;

/// Compares two versions part by part; a part is a run of digits (by value) or of letters, and a
/// number is newer than a word (`3.5.0` is newer than `3.5.0-SNAPSHOT`).
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (parts(a), parts(b));
    for i in 0..a.len().max(b.len()) {
        let order = match (a.get(i), b.get(i)) {
            (Some(x), Some(y)) => part_order(x, y),
            (Some(x), None) => against_nothing(x),
            (None, Some(y)) => against_nothing(y).reverse(),
            (None, None) => Ordering::Equal,
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

#[derive(PartialEq, Eq)]
enum Part {
    Number(u128),
    Word(String),
}

fn part_order(a: &Part, b: &Part) -> Ordering {
    match (a, b) {
        (Part::Number(a), Part::Number(b)) => a.cmp(b),
        (Part::Number(_), Part::Word(_)) => Ordering::Greater,
        (Part::Word(_), Part::Number(_)) => Ordering::Less,
        (Part::Word(a), Part::Word(b)) => a.cmp(b),
    }
}

/// A further number above 0 makes a version newer, a further word (a qualifier) older.
fn against_nothing(part: &Part) -> Ordering {
    match part {
        Part::Number(0) => Ordering::Equal,
        Part::Number(_) => Ordering::Greater,
        Part::Word(_) => Ordering::Less,
    }
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let kind = |c: char| (c.is_ascii_digit(), c.is_alphanumeric());
        let end = rest.find(|c| kind(c) != kind(first)).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        rest = tail;
        if first.is_ascii_digit() {
            parts.push(Part::Number(run.parse().unwrap_or(u128::MAX)));
        } else if first.is_alphanumeric() {
            parts.push(Part::Word(run.to_lowercase()));
        }
    }
    parts
}

#[cfg(test)]
#[path = "version_test.rs"]
mod tests;
