//! `container-launch` as a program: identity, descriptors, standard streams, refusals.
//! May touch: processes it starts, temporary directories.
//! Must not: leave processes.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may

use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};

use isolator::spec::encode;
use isolator::{AccountIds, LaunchSpec};

fn is_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}

fn need_root(test: &str) -> bool {
    if is_root() {
        return true;
    }
    assert!(
        std::env::var_os("CI").is_none_or(|v| v != "true"),
        "{test} needs root"
    );
    println!("SKIP {test}: needs root");
    false
}

/// A specification that runs `script` as uid and gid 12345 below root, else as the caller.
fn spec(script: &str, supervise: bool) -> LaunchSpec {
    let account = AccountIds {
        uid: 12345,
        gid: 12345,
        groups: vec![12346],
    };
    LaunchSpec {
        argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        env: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("ONLY".into(), "this".into()),
        ],
        work_dir: "/".into(),
        account: is_root().then_some(account),
        umask: 0o027,
        nice: None,
        cgroup_procs: vec![],
        pid_file: None,
        exit_code_file: None,
        supervise,
    }
}

fn start(spec: &LaunchSpec, rest_of_input: &[u8]) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_container-launch"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&encode(spec).unwrap()).unwrap();
    stdin.write_all(rest_of_input).unwrap();
    child
}

fn run(spec: &LaunchSpec, rest_of_input: &[u8]) -> Output {
    start(spec, rest_of_input).wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_program_becomes_the_account_with_nothing_of_roots_left() {
    if !need_root("the_program_becomes_the_account_with_nothing_of_roots_left") {
        return;
    }
    let out = run(
        &spec(
            "grep -E '^(Uid|Gid|Groups|CapEff):' /proc/self/status; umask",
            false,
        ),
        b"",
    );
    let lines: Vec<String> = text(&out.stdout)
        .lines()
        .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        lines,
        [
            "Uid: 12345 12345 12345 12345",
            "Gid: 12345 12345 12345 12345",
            "Groups: 12346",
            "CapEff: 0000000000000000",
            "0027",
        ]
    );
}

#[test]
fn the_rest_of_the_input_is_the_programs() {
    let out = run(&spec("cat; echo $ONLY; env | wc -l", false), b"line one\n");
    let out_text = text(&out.stdout);
    assert!(
        out_text.starts_with("line one\nthis\n"),
        "{out_text}{}",
        text(&out.stderr)
    );
    assert!(out.status.success());
}

#[test]
fn open_descriptors_do_not_reach_the_program() {
    // A descriptor without close-on-exec, as a careless library would leave it.
    let (open, _other) = std::io::pipe().unwrap();
    let high = nix::fcntl::fcntl(&open, nix::fcntl::FcntlArg::F_DUPFD(200)).unwrap();
    assert!(std::path::Path::new(&format!("/proc/self/fd/{high}")).exists());
    for supervise in [false, true] {
        let out = run(&spec("exec 1>&2; ls /proc/$$/fd; true", supervise), b"");
        assert_eq!(text(&out.stderr), "0\n1\n2\n", "supervise: {supervise}");
    }
}

#[test]
fn supervision_reports_the_pid_and_ends_the_whole_tree() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = spec("(setsid sleep 1000 &) ; kill -TERM $$", true);
    let (pid_file, code_file) = (dir.path().join("p"), dir.path().join("p.exitcode"));
    spec.pid_file = Some(pid_file.clone());
    spec.exit_code_file = Some(code_file.clone());
    let mut child = start(&spec, b"");
    let mut said = String::new();
    // The pipe ends only when no process of the tree holds it any more.
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    let mut early = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut early)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let pid = std::fs::read_to_string(pid_file).unwrap();
    assert_eq!(said, format!("pid {pid}"));
    assert_eq!(std::fs::read_to_string(code_file).unwrap(), "143\n");
}

#[test]
fn garbage_and_root_are_refused_with_a_reason() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_container-launch"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"\0\0\0\x02{}")
        .unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(text(&out.stderr).contains("launch specification is not valid"));
    assert_eq!(out.status.code(), Some(255));
    let mut as_root = spec("id", true);
    as_root.account = Some(AccountIds {
        uid: 0,
        gid: 0,
        groups: vec![],
    });
    let out = run(&as_root, b"");
    assert!(text(&out.stderr).contains("refusing to start a process as root"));
    assert!(out.stdout.is_empty());
}

#[test]
fn a_program_in_a_closed_directory_is_started_all_the_same() {
    if !need_root("a_program_in_a_closed_directory_is_started_all_the_same") {
        return;
    }
    let dir = tempfile::tempdir().unwrap(); // 0700, root's
    let program = dir.path().join("copy-of-true");
    // by a process of its own: a descriptor open for writing here could be inherited by a child of a
    // test beside this one, and the program would be "busy"
    let copied = Command::new("cp").arg("/bin/true").arg(&program).status();
    assert!(copied.unwrap().success());
    let mut spec = spec("", false);
    spec.argv = vec![program.to_string_lossy().into_owned()];
    let out = run(&spec, b"");
    assert!(out.status.success(), "{}", text(&out.stderr));
}
