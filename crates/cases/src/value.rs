//! Values of case files: resources, what is expected, what was read, and how these compare.
//! May touch: its own values.
//! Must not: know which key a value belongs to.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess, Visitor},
};

/// A resource as written: memory alone in MiB, or amounts by name.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Res {
    /// Memory in MiB.
    Memory(i64),
    /// Amounts by resource name.
    Dims(BTreeMap<String, i64>),
}

impl Res {
    /// Amounts by name.
    pub fn dims(&self) -> BTreeMap<String, i64> {
        match self {
            Self::Memory(mb) => BTreeMap::from([("memory".to_owned(), *mb)]),
            Self::Dims(dims) => dims.clone(),
        }
    }

    /// Whether every amount is zero.
    pub fn is_zero(&self) -> bool {
        self.dims().values().all(|v| *v == 0)
    }
}

impl fmt::Display for Res {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(mb) => write!(f, "{mb}"),
            Self::Dims(dims) => write_map(f, dims),
        }
    }
}

/// Any value that may stand under an expected key.
#[derive(Clone, PartialEq, Debug)]
pub enum Expected {
    /// `null`.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Int(i64),
    /// A fraction.
    Num(f64),
    /// Text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
    /// Values by name; names may be written as numbers.
    Map(BTreeMap<String, Expected>),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("none"),
            Self::Flag(v) => write!(f, "{v}"),
            Self::Int(v) => write!(f, "{v}"),
            Self::Num(v) => write!(f, "{v}"),
            Self::Text(v) => write!(f, "{v}"),
            Self::List(v) => write!(f, "[{}]", v.join(", ")),
            Self::Map(v) => write_map(f, v),
        }
    }
}

/// What was read from the scheduler.
#[derive(Clone, PartialEq, Debug)]
pub enum Actual {
    /// There is none, as of a queue or a reservation.
    Nothing,
    /// This way of running cannot read it.
    Unread,
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Int(i64),
    /// A fraction.
    Num(f64),
    /// Text.
    Text(String),
    /// Names in order.
    Names(Vec<String>),
    /// A resource.
    Res(BTreeMap<String, i64>),
    /// Counts by name.
    Counts(BTreeMap<String, i64>),
    /// Resources by name.
    Resources(BTreeMap<String, BTreeMap<String, i64>>),
}

impl fmt::Display for Actual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("none"),
            Self::Unread => f.write_str("a value that cannot be read this way"),
            Self::Flag(v) => write!(f, "{v}"),
            Self::Int(v) => write!(f, "{v}"),
            Self::Num(v) => write!(f, "{v}"),
            Self::Text(v) => write!(f, "{v}"),
            Self::Names(v) => write!(f, "[{}]", v.join(", ")),
            Self::Res(v) | Self::Counts(v) => write_map(f, v),
            Self::Resources(v) => {
                let shown: BTreeMap<_, _> = v
                    .iter()
                    .map(|(name, dims)| (name.clone(), Res::Dims(dims.clone())))
                    .collect();
                write_map(f, &shown)
            }
        }
    }
}

fn write_map<V: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    map: &BTreeMap<String, V>,
) -> fmt::Result {
    f.write_str("{")?;
    for (i, (name, value)) in map.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        write!(f, "{comma}{name}: {value}")?;
    }
    f.write_str("}")
}

/// How far a fraction may be off.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// Absolute.
    pub absolute: f64,
    /// Relative to the expected value; the looser of both counts.
    pub relative: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self {
            absolute: 1e-4,
            relative: 1e-3,
        }
    }
}

impl Tolerance {
    /// Whether two fractions are the same.
    pub fn same(self, expected: f64, got: f64) -> bool {
        let off = (expected - got).abs();
        expected.total_cmp(&got).is_eq()
            || off <= self.absolute
            || off <= self.relative * expected.abs()
    }
}

/// Whether `got` is what was expected.
pub fn matches(expected: &Expected, got: &Actual, tolerance: Tolerance) -> bool {
    match (expected, got) {
        (Expected::Null, Actual::Nothing) => true,
        (Expected::Flag(e), Actual::Flag(g)) => e == g,
        (Expected::Int(e), Actual::Int(g)) => e == g,
        (Expected::Int(e), Actual::Num(g)) => tolerance.same(to_f64(*e), *g),
        (Expected::Num(e), Actual::Num(g)) => tolerance.same(*e, *g),
        (Expected::Num(e), Actual::Int(g)) => tolerance.same(*e, to_f64(*g)),
        (Expected::Text(e), Actual::Text(g)) => e == g,
        (Expected::List(e), Actual::Names(g)) => e == g,
        (Expected::Int(e), Actual::Res(g)) => amount(g, "memory") == *e,
        (Expected::Map(e), Actual::Res(g)) => same_dims(e, g),
        (Expected::Map(e), Actual::Int(g)) => in_range(e, *g),
        (Expected::Map(e), Actual::Counts(g)) => e.iter().all(|(name, want)| {
            let got = Actual::Int(amount(g, name));
            matches(want, &got, tolerance)
        }),
        (Expected::Map(e), Actual::Resources(g)) => e.iter().all(|(name, want)| {
            let got = g
                .get(name)
                .map_or(Actual::Nothing, |r| Actual::Res(r.clone()));
            matches(want, &got, tolerance)
        }),
        _ => false,
    }
}

fn amount(dims: &BTreeMap<String, i64>, name: &str) -> i64 {
    dims.get(name).copied().unwrap_or(0)
}

fn same_dims(expected: &BTreeMap<String, Expected>, got: &BTreeMap<String, i64>) -> bool {
    expected.iter().all(|(name, want)| match want {
        Expected::Int(v) => amount(got, name) == *v,
        _ => false,
    })
}

/// `{min: n}` or `{max: n}` in place of a count.
fn in_range(expected: &BTreeMap<String, Expected>, got: i64) -> bool {
    expected
        .iter()
        .all(|(name, want)| match (name.as_str(), want) {
            ("min", Expected::Int(v)) => got >= *v,
            ("max", Expected::Int(v)) => got <= *v,
            _ => false,
        })
}

fn to_f64(v: i64) -> f64 {
    v as f64
}

impl<'de> Deserialize<'de> for Expected {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Expected;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a text, true or false, null, a list of texts or a map of these")
    }

    fn visit_unit<E>(self) -> Result<Expected, E> {
        Ok(Expected::Null)
    }

    fn visit_none<E>(self) -> Result<Expected, E> {
        Ok(Expected::Null)
    }

    fn visit_bool<E>(self, v: bool) -> Result<Expected, E> {
        Ok(Expected::Flag(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Expected, E> {
        Ok(Expected::Int(v))
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Expected, E> {
        i64::try_from(v).map(Expected::Int).map_err(E::custom)
    }

    fn visit_f64<E>(self, v: f64) -> Result<Expected, E> {
        Ok(Expected::Num(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Expected, E> {
        Ok(Expected::Text(v.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Expected, A::Error> {
        let mut list = Vec::new();
        while let Some(text) = seq.next_element::<String>()? {
            list.push(text);
        }
        Ok(Expected::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Expected, A::Error> {
        let mut values = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, Expected>()? {
            values.insert(name, value);
        }
        Ok(Expected::Map(values))
    }
}

#[cfg(test)]
#[path = "value_test.rs"]
mod tests;
