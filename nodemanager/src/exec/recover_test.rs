//! Tests of what a starting NodeManager ends.
//! May touch: temporary directories, processes it starts.
//! Must not: leave them.

use std::fs;
use std::process::{Child, Command};

use super::*;

fn local_dir() -> (tempfile::TempDir, PathBuf) {
    let tmp = tempfile::tempdir().unwrap();
    let local = tmp.path().join("local");
    crate::exec::dirs::init_local_dir(&local).unwrap();
    (tmp, local)
}

fn sleeper(local: &Path, container_id: &str) -> Child {
    Command::new("/bin/sleep")
        .arg("1000")
        .env("CONTAINER_ID", container_id)
        .env("LOCAL_DIRS", local.join("usercache/u/appcache/a"))
        .spawn()
        .unwrap()
}

/// Writes the pid file of a container as the launcher does.
fn pid_file(local: &Path, container_id: &str, pid: u32, start: u64) {
    let dir = local
        .join("nmPrivate/application_9_0001")
        .join(container_id);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(format!("{container_id}.pid")), format!("{pid}\n")).unwrap();
    fs::write(
        dir.join(format!("{container_id}.pid.start")),
        format!("{start}\n"),
    )
    .unwrap();
}

fn start_of(child: &Child) -> u64 {
    proc::stat(i32::try_from(child.id()).unwrap())
        .unwrap()
        .start_ticks
}

fn was_killed(mut child: Child) -> bool {
    let ended = child.try_wait().unwrap().is_some();
    let _ = child.kill();
    let _ = child.wait();
    ended
}

/// A container id no other test run uses at the same time.
fn id(name: &str) -> String {
    format!("container_9_{}_{name}", std::process::id())
}

#[test]
fn a_containers_processes_are_known_by_environment_or_start_time() {
    let (_tmp, local) = local_dir();
    let (by_env, by_start) = (sleeper(&local, &id("env")), sleeper(&local, "changed"));
    pid_file(&local, &id("env"), 999_999_999, 1);
    pid_file(&local, &id("start"), by_start.id(), start_of(&by_start));
    let found = kill_predecessor(&[local]);
    assert_eq!(found.containers.len(), 2);
    assert_eq!(found.killed.len(), 2, "{found:?}");
    assert!(found.left.is_empty());
    assert!(was_killed(by_env) && was_killed(by_start));
}

#[test]
fn a_recycled_pid_and_other_containers_are_spared() {
    let (_tmp, local) = local_dir();
    let (recycled, other) = (sleeper(&local, "changed"), sleeper(&local, &id("other")));
    let elsewhere = sleeper(Path::new("/other/node"), &id("gone"));
    pid_file(&local, &id("gone"), recycled.id(), start_of(&recycled) + 1);
    let found = kill_predecessor(&[local, PathBuf::from("/no/such/dir")]);
    assert!(found.killed.is_empty(), "{found:?}");
    assert!(!was_killed(recycled) && !was_killed(other) && !was_killed(elsewhere));
}

#[tokio::test]
async fn caches_are_emptied_and_logs_stay() {
    let (_tmp, local) = local_dir();
    fs::create_dir_all(local.join("usercache/alice/filecache/10")).unwrap();
    fs::create_dir_all(local.join("usercache_DEL_5/old")).unwrap();
    fs::write(local.join("other"), "").unwrap();
    clear_local_dirs(std::slice::from_ref(&local), 7, &Deleter::new(4, 0));
    assert!(!local.join("usercache").exists() && !local.join("nmPrivate").exists());
    while fs::read_dir(&local).unwrap().count() > 1 {
        tokio::task::yield_now().await;
    }
    assert!(local.join("other").is_file());
}

#[test]
fn logs_of_before_are_as_old_as_the_last_line() {
    let tmp = tempfile::tempdir().unwrap();
    let (one, two) = (tmp.path().join("one"), tmp.path().join("two"));
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(1000);
    let age = |path: &Path| {
        fs::File::open(path)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
    };
    let app = |n: u32| format!("application_9_{n:04}");
    let container = |root: &Path, n: u32| {
        root.join(app(n))
            .join(format!("container_9_{n:04}_01_000001"))
    };
    for dir in [
        container(&one, 1),
        container(&one, 2),
        container(&two, 2),
        one.join("other"),
    ] {
        fs::create_dir_all(&dir).unwrap();
    }
    let (old, fresh) = (
        container(&one, 1).join("stdout"),
        container(&two, 2).join("stdout"),
    );
    for file in [&old, &fresh] {
        fs::write(file, "x").unwrap();
    }
    std::os::unix::fs::symlink("/etc", one.join(app(3))).unwrap();
    for path in [
        &old,
        &container(&one, 1),
        &one.join(app(1)),
        &container(&one, 2),
        &one.join(app(2)),
    ] {
        age(path);
    }
    let found = left_logs(&[one, two, PathBuf::from("/no/such/dir")]);
    let ages: Vec<(String, bool)> = found
        .iter()
        .map(|(a, ms)| (a.to_string(), *ms >= 1_000_000))
        .collect();
    let wanted = [(app(1), true), (app(2), false)];
    assert_eq!(ages, wanted, "{found:?}");
}
