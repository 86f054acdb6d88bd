//! All arithmetic that rounds or uses floating point: Hadoop's resource calculators.
//! May touch: `Resource`.
//! Must not: be spread: no other file of the core holds a float in a decision.

use std::cmp::Ordering;

use yarn_types::{LANES, Resource, ResourceTypes};

/// `yarn.scheduler.capacity.resource-calculator`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
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

    /// Dominant share of `a` over that of `b`, both of `cluster` (`ResourceCalculator.divide`).
    pub fn divide(self, a: Resource, b: Resource, cluster: Resource, types: &ResourceTypes) -> f32 {
        match self {
            Self::Default => ratio(a.memory_mb(), b.memory_mb()),
            Self::Dominant => {
                let of = |r| self.share(r, cluster, types);
                let (a, b) = (of(a), of(b));
                if a == 0.0 { 0.0 } else { a / b }
            }
        }
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
        if a == b {
            return Ordering::Equal;
        }
        let lanes = types.len().min(LANES);
        let shares = |r: Resource| {
            let mut shares = [0.0_f32; LANES];
            for (lane, share) in shares.iter_mut().enumerate().take(lanes) {
                *share = ratio(r.0[lane], cluster.0[lane]);
            }
            shares
        };
        let (mut of_a, mut of_b) = (shares(a), shares(b));
        let largest = |shares: &[f32]| shares.iter().fold(f32::NEG_INFINITY, |m, s| m.max(*s));
        let (of_a, of_b) = (&mut of_a[..lanes], &mut of_b[..lanes]);
        // the largest shares decide nearly always
        largest(of_a).total_cmp(&largest(of_b)).then_with(|| {
            of_a.sort_unstable_by(|x, y| y.total_cmp(x));
            of_b.sort_unstable_by(|x, y| y.total_cmp(x));
            let pairs = of_a.iter().zip(of_b.iter());
            let mut orders = pairs.map(|(x, y)| x.total_cmp(y));
            orders.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        })
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

    /// `multiplyAndNormalizeDown`: cut off, then down to the step.
    pub fn times_round_down(self, r: Resource, by: f64, types: &ResourceTypes) -> Resource {
        self.map(r, types, |v, step| cut(to_i64(v as f64 * by), step))
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

/// What the preemption monitor needs beside: comparisons within partitions that may lack a type.
impl Calculator {
    /// Compares as `ResourceCalculator.compare` in doubles: equal amounts are equal, a `total` of
    /// nothing compares lane by lane, and a type that `total` lacks is passed over.
    pub fn order(
        self,
        a: Resource,
        b: Resource,
        total: Resource,
        types: &ResourceTypes,
    ) -> Ordering {
        if self == Self::Default {
            return a.memory_mb().cmp(&b.memory_mb());
        }
        let lanes = types.len();
        let within = |r: Resource| r.0.into_iter().take(lanes);
        if within(a).eq(within(b)) {
            return Ordering::Equal;
        }
        if within(total).all(|t| t == 0) {
            let any = |want| within(a).zip(within(b)).any(|(x, y)| x.cmp(&y) == want);
            return any(Ordering::Greater).cmp(&any(Ordering::Less));
        }
        let sorted = |r: Resource| {
            let mut shares = [f64::NEG_INFINITY; LANES];
            for (lane, share) in shares.iter_mut().enumerate().take(lanes) {
                if total.0[lane] != 0 {
                    *share = r.0[lane] as f64 / total.0[lane] as f64;
                }
            }
            shares.sort_by(|x, y| y.total_cmp(x));
            shares
        };
        let (sa, sb) = (sorted(a), sorted(b));
        sa.iter()
            .zip(sb)
            .find_map(|(x, y)| x.partial_cmp(&y).filter(|o| o.is_ne()))
            .unwrap_or(Ordering::Equal)
    }

    /// `Resources.divide`: memory of `a` over that of `b`, or the largest share of `total` that `a`
    /// is over that of `b`; a type that `total` lacks is passed over.
    pub fn portion(self, a: Resource, b: Resource, total: Resource, types: &ResourceTypes) -> f32 {
        if self == Self::Default {
            return a.memory_mb() as f32 / b.memory_mb() as f32;
        }
        let largest = |r: Resource| {
            let shares = r.0.iter().zip(total.0).take(types.len());
            let shares = shares.filter(|(_, t)| *t != 0);
            shares.fold(0.0_f64, |most, (x, t)| most.max(*x as f64 / t as f64))
        };
        to_f32(largest(a) / largest(b))
    }

    /// `multiplyAndNormalizeUp` with a factor for each lane and steps of one whole unit.
    pub fn times_up_by(self, r: Resource, by: &[f64; LANES], types: &ResourceTypes) -> Resource {
        let mut out = Resource::ZERO;
        for (lane, by) in by.iter().enumerate().take(self.lanes(types)) {
            let product = r.0[lane] as f64 * by;
            let whole = match self {
                Self::Default => (product + 0.5).trunc(),
                Self::Dominant => f64::from(to_f32(product)).ceil(),
            };
            out.0[lane] = round_up(to_i64(whole), types.quantum(lane));
        }
        self.with_implied_vcore(out)
    }

    /// `isAnyMajorResourceAboveZero`.
    pub fn any_above_zero(self, r: Resource, types: &ResourceTypes) -> bool {
        r.0.iter().take(self.lanes(types)).any(|v| *v > 0)
    }

    /// `isAnyMajorResourceZeroOrNegative`.
    pub fn any_at_most_zero(self, r: Resource, types: &ResourceTypes) -> bool {
        r.0.iter().take(self.lanes(types)).any(|v| *v <= 0)
    }

    /// `Resources.ratio`: the largest part of `b` that `a` is in one lane.
    pub fn cost(self, a: Resource, b: Resource, types: &ResourceTypes) -> f32 {
        let lanes = a.0.iter().zip(b.0).take(self.lanes(types));
        lanes.fold(0.0, |most, (&x, y)| most.max(ratio(x, y)))
    }
}

/// Each lane times `by`, cut off (`Resources.multiply` with a double).
pub fn times_cut(r: Resource, by: f64, types: &ResourceTypes) -> Resource {
    let mut out = Resource::ZERO;
    for (lane, amount) in out.0.iter_mut().enumerate() {
        *amount = cut(to_i64(by * r.0[lane] as f64), types.quantum(lane));
    }
    out
}

/// Lane by lane, what of `sum` is `part`'s (`resetCapacity`); one of `count` where `sum` has
/// nothing, so that what nobody is guaranteed is not kept from everybody.
pub fn parts_of(part: Resource, sum: Resource, count: usize) -> [f64; LANES] {
    let mut parts = equal_parts(count);
    for (lane, share) in parts.iter_mut().enumerate() {
        if sum.0[lane] != 0 {
            *share = f64::from(part.0[lane] as f32 / sum.0[lane] as f32);
        }
    }
    parts
}

/// The same part of every lane: one of `count`.
pub fn equal_parts(count: usize) -> [f64; LANES] {
    [f64::from(1.0 / count as f32); LANES]
}

/// Who is offered more first: below its guarantee before above; then the higher priority, then the
/// smaller part of the guarantee (`PriorityUtilizationQueueOrderingPolicy.compare`).
pub fn compare_need(a: (f64, i32), b: (f64, i32)) -> Ordering {
    let by_part = a.0.total_cmp(&b.0);
    if a.1 == b.1 || (a.0 < 1.0) != (b.0 < 1.0) {
        by_part
    } else {
        b.1.cmp(&a.1)
    }
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

/// A count as a factor.
pub fn float(count: u32) -> f32 {
    count as f32
}

/// A count to compare with [`off_switch_wait`].
pub fn float_of(count: i64) -> f32 {
    count as f32
}

/// Nodes to pass over before a container may go anywhere: outstanding containers × distinct places
/// ÷ nodes, at most the nodes (`RegularContainerAllocator.canAssign`).
pub fn off_switch_wait(outstanding: i32, places_named: usize, nodes: usize) -> f32 {
    let places = places_named.saturating_sub(1) as f32;
    let factor = (places / nodes as f32).min(1.0);
    (nodes as f32).min(outstanding as f32 * factor)
}

/// What waiting counts for against reservations already made: renewals per reservation, less the
/// larger the container is (`shouldAllocOrReserveNewContainer`).
pub fn starvation(renewed: u32, reserved: usize, factor: f32) -> i64 {
    if reserved == 0 {
        return 0;
    }
    to_i64(f64::from(
        (renewed as f32 / reserved as f32) * (1.0 - factor),
    ))
}

/// What the fair policy compares: memory held, by the logarithm of the memory wanted where sizes
/// are weighted; the order of the results is that of the figures (`FairComparator`).
pub fn fair_magnitude(held_mb: i64, wanted_mb: i64, size_based_weight: bool) -> i64 {
    let mut magnitude = held_mb.max(0) as f64;
    if size_based_weight {
        magnitude /= (wanted_mb.max(0) as f64).ln_1p() / 2.0_f64.ln();
    }
    // bits of non-negative floats are in the order of their values; 0/0 comes last
    i64::try_from(magnitude.abs().to_bits()).unwrap_or(i64::MAX)
}

/// A count of missed nodes, at most all `nodes` there are.
pub fn at_most(count: i64, nodes: usize) -> f32 {
    count.clamp(0, i64::try_from(nodes).unwrap_or(i64::MAX)) as f32
}

/// Which of `levels` equal steps from 0 to 1 a share is in; 1 and more is the last.
pub fn level(share: f32, levels: u32) -> u32 {
    let step = to_i64(f64::from(share.max(0.0)) * f64::from(levels));
    let last = i64::from(levels.saturating_sub(1));
    u32::try_from(step.min(last).max(0)).unwrap_or(0)
}

/// A count rounded up, as `(int) Math.ceil`.
pub fn count_up(count: f32) -> i32 {
    i32::try_from(to_i64(f64::from(count.ceil()))).unwrap_or(i32::MAX)
}

/// Compares shares.
pub fn compare(a: f32, b: f32) -> Ordering {
    a.total_cmp(&b)
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
