//! All arithmetic that rounds or uses floating point: Hadoop's resource calculators.
//! May touch: `Resource`.
//! Must not: be spread: no other file of the core holds a float in a decision.

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};

use yarn_types::{LANES, Resource, ResourceTypes};

/// A share of something, 0 to 1 as a rule; compared and hashed by its bits.
#[derive(Clone, Copy, Debug)]
pub struct Share(pub f32);

impl Share {
    /// `count` is less than this share of `whole` (`SimpleBlacklistManager`: a float widened to
    /// double, so that 0.2 of 5 is a little more than 1).
    pub fn is_above(self, count: usize, whole: usize) -> bool {
        (count as f64) < f64::from(self.0) * whole as f64
    }
}

impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Share {}

impl Hash for Share {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// `yarn.scheduler.capacity.resource-calculator`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calculator {
    /// `DefaultResourceCalculator`: memory alone counts.
    Default,
    /// `DominantResourceCalculator`: every type counts, shares compare by the dominant one.
    Dominant,
}

impl Calculator {
    /// Lanes that take part in comparisons and limits.
    fn lanes(self, types: &ResourceTypes) -> usize {
        match self {
            Self::Default => 1,
            Self::Dominant => types.len(),
        }
    }

    /// Whether `ask` fits into `room` in every lane that counts.
    pub fn fits(self, ask: Resource, room: Resource) -> bool {
        match self {
            Self::Default => ask.memory_mb() <= room.memory_mb(),
            Self::Dominant => ask.fits(room),
        }
    }

    /// The share of `cluster` that `r` is: of memory, or of the lane where it is largest.
    pub fn share(self, r: Resource, cluster: Resource, types: &ResourceTypes) -> f32 {
        let lanes = self.lanes(types);
        let shares =
            r.0.iter()
                .zip(cluster.0)
                .take(lanes)
                .map(|(&a, b)| ratio(a, b));
        shares.fold(0.0, f32::max)
    }

    /// Compares as `ResourceCalculator.compare`: by memory, or by the shares in descending order.
    pub fn compare(
        self,
        a: Resource,
        b: Resource,
        cluster: Resource,
        types: &ResourceTypes,
    ) -> Ordering {
        if self == Self::Default {
            return a.memory_mb().cmp(&b.memory_mb());
        }
        let sorted = |r: Resource| {
            let mut shares = [0.0_f32; LANES];
            for (lane, share) in shares.iter_mut().enumerate().take(types.len()) {
                *share = ratio(r.0[lane], cluster.0[lane]);
            }
            shares.sort_by(|x, y| y.total_cmp(x));
            shares
        };
        let (sa, sb) = (sorted(a), sorted(b));
        sa.iter()
            .zip(sb)
            .map(|(x, y)| x.total_cmp(&y))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// The larger of two by [`Self::compare`].
    pub fn max(
        self,
        a: Resource,
        b: Resource,
        cluster: Resource,
        types: &ResourceTypes,
    ) -> Resource {
        if self.compare(a, b, cluster, types).is_ge() {
            a
        } else {
            b
        }
    }

    /// The smaller of two by [`Self::compare`].
    pub fn min(
        self,
        a: Resource,
        b: Resource,
        cluster: Resource,
        types: &ResourceTypes,
    ) -> Resource {
        if self.compare(a, b, cluster, types).is_le() {
            a
        } else {
            b
        }
    }

    /// An ask raised to the minimum and rounded up to its multiple, at most `maximum`
    /// (`ResourceCalculator.normalize`; the minimum allocation is the step).
    pub fn normalize(self, ask: Resource, types: &ResourceTypes, maximum: Resource) -> Resource {
        let minimum = types.minimum_allocation();
        let mut out = Resource::ZERO;
        for lane in 0..self.lanes(types) {
            let raised = ask.0[lane].max(minimum.0[lane]);
            let step = minimum.0[lane].max(types.quantum(lane));
            out.0[lane] = round_up(raised, step).min(maximum.0[lane]);
        }
        self.with_implied_vcore(out)
    }

    /// Up to the next multiple of the minimum allocation (`roundUp`).
    pub fn round_up(self, r: Resource, types: &ResourceTypes) -> Resource {
        self.map(r, types, round_up)
    }

    /// Down to a multiple of the minimum allocation (`roundDown`).
    pub fn round_down(self, r: Resource, types: &ResourceTypes) -> Resource {
        self.map(
            r,
            types,
            |v, step| if step <= 0 { v } else { v - v.rem_euclid(step) },
        )
    }

    /// `multiplyAndNormalizeUp`: half up then up to the step (default), ceil then up (dominant).
    pub fn times_up(self, r: Resource, by: f64, types: &ResourceTypes) -> Resource {
        self.map(r, types, |v, step| {
            let product = v as f64 * by;
            let whole = match self {
                Self::Default => (product + 0.5).trunc(),
                // Hadoop takes the ceil as a 32-bit float, so 3.0000001 stays 3
                Self::Dominant => f64::from(to_f32(product)).ceil(),
            };
            round_up(to_i64(whole), step)
        })
    }

    /// `multiplyAndRoundDown`.
    pub fn times_down(self, r: Resource, by: f64, types: &ResourceTypes) -> Resource {
        let lanes = self.lanes(types);
        let mut out = Resource::ZERO;
        for lane in 0..lanes {
            out.0[lane] = cut(to_i64((r.0[lane] as f64 * by).trunc()), types.quantum(lane));
        }
        self.with_implied_vcore(out)
    }

    /// `divideAndCeil` by a weight.
    pub fn divide_up(self, r: Resource, by: f64, types: &ResourceTypes) -> Resource {
        if by <= 0.0 {
            return Resource::ZERO;
        }
        let lanes = self.lanes(types);
        let mut out = Resource::ZERO;
        for lane in 0..lanes {
            let quotient = to_i64((r.0[lane] as f64 / by).ceil());
            out.0[lane] = round_up(quotient, types.quantum(lane));
        }
        self.with_implied_vcore(out)
    }

    fn map(self, r: Resource, types: &ResourceTypes, f: impl Fn(i64, i64) -> i64) -> Resource {
        let step = types.minimum_allocation();
        let mut out = Resource::ZERO;
        for lane in 0..self.lanes(types) {
            out.0[lane] = f(r.0[lane], step.0[lane].max(types.quantum(lane)));
        }
        self.with_implied_vcore(out)
    }

    /// `Resources.createResource(memory)` gives one vcore to any memory.
    fn with_implied_vcore(self, mut r: Resource) -> Resource {
        if self == Self::Default {
            r.0[1] = i64::from(r.0[0] > 0);
        }
        r
    }
}

/// Each lane times `by`, cut off (`Resources.multiply`): what a share of the cluster is worth.
pub fn share_of(r: Resource, by: f32, types: &ResourceTypes) -> Resource {
    let mut out = Resource::ZERO;
    for (lane, amount) in out.0.iter_mut().enumerate() {
        let product = to_i64((r.0[lane] as f64 * f64::from(by)).trunc());
        *amount = cut(product, types.quantum(lane));
    }
    out
}

/// Down to a multiple of `step`.
fn cut(v: i64, step: i64) -> i64 {
    if step <= 1 { v } else { v - v.rem_euclid(step) }
}

/// `a / b`, 0 when both are none, more than any share when only `b` is.
pub fn ratio(a: i64, b: i64) -> f32 {
    match (a, b) {
        (0, _) => 0.0,
        (_, 0) => f32::INFINITY,
        _ => a as f32 / b as f32,
    }
}

/// Application counts: `count × share`, cut off.
pub fn count_share(count: u32, share: f32) -> u32 {
    to_u32(f64::from(count as f32 * share))
}

/// The timer of event mode: `heartbeat_ms × count ÷ nodes`, cut off.
pub fn wait_ms(heartbeat_ms: u64, count: f64, nodes: usize) -> u64 {
    let wait = heartbeat_ms as f64 * count / nodes.max(1) as f64;
    u64::try_from(to_i64(wait)).unwrap_or(0)
}

fn round_up(v: i64, step: i64) -> i64 {
    if step <= 0 {
        return v;
    }
    match v.rem_euclid(step) {
        0 => v,
        over => v.saturating_add(step - over),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "Hadoop keeps this product as a float"
)]
fn to_f32(v: f64) -> f32 {
    v as f32
}

/// Saturating, as Java casts a double to a long.
#[allow(
    clippy::cast_possible_truncation,
    reason = "`as` saturates like Java's cast"
)]
fn to_i64(v: f64) -> i64 {
    v as i64
}

fn to_u32(v: f64) -> u32 {
    u32::try_from(to_i64(v).max(0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "num_test.rs"]
mod tests;
