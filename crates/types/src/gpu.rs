//! What a GPU is to every part: identity, place, health, and which ones to take together.
//! May touch: its own data.
//! Must not: talk to NVML, or know who holds a device.

use std::{fmt, sync::Arc};

/// Most devices of one node: a set of them is a bit mask.
pub const DEVICES_MAX: usize = 64;

/// One card, keyed by its UUID; index and minor number are looked up, never assumed equal.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct GpuDevice {
    /// `GPU-…`.
    pub uuid: Arc<str>,
    /// Position in NVML's list when it was read.
    pub index: u32,
    /// N of `/dev/nvidiaN`.
    pub minor: u32,
    /// PCI address, `00000000:07:00.0`.
    pub pci: String,
    /// Product name.
    pub model: String,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// NUMA node, when the system has any.
    pub numa: Option<u32>,
    /// Connections to other cards.
    pub links: Vec<GpuLink>,
    /// Whether it can be granted.
    pub health: GpuHealth,
}

/// A connection to another card.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct GpuLink {
    /// UUID of the other card.
    pub peer: Arc<str>,
    /// Kind of the connection.
    pub kind: LinkKind,
}

/// Kinds of connection as `nvidia-smi topo -m` names them, closest last.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum LinkKind {
    /// Across NUMA nodes.
    Sys,
    /// Within a NUMA node.
    Node,
    /// A PCIe host bridge.
    Phb,
    /// Several PCIe bridges.
    Pxb,
    /// One PCIe bridge.
    Pix,
    /// That many NVLinks.
    NvLink(u32),
}

/// Health of a card.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum GpuHealth {
    /// It can be granted.
    Ok,
    /// It cannot; why.
    Bad(String),
}

/// A device in a grant: what the container token carries.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct DeviceGrant {
    /// Which device.
    pub uuid: Arc<str>,
    /// Number of this grant of the device: a NodeManager refuses a lower one than it has seen.
    pub epoch: u64,
}

/// What a NodeManager says of one device.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct DeviceReport {
    /// The device and its health.
    pub device: GpuDevice,
    /// Why it may not be granted although it is healthy (a former holder left something behind).
    pub dirty: Option<String>,
}

/// One change since the last report, in the order of its number.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum DeviceChange {
    /// The device is there, in this condition.
    Is(DeviceReport),
    /// The device is gone.
    Gone(Arc<str>),
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NvLink(n) => write!(f, "NV{n}"),
            Self::Pix => f.write_str("PIX"),
            Self::Pxb => f.write_str("PXB"),
            Self::Phb => f.write_str("PHB"),
            Self::Node => f.write_str("NODE"),
            Self::Sys => f.write_str("SYS"),
        }
    }
}

impl std::str::FromStr for LinkKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "PIX" => Self::Pix,
            "PXB" => Self::Pxb,
            "PHB" => Self::Phb,
            "NODE" => Self::Node,
            "SYS" => Self::Sys,
            other => {
                let links = other.strip_prefix("NV").and_then(|n| n.parse().ok());
                Self::NvLink(links.ok_or(())?)
            }
        })
    }
}

impl LinkKind {
    /// How much two cards so connected gain from being taken together. A closer class outweighs
    /// any number of links of a wider one within a set of [`DEVICES_MAX`] cards.
    fn weight(self) -> u32 {
        match self {
            Self::Sys => 0,
            Self::Node => 1,
            Self::Phb => 2,
            Self::Pxb => 4,
            Self::Pix => 8,
            Self::NvLink(n) => 64 + n.min(64),
        }
    }
}

/// A set of devices of one node, by position in its list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DeviceSet(pub u64);

impl DeviceSet {
    /// The set with the device at `position` added; positions from [`DEVICES_MAX`] up are left out.
    #[must_use]
    pub fn with(self, position: usize) -> Self {
        if position < DEVICES_MAX {
            Self(self.0 | (1 << position))
        } else {
            self
        }
    }

    /// The devices of `self` that are not in `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the device at `position` is in the set.
    pub fn holds(self, position: usize) -> bool {
        position < DEVICES_MAX && self.0 & (1 << position) != 0
    }

    /// Number of devices.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// No device.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Positions, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let position = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (position < DEVICES_MAX).then_some(position)
        })
    }
}

impl FromIterator<usize> for DeviceSet {
    fn from_iter<I: IntoIterator<Item = usize>>(positions: I) -> Self {
        positions.into_iter().fold(Self::default(), Self::with)
    }
}

/// How the devices of one node are connected, prepared for choosing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Affinity {
    count: usize,
    /// Weight of each pair, row by row.
    weights: Vec<u32>,
}

impl Affinity {
    /// The connections of `devices` (the first [`DEVICES_MAX`]); cards of one NUMA node without a
    /// reported connection count as NODE.
    pub fn of(devices: &[GpuDevice]) -> Self {
        let devices = devices.get(..DEVICES_MAX).unwrap_or(devices);
        let count = devices.len();
        let mut weights = vec![0; count * count];
        for (a, device) in devices.iter().enumerate() {
            for (b, other) in devices.iter().enumerate().filter(|(b, _)| *b != a) {
                let reported = device
                    .links
                    .iter()
                    .filter(|l| l.peer == other.uuid)
                    .map(|l| l.kind)
                    .max();
                let near = device.numa.is_some() && device.numa == other.numa;
                let kind = reported.unwrap_or(if near { LinkKind::Node } else { LinkKind::Sys });
                let weight = kind.weight();
                weights[a * count + b] = weight.max(weights[a * count + b]);
                weights[b * count + a] = weight.max(weights[b * count + a]);
            }
        }
        Self { count, weights }
    }

    /// `count` of the `free` devices that belong together, or `None` when there are too few.
    ///
    /// Several: the set with the strongest connections inside, grown from each device in turn.
    /// Of equals, the set that leaves the strongest connections among the rest, then the one with
    /// the lowest positions; so a single device comes from the most broken-up group.
    pub fn choose(&self, free: DeviceSet, count: usize) -> Option<DeviceSet> {
        if count == 0 || count > free.len() {
            return (count == 0).then(DeviceSet::default);
        }
        if count == free.len() {
            return Some(free);
        }
        let mut best: Option<(u32, u32, DeviceSet)> = None;
        for start in free.iter() {
            let (set, inside, cut) = self.grow(free, start, count);
            let better = best.is_none_or(|(i, c, s)| (inside, c, s) > (i, cut, set));
            if better {
                best = Some((inside, cut, set));
            }
        }
        best.map(|(_, _, set)| set)
    }

    /// The set grown from `start`, the connections inside it, and those that taking it cuts off
    /// from the rest, of which fewer are better.
    fn grow(&self, free: DeviceSet, start: usize, count: usize) -> (DeviceSet, u32, u32) {
        let mut set = DeviceSet::default();
        let mut inside = 0;
        // connections of each device to the set
        let mut gains = [0; DEVICES_MAX];
        let mut next = start;
        loop {
            set = set.with(next);
            inside += gains[next];
            let row = self.weights.get(next * self.count..).unwrap_or_default();
            for (gain, weight) in gains.iter_mut().zip(row.iter().take(self.count)) {
                *gain += weight;
            }
            let rest = free.without(set).iter().map(|d| (gains[d], d));
            if set.len() == count {
                return (set, inside, rest.map(|(gain, _)| gain).sum());
            }
            // the strongest; of equals the lowest position
            match rest.max_by_key(|(gain, d)| (*gain, std::cmp::Reverse(*d))) {
                Some((_, strongest)) => next = strongest,
                None => return (set, inside, 0),
            }
        }
    }
}

#[cfg(test)]
#[path = "gpu_test.rs"]
mod tests;
