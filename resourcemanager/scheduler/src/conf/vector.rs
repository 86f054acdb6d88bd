//! Capacities and amounts as text: `40`, `3w`, `[memory=10Gi,vcores=50%]`, `memory-mb=4G,vcores=2`.
//! May touch: units, the lanes' names.
//! Must not: know queues.

use yarn_types::{Resource, ResourceTypes, units};

use super::{
    CapacityKind, CapacityVector, LaneCapacity,
    number::{float, refusal},
};

/// Longest text of a capacity that is looked at.
const TEXT_BYTES_MAX: usize = 4096;

/// Part of a bracketed value that changes nothing, and why.
pub(super) type Skipped = Vec<String>;

fn inside(c: char, more: &str) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ',' | '-' | ' ' | '/') || more.contains(c)
}

fn brackets(text: &str) -> Option<&str> {
    text.strip_prefix('[')?.strip_suffix(']')
}

/// `CapacitySchedulerConfiguration.RESOURCE_PATTERN`: amounts only.
pub(super) fn is_amounts(text: &str) -> bool {
    brackets(text).is_some_and(|t| !t.is_empty() && t.chars().all(|c| inside(c, "=")))
}

/// `QueueCapacityConfigParser.RESOURCE_REGEX`: pairs of any kind.
pub(super) fn is_vector(text: &str) -> bool {
    let Some(body) = brackets(text) else {
        return false;
    };
    let parts: Vec<&str> = body.split('=').collect();
    let last = parts.len() - 1;
    // two characters between two signs: the end of a value and the start of a name
    let enough =
        |(at, part): (usize, &&str)| part.len() >= if at == 0 || at == last { 1 } else { 2 };
    last > 0 && parts.iter().enumerate().all(enough) && body.chars().all(|c| inside(c, "=%"))
}

/// Reads a capacity for mixed mode (`QueueCapacityConfigParser.parse`); of `root` always 100
/// percent. Amounts of the lanes are in the lanes' own units (milli-GPU).
///
/// # Errors
/// A number in it that is none: Java's text.
pub fn parse_vector(
    text: Option<&str>,
    is_root: bool,
    types: &ResourceTypes,
) -> Result<CapacityVector, String> {
    if is_root {
        return Ok(CapacityVector::uniform(CapacityKind::Percent, 100.0));
    }
    let Some(text) = text.filter(|t| t.len() <= TEXT_BYTES_MAX) else {
        return Ok(CapacityVector::EMPTY);
    };
    let text = text.replace(' ', "");
    if is_vector(&text) {
        return pairs(brackets(&text).unwrap_or_default(), types);
    }
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let kind = match suffix {
        "" => CapacityKind::Percent,
        "w" => CapacityKind::Weight,
        _ => return Ok(CapacityVector::EMPTY),
    };
    if number.is_empty() {
        return Ok(CapacityVector::EMPTY);
    }
    Ok(CapacityVector::uniform(kind, f64::from(float(number)?)))
}

fn pairs(body: &str, types: &ResourceTypes) -> Result<CapacityVector, String> {
    let mut vector = CapacityVector {
        is_empty: false,
        ..CapacityVector::EMPTY
    };
    for pair in body.split(',') {
        let mut sides = pair.split('=');
        let (Some(name), Some(value)) = (sides.next(), sides.next().filter(|v| !v.is_empty()))
        else {
            continue;
        };
        let digit = |c: char| c.is_ascii_digit() || c == '.';
        let suffix: String = value.chars().filter(|c| !digit(*c)).collect();
        let Some(number) = value.strip_suffix(suffix.as_str()) else {
            continue;
        };
        let number = float(number).map_err(|_| refusal(number))?;
        let (kind, amount) = if !suffix.is_empty() && units::is_known(&suffix) {
            let whole = whole(number);
            let in_mi = units::convert(whole, &suffix, "Mi").ok_or_else(|| refusal(value))?;
            (CapacityKind::Absolute, in_mi as f32)
        } else {
            let kind = match suffix.as_str() {
                "%" => CapacityKind::Percent,
                "w" => CapacityKind::Weight,
                _ => CapacityKind::Absolute,
            };
            (kind, number)
        };
        let Some(lane) = types.lane(name) else {
            continue;
        };
        let scale = if kind == CapacityKind::Absolute {
            types.scale(lane) as f64
        } else {
            1.0
        };
        vector.lanes[lane] = LaneCapacity {
            kind,
            value: f64::from(amount) * scale,
        };
    }
    if vector.lanes[0].value <= 0.0 {
        return Ok(CapacityVector::EMPTY); // memory has to be there
    }
    Ok(vector)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "`as` saturates like Java's cast"
)]
fn whole(v: f32) -> i64 {
    v as i64
}

/// Reads amounts in brackets (`internalGetLabeledResourceRequirementForQueue`); zero for anything
/// else and for amounts without memory.
///
/// # Errors
/// An amount that is no whole number: Java's text.
pub(super) fn parse_amounts(
    text: Option<&str>,
    types: &ResourceTypes,
    skipped: &mut Skipped,
) -> Result<Resource, String> {
    let Some(text) = text.filter(|t| is_amounts(t) && t.len() <= TEXT_BYTES_MAX) else {
        return Ok(Resource::ZERO);
    };
    let mut amounts = Resource::ZERO;
    for pair in brackets(text).unwrap_or_default().trim().split(',') {
        let mut sides = pair.split('=');
        let (Some(name), Some(value)) = (sides.next(), sides.next().filter(|v| !v.is_empty()))
        else {
            continue;
        };
        let name = name.trim();
        let Some(lane) = types.lane(name) else {
            skipped.push(format!("{name} not supported."));
            continue;
        };
        let unit = unit_of(value);
        if !units::is_known(unit) {
            skipped.push(format!(
                "unit '{unit}' of {name} is unknown: the amount is ignored"
            ));
            continue;
        }
        let number = value.strip_suffix(unit).unwrap_or(value);
        let mut amount: i64 = number.parse().map_err(|_| refusal(number))?;
        if !unit.is_empty() {
            amount = units::convert(amount, unit, "Mi").ok_or_else(|| refusal(value))?;
        }
        amounts.0[lane] = amount.saturating_mul(types.scale(lane));
    }
    if amounts.memory_mb() == 0 {
        return Ok(Resource::ZERO); // memory has to be there
    }
    Ok(amounts)
}

/// `CapacitySchedulerConfiguration.getUnits`: the letters at the end.
fn unit_of(value: &str) -> &str {
    let letters = value
        .bytes()
        .rev()
        .take_while(u8::is_ascii_alphabetic)
        .count();
    &value[value.len() - letters..]
}

/// Reads `maximum-allocation` (`ResourceUtils.createResourceFromString`): types that are not named
/// are 0.
///
/// # Errors
/// Hadoop's text.
pub(super) fn parse_allocation(text: &str, types: &ResourceTypes) -> Result<Resource, String> {
    let text = text.strip_prefix('[').unwrap_or(text);
    let text = text.strip_suffix(']').unwrap_or(text);
    let mut amounts = Resource::ZERO;
    for pair in text.trim().split(',').map(str::trim) {
        let malformed = || {
            format!(
                "\"{pair}\" is not a valid resource type/amount pair. Please provide key=amount pairs separated by commas."
            )
        };
        let (name, value) = pair.split_once('=').ok_or_else(malformed)?;
        let digits = value.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = value.split_at(digits);
        let rest = rest.strip_prefix([' ', '\t']).unwrap_or(rest);
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || number.is_empty() || !rest.chars().all(word) {
            return Err(malformed());
        }
        let amount: i64 = number.parse().map_err(|_| refusal(number))?;
        let unit = match rest {
            "" => "",
            "M" | "m" => "Mi",
            "G" | "g" => "Gi",
            _ => return Err("Acceptable units are M/G or empty".to_owned()),
        };
        let lane = types
            .lane(name)
            .ok_or_else(|| format!("Unknown resource: {name}"))?;
        let amount = if name == "memory" || (lane == 0 && !unit.is_empty()) {
            units::convert(amount, unit, "Mi").ok_or_else(|| refusal(value))?
        } else {
            amount
        };
        amounts.0[lane] = amount.saturating_mul(types.scale(lane));
    }
    Ok(amounts)
}

#[cfg(test)]
#[path = "vector_test.rs"]
mod tests;
