//! Tests with real containers' processes.
//! May touch: temporary directories, processes it starts.
//! Must not: leave processes.

use std::os::unix::fs::MetadataExt;

use isolator::apply::proc;
use tempfile::TempDir;

use super::*;
use crate::exec::test_support::{account, binaries, is_root, open_dir};

const ID: &str = "container_1_0001_01_000002";

/// A node with one disk, and a container on it.
struct Node {
    _dir: TempDir,
    paths: ContainerPaths,
    account: Account,
    facts: NodeFacts,
}

impl Node {
    fn new() -> Self {
        let dir = open_dir();
        let (local, log) = (dir.path().join("local"), dir.path().join("log"));
        dirs::init_local_dir(&local).unwrap();
        std::fs::create_dir_all(&log).unwrap();
        let paths = ContainerPaths {
            local_dir: local.clone(),
            log_root: log.clone(),
            local_dirs: vec![local],
            log_roots: vec![log],
            user: "alice".into(),
            app_id: "application_1_0001".into(),
            container_id: ID.into(),
        };
        let facts = NodeFacts {
            nm_host: "127.0.0.9".into(),
            nm_port: 4,
            nm_http_port: 5,
            home_dir: "/home/".into(),
            whitelist: vec!["PATH".into(), "JAVA_HOME".into()],
            admin_env: "MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX".into(),
            force_path: String::new(),
            nm_env: BTreeMap::from([
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("JAVA_HOME".into(), "/j v".into()),
            ]),
        };
        Self {
            _dir: dir,
            paths,
            account: account(),
            facts,
        }
    }

    fn prepare(
        &self,
        command: &str,
        env: &[(&str, &str)],
        links: &[Link],
    ) -> Result<Prepared, LaunchError> {
        let env = env
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        prepare(&LaunchRequest {
            paths: &self.paths,
            account: &self.account,
            node: &self.facts,
            env: &env,
            commands: &[command.to_owned()],
            links,
            tokens: b"HDTS\0\0\0",
            localization_counters: "0,0,0,0,0",
            aux_metadata: &BTreeMap::new(),
            debug_info: true,
            nice: None,
            devices: &[],
            cgroup_procs: &[],
        })
    }

    async fn start(&self, command: &str) -> (Handle, Waiter) {
        let prepared = self.prepare(command, &[], &[]).unwrap();
        start(&binaries(), &prepared).await.unwrap()
    }

    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.paths.log_dir().join(name)).unwrap_or_default()
    }
}

/// Waits for a file that the container writes once it is where the test wants it.
async fn appears(path: &Path) -> String {
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn a_container_runs_as_its_account_with_yarns_environment() {
    let node = Node::new();
    let target = node.paths.local_dir.join("filecache");
    let link = Link {
        target: target.to_string_lossy().into_owned(),
        name: "lib/x.jar".into(),
    };
    let env = [
        ("A", "$B and 'single' \\\"double\\\" \\$HOME `echo tick`"),
        ("B", "{{USER}}<CPS><LOG_DIR>"),
        ("GLOB", "$PWD/*"),
    ];
    let command = "id -u 1><LOG_DIR>/stdout; \
         { env; pwd; ls -d $PWD/tmp; readlink lib/x.jar; cat /proc/self/stat; } 1>><LOG_DIR>/stdout";
    let prepared = node.prepare(command, &env, &[link]).unwrap();
    let (_, waiter) = start(&binaries(), &prepared).await.unwrap();
    let status = waiter.wait().await.unwrap();
    let out = node.log("stdout");
    assert_eq!(
        status,
        ExitStatus {
            code: 0,
            message: String::new()
        },
        "{out}{}",
        node.log("prelaunch.err")
    );
    let has = |line: &str| assert!(out.lines().any(|l| l == line), "{line} is not in\n{out}");
    let log_dir = node.paths.log_dir().display().to_string();
    let work_dir = node.paths.work_dir().display().to_string();
    assert_eq!(
        out.lines().next(),
        Some(node.account.uid.to_string().as_str())
    );
    has(&format!(
        "A=alice:{log_dir} and 'single' \"double\" $HOME tick"
    ));
    has(&format!("GLOB={work_dir}/*"));
    has("USER=alice");
    has("JAVA_HOME=/j v");
    has("PATH=/usr/bin:/bin");
    has("MALLOC_ARENA_MAX=4");
    has(&format!("CONTAINER_ID={ID}"));
    has("NM_HOST=127.0.0.9");
    has(&format!(
        "LOCAL_DIRS={}",
        node.paths.app_dirs()[0].display()
    ));
    has(&work_dir);
    has(&format!("{work_dir}/tmp"));
    has(&target.display().to_string());
    assert!(
        !out.contains("CARGO"),
        "the NodeManager's environment leaked:\n{out}"
    );
    assert!(node.log("prelaunch.out").ends_with("Launching container\n"));
    assert!(node.log("launch_container.sh").starts_with("#!/bin/bash\n"));
    assert!(node.log("directory.info").contains("container_tokens"));
    let exit_code = std::fs::read_to_string(node.paths.exit_code_file()).unwrap();
    assert_eq!(exit_code, "0\n");
}

#[tokio::test]
async fn files_have_stocks_modes_and_the_accounts_owner() {
    let node = Node::new();
    node.prepare("true", &[], &[]).unwrap();
    let work = node.paths.work_dir();
    let check = |path: PathBuf, mode: u32, own: bool| {
        let meta = std::fs::metadata(&path).unwrap();
        let uid = if own {
            node.account.uid
        } else {
            nix::unistd::Uid::effective().as_raw()
        };
        assert_eq!(
            (meta.mode() & 0o7777, meta.uid()),
            (mode, uid),
            "{}",
            path.display()
        );
    };
    let user = node.paths.local_dir.join("usercache/alice");
    check(node.paths.local_dir.join("usercache"), 0o755, false);
    check(node.paths.local_dir.join("nmPrivate"), 0o700, false);
    check(user.clone(), 0o750, true);
    check(user.join("appcache"), 0o710, true);
    check(user.join("filecache"), 0o710, true);
    check(node.paths.app_dirs()[0].clone(), 0o710, true);
    check(work.clone(), 0o710, true);
    check(work.join("tmp"), 0o710, true);
    check(work.join("container_tokens"), 0o600, true);
    check(work.join("launch_container.sh"), 0o700, true);
    check(
        node.paths.private_dir().join(format!("{ID}.tokens")),
        0o600,
        false,
    );
    check(node.paths.log_dir(), 0o710, true);
    check(
        node.paths.log_dir().join("launch_container.sh"),
        0o640,
        true,
    );
}

#[tokio::test]
async fn exit_codes_and_signals_are_a_shells() {
    for (command, code) in [
        ("exit 7", 7),
        ("kill -9 $$", 137),
        ("no-such-program-here", 127),
    ] {
        let node = Node::new();
        let (_, waiter) = node.start(command).await;
        assert_eq!(waiter.wait().await.unwrap().code, code, "{command}");
        let file = std::fs::read_to_string(node.paths.exit_code_file()).unwrap();
        assert_eq!(file, format!("{code}\n"));
    }
}

#[tokio::test]
async fn a_double_forked_child_ends_with_its_container() {
    let node = Node::new();
    let command = "(setsid sh -c 'echo $$ > orphan; exec sleep 1000' &) ; \
                   while ! [ -s orphan ]; do :; done";
    let (_, waiter) = node.start(command).await;
    assert_eq!(waiter.wait().await.unwrap().code, 0);
    let orphan = std::fs::read_to_string(node.paths.work_dir().join("orphan")).unwrap();
    let stat = proc::stat(orphan.trim().parse().unwrap());
    assert!(stat.is_none_or(|s| s.state == 'Z'), "{stat:?}");
}

#[tokio::test]
async fn a_container_that_ignores_sigterm_is_killed() {
    let node = Node::new();
    let (handle, waiter) = node
        .start("trap '' TERM; echo up > up; while :; do sleep 1000; done")
        .await;
    appears(&node.paths.work_dir().join("up")).await;
    let pid_file = std::fs::read_to_string(node.paths.pid_file()).unwrap();
    assert_eq!(pid_file.trim(), handle.pid().to_string());
    handle.kill(Duration::from_millis(20)).await.unwrap();
    assert_eq!(waiter.wait().await.unwrap().code, 137);
    assert!(
        !handle.signal(Signal::SIGTERM).unwrap(),
        "a pid is not signalled after its end"
    );
}

#[tokio::test]
async fn a_container_that_obeys_sigterm_ends_with_143() {
    let node = Node::new();
    let (handle, waiter) = node.start("echo up > up; exec sleep 1000").await;
    appears(&node.paths.work_dir().join("up")).await;
    assert!(handle.signal(Signal::SIGTERM).unwrap());
    assert_eq!(waiter.wait().await.unwrap().code, 143);
}

#[tokio::test]
async fn a_container_dies_with_its_launcher() {
    let node = Node::new();
    let (handle, waiter) = node.start("echo up > up; exec sleep 1000").await;
    appears(&node.paths.work_dir().join("up")).await;
    nix::sys::signal::kill(Pid::from_raw(handle.launcher_pid()), Signal::SIGKILL).unwrap();
    assert_eq!(waiter.wait().await.unwrap().code, 137);
    while proc::stat(handle.pid()).is_some_and(|s| s.state != 'Z') {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_launch_that_cannot_happen_says_why() {
    let node = Node::new();
    let mut prepared = node.prepare("true", &[], &[]).unwrap();
    prepared.spec.argv = vec!["/no/such/program".into()];
    let refused = start(&binaries(), &prepared).await.unwrap_err().to_string();
    assert!(refused.contains("/no/such/program"), "{refused}");
    if is_root() {
        prepared.spec.account = None;
        let refused = start(&binaries(), &prepared).await.unwrap_err().to_string();
        assert!(refused.contains("as root"), "{refused}");
    }
}

#[tokio::test]
async fn what_the_script_says_early_is_kept() {
    let node = Node::new();
    let prepared = node.prepare("true", &[], &[]).unwrap();
    std::fs::remove_dir_all(node.paths.log_dir()).unwrap();
    let (_, waiter) = start(&binaries(), &prepared).await.unwrap();
    let status = waiter.wait().await.unwrap();
    assert_eq!(status.code, 1);
    assert!(
        status.message.contains("prelaunch.out"),
        "{}",
        status.message
    );
}

#[test]
fn resource_keys_cannot_leave_the_container() {
    for bad in ["../x", "/etc/x", "a/../../x", "", "..", "a/.."] {
        let node = Node::new();
        let link = Link {
            target: "/t".into(),
            name: bad.into(),
        };
        let refused = node.prepare("true", &[], &[link]);
        assert!(matches!(refused, Err(LaunchError::LinkName(_))), "{bad:?}");
    }
    // Nor through a link that another key has made.
    let node = Node::new();
    let through = [
        Link {
            target: "/".into(),
            name: "dir".into(),
        },
        Link {
            target: "/t".into(),
            name: "dir/tmp/x".into(),
        },
    ];
    assert!(matches!(
        node.prepare("true", &[], &through),
        Err(LaunchError::Fs(_))
    ));
}
