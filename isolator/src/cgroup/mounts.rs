//! Where the cgroup controllers are mounted, controller by controller (hybrid hosts have both).
//! May touch: `/proc/self/mountinfo`, `cgroup.controllers` of a cgroup2 mount.
//! Must not: mount or create anything.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Version of the cgroup interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One hierarchy per controller.
    V1,
    /// The unified hierarchy.
    V2,
}

/// Mounted hierarchies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mounts {
    /// Mount point of each v1 controller (`devices`, `memory`, `cpu`, `pids`, …).
    pub v1: BTreeMap<String, PathBuf>,
    /// Mount point of cgroup2.
    pub v2: Option<PathBuf>,
    /// Controllers that cgroup2 offers at its root; those in use by v1 are not among them.
    pub v2_controllers: Vec<String>,
}

impl Mounts {
    /// Reads the text of `/proc/self/mountinfo` (proc(5)); the first mount of a controller
    /// counts. Lines that are not cgroups are passed over.
    pub fn parse(mountinfo: &str) -> Self {
        let mut found = Self::default();
        for line in mountinfo.lines() {
            let Some((mount, file_system)) = line.split_once(" - ") else {
                continue;
            };
            let Some(point) = mount.split(' ').nth(4).map(unescape) else {
                continue;
            };
            let mut fields = file_system.split(' ');
            match (fields.next(), fields.nth(1)) {
                (Some("cgroup2"), _) if found.v2.is_none() => found.v2 = Some(point),
                (Some("cgroup"), Some(options)) => {
                    let named = options.split(',').filter(|o| !matches!(*o, "rw" | "ro"));
                    for controller in named {
                        found
                            .v1
                            .entry(controller.to_owned())
                            .or_insert_with(|| point.clone());
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// The mounts of this machine; none where they cannot be read.
    pub fn read() -> Self {
        let mountinfo = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut found = Self::parse(&mountinfo);
        if let Some(root) = &found.v2 {
            let controllers = std::fs::read_to_string(root.join("cgroup.controllers"));
            found.v2_controllers = controllers
                .unwrap_or_default()
                .split_whitespace()
                .map(str::to_owned)
                .collect();
        }
        found
    }

    /// Version and mount point that hold `controller`, `preferred` first.
    pub fn controller(&self, controller: &str, preferred: Mode) -> Option<(Mode, &Path)> {
        let v1 = self.v1.get(controller).map(|p| (Mode::V1, p.as_path()));
        let offered = self.v2_controllers.iter().any(|c| c == controller);
        let v2 = self
            .v2
            .as_deref()
            .filter(|_| offered)
            .map(|p| (Mode::V2, p));
        match preferred {
            Mode::V1 => v1.or(v2),
            Mode::V2 => v2.or(v1),
        }
    }

    /// Mount point on which device rules of `mode` are set. On v2 they need no controller.
    pub fn devices(&self, mode: Mode) -> Option<&Path> {
        match mode {
            Mode::V1 => self.v1.get("devices").map(PathBuf::as_path),
            Mode::V2 => self.v2.as_deref(),
        }
    }
}

/// Undoes the octal escapes of mountinfo (`\040` is a space).
fn unescape(field: &str) -> PathBuf {
    let bytes = field.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let octal = field
            .get(at + 1..at + 4)
            .filter(|_| *byte == b'\\')
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(octal.unwrap_or(*byte));
        at += if octal.is_some() { 4 } else { 1 };
    }
    PathBuf::from(OsString::from_vec(plain))
}

#[cfg(test)]
#[path = "mounts_test.rs"]
mod tests;
