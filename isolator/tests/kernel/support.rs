//! What the tests on real cgroups share: a node of devices, cgroups that vanish, a prober.
//! May touch: cgroups below a top directory of its own, nodes in a temporary directory.
//! Must not: touch cgroups of others, leave anything behind.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use isolator::cgroup::Mounts;
use isolator::cgroup::dir::{RemovalPatience, remove};
use isolator::cgroup::mounts::Mode;
use isolator::isolation::{Applied, Facts, Isolation, Plan, Spec};
use isolator::limits::LimitSpec;
use nix::sys::stat::{Mode as FileMode, SFlag, makedev, mknod};

/// First part of the name of every cgroup made by tests.
const PREFIX: &str = "heddle-test";
/// Tells the tests of one process apart.
static NEXT: AtomicU32 = AtomicU32::new(0);
/// Steps of a probing process, one a line.
const STEPS: &str = "HEDDLE_PROBE_STEPS";

/// Enough for a loaded machine.
const PATIENCE: RemovalPatience = RemovalPatience {
    timeout_ms: 20_000,
    delay_ms: 5,
};

/// Why a test on real cgroups cannot run here, if it cannot.
fn obstacle(mode: Mode) -> Option<&'static str> {
    if !nix::unistd::Uid::effective().is_root() {
        return Some("needs root");
    }
    match (mode, Mounts::read().devices(mode).is_some()) {
        (_, true) => None,
        (Mode::V1, false) => Some("the cgroup v1 devices controller is not mounted"),
        (Mode::V2, false) => Some("cgroup2 is not mounted"),
    }
}

/// Device nodes, a ledger and cgroups of one test.
pub struct Bench {
    /// Temporary directory; nodes are named `MAJOR:MINOR`.
    pub dir: tempfile::TempDir,
    /// The isolation under test.
    pub isolation: Isolation,
    /// Top cgroup of this test.
    pub hierarchy: String,
    /// Mechanism under test.
    pub mode: Mode,
}

impl Bench {
    /// `None`, with a SKIP line, where the machine cannot run the test; a failure under CI.
    pub fn new(test: &str, mode: Mode) -> Option<Self> {
        if let Some(reason) = obstacle(mode) {
            // Past the capture of libtest: a silent skip would look like a pass.
            let line = format!("SKIP {test} {mode:?}: {reason}\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{reason}");
            return None;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = tempfile::tempdir().unwrap();
        let isolation = Isolation::new(&dir.path().join("ledger"), PATIENCE).unwrap();
        let bench = Self {
            dir,
            isolation,
            hierarchy: format!("{PREFIX}-{}-{number}", std::process::id()),
            mode,
        };
        let gpus = (0..16).chain([255]).map(|minor| (195, minor));
        for (major, minor) in gpus.chain([(511, 0), (1, 3), (5, 1)]) {
            let all = FileMode::from_bits_truncate(0o666);
            let path = bench.node(major, minor);
            mknod(&path, SFlag::S_IFCHR, all, makedev(major, minor)).unwrap();
        }
        Some(bench)
    }

    /// The node of one device.
    pub fn node(&self, major: u64, minor: u64) -> PathBuf {
        self.dir.path().join(format!("{major}:{minor}"))
    }

    /// A specification with these cards and no limits.
    pub fn spec(&self, container: &str, minors: &[u32]) -> Spec {
        Spec {
            container: container.to_owned(),
            hierarchy: self.hierarchy.clone(),
            mode: self.mode,
            gpu_minors: minors.to_vec(),
            simulated_gpus: true,
            nodes: vec![],
            limits: LimitSpec::default(),
        }
    }

    /// Plans and applies `spec`.
    pub fn apply(&self, spec: &Spec) -> Applied {
        let plan = Plan::new(spec, &Facts::read(&spec.nodes)).unwrap();
        self.isolation.apply(&plan).unwrap()
    }

    /// Runs `steps` in a process that first joins the cgroups of `applied`; its answers.
    pub fn probe(applied: &Applied, steps: &[String]) -> Vec<String> {
        let joins = applied.procs_files();
        let joins = joins.iter().map(|file| format!("join {}", file.display()));
        let all: Vec<String> = joins.chain(steps.iter().cloned()).collect();
        answers(&prober(&all).output().unwrap())
    }

    /// `open` steps for all nodes of the bench, in a fixed order.
    pub fn opens(&self) -> Vec<String> {
        let mut steps: Vec<String> = (0..16).map(|minor| self.open(195, minor)).collect();
        steps.extend([
            self.open(195, 255),
            self.open(511, 0),
            self.open(1, 3),
            self.open(5, 1),
        ]);
        steps
    }

    /// A step that opens one node for reading and writing.
    pub fn open(&self, major: u64, minor: u64) -> String {
        format!("open {}", self.node(major, minor).display())
    }

    /// What [`Bench::opens`] answers with these cards granted: ENXIO says that the cgroup let
    /// the open through to a driver that is not there, EPERM that it did not.
    pub fn table(granted: &[u32]) -> Vec<String> {
        let answer = |device: &str, may: bool, there: &str| {
            format!("open {device} {}", if may { there } else { "EPERM" })
        };
        let some = !granted.is_empty();
        let mut table: Vec<String> = (0..16)
            .map(|m| answer(&format!("195:{m}"), granted.contains(&m), "ENXIO"))
            .collect();
        table.extend([
            answer("195:255", some, "ENXIO"),
            answer("511:0", some, "ENXIO"),
            answer("1:3", true, "ok"),
            answer("5:1", false, ""),
        ]);
        table
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let mounts = Mounts::read();
        let places = mounts.v1.values().chain(mounts.v2.as_ref());
        for place in places {
            let top = place.join(&self.hierarchy);
            if let Err(e) = remove(&top, PATIENCE) {
                let _ = writeln!(std::io::stderr(), "left behind: {e}");
            }
        }
    }
}

/// This test binary, about to run [`take_steps`] in a process of its own.
pub fn prober(steps: &[String]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "probing_process",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(STEPS, steps.join("\n"))
        .stdin(Stdio::null());
    command
}

/// The answers among the output of a prober.
pub fn answers(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    // libtest writes the name of the test on the line that the first answer then continues.
    let answer = |line: &str| line.split_once("PROBE ").map(|(_, a)| a.to_owned());
    let found: Vec<String> = text.lines().filter_map(answer).collect();
    assert!(!found.is_empty(), "{output:?}");
    found
}

/// The life of a probing process; nothing where the process was not started as one.
pub fn take_steps() {
    let Ok(steps) = std::env::var(STEPS) else {
        return;
    };
    let mut held = Vec::new();
    let mut steps = steps.lines();
    while let Some(step) = steps.next() {
        let (verb, argument) = step.split_once(' ').unwrap_or((step, ""));
        let path = Path::new(argument);
        match verb {
            "join" => std::fs::write(path, std::process::id().to_string()).unwrap(),
            "open" => {
                let name = path.file_name().unwrap().to_string_lossy();
                let opened = OpenOptions::new().read(true).write(true).open(path);
                say(&format!("open {name} {}", errno(opened.map(drop))));
            }
            "hold" => held.push(OpenOptions::new().write(true).open(path).unwrap()),
            "write-held" => say(&format!("held {}", errno(held[0].write_all(b"x")))),
            "mkdir" => std::fs::create_dir(path).unwrap(),
            "write" => {
                let (file, text) = argument.split_once(' ').unwrap();
                let name = Path::new(file).file_name().unwrap().to_string_lossy();
                say(&format!(
                    "write {name} {}",
                    errno(std::fs::write(file, text))
                ));
            }
            // A new session and two generations on, as a daemon does; the rest is its.
            "orphan" => {
                let rest: Vec<String> = steps.map(str::to_owned).collect();
                let all: Vec<String> = ["session".to_owned(), "leave".to_owned()]
                    .into_iter()
                    .chain(rest)
                    .collect();
                leave(&all);
                return;
            }
            "leave" => {
                let rest: Vec<String> = steps.map(str::to_owned).collect();
                leave(&rest);
                return;
            }
            "session" => drop(nix::unistd::setsid().unwrap()),
            "eat" => {
                let mib: usize = argument.parse().unwrap();
                let mut eaten = vec![0u8; mib << 20];
                for page in eaten.chunks_mut(4096) {
                    page[0] = 1;
                }
                say(&format!(
                    "ate {}",
                    eaten.iter().map(|b| usize::from(*b)).sum::<usize>()
                ));
            }
            _ => panic!("unknown step {step:?}"),
        }
    }
}

/// Starts a prober and does not wait for it: it is to become an orphan.
#[allow(clippy::zombie_processes)] // the caller ends at once, and init reaps
fn leave(steps: &[String]) {
    prober(steps).spawn().unwrap();
}

/// One line of answer, in one write: several processes share the output.
fn say(text: &str) {
    let line = format!("PROBE {text}\n");
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).unwrap();
    out.flush().unwrap();
}

fn errno(result: std::io::Result<()>) -> String {
    match result {
        Ok(()) => "ok".to_owned(),
        Err(e) => format!(
            "{:?}",
            nix::errno::Errno::from_raw(e.raw_os_error().unwrap_or(0))
        ),
    }
}
