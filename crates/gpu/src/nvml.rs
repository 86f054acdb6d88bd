//! The probe over NVML.
//! May touch: the NVML library through nvml-wrapper.
//! Must not: assume that index, minor number and PCI order agree.

use std::{collections::BTreeMap, ffi::OsString, sync::Arc};

use nvml_wrapper::{
    Device, Nvml,
    enum_wrappers::device::{EccCounter, MemoryError, TopologyLevel},
    error::NvmlError,
};
use yarn_types::gpu::{GpuDevice, GpuHealth, GpuLink, LinkKind};

use crate::{Probe, ProbeError, Reading};

/// NVLinks asked per card (`NVML_NVLINK_MAX_LINKS`).
const NVLINKS_MAX: u32 = 18;

/// Reads cards through one NVML library.
pub struct NvmlProbe {
    library: OsString,
    nvml: Option<Nvml>,
    /// Cards seen before, by UUID, so that one which stops answering is known by name.
    seen: BTreeMap<Arc<str>, GpuDevice>,
}

impl NvmlProbe {
    /// A probe over `library` (a path, or a name for the loader such as `libnvidia-ml.so.1`).
    /// Nothing is loaded before the first read.
    pub fn new(library: impl Into<OsString>) -> Self {
        Self {
            library: library.into(),
            nvml: None,
            seen: BTreeMap::new(),
        }
    }

    fn unusable(&self, reason: &NvmlError) -> ProbeError {
        ProbeError::Unusable {
            library: self.library.to_string_lossy().into_owned(),
            reason: text_of(reason),
        }
    }
}

impl Probe for NvmlProbe {
    fn read(&mut self) -> Result<Reading, ProbeError> {
        if self.nvml.is_none() {
            let started = Nvml::builder().lib_path(&self.library).init();
            self.nvml = Some(started.map_err(|e| self.unusable(&e))?);
        }
        let Some(nvml) = &self.nvml else {
            return Err(self.unusable(&NvmlError::Uninitialized));
        };
        let count = match nvml.device_count() {
            Ok(count) => count,
            Err(e) => {
                let error = self.unusable(&e);
                self.nvml = None; // a reloaded driver needs a new start
                return Err(error);
            }
        };
        let mut faults = Vec::new();
        let mut found: Vec<(GpuDevice, Device<'_>)> = Vec::new();
        let mut unread: Vec<(u32, String)> = Vec::new();
        for index in 0..count {
            let read = nvml
                .device_by_index(index)
                .and_then(|d| Ok((identity(&d, index)?, d)));
            match read {
                Ok(pair) => found.push(pair),
                Err(e) => unread.push((index, text_of(&e))),
            }
        }
        let mut devices = connect(nvml, found);
        for (index, reason) in unread {
            let here = |d: &GpuDevice| devices.iter().any(|o| o.uuid == d.uuid);
            // NVML names it by position alone: it is the card that was there, if that is missing
            match self
                .seen
                .values()
                .find(|d| d.index == index && !here(d))
                .cloned()
            {
                Some(mut known) => {
                    known.health = GpuHealth::Bad(reason.clone());
                    faults.push(format!("{}: {reason}", known.uuid));
                    devices.push(known);
                }
                None => faults.push(format!("the card at index {index}: {reason}")),
            }
        }
        devices.sort_by_key(|d| d.index);
        for device in devices.iter().filter(|d| d.health == GpuHealth::Ok) {
            self.seen.insert(Arc::clone(&device.uuid), device.clone());
        }
        let driver = nvml.sys_driver_version().unwrap_or_default();
        Ok(Reading {
            devices,
            faults,
            driver,
        })
    }
}

/// NVML's own words where nvml-wrapper adds nothing.
fn text_of(e: &NvmlError) -> String {
    match e {
        NvmlError::GpuLost => "GPU is lost".to_owned(),
        other => other.to_string(),
    }
}

fn identity(device: &Device<'_>, index: u32) -> Result<GpuDevice, NvmlError> {
    let memory = device.memory_info()?;
    let uncorrected = device
        .total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile)
        .unwrap_or(0);
    let health = match uncorrected {
        0 => GpuHealth::Ok,
        n => GpuHealth::Bad(format!(
            "{n} uncorrected memory errors since the driver was loaded"
        )),
    };
    Ok(GpuDevice {
        uuid: Arc::from(device.uuid()?),
        index,
        minor: device.minor_number()?,
        pci: device.pci_info()?.bus_id,
        model: device.name()?,
        memory_mib: memory.total / (1024 * 1024),
        numa: device.numa_node_id().ok(),
        links: Vec::new(),
        health,
    })
}

/// Fills in the connections between the cards that were read.
fn connect(nvml: &Nvml, mut found: Vec<(GpuDevice, Device<'_>)>) -> Vec<GpuDevice> {
    let peers: Vec<(Arc<str>, String)> = found
        .iter()
        .map(|(d, _)| (Arc::clone(&d.uuid), d.pci.clone()))
        .collect();
    let mut links: Vec<Vec<GpuLink>> = Vec::with_capacity(found.len());
    for (a, (_, device)) in found.iter().enumerate() {
        let mut lanes: BTreeMap<&str, u32> = BTreeMap::new();
        for lane in 0..NVLINKS_MAX {
            let link = device.link_wrapper_for(lane);
            if !link.is_active().unwrap_or(false) {
                continue;
            }
            let Ok(remote) = link.remote_pci_info() else {
                continue;
            };
            if let Some((uuid, _)) = peers.iter().find(|(_, pci)| *pci == remote.bus_id) {
                *lanes.entry(uuid).or_default() += 1;
            }
        }
        let mut own: Vec<GpuLink> = Vec::new();
        for (_, (uuid, _)) in peers.iter().enumerate().filter(|(b, _)| *b != a) {
            let nvlink = lanes.get(&**uuid).map(|n| LinkKind::NvLink(*n));
            let pcie = || {
                let peer = nvml.device_by_uuid(&**uuid).ok()?;
                kind_of(device.topology_common_ancestor(peer).ok()?)
            };
            if let Some(kind) = nvlink.or_else(pcie) {
                own.push(GpuLink {
                    peer: Arc::clone(uuid),
                    kind,
                });
            }
        }
        links.push(own);
    }
    for ((device, _), own) in found.iter_mut().zip(links) {
        device.links = own;
    }
    found.into_iter().map(|(device, _)| device).collect()
}

fn kind_of(level: TopologyLevel) -> Option<LinkKind> {
    match level {
        TopologyLevel::Internal => None,
        TopologyLevel::Single => Some(LinkKind::Pix),
        TopologyLevel::Multiple => Some(LinkKind::Pxb),
        TopologyLevel::HostBridge => Some(LinkKind::Phb),
        TopologyLevel::Node => Some(LinkKind::Node),
        TopologyLevel::System => Some(LinkKind::Sys),
    }
}
