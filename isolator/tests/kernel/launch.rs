//! `container-launch` inside the cgroups of an isolated container, as an ordinary account.
//! May touch: processes it starts, cgroups below a top directory of its own.
//! Must not: leave processes.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use isolator::spec::encode;
use isolator::{AccountIds, LaunchSpec};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use super::MODES;
use super::support::Bench;

/// The account of nobody.
const UID: u32 = 65_534;

#[test]
fn a_launched_container_is_confined_has_no_descriptors_and_cannot_leave() {
    for mode in MODES {
        let Some(bench) = Bench::new("a_launched_container", mode) else {
            continue;
        };
        let applied = bench.apply(&bench.spec("container", &[4]));
        let home = bench.dir.path();
        std::fs::set_permissions(home, std::fs::Permissions::from_mode(0o777)).unwrap();
        // Nodes are made under the umask of the test; the account is not their owner.
        for minor in [4, 5] {
            let all = std::fs::Permissions::from_mode(0o666);
            std::fs::set_permissions(bench.node(195, minor), all).unwrap();
        }
        let (dir, ..) = applied.devices().unwrap();
        let parent = dir.parent().unwrap().join("cgroup.procs");
        let script = format!(
            "exec 2>&1\n: < {own}\n: < {other}\necho $$ > {parent}\necho fds $(ls /proc/self/fd | wc -l)\n",
            own = bench.node(195, 4).display(),
            other = bench.node(195, 5).display(),
            parent = parent.display(),
        );
        let spec = LaunchSpec {
            argv: ["/bin/bash", "-c", &script].map(str::to_owned).to_vec(),
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            work_dir: home.to_owned(),
            account: Some(AccountIds {
                uid: UID,
                gid: UID,
                groups: vec![],
            }),
            umask: 0o077,
            nice: None,
            cgroup_procs: applied.procs_files(),
            pid_file: None,
            exit_code_file: None,
            supervise: false,
        };
        // A descriptor that the launcher inherits and the container must not.
        let held = std::fs::File::open("/dev/null").unwrap();
        fcntl(&held, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_container-launch"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&encode(&spec).unwrap()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said: Vec<&str> = text.lines().collect();
        assert_eq!(said.len(), 4, "{text}");
        assert!(
            said[0].ends_with("No such device or address"),
            "its own card: {text}"
        );
        assert!(
            said[1].ends_with("Operation not permitted"),
            "another card: {text}"
        );
        assert!(
            said[2].ends_with("Permission denied"),
            "out of the cgroup: {text}"
        );
        // Standard streams and the one that ls reads the directory by.
        assert_eq!(said[3], "fds 4", "{text}");
    }
}
