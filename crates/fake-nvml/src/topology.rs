//! The topology file: what simulated cards a node has, re-read when edited.
//! May touch: that file.
//! Must not: know NVML.

use std::{fs, path::Path};

use serde::Deserialize;
use yarn_types::gpu::{DEVICES_MAX, LinkKind};

/// Environment variable that names the topology file.
pub const TOPOLOGY_ENV: &str = "HEDDLE_GPU_TOPOLOGY";
/// Largest topology file, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A node's cards.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Name of the node, from which UUIDs are derived; the file's folder when absent.
    #[serde(default)]
    pub node: String,
    /// Driver version that NVML reports.
    #[serde(default = "driver")]
    pub driver: String,
    /// CUDA version that NVML reports, `major.minor`.
    #[serde(default = "cuda")]
    pub cuda: String,
    /// Cards in NVML's order.
    #[serde(default, rename = "gpu")]
    pub gpus: Vec<Gpu>,
}

/// One card.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// `GPU-…`; derived from node and position when absent.
    #[serde(default)]
    pub uuid: String,
    /// Product name, e.g. `NVIDIA A100-SXM4-80GB`.
    pub model: String,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// N of `/dev/nvidiaN`; not the position in the list.
    pub minor: u32,
    /// PCI address, `00000000:07:00.0`.
    pub pci: String,
    /// NUMA node, -1 for none.
    #[serde(default = "no_numa")]
    pub numa: i32,
    /// Compute capability, e.g. `8.0`.
    #[serde(default = "compute")]
    pub compute_capability: String,
    /// Connections to other cards: `"1:NV12"` is 12 NVLinks to the card at position 1; also PIX,
    /// PXB, PHB, NODE, SYS.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Processes that hold memory.
    #[serde(default)]
    pub processes: Vec<Process>,
    /// `ok`, `lost`, `reset-required`, `ecc` (uncorrectable errors) or any other text: an unknown error.
    #[serde(default = "ok")]
    pub health: String,
    /// `false`: the card is gone.
    #[serde(default = "yes")]
    pub present: bool,
    /// This many reads of the card fail after each edit of the file.
    #[serde(default)]
    pub fail_reads: u32,
}

/// A process on a card.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Host process id.
    pub pid: u32,
    /// Memory it holds, in MiB.
    pub memory_mib: u64,
}

/// How two cards are connected.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Link {
    /// Position of the other card.
    pub peer: usize,
    /// Kind of the connection.
    pub kind: LinkKind,
}

impl TryFrom<String> for Link {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parse = || {
            let (peer, kind) = text.split_once(':')?;
            let kind = kind.parse().ok()?;
            Some(Self {
                peer: peer.parse().ok()?,
                kind,
            })
        };
        parse().ok_or_else(|| {
            format!("link '{text}' is not POSITION:KIND with NV<n>, PIX, PXB, PHB, NODE or SYS")
        })
    }
}

/// A topology file that cannot be used.
#[derive(thiserror::Error, Debug)]
pub enum TopologyError {
    /// It cannot be read.
    #[error("read {path}: {source}")]
    Read {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is no valid topology.
    #[error("{path}: {reason}")]
    Invalid {
        /// Which file.
        path: String,
        /// What is wrong and what would be right.
        reason: String,
    },
}

impl Topology {
    /// Reads and checks `path`.
    ///
    /// # Errors
    /// A file that cannot be read, is too large, or does not describe cards.
    pub fn read(path: &Path) -> Result<Self, TopologyError> {
        let shown = path.display().to_string();
        let read = |source| TopologyError::Read {
            path: shown.clone(),
            source,
        };
        let invalid = |reason: String| TopologyError::Invalid {
            path: shown.clone(),
            reason,
        };
        if fs::metadata(path).map_err(read)?.len() > FILE_BYTES_MAX {
            return Err(invalid(format!("larger than {FILE_BYTES_MAX} bytes")));
        }
        let text = fs::read_to_string(path).map_err(read)?;
        let mut topology: Self = toml::from_str(&text).map_err(|e| invalid(e.to_string()))?;
        if topology.node.is_empty() {
            let folder = path.parent().and_then(Path::file_name);
            topology.node =
                folder.map_or_else(|| "node".to_owned(), |n| n.to_string_lossy().into_owned());
        }
        let node = topology.node.clone();
        for (index, gpu) in topology.gpus.iter_mut().enumerate() {
            if gpu.uuid.is_empty() {
                gpu.uuid = derived_uuid(&node, index);
            }
        }
        topology.check().map_err(invalid)?;
        Ok(topology)
    }

    fn check(&self) -> Result<(), String> {
        if self.gpus.len() > DEVICES_MAX {
            return Err(format!("{} cards; at most {DEVICES_MAX}", self.gpus.len()));
        }
        for (index, gpu) in self.gpus.iter().enumerate() {
            let others = self.gpus.iter().take(index);
            let twice = |what: &str| Err(format!("gpu {index} has the {what} of an earlier card"));
            if others.clone().any(|o| o.minor == gpu.minor) {
                return twice(&format!("minor {}", gpu.minor));
            }
            if others.clone().any(|o| o.uuid == gpu.uuid) {
                return twice(&format!("uuid {}", gpu.uuid));
            }
            if gpu.minor > 254 {
                return Err(format!("gpu {index}: minor {} is above 254", gpu.minor));
            }
            if let Some(link) = gpu
                .links
                .iter()
                .find(|l| l.peer >= self.gpus.len() || l.peer == index)
            {
                return Err(format!(
                    "gpu {index}: link to {} which is no other card",
                    link.peer
                ));
            }
        }
        Ok(())
    }
}

/// `GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` from node and position (two rounds of FNV-1a).
pub fn derived_uuid(node: &str, index: usize) -> String {
    let hash = |salt: u8| {
        let bytes = node.bytes().chain([0, salt]).chain(index.to_le_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    let (high, low) = (format!("{:016x}", hash(1)), format!("{:016x}", hash(2)));
    format!(
        "GPU-{}-{}-{}-{}-{}",
        &high[..8],
        &high[8..12],
        &high[12..],
        &low[..4],
        &low[4..]
    )
}

fn driver() -> String {
    "550.54.15".to_owned()
}

fn cuda() -> String {
    "12.4".to_owned()
}

fn compute() -> String {
    "8.0".to_owned()
}

fn no_numa() -> i32 {
    -1
}

fn ok() -> String {
    "ok".to_owned()
}

fn yes() -> bool {
    true
}
