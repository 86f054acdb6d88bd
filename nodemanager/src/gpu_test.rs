//! Tests: readings become events, failures too after a while; what containers are told.
//! May touch: the module under test, a temporary directory.
//! Must not: load NVML, or sleep.

use gpu_probe::allowed::Allowed;

use super::*;

fn env(simulated: bool) -> GpuEnv {
    GpuEnv {
        simulated: simulated.then(|| Simulated {
            dev_dir: PathBuf::from("/d/dev"),
            bin_dir: Some(PathBuf::from("/d/bin")),
        }),
        topology: Some(PathBuf::from("/d/topology.toml")),
        unsafe_no_isolation: false,
    }
}

fn value(vars: &[(String, String)], name: &str) -> Option<String> {
    let found = vars.iter().find(|(k, _)| k == name);
    found.map(|(_, v)| v.clone())
}

#[test]
fn a_container_is_told_its_devices_by_uuid_or_that_it_has_none() {
    let vars = env(false).variables(&[Arc::from("GPU-b"), Arc::from("GPU-a")]);
    assert_eq!(value(&vars, "CUDA_VISIBLE_DEVICES").unwrap(), "GPU-b,GPU-a");
    assert_eq!(
        value(&vars, "NVIDIA_VISIBLE_DEVICES").unwrap(),
        "GPU-b,GPU-a"
    );
    assert_eq!(value(&vars, "CUDA_DEVICE_ORDER").unwrap(), "PCI_BUS_ID");
    assert_eq!(value(&vars, "HEDDLE_DEV_DIR"), None, "real cards");
    let vars = env(false).variables(&[]);
    assert_eq!(value(&vars, "CUDA_VISIBLE_DEVICES").unwrap(), "-1");
    assert_eq!(value(&vars, "NVIDIA_VISIBLE_DEVICES").unwrap(), "void");
}

#[test]
fn simulated_cards_come_with_their_directory_and_tools() {
    let vars = env(true).variables(&[]);
    assert_eq!(value(&vars, "HEDDLE_DEV_DIR").unwrap(), "/d/dev");
    assert_eq!(
        value(&vars, "HEDDLE_GPU_TOPOLOGY").unwrap(),
        "/d/topology.toml"
    );
    assert_eq!(value(&vars, "HEDDLE_UNSAFE_NO_ISOLATION"), None);
    assert_eq!(env(true).path_prefix(""), "/d/bin");
    assert_eq!(env(true).path_prefix("/x"), "/d/bin:/x");
    assert_eq!(env(false).path_prefix("/x"), "/x");
}

/// Answers by its script, then for ever with its last line.
struct Script(Vec<Result<Reading, ProbeError>>);

impl Probe for Script {
    fn read(&mut self) -> Result<Reading, ProbeError> {
        if self.0.len() > 1 {
            self.0.remove(0)
        } else {
            self.0[0].clone()
        }
    }
}

#[tokio::test]
async fn the_first_failure_ends_the_wait_and_no_card_is_known() {
    let settings = GpuSettings {
        allowed: Allowed::Auto,
        timeout: Duration::from_secs(5),
        errors_max: Some(1),
        library: String::new(),
        simulated: None,
    };
    let (inbox, _waiting) = crate::driver::inbox();
    let last = LastReading::default();
    let failed = ProbeError::Timeout { limit_ms: 1 };
    let probe = Box::new(Script(vec![Err(failed)]));
    let first = start(&settings, probe, Arc::clone(&last), inbox).unwrap();
    first.await.unwrap();
    let text = minors(&last, &[Arc::from("GPU-a")]).unwrap_err();
    assert_eq!(text, "gpu lost: GPU-a is gone");
}
