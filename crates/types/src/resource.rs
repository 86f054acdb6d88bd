//! `Resource`: amounts of memory, vcores and configured types in fixed lanes.
//! May touch: integers and the names of the lanes.
//! Must not: round (the calculator of the scheduler does), or hold GPU shapes.

use std::{
    fmt::{self, Write as _},
    hash::{Hash, Hasher},
};

use crate::limits::RESOURCE_LANES;

/// The resource type of whole devices of any model (`ResourceInformation.GPU_URI`).
pub const GPU: &str = "yarn.io/gpu";
/// Amount of the GPU lane that one device is: the lane counts in milli-GPU, so that a share of a
/// device has a place.
pub const MILLI: i64 = 1000;

/// Number of lanes.
pub const LANES: usize = RESOURCE_LANES;

/// Amounts by lane: 0 memory in MiB, 1 vcores, then the types of [`ResourceTypes`] in its order.
#[derive(Clone, Copy, Eq, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize)]
pub struct Resource(pub [i64; LANES]);

// all lanes at once: limits compare all the time, and a derived comparison is a call of memcmp
impl PartialEq for Resource {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let differ = |all, (a, b): (&i64, &i64)| all | (a ^ b);
        self.0.iter().zip(&other.0).fold(0, differ) == 0
    }
}

impl Hash for Resource {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Resource {
    /// Nothing of anything.
    pub const ZERO: Self = Self([0; LANES]);

    /// `memory_mb` MiB and `vcores` vcores.
    #[inline]
    pub fn new(memory_mb: i64, vcores: i64) -> Self {
        let mut lanes = [0; LANES];
        lanes[0] = memory_mb;
        lanes[1] = vcores;
        Self(lanes)
    }

    /// This resource with `amount` in `lane`.
    #[must_use]
    #[inline]
    pub fn with(mut self, lane: usize, amount: i64) -> Self {
        self.0[lane] = amount;
        self
    }

    /// Memory in MiB.
    #[inline]
    pub fn memory_mb(self) -> i64 {
        self.0[0]
    }

    /// Vcores.
    #[inline]
    pub fn vcores(self) -> i64 {
        self.0[1]
    }

    /// Every lane of `self` is at most that of `room`.
    #[inline]
    pub fn fits(self, room: Self) -> bool {
        self.0.iter().zip(room.0).all(|(a, b)| *a <= b)
    }

    /// No lane holds anything.
    #[inline]
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    /// Some lane is below zero.
    #[inline]
    pub fn is_negative(self) -> bool {
        self.0.iter().any(|v| *v < 0)
    }

    #[inline]
    fn zip(self, other: Self, f: impl Fn(i64, i64) -> i64) -> Self {
        let mut lanes = self.0;
        for (lane, b) in lanes.iter_mut().zip(other.0) {
            *lane = f(*lane, b);
        }
        Self(lanes)
    }

    /// Lane by lane sum, saturating.
    #[must_use]
    #[inline]
    pub fn plus(self, other: Self) -> Self {
        self.zip(other, i64::saturating_add)
    }

    /// Lane by lane difference, saturating; may go below zero.
    #[must_use]
    #[inline]
    pub fn minus(self, other: Self) -> Self {
        self.zip(other, i64::saturating_sub)
    }

    /// Lane by lane product with `count`, saturating.
    #[must_use]
    #[inline]
    pub fn times(self, count: i64) -> Self {
        self.zip(Self::ZERO, |a, _| a.saturating_mul(count))
    }

    /// Lane by lane minimum (`Resources.componentwiseMin`).
    #[must_use]
    #[inline]
    pub fn min(self, other: Self) -> Self {
        self.zip(other, i64::min)
    }

    /// Lane by lane maximum (`Resources.componentwiseMax`).
    #[must_use]
    #[inline]
    pub fn max(self, other: Self) -> Self {
        self.zip(other, i64::max)
    }

    /// Negative lanes become zero.
    #[must_use]
    #[inline]
    pub fn at_least_zero(self) -> Self {
        self.max(Self::ZERO)
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self
            .0
            .iter()
            .rposition(|v| *v != 0)
            .map_or(2, |last| last.max(1) + 1);
        write!(f, "{:?}", &self.0[..used])
    }
}

/// One countable resource type.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct ResourceType {
    /// Name on the wire, e.g. `memory-mb`, `vcores`, `yarn.io/gpu`.
    pub name: String,
    /// Unit of the amounts kept here, e.g. `Mi` for memory, empty for counts.
    pub units: String,
    /// Smallest amount a container may ask for (`…minimum-allocation`).
    pub minimum_allocation: i64,
    /// Largest amount a container may ask for (`…maximum-allocation`).
    pub maximum_allocation: i64,
}

/// The lanes in order, fixed when the daemon starts.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct ResourceTypes {
    types: Vec<ResourceType>,
    /// Other spellings, with their lanes.
    aliases: Vec<(String, usize)>,
    /// What follows from the types; limits ask for it all the time.
    facts: Facts,
}

/// What follows from the lanes' types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Facts {
    gpu_lane: Option<usize>,
    minimum: Resource,
    maximum: Resource,
}

impl ResourceTypes {
    /// The lanes `types`, which begin with memory-mb and vcores.
    ///
    /// # Errors
    /// More than [`LANES`] types, or other first two: the text says which.
    pub fn new(types: Vec<ResourceType>) -> Result<Self, String> {
        let first: Vec<&str> = types.iter().take(2).map(|t| t.name.as_str()).collect();
        if first != ["memory-mb", "vcores"] {
            return Err(format!(
                "the first resource types are memory-mb and vcores, not {first:?}"
            ));
        }
        if let Some(extra) = types.get(LANES) {
            return Err(format!(
                "resource type '{}' is one too many: at most {LANES} with memory-mb and vcores",
                extra.name
            ));
        }
        Ok(Self::of(types))
    }

    fn of(types: Vec<ResourceType>) -> Self {
        let mut all = Self {
            types,
            aliases: Vec::new(),
            facts: Facts::default(),
        };
        all.take_facts();
        all
    }

    fn take_facts(&mut self) {
        self.facts.gpu_lane = self.lane(GPU);
        self.facts.minimum = self.bounds(|t| t.minimum_allocation);
        self.facts.maximum = self.bounds(|t| t.maximum_allocation);
    }

    /// The same lanes, with `alias` as another spelling of the type called `name`.
    ///
    /// No effect when no type is called `name`, or one is called `alias`.
    #[must_use]
    pub fn with_alias(mut self, alias: &str, name: &str) -> Self {
        if let (None, Some(lane)) = (self.lane(alias), self.lane(name)) {
            self.aliases.push((alias.to_owned(), lane));
            self.take_facts();
        }
        self
    }

    /// The same lanes with the type that has `alias` called so, and its name as the alias; `None`
    /// when there is no such alias.
    #[must_use]
    pub fn spelled(&self, alias: &str) -> Option<Self> {
        let mut types = self.clone();
        let found = types.aliases.iter_mut().find(|(name, _)| name == alias)?;
        let named = types.types.get_mut(found.1)?;
        std::mem::swap(&mut found.0, &mut named.name);
        types.take_facts();
        Some(types)
    }

    /// The other spellings of the type in `lane`.
    pub fn aliases(&self, lane: usize) -> impl Iterator<Item = &str> {
        let of_lane = self.aliases.iter().filter(move |(_, l)| *l == lane);
        of_lane.map(|(alias, _)| alias.as_str())
    }

    /// memory-mb and vcores alone, with Hadoop's default allocation bounds.
    pub fn memory_and_vcores() -> Self {
        let lane = |name: &str, units: &str, minimum_allocation, maximum_allocation| ResourceType {
            name: name.to_owned(),
            units: units.to_owned(),
            minimum_allocation,
            maximum_allocation,
        };
        Self::of(vec![
            lane("memory-mb", "Mi", 1024, 8192),
            lane("vcores", "", 1, 4),
        ])
    }

    /// The types in lane order.
    pub fn iter(&self) -> impl Iterator<Item = &ResourceType> {
        self.types.iter()
    }

    /// Number of lanes in use, at least 2.
    #[inline]
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Never true: memory and vcores are always there.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Lane of the type called `name` or having that alias; `memory` is another name of memory-mb.
    pub fn lane(&self, name: &str) -> Option<usize> {
        let name = if name == "memory" { "memory-mb" } else { name };
        let lane = self.types.iter().position(|t| t.name == name);
        let alias = || self.aliases.iter().find(|(alias, _)| alias == name);
        lane.or_else(|| Some(alias()?.1))
    }

    /// The lane of [`GPU`], when the type is configured.
    #[inline]
    pub fn gpu_lane(&self) -> Option<usize> {
        self.facts.gpu_lane
    }

    /// What one unit of the wire is in `lane`: [`MILLI`] for GPUs, else 1.
    #[inline]
    pub fn scale(&self, lane: usize) -> i64 {
        if self.gpu_lane() == Some(lane) {
            MILLI
        } else {
            1
        }
    }

    /// The smallest step of limits and shares in `lane`: whole devices for GPUs, else 1.
    #[inline]
    pub fn quantum(&self, lane: usize) -> i64 {
        self.scale(lane)
    }

    /// The type in `lane`.
    pub fn get(&self, lane: usize) -> Option<&ResourceType> {
        self.types.get(lane)
    }

    /// Smallest container, by lane, in the lanes' own amounts.
    #[inline]
    pub fn minimum_allocation(&self) -> Resource {
        self.facts.minimum
    }

    /// Largest container, by lane, in the lanes' own amounts.
    pub fn maximum_allocation(&self) -> Resource {
        self.facts.maximum
    }

    fn bounds(&self, of: impl Fn(&ResourceType) -> i64) -> Resource {
        let mut resource = Resource::ZERO;
        for (lane, (amount, t)) in resource.0.iter_mut().zip(&self.types).enumerate() {
            *amount = of(t).saturating_mul(self.scale(lane));
        }
        resource
    }

    /// The same lanes with the maximum allocations of `other`, type by type.
    #[must_use]
    pub fn with_maxima_of(mut self, other: &Self) -> Self {
        for t in &mut self.types {
            if let Some(lane) = other.lane(&t.name) {
                t.maximum_allocation = other.types[lane].maximum_allocation;
            }
        }
        self.take_facts();
        self
    }

    /// Amount of `lane` in units of the wire, parts rounded up.
    pub fn wire(&self, lane: usize, r: Resource) -> i64 {
        let scale = self.scale(lane);
        let amount = r.0.get(lane).copied().unwrap_or(0);
        amount.div_euclid(scale) + i64::from(amount.rem_euclid(scale) != 0)
    }

    /// Hadoop's text of a resource: `<memory:4096, vCores:2, yarn.io/gpu: 2>`, zero types left out.
    pub fn show(&self, r: Resource) -> String {
        let mut text = format!("<memory:{}, vCores:{}", r.memory_mb(), r.vcores());
        for (lane, t) in self.types.iter().enumerate().skip(2) {
            let amount = self.wire(lane, r);
            if amount != 0 {
                let _ = write!(text, ", {}: {amount}{}", t.name, t.units);
            }
        }
        text.push('>');
        text
    }
}

#[cfg(test)]
#[path = "resource_test.rs"]
mod tests;
