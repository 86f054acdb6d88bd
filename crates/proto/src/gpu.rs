//! Conversions between the GPU extension messages and `yarn-types`.
//! May touch: records.
//! Must not: trust a list's length or a text's.

use std::sync::Arc;

use yarn_types::gpu::{
    DEVICES_MAX, DeviceChange, DeviceGrant, DeviceReport, GpuDevice, GpuHealth, GpuLink,
};

use crate::yarn::{
    HeddleGpuChangeProto, HeddleGpuChangesProto, HeddleGpuGrantProto, HeddleGpuGrantsProto,
    HeddleGpuLinkProto, HeddleGpuListProto, HeddleGpuProto,
};

/// Longest text taken of a device, in bytes.
const TEXT_BYTES_MAX: usize = 1024;
/// Most changes taken in one heartbeat: each device a few times over.
const CHANGES_MAX: usize = 16 * DEVICES_MAX;

/// What is wrong with a GPU message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadGpuMessage(pub String);

impl std::fmt::Display for BadGpuMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "bad GPU message: {}", self.0)
    }
}

impl std::error::Error for BadGpuMessage {}

fn text(value: Option<&String>, what: &str) -> Result<String, BadGpuMessage> {
    match value {
        Some(text) if text.len() <= TEXT_BYTES_MAX => Ok(text.clone()),
        Some(text) => Err(BadGpuMessage(format!("{what} has {} bytes", text.len()))),
        None => Ok(String::new()),
    }
}

fn uuid(value: Option<&String>) -> Result<Arc<str>, BadGpuMessage> {
    match text(value, "uuid")? {
        uuid if uuid.is_empty() => Err(BadGpuMessage("a device without uuid".to_owned())),
        uuid => Ok(Arc::from(uuid)),
    }
}

fn at_most(count: usize, max: usize, what: &str) -> Result<(), BadGpuMessage> {
    if count <= max {
        Ok(())
    } else {
        Err(BadGpuMessage(format!("{count} {what}; at most {max}")))
    }
}

/// Wire form of a device and its condition.
pub fn report_proto(report: &DeviceReport) -> HeddleGpuProto {
    let device = &report.device;
    HeddleGpuProto {
        uuid: Some(device.uuid.to_string()),
        index: Some(device.index),
        minor: Some(device.minor),
        pci: Some(device.pci.clone()),
        model: Some(device.model.clone()),
        memory_mib: Some(device.memory_mib),
        numa: device.numa,
        links: device
            .links
            .iter()
            .map(|l| HeddleGpuLinkProto {
                peer: Some(l.peer.to_string()),
                kind: Some(l.kind.to_string()),
            })
            .collect(),
        bad_health: match &device.health {
            GpuHealth::Ok => None,
            GpuHealth::Bad(why) => Some(why.clone()),
        },
        dirty: report.dirty.clone(),
    }
}

/// A device and its condition; links of a kind that is not known here are left out.
///
/// # Errors
/// No UUID, or a text or list beyond its limit.
pub fn report(proto: &HeddleGpuProto) -> Result<DeviceReport, BadGpuMessage> {
    at_most(proto.links.len(), DEVICES_MAX, "links of a device")?;
    let mut links = Vec::new();
    for link in &proto.links {
        if let Some(kind) = link.kind.as_deref().and_then(|k| k.parse().ok()) {
            links.push(GpuLink {
                peer: uuid(link.peer.as_ref())?,
                kind,
            });
        }
    }
    let bad = proto.bad_health.as_ref();
    let health = match bad {
        Some(why) => GpuHealth::Bad(text(Some(why), "health")?),
        None => GpuHealth::Ok,
    };
    let dirty = proto
        .dirty
        .as_ref()
        .map(|why| text(Some(why), "dirty"))
        .transpose()?;
    let device = GpuDevice {
        uuid: uuid(proto.uuid.as_ref())?,
        index: proto.index.unwrap_or(0),
        minor: proto.minor.unwrap_or(0),
        pci: text(proto.pci.as_ref(), "pci")?,
        model: text(proto.model.as_ref(), "model")?,
        memory_mib: proto.memory_mib.unwrap_or(0),
        numa: proto.numa,
        links,
        health,
    };
    Ok(DeviceReport { device, dirty })
}

/// Wire form of a registering node's list.
pub fn list_proto(seq: u64, list: &[DeviceReport]) -> HeddleGpuListProto {
    HeddleGpuListProto {
        seq: Some(seq),
        gpus: list.iter().map(report_proto).collect(),
    }
}

/// A registering node's list with the number that it stands for.
///
/// # Errors
/// Too many devices, one twice, or a bad one.
pub fn list(proto: &HeddleGpuListProto) -> Result<(u64, Vec<DeviceReport>), BadGpuMessage> {
    at_most(proto.gpus.len(), DEVICES_MAX, "devices")?;
    let mut devices: Vec<DeviceReport> = Vec::with_capacity(proto.gpus.len());
    for gpu in &proto.gpus {
        let report = report(gpu)?;
        if devices.iter().any(|d| d.device.uuid == report.device.uuid) {
            return Err(BadGpuMessage(format!(
                "device {} is listed twice",
                report.device.uuid
            )));
        }
        devices.push(report);
    }
    Ok((proto.seq.unwrap_or(0), devices))
}

/// Wire form of the changes that were not echoed yet.
pub fn changes_proto(seq: u64, changes: &[DeviceChange]) -> HeddleGpuChangesProto {
    let change = |c: &DeviceChange| match c {
        DeviceChange::Is(report) => HeddleGpuChangeProto {
            is: Some(report_proto(report)),
            gone: None,
        },
        DeviceChange::Gone(uuid) => HeddleGpuChangeProto {
            is: None,
            gone: Some(uuid.to_string()),
        },
    };
    HeddleGpuChangesProto {
        seq: Some(seq),
        changes: changes.iter().map(change).collect(),
    }
}

/// Changes with the number of the last.
///
/// # Errors
/// Too many, or a bad one.
pub fn changes(proto: &HeddleGpuChangesProto) -> Result<(u64, Vec<DeviceChange>), BadGpuMessage> {
    at_most(proto.changes.len(), CHANGES_MAX, "changes")?;
    let mut out = Vec::with_capacity(proto.changes.len());
    for change in &proto.changes {
        out.push(match (&change.is, &change.gone) {
            (Some(gpu), None) => DeviceChange::Is(report(gpu)?),
            (None, Some(_)) => DeviceChange::Gone(uuid(change.gone.as_ref())?),
            _ => {
                return Err(BadGpuMessage(
                    "a change is neither a device nor a loss".to_owned(),
                ));
            }
        });
    }
    Ok((proto.seq.unwrap_or(0), out))
}

/// Wire form of a container's devices.
pub fn grants_proto(grants: &[DeviceGrant]) -> HeddleGpuGrantsProto {
    let grant = |g: &DeviceGrant| HeddleGpuGrantProto {
        uuid: Some(g.uuid.to_string()),
        epoch: Some(g.epoch),
    };
    HeddleGpuGrantsProto {
        grants: grants.iter().map(grant).collect(),
    }
}

/// A container's devices.
///
/// # Errors
/// Too many, one twice, or one without UUID.
pub fn grants(proto: &HeddleGpuGrantsProto) -> Result<Vec<DeviceGrant>, BadGpuMessage> {
    at_most(proto.grants.len(), DEVICES_MAX, "granted devices")?;
    let mut out: Vec<DeviceGrant> = Vec::with_capacity(proto.grants.len());
    for grant in &proto.grants {
        let uuid = uuid(grant.uuid.as_ref())?;
        if out.iter().any(|g| g.uuid == uuid) {
            return Err(BadGpuMessage(format!("device {uuid} is granted twice")));
        }
        out.push(DeviceGrant {
            uuid,
            epoch: grant.epoch.unwrap_or(0),
        });
    }
    Ok(out)
}

#[cfg(test)]
#[path = "gpu_test.rs"]
mod tests;
