//! The simulated library under the real nvml-wrapper, loaded as a process would load it.
//! May touch: the built cdylib and a temporary topology file.
//! Must not: share a process with another topology (the library keeps one).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::PathBuf, process::Command};

use nvml_wrapper::{Nvml, error::NvmlError};

const TWO: &str = r#"
node = "n1"
[[gpu]]
model = "NVIDIA A100-SXM4-80GB"
memory_mib = 81920
minor = 3
pci = "00000000:07:00.0"
numa = 1
links = ["1:NV12"]
processes = [{ pid = 77, memory_mib = 512 }]
[[gpu]]
model = "NVIDIA A100-SXM4-80GB"
memory_mib = 81920
minor = 0
pci = "00000000:0A:00.0"
links = ["0:NV12"]
"#;

/// Runs the named check in a process of its own, with its own topology file.
fn in_process(check: &str) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("topology.toml");
    fs::write(&file, TWO).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", check])
        .env("HEDDLE_GPU_TOPOLOGY", &file)
        .env("FAKE_NVML_CHILD", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

fn is_child() -> bool {
    std::env::var_os("FAKE_NVML_CHILD").is_some()
}

fn file() -> PathBuf {
    PathBuf::from(std::env::var_os("HEDDLE_GPU_TOPOLOGY").unwrap())
}

#[test]
fn cards_look_as_the_file_says() {
    if !is_child() {
        return in_process("cards_look_as_the_file_says");
    }
    let nvml = Nvml::builder()
        .lib_path(fake_nvml::library().unwrap().as_os_str())
        .init()
        .unwrap();
    assert_eq!(nvml.device_count().unwrap(), 2);
    let (a, b) = (
        nvml.device_by_index(0).unwrap(),
        nvml.device_by_index(1).unwrap(),
    );
    assert_eq!(
        (a.minor_number().unwrap(), b.minor_number().unwrap()),
        (3, 0)
    );
    assert_eq!(a.name().unwrap(), "NVIDIA A100-SXM4-80GB");
    assert!(a.uuid().unwrap().starts_with("GPU-") && a.uuid().unwrap() != b.uuid().unwrap());
    let memory = a.memory_info().unwrap();
    assert_eq!((memory.total >> 20, memory.used >> 20), (81920, 512));
    assert_eq!(a.numa_node_id().unwrap(), 1);
    assert_eq!(b.pci_info().unwrap().bus_id, "00000000:0A:00.0");
    assert_eq!(a.running_compute_processes().unwrap()[0].pid, 77);
    assert!(a.link_wrapper_for(11).is_active().unwrap());
    assert_eq!(
        a.link_wrapper_for(0).remote_pci_info().unwrap().bus_id,
        "00000000:0A:00.0"
    );
    let again = nvml.device_by_uuid(a.uuid().unwrap()).unwrap();
    assert_eq!(again.minor_number().unwrap(), 3);
}

#[test]
fn edits_are_seen_without_a_restart() {
    if !is_child() {
        return in_process("edits_are_seen_without_a_restart");
    }
    let nvml = Nvml::builder()
        .lib_path(fake_nvml::library().unwrap().as_os_str())
        .init()
        .unwrap();
    assert_eq!(nvml.device_by_index(0).unwrap().minor_number().unwrap(), 3);
    fs::write(
        file(),
        TWO.replacen("minor = 3", "minor = 3\npresent = false", 1),
    )
    .unwrap();
    assert_eq!(nvml.device_count().unwrap(), 1);
    assert_eq!(nvml.device_by_index(0).unwrap().minor_number().unwrap(), 0);
    fs::write(
        file(),
        TWO.replacen("minor = 3", "minor = 3\nhealth = \"lost\"", 1),
    )
    .unwrap();
    let lost = nvml.device_by_index(0).unwrap().uuid();
    assert!(matches!(lost, Err(NvmlError::GpuLost)), "{lost:?}");
    fs::write(
        file(),
        TWO.replacen("minor = 3", "minor = 3\nfail_reads = 2", 1),
    )
    .unwrap();
    let outcomes = [(); 3].map(|()| nvml.device_by_index(0).is_ok());
    assert_eq!(outcomes, [false, false, true]);
    fs::write(file(), "not toml [").unwrap();
    assert_eq!(
        nvml.device_count().unwrap(),
        2,
        "a faulty file leaves the earlier picture"
    );
}
