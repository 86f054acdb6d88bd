//! A nodemanager process with simulated cards, on real cgroups, under a fake ResourceManager.
//! May touch: real sockets, temporary directories, real processes, cgroups of its own.
//! Must not: be part of the product, or sleep.

use std::{
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use hadoop_ipc::server::Server;
use isolator::cgroup::{Mounts, mounts::Mode};
use nix::sys::stat::{Mode as FileMode, SFlag, makedev, mknod};
use tokio::{process::Child, sync::mpsc::UnboundedReceiver};
use yarn_proto::{
    convert,
    server::RegisterNodeManagerRequestProto,
    yarn::{
        ContainerTokenIdentifierProto, HeddleGpuGrantProto, HeddleGpuGrantsProto,
        StringStringMapProto,
    },
};
use yarn_types::{ContainerId, NodeId};

use super::support::*;

/// Opens every card's number, nvidiactl, uvm and null by nodes of the test's own.
const PROBE: &str = r#"for n in 195:0 195:1 195:2 195:3 195:5 195:9 195:12 195:255 511:0 1:3; do
  said=$( { : <>"$(dirname "$0")/$n"; } 2>&1 )
  case $said in
    "") echo "$n ok";;
    *"not permitted"*) echo "$n EPERM";;
    *"No such device"*) echo "$n ENXIO";;
    *) echo "$n $said";;
  esac
done
"#;

/// Probes from a session of its own, two generations on, into the file that it is told.
const ORPHAN: &str = r#"mkfifo over
( setsid bash -c "bash $(dirname "$0")/probe.sh > $1; echo > over" & )
cat over
"#;

/// Why a test with this mechanism cannot run here, if it cannot.
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

/// A node with cards of minors 9, 2, 12 and 5, in that order.
pub struct GpuNode {
    pub seen: UnboundedReceiver<Seen>,
    pub registered: Box<RegisterNodeManagerRequestProto>,
    pub id: NodeId,
    pub dir: tempfile::TempDir,
    http_port: i32,
    _server: Server,
    child: Child,
    _cgroups: Cgroups,
}

pub fn topology(cards: &[(&str, u32, &str)]) -> String {
    let mut text = String::from("node = \"test\"\n");
    for (uuid, minor, more) in cards {
        text.push_str(&format!(
            "[[gpu]]\nuuid = \"GPU-{uuid}\"\nmodel = \"NVIDIA A100\"\nmemory_mib = 81920\n\
             minor = {minor}\npci = \"00000000:{minor:02x}:00.0\"\n{more}\n"
        ));
    }
    text
}

pub const CARDS: [(&str, u32, &str); 4] = [("a", 9, ""), ("b", 2, ""), ("c", 12, ""), ("d", 5, "")];

impl GpuNode {
    /// `None`, with a SKIP line, where the machine cannot run the test; a failure under CI.
    pub async fn start(
        test: &str,
        mode: Mode,
        knows_gpus: bool,
        keys: &[(&str, &str)],
        arguments: &[&str],
    ) -> Option<Self> {
        if let Some(reason) = obstacle(mode) {
            // Past the capture of libtest: a silent skip would look like a pass.
            let line = format!("SKIP {test} {mode:?}: {reason}\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{reason}");
            return None;
        }
        let bin = binaries().launch.parent().unwrap().to_owned();
        let (rm, server, mut seen) = fake_rm();
        if knows_gpus {
            rm.know_gpus();
        }
        let dir = node_dir();
        make_probe(&dir.path().join("probe"));
        let file = dir.path().join("topology.toml");
        std::fs::write(&file, topology(&CARDS)).unwrap();
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_nodemanager"));
        command.kill_on_drop(true).stdout(Stdio::null());
        command.arg("--config").arg(dir.path().join("conf"));
        command.arg("--log-file").arg(dir.path().join("nm.log"));
        command.args(arguments).env("HEDDLE_GPU_TOPOLOGY", &file);
        let path = |p: PathBuf| p.to_str().unwrap().to_owned();
        let own = [
            ("yarn.resource-types", "yarn.io/gpu".to_owned()),
            (
                "yarn.nodemanager.resource-plugins",
                "yarn.io/gpu".to_owned(),
            ),
            (
                "yarn.nodemanager.heddle.gpu.nvml-library",
                path(bin.join("libfake_nvml.so")),
            ),
            (
                "yarn.nodemanager.heddle.gpu.simulated-dev-dir",
                path(dir.path().join("dev")),
            ),
            (
                "yarn.nodemanager.heddle.devices.cgroup",
                format!("{mode:?}").to_lowercase(),
            ),
        ];
        let own = own.map(|(k, v)| (k.to_owned(), v));
        let more = keys.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let base = node_keys(dir.path(), &server.local_addr().to_string());
        for (key, value) in base.into_iter().chain(own).chain(more) {
            command.arg("-D").arg(format!("{key}={value}"));
        }
        let child = command.spawn().unwrap();
        let first = limit(seen.recv()).await.unwrap();
        let Seen::Registered(registered) = first else {
            panic!("{first:?}")
        };
        // Its answer has the keys of tokens; a heartbeat shows that it arrived.
        let beat = |s: &Seen| matches!(s, Seen::Heartbeat(_)).then_some(());
        see(&mut seen, "a heartbeat", &mut { beat }).await;
        let id = registered
            .node_id
            .as_ref()
            .and_then(convert::node_id)
            .unwrap();
        Some(Self {
            seen,
            http_port: registered.http_port(),
            registered,
            id,
            _cgroups: Cgroups(dir.path().to_owned()),
            dir,
            _server: server,
            child,
        })
    }

    pub fn probe(&self) -> String {
        format!("bash {}/probe/probe.sh", self.dir.path().display())
    }

    /// A token for these cards.
    pub fn token(&self, id: ContainerId, cards: &[(&str, u64)]) -> ContainerTokenIdentifierProto {
        let grant = |(uuid, epoch): &(&str, u64)| HeddleGpuGrantProto {
            uuid: Some(format!("GPU-{uuid}")),
            epoch: Some(*epoch),
        };
        ContainerTokenIdentifierProto {
            heddle_gpus: Some(HeddleGpuGrantsProto {
                grants: cards.iter().map(grant).collect(),
            }),
            ..container_identifier(&self.id, id)
        }
    }

    /// Starts a container with these cards; it asks for every card by its environment.
    pub async fn run(&self, id: ContainerId, cards: &[(&str, u64)], command: &str) {
        self.run_as(self.token(id, cards), command).await;
    }

    pub async fn run_as(&self, token: ContainerTokenIdentifierProto, command: &str) {
        let am = connect(&self.id, attempt(), NM_KEY, &self.id)
            .await
            .unwrap();
        let mut context = shell(command);
        for (key, value) in [
            ("NVIDIA_VISIBLE_DEVICES", "all"),
            ("CUDA_VISIBLE_DEVICES", "0,1,2,3"),
        ] {
            context.environment.push(StringStringMapProto {
                key: Some(key.to_owned()),
                value: Some(value.to_owned()),
            });
        }
        start(&am, &token, context).await.unwrap();
    }

    pub async fn see<T>(&mut self, what: &str, mut want: impl FnMut(&Seen) -> Option<T>) -> T {
        see(&mut self.seen, what, &mut want).await
    }

    pub async fn completed(&mut self, id: ContainerId) -> (i32, String) {
        self.see("the end of a container", |s| end_of(s, id)).await
    }

    /// What the container wrote to a file of its log directory.
    pub fn output(&self, id: ContainerId, file: &str) -> String {
        let dir = self.dir.path().join("logs").join(id.app().to_string());
        std::fs::read_to_string(dir.join(id.to_string()).join(file)).unwrap_or_default()
    }

    pub async fn get(&self, path: &str) -> String {
        let url = format!(
            "http://{}:{}/ws/v1/node/{path}",
            self.id.host, self.http_port
        );
        limit(reqwest::get(url))
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    }

    pub fn write_topology(&self, cards: &[(&str, u32, &str)]) {
        let path = self.dir.path().join("topology.toml");
        // Whole or not at all: the node reads at any time.
        let aside = path.with_extension("new");
        std::fs::write(&aside, topology(cards)).unwrap();
        std::fs::rename(aside, path).unwrap();
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("nm.log")).unwrap_or_default()
    }

    /// The node dies without a word.
    pub async fn die(&mut self) {
        limit(self.child.kill()).await.unwrap();
    }

    /// Ends the node.
    pub async fn stop(mut self) {
        let pid = i32::try_from(self.child.id().unwrap()).unwrap();
        let pid = nix::unistd::Pid::from_raw(pid);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        let status = limit(self.child.wait()).await.unwrap();
        assert!(status.success(), "{status} {}", self.log());
    }
}

/// What the probe says with cards of these minors granted.
pub fn table(granted: &[u32]) -> String {
    let some = if granted.is_empty() { "EPERM" } else { "ENXIO" };
    let mut text = String::new();
    for minor in [0, 1, 2, 3, 5, 9, 12] {
        let answer = if granted.contains(&minor) {
            "ENXIO"
        } else {
            "EPERM"
        };
        text.push_str(&format!("195:{minor} {answer}\n"));
    }
    text + &format!("195:255 {some}\n511:0 {some}\n1:3 ok\n")
}

fn make_probe(dir: &Path) {
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::create_dir(dir).unwrap();
    open(dir, 0o755);
    std::fs::write(dir.join("probe.sh"), PROBE).unwrap();
    open(&dir.join("probe.sh"), 0o644);
    std::fs::write(dir.join("orphan.sh"), ORPHAN).unwrap();
    open(&dir.join("orphan.sh"), 0o644);
    for (major, minor) in [0, 1, 2, 3, 5, 9, 12, 255]
        .map(|m| (195, m))
        .into_iter()
        .chain([(511, 0), (1, 3)])
    {
        let path = dir.join(format!("{major}:{minor}"));
        let all = FileMode::from_bits_truncate(0o666);
        mknod(&path, SFlag::S_IFCHR, all, makedev(major, minor)).unwrap();
        open(&path, 0o666);
    }
}
