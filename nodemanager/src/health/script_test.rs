//! Tests: what a health script's output, exit code and slowness mean.
//! May touch: a temporary directory, processes.
//! Must not: leave them.

use super::*;

fn script(dir: &tempfile::TempDir, body: &str) -> HealthScript {
    let path = dir.path().join("health.sh");
    std::fs::write(&path, format!("#!/bin/bash\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    HealthScript {
        name: "script".to_owned(),
        path,
        opts: vec!["one".to_owned(), "two".to_owned()],
        interval_ms: 1000,
        timeout_ms: 60_000,
    }
}

#[tokio::test]
async fn only_a_line_that_begins_with_error_makes_the_node_ill() {
    for (body, wanted) in [
        ("echo fine", None),
        ("echo no ERROR at the beginning", None),
        ("echo ERROR on stderr >&2", None),
        ("echo ERROR but the script failed; exit 3", None),
        ("kill -9 $$", None),
        (
            "echo checked $1 $2; echo ERROR disk",
            Some("checked one two\nERROR disk\n"),
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let health = script(&dir, body).check().await;
        assert_eq!(health.healthy, wanted.is_none(), "{body}");
        assert_eq!(health.report, wanted.unwrap_or_default(), "{body}");
    }
}

#[tokio::test]
async fn a_script_that_does_not_end_is_ended_with_what_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let mut slow = script(
        &dir,
        &format!("/bin/sleep 1000 & echo $! > {}; wait", pid_file.display()),
    );
    slow.timeout_ms = 2000;
    let health = slow.check().await;
    assert_eq!((health.healthy, health.report.as_str()), (false, TIMED_OUT));
    let pid: i32 = std::fs::read_to_string(&pid_file)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let gone = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    while !gone() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn output_without_end_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let health = script(&dir, "echo ERROR; head -c 1000000 /dev/zero | tr '\\0' x")
        .check()
        .await;
    assert!(!health.healthy);
    assert_eq!(health.report.len(), 64 * 1024);
}

#[test]
fn a_script_that_is_not_there_or_no_program_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut one = script(&dir, "");
    assert!(one.is_usable());
    std::fs::set_permissions(&one.path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(!one.is_usable());
    one.path = dir.path().join("gone");
    assert!(!one.is_usable());
}
