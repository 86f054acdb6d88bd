//! The NVML probe over the simulated library, in a process of its own.
//! May touch: the built simulated library and a temporary topology file.
//! Must not: share a process with another topology.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, process::Command};

use gpu_probe::{Probe, nvml::NvmlProbe};
use yarn_types::gpu::{GpuHealth, LinkKind};

const FOUR: &str = r#"
[[gpu]]
model = "A"
memory_mib = 40960
minor = 5
pci = "00000000:01:00.0"
links = ["1:NV2", "2:PIX"]
[[gpu]]
model = "A"
memory_mib = 40960
minor = 2
pci = "00000000:02:00.0"
links = ["0:NV2"]
[[gpu]]
model = "A"
memory_mib = 40960
minor = 7
pci = "00000000:03:00.0"
links = ["0:PIX"]
"#;

#[test]
fn cards_links_and_health_come_through_the_real_wrapper() {
    let name = "cards_links_and_health_come_through_the_real_wrapper";
    let Some(file) = std::env::var_os("HEDDLE_GPU_TOPOLOGY") else {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("topology.toml");
        fs::write(&file, FOUR).unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", name])
            .env("HEDDLE_GPU_TOPOLOGY", &file)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}"
        );
        return;
    };
    let mut probe = NvmlProbe::new(fake_nvml::library().unwrap());
    let first = probe.read().unwrap();
    let minors: Vec<u32> = first.devices.iter().map(|d| d.minor).collect();
    assert_eq!(minors, [5, 2, 7]);
    let kinds: Vec<LinkKind> = first.devices[0].links.iter().map(|l| l.kind).collect();
    assert_eq!(kinds, [LinkKind::NvLink(2), LinkKind::Pix]);
    fs::write(
        &file,
        FOUR.replacen("minor = 2", "minor = 2\nhealth = \"lost\"", 1),
    )
    .unwrap();
    let second = probe.read().unwrap();
    assert_eq!(second.devices.len(), 3);
    assert!(matches!(&second.devices[1].health, GpuHealth::Bad(why) if why.contains("lost")));
    assert_eq!(second.faults.len(), 1);
    fs::write(
        &file,
        FOUR.replacen("minor = 2", "minor = 2\npresent = false", 1),
    )
    .unwrap();
    let third: Vec<u32> = probe
        .read()
        .unwrap()
        .devices
        .iter()
        .map(|d| d.minor)
        .collect();
    assert_eq!(third, [5, 7]);
}
