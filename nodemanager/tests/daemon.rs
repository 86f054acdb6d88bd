//! The nodemanager executable as a process: start, SIGTERM, refusals.
//! May touch: real sockets, temporary directories, real processes.
//! Must not: sleep.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // test code

mod support;

use std::process::Stdio;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use support::*;
use tokio::process::Command;

fn daemon() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodemanager"));
    command
        .kill_on_drop(true)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_it_well() {
    // The programs lie beside the executable once they are built.
    binaries();
    let (_rm, server, mut seen) = fake_rm();
    let dir = node_dir();
    let _cgroups = Cgroups(dir.path().to_owned());
    let mut command = daemon();
    command.arg("--config").arg(dir.path().join("conf"));
    command.arg("--log-file").arg(dir.path().join("nm.log"));
    for (key, value) in node_keys(dir.path(), &server.local_addr().to_string()) {
        command.arg("-D").arg(format!("{key}={value}"));
    }
    let child = command.spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    let next = limit(seen.recv()).await.unwrap();
    let Seen::Registered(request) = next else {
        panic!("{next:?}")
    };
    assert_eq!(request.nm_version(), "3.5.0");
    assert_eq!(request.resource.unwrap().memory(), 8192);
    kill(pid, Signal::SIGTERM).unwrap();
    let output = limit(child.wait_with_output()).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut goodbye = false;
    while let Ok(seen) = seen.try_recv() {
        goodbye |= matches!(seen, Seen::Unregistered);
    }
    assert!(goodbye, "it did not unregister");
    let log = std::fs::read_to_string(dir.path().join("nm.log")).unwrap();
    assert!(
        log.contains("NodeManager ended reason=\"SIGTERM\""),
        "{log}"
    );
}

/// Where standard error goes when its disk is full to the last byte.
fn full() -> Stdio {
    let full = std::fs::File::options().write(true).open("/dev/full");
    full.unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_cannot_be_written_ends_nothing() {
    binaries();
    let (_rm, server, mut seen) = fake_rm();
    let dir = node_dir();
    let _cgroups = Cgroups(dir.path().to_owned());
    let mut command = daemon();
    command.arg("--config").arg(dir.path().join("conf"));
    command.args(["--log-level", "debug"]).stderr(full());
    for (key, value) in node_keys(dir.path(), &server.local_addr().to_string()) {
        command.arg("-D").arg(format!("{key}={value}"));
    }
    let mut child = command.spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    let next = limit(seen.recv()).await.unwrap();
    assert!(matches!(next, Seen::Registered(_)), "{next:?}");
    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(limit(child.wait()).await.unwrap().code(), Some(0));
    let mut command = daemon();
    command.arg("--config").arg("/nonexistent").stderr(full());
    let refused = limit(command.status()).await.unwrap();
    assert_eq!(refused.code(), Some(1), "that is no panic");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_cannot_honour_it_refuses_in_one_sentence() {
    binaries();
    let dir = node_dir();
    let mut command = daemon();
    command.arg("--config").arg(dir.path().join("conf"));
    command.args(["-D", "hadoop.security.authentication=kerberos"]);
    let output = limit(command.output()).await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("nodemanager: "), "{text}");
    assert!(last.contains("hadoop.security.authentication"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_says_every_finding_and_whether_it_would_start() {
    let dir = tempfile::tempdir().unwrap();
    let site = dir.path().join("yarn-site.xml");
    let check = async |text: &str, options: &[&str]| {
        std::fs::write(&site, text).unwrap();
        let mut command = daemon();
        command.arg("--check").args(options);
        let output = limit(command.arg("--config").arg(dir.path()).output()).await;
        let output = output.unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let said = said.replace(&format!("{}/", dir.path().display()), "");
        (output.status.code(), said)
    };
    let property = |value: &str| {
        format!(
            "<configuration>\n<property><name>yarn.nodemanager.resource.memory-mb</name><value>{value}</value></property>\n</configuration>"
        )
    };
    let key = "yarn.nodemanager.resource.memory-mb";
    let (code, said) = check(&property(" 2048"), &["--print"]).await;
    assert_eq!(
        (code, &*said),
        (Some(0), &*format!("{key}\t 2048\tyarn-site.xml:2\n"))
    );
    let (code, said) = check(&property("2g"), &[]).await;
    assert_eq!(code, Some(1));
    assert!(
        said.starts_with(&format!("yarn-site.xml:2: {key}=2g: is not an integer")),
        "{said}"
    );
    let (code, said) = check("<configuration>\n<property>", &[]).await;
    assert_eq!(code, Some(1));
    assert!(
        said.starts_with("yarn-site.xml:2: ") && said.lines().count() == 1,
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_its_version() {
    let output = limit(daemon().arg("--version").output()).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, format!("nodemanager {}\n", env!("CARGO_PKG_VERSION")));
}
