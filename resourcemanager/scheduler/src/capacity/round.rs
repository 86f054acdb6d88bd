//! The divisions and roundings of shares.
//! May touch: `Resource`.
//! Must not: know queues.

use yarn_types::{Resource, ResourceTypes};

use crate::num::Calculator;

/// `ResourceCalculator.divide`: by memory, or by the dominant shares of `cluster`; 0 where nothing
/// is divided by nothing, and where something is (Hadoop's callers take infinity for 0).
#[allow(
    clippy::cast_possible_truncation,
    reason = "Hadoop keeps the quotient as a float"
)]
pub(super) fn quotient(
    calculator: Calculator,
    a: Resource,
    b: Resource,
    cluster: Resource,
    types: &ResourceTypes,
) -> f32 {
    let value = match calculator {
        Calculator::Default => ratio(a.memory_mb(), b.memory_mb()),
        Calculator::Dominant => {
            let share = |r: Resource| {
                let lanes = r.0.iter().zip(cluster.0).take(types.len());
                lanes.map(|(v, c)| ratio(*v, c)).fold(0.0, f64::max)
            };
            let (a, b) = (share(a), share(b));
            if b > 0.0 { a / b } else { 0.0 }
        }
    };
    value as f32
}

fn ratio(a: i64, b: i64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

/// An amount of `lane` in units of the wire: Hadoop's roundings are of whole devices.
pub(super) fn to_wire(amount: i64, lane: usize, types: &ResourceTypes) -> i64 {
    amount / types.scale(lane)
}

/// The amount of `lane` that `value` units of the wire are, fractions cut off.
pub(super) fn from_wire(value: f64, lane: usize, types: &ResourceTypes) -> i64 {
    cut(value).saturating_mul(types.scale(lane))
}

/// `value × ratio` as Java multiplies a long with a float.
pub(super) fn scaled(value: i64, ratio: f32) -> i64 {
    cut(f64::from(value as f32 * ratio))
}

/// Saturating, as Java casts a double to a long; nothing for what is no number.
#[allow(
    clippy::cast_possible_truncation,
    reason = "`as` saturates like Java's cast"
)]
pub(super) fn cut(v: f64) -> i64 {
    v as i64
}

/// Queues in the order in which a Java `HashMap` by path holds them: after a refresh Hadoop shares
/// in this order, and who comes last gets what roundings left over.
pub(super) fn java_order<'p>(queues: &[usize], path_of: impl Fn(usize) -> &'p str) -> Vec<usize> {
    let mut buckets = 16_usize;
    while queues.len() > buckets / 4 * 3 {
        buckets *= 2;
    }
    let mask = u32::try_from(buckets - 1).unwrap_or(u32::MAX);
    let mut order = queues.to_vec();
    order.sort_by_cached_key(|queue| {
        let hash = path_of(*queue)
            .encode_utf16()
            .fold(0_u32, |h, c| h.wrapping_mul(31).wrapping_add(u32::from(c)));
        (hash ^ (hash >> 16)) & mask
    });
    order
}
