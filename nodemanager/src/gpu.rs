//! The node's cards: the loop that reads them, the last reading, what containers are told of theirs.
//! May touch: the probe, device nodes of simulated cards in a directory of their own.
//! Must not: touch /dev, or choose devices.

use std::{
    collections::BTreeSet,
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use gpu_probe::{
    Probe, ProbeError, Reading,
    watch::{WatchOptions, watch},
};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nm_core::Event;
use tokio::sync::oneshot;
use yarn_types::gpu::GpuHealth;

use crate::{
    driver::Inbox,
    settings::{GpuSettings, Simulated},
};

/// Between two readings of real cards.
const INTERVAL: Duration = Duration::from_secs(5);
/// Between two readings of simulated cards, whose file a person edits.
const INTERVAL_SIMULATED: Duration = Duration::from_secs(1);
/// Longest wait after failures.
const BACKOFF_MAX: Duration = Duration::from_mins(1);
/// What names the file of simulated cards.
pub const TOPOLOGY_ENV: &str = "HEDDLE_GPU_TOPOLOGY";
/// What names the directory of their device nodes.
const DEV_DIR_ENV: &str = "HEDDLE_DEV_DIR";
/// Tells simulated tools that device rules say nothing here.
const UNSAFE_ENV: &str = "HEDDLE_UNSAFE_NO_ISOLATION";

/// The last reading, all cards of the node in it.
pub type LastReading = Arc<Mutex<Option<Reading>>>;

/// Starts reading; the answer comes with the first reading or failure.
///
/// # Errors
/// The system has no thread left.
pub fn start(
    settings: &GpuSettings,
    probe: Box<dyn Probe>,
    last: LastReading,
    inbox: Inbox,
) -> io::Result<oneshot::Receiver<()>> {
    let (first, told) = oneshot::channel();
    let interval = if settings.simulated.is_some() {
        INTERVAL_SIMULATED
    } else {
        INTERVAL
    };
    let options = WatchOptions {
        interval,
        limit: settings.timeout,
        backoff_max: BACKOFF_MAX,
    };
    let mut reader = Reader {
        settings: settings.clone(),
        last,
        inbox,
        first: Some(first),
        failures: 0,
        fault: None,
        faults: Vec::new(),
        nodes: None,
        managed: BTreeSet::new(),
    };
    watch(probe, options, move |result| {
        reader.take(result);
        true
    })?;
    Ok(told)
}

/// Takes readings and tells the core.
struct Reader {
    settings: GpuSettings,
    last: LastReading,
    inbox: Inbox,
    first: Option<oneshot::Sender<()>>,
    /// In a row.
    failures: u32,
    /// What was logged last, so that it is logged once.
    fault: Option<String>,
    faults: Vec<String>,
    nodes: Option<String>,
    /// Cards that were allowed once.
    managed: BTreeSet<Arc<str>>,
}

impl Reader {
    fn take(&mut self, result: Result<Reading, ProbeError>) {
        match result {
            Ok(reading) => self.take_reading(reading),
            Err(e) => self.take_failure(&e.to_string()),
        }
        if let Some(first) = self.first.take() {
            let _ = first.send(());
        }
    }

    fn take_reading(&mut self, reading: Reading) {
        if self.failures > 0 || self.first.is_some() {
            let (cards, driver) = (reading.devices.len(), &reading.driver);
            tracing::info!(cards, driver, "GPUs are read");
        }
        self.failures = 0;
        self.fault = None;
        if self.faults != reading.faults {
            for fault in &reading.faults {
                tracing::warn!(fault, "a GPU cannot be read");
            }
            self.faults.clone_from(&reading.faults);
        }
        if let Some(simulated) = &self.settings.simulated {
            let minors: BTreeSet<u32> = reading.devices.iter().map(|d| d.minor).collect();
            let failed = make_nodes(&simulated.dev_dir, &minors)
                .err()
                .map(|e| e.to_string());
            if let Some(error) = failed.as_ref().filter(|_| failed != self.nodes) {
                let dir = simulated.dev_dir.display();
                tracing::warn!(%dir, error, "no device nodes for simulated GPUs");
            }
            self.nodes = failed;
        }
        self.log_changes(&reading);
        let allowed = &self.settings.allowed;
        let devices = reading.devices.iter();
        // what matched once stays by its UUID: indices shift when another card goes
        let managed = devices.filter(|d| allowed.holds(d) || self.managed.contains(&d.uuid));
        let devices: Vec<_> = managed.cloned().collect();
        self.managed
            .extend(devices.iter().map(|d| Arc::clone(&d.uuid)));
        // The core first: a launch that finds its card gone here is ended for that reason.
        self.inbox.event(Event::GpuReading { devices });
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(reading);
    }

    /// Cards that came, went, or changed their health since the last reading.
    fn log_changes(&self, reading: &Reading) {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = last.as_ref().map_or(&[][..], |r| r.devices.as_slice());
        for device in &reading.devices {
            let known = before.iter().find(|d| d.uuid == device.uuid);
            match &device.health {
                health if known.is_some_and(|d| d.health == *health) => {}
                GpuHealth::Ok => tracing::info!(uuid = %device.uuid, "a GPU can be used"),
                GpuHealth::Bad(why) => tracing::warn!(uuid = %device.uuid, why, "a GPU is lost"),
            }
        }
        for old in before {
            if !reading.devices.iter().any(|d| d.uuid == old.uuid) {
                tracing::warn!(uuid = %old.uuid, "a GPU is gone");
            }
        }
    }

    fn take_failure(&mut self, text: &str) {
        self.failures = self.failures.saturating_add(1);
        if self.fault.as_deref() != Some(text) {
            tracing::warn!(error = text, "GPUs cannot be read, tried again");
            self.fault = Some(text.to_owned());
        }
        if self
            .settings
            .errors_max
            .is_some_and(|max| self.failures == max.max(1))
        {
            let failures = self.failures;
            tracing::error!(
                failures,
                error = text,
                "no GPU is granted until they can be read"
            );
            let reason = text.to_owned();
            self.inbox.event(Event::GpuProbeFailed { reason });
        }
    }
}

/// Makes `nvidiaN`, `nvidiactl` and `nvidia-uvm` in `dir`, and removes nodes of cards that are
/// gone. The numbers are those of the isolator's rules for simulated cards.
fn make_nodes(dir: &Path, minors: &BTreeSet<u32>) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755))?;
    let cards = minors.iter().map(|n| (format!("nvidia{n}"), 195, *n));
    let common = [
        ("nvidiactl".to_owned(), 195, 255),
        ("nvidia-uvm".to_owned(), 511, 0),
    ];
    let wanted: Vec<(String, u64, u32)> = cards.chain(common).collect();
    for entry in std::fs::read_dir(dir)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let card = name.strip_prefix("nvidia");
        let number = card.is_some_and(|n| n.parse::<u32>().is_ok());
        if number && !wanted.iter().any(|(w, ..)| *w == name) {
            std::fs::remove_file(entry.path())?;
        }
    }
    for (name, major, minor) in wanted {
        let path = dir.join(name);
        if path.exists() {
            continue;
        }
        let all = Mode::from_bits_truncate(0o666);
        mknod(&path, SFlag::S_IFCHR, all, makedev(major, u64::from(minor)))?;
        // Whatever the mask of the process.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666))?;
    }
    Ok(())
}

/// Minor numbers of `uuids` in the last reading.
///
/// # Errors
/// A card that is not there; the text names it.
pub fn minors(last: &LastReading, uuids: &[Arc<str>]) -> Result<Vec<u32>, String> {
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let devices = last.as_ref().map_or(&[][..], |r| r.devices.as_slice());
    let minor = |uuid: &Arc<str>| {
        let found = devices.iter().find(|d| d.uuid == *uuid);
        found
            .map(|d| d.minor)
            .ok_or_else(|| format!("gpu lost: {uuid} is gone"))
    };
    uuids.iter().map(minor).collect()
}

/// Variables that tell a container its devices, whatever it asked for.
#[derive(Clone, Debug)]
pub struct GpuEnv {
    /// Simulated cards.
    pub simulated: Option<Simulated>,
    /// File of simulated cards.
    pub topology: Option<PathBuf>,
    /// `--unsafe-no-isolation`.
    pub unsafe_no_isolation: bool,
}

impl GpuEnv {
    /// The variables of a container with these devices.
    pub fn variables(&self, uuids: &[Arc<str>]) -> Vec<(String, String)> {
        // -1 hides all from CUDA and is a number to those who parse it; void is what NVIDIA's
        // container runtime takes for "as without me".
        let (cuda, runtime) = if uuids.is_empty() {
            ("-1".to_owned(), "void".to_owned())
        } else {
            (uuids.join(","), uuids.join(","))
        };
        let mut all = vec![
            ("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned()),
            ("CUDA_VISIBLE_DEVICES", cuda),
            ("NVIDIA_VISIBLE_DEVICES", runtime),
        ];
        if let Some(simulated) = &self.simulated {
            all.push((DEV_DIR_ENV, simulated.dev_dir.display().to_string()));
            let topology = self.topology.iter();
            all.extend(topology.map(|path| (TOPOLOGY_ENV, path.display().to_string())));
            if self.unsafe_no_isolation {
                all.push((UNSAFE_ENV, "1".to_owned()));
            }
        }
        all.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
    }

    /// Directories that come first in `PATH`, before those of the configuration.
    pub fn path_prefix(&self, force_path: &str) -> String {
        let bin = self.simulated.as_ref().and_then(|s| s.bin_dir.as_ref());
        match bin {
            Some(bin) if force_path.is_empty() => bin.display().to_string(),
            Some(bin) => format!("{}:{force_path}", bin.display()),
            None => force_path.to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "gpu_test.rs"]
mod tests;
