//! From UUIDs to minor numbers: by a file, or by asking NVML.
//! May touch: the file it is given, NVML.
//! Must not: take an index for a minor number.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use gpu_probe::Probe;
use gpu_probe::nvml::NvmlProbe;
use serde::Deserialize;

/// Longest accepted file, in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// One entry of a `--devices` file.
#[derive(Deserialize)]
struct Entry {
    uuid: String,
    minor: u32,
}

/// UUID and minor number of each card in `file`.
pub fn from_file(file: &Path) -> anyhow::Result<BTreeMap<String, u32>> {
    let name = || file.display().to_string();
    let bytes = std::fs::metadata(file).with_context(name)?.len();
    if bytes > BYTES_MAX {
        bail!("{}: {bytes} bytes, at most {BYTES_MAX} are read", name());
    }
    let text = std::fs::read_to_string(file).with_context(name)?;
    let entries: Vec<Entry> = serde_json::from_str(&text)
        .with_context(|| format!("{}: not a list of {{\"uuid\": …, \"minor\": …}}", name()))?;
    Ok(entries.into_iter().map(|e| (e.uuid, e.minor)).collect())
}

/// UUID and minor number of each card that NVML shows.
pub fn from_nvml(library: &str) -> anyhow::Result<BTreeMap<String, u32>> {
    let reading = NvmlProbe::new(library)
        .read()
        .context("--devices FILE names the cards without NVML")?;
    let devices = reading.devices.into_iter();
    Ok(devices.map(|d| (d.uuid.to_string(), d.minor)).collect())
}

/// The minor numbers of `uuids`, in their order.
pub fn minors(uuids: &[String], cards: &BTreeMap<String, u32>) -> anyhow::Result<Vec<u32>> {
    let minor = |uuid: &String| {
        cards.get(uuid).copied().with_context(|| {
            let known: Vec<&str> = cards.keys().map(String::as_str).collect();
            format!(
                "GPU {uuid:?} is not on this node, which has [{}]",
                known.join(", ")
            )
        })
    };
    uuids.iter().map(minor).collect()
}
