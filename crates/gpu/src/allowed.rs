//! `yarn.nodemanager.resource-plugins.gpu.allowed-gpu-devices`: which cards are YARN's.
//! May touch: text.
//! Must not: read configuration files.

use std::str::FromStr;

use yarn_types::gpu::GpuDevice;

/// Which cards the NodeManager offers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Allowed {
    /// `auto`: every card.
    Auto,
    /// Listed cards.
    Listed(Vec<Entry>),
}

/// One listed card.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// `index:minor`, both as NVML reports them.
    IndexMinor(u32, u32),
    /// `GPU-…`.
    Uuid(String),
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("auto") {
            return Ok(Self::Auto);
        }
        let mut entries = Vec::new();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let entry = if part.starts_with("GPU-") {
                Entry::Uuid(part.to_owned())
            } else {
                let pair = part
                    .split_once(':')
                    .and_then(|(i, m)| Some((i.parse().ok()?, m.parse().ok()?)));
                let (index, minor) = pair.ok_or_else(|| {
                    format!("'{part}' is neither index:minor nor a UUID that begins with GPU-")
                })?;
                Entry::IndexMinor(index, minor)
            };
            if entries.contains(&entry) {
                return Err(format!("'{part}' is listed twice"));
            }
            entries.push(entry);
        }
        if entries.is_empty() {
            return Err("no device is listed; give auto, index:minor or UUIDs".to_owned());
        }
        Ok(Self::Listed(entries))
    }
}

impl Allowed {
    /// Whether the NodeManager offers `device`.
    pub fn holds(&self, device: &GpuDevice) -> bool {
        match self {
            Self::Auto => true,
            Self::Listed(entries) => entries.iter().any(|e| match e {
                Entry::IndexMinor(index, minor) => *index == device.index && *minor == device.minor,
                Entry::Uuid(uuid) => **uuid == *device.uuid,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_spellings_are_read_and_others_refused() {
        assert_eq!("auto".parse(), Ok(Allowed::Auto));
        let listed = Allowed::Listed(vec![
            Entry::IndexMinor(0, 3),
            Entry::Uuid("GPU-ab".to_owned()),
        ]);
        assert_eq!("0:3, GPU-ab".parse(), Ok(listed));
        for text in ["", "0", "0:x", "a:1", "0:1,0:1"] {
            assert!(text.parse::<Allowed>().is_err(), "{text}");
        }
    }
}
