//! Device numbers of this machine: dynamic majors of `/proc/devices`, numbers behind a path.
//! May touch: `/proc/devices`, the status of device nodes.
//! Must not: open a device or make a node.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::Kind;
use super::list::{NVIDIA_MAJOR, SIMULATED_UVM};

/// Majors that the NVIDIA driver holds now. All but 195 change when a module is loaded again,
/// so this is read at every launch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Majors {
    /// `nvidia`, or `nvidia-frontend` on older drivers.
    pub gpu: Option<u32>,
    /// `nvidia-uvm`.
    pub uvm: Option<u32>,
    /// `nvidia-caps`, the capabilities of MIG instances.
    pub caps: Option<u32>,
}

impl Majors {
    /// Reads the text of `/proc/devices`; lines it does not know are passed over.
    pub fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let chars = text.split("Block devices:").next().unwrap_or_default();
        for line in chars.lines() {
            let mut words = line.split_whitespace();
            let (Some(Ok(major)), Some(name)) = (words.next().map(str::parse), words.next()) else {
                continue;
            };
            match name {
                "nvidia" | "nvidia-frontend" => found.gpu = Some(major),
                "nvidia-uvm" => found.uvm = Some(major),
                "nvidia-caps" => found.caps = Some(major),
                _ => {}
            }
        }
        found
    }

    /// Majors of this machine; none where `/proc/devices` cannot be read.
    pub fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/devices").unwrap_or_default())
    }

    /// Whether a character device of this major leads to a GPU, simulated ones included.
    pub fn is_gpu(&self, major: u32) -> bool {
        let known = [self.gpu, self.uvm, self.caps];
        major == NVIDIA_MAJOR || major == SIMULATED_UVM.0 || known.contains(&Some(major))
    }
}

/// Kind and number behind a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// [`Kind::Block`] or [`Kind::Char`].
    pub kind: Kind,
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

/// Kind and number of the device node at `path`; links are followed.
///
/// # Errors
/// A text: the file system's answer, or that the path is no device.
pub fn resolve(path: &Path) -> Result<Node, String> {
    let meta = std::fs::metadata(path).map_err(|e| e.to_string())?;
    let kind = if meta.file_type().is_char_device() {
        Kind::Char
    } else if meta.file_type().is_block_device() {
        Kind::Block
    } else {
        return Err("not a device node".to_owned());
    };
    let number = |n: u64| u32::try_from(n).map_err(|_| format!("device number {n} out of range"));
    Ok(Node {
        kind,
        major: number(nix::sys::stat::major(meta.rdev()))?,
        minor: number(nix::sys::stat::minor(meta.rdev()))?,
    })
}

#[cfg(test)]
#[path = "majors_test.rs"]
mod tests;
