//! Tests of the layout and of reading logs.
//! May touch: temporary directories.
//! Must not: leave them.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;

use super::*;
use crate::exec::test_support::account;

fn paths(local: &[PathBuf], log: &[PathBuf]) -> ContainerPaths {
    ContainerPaths {
        local_dir: local[0].clone(),
        log_root: log[0].clone(),
        local_dirs: local.to_vec(),
        log_roots: log.to_vec(),
        user: "alice".into(),
        app_id: "application_1_0001".into(),
        container_id: "container_1_0001_01_000002".into(),
    }
}

#[test]
fn every_disk_gets_the_containers_directories() {
    let tmp = tempfile::tempdir().unwrap();
    let at = |name: &str| tmp.path().join(name);
    let (local, log) = ([at("l1"), at("l2")], [at("g1"), at("g2")]);
    for d in &local {
        init_local_dir(d).unwrap();
    }
    for d in &log {
        std::fs::create_dir_all(d).unwrap();
    }
    let paths = paths(&local, &log);
    create_container_dirs(&paths, &account()).unwrap();
    for dir in paths
        .app_dirs()
        .iter()
        .map(|d| d.join(&paths.container_id))
        .chain(paths.log_dirs())
    {
        assert!(dir.is_dir(), "{}", dir.display());
    }
    assert!(paths.work_dir().join("tmp").is_dir());
    assert!(at("l1/usercache/alice/filecache").is_dir());
    assert!(paths.app_dirs()[1].join("filecache").is_dir());
    assert!(paths.private_dir().is_dir());
    let again = create_container_dirs(&paths, &account());
    assert!(
        again.is_err(),
        "a working directory that exists is not ours"
    );
}

#[test]
fn a_lost_second_disk_does_not_stop_a_start() {
    let tmp = tempfile::tempdir().unwrap();
    let at = |name: &str| tmp.path().join(name);
    init_local_dir(&at("l1")).unwrap();
    std::fs::create_dir_all(at("g1")).unwrap();
    let paths = paths(&[at("l1"), at("gone")], &[at("g1"), at("gone")]);
    create_container_dirs(&paths, &account()).unwrap();
}

#[test]
fn logs_are_read_from_any_disk_and_never_through_links() {
    let tmp = tempfile::tempdir().unwrap();
    let roots = [tmp.path().join("g1"), tmp.path().join("g2")];
    let dir = roots[1].join("app/c");
    fs::create_dir_all(&dir).unwrap();
    fs::create_dir_all(&roots[0]).unwrap();
    fs::write(dir.join("stdout"), "out").unwrap();
    symlink("/etc/passwd", dir.join("stderr")).unwrap();
    let mut text = String::new();
    open_log(&roots, "app", "c", "stdout")
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "out");
    assert_eq!(list_logs(&roots, "app", "c"), [("stdout".to_owned(), 3)]);
    for (app, container, file) in [
        ("app", "c", "stderr"),
        ("app", "c", "../../../x"),
        ("..", "c", "x"),
        ("app", "/etc", "passwd"),
    ] {
        assert!(
            open_log(&roots, app, container, file).is_err(),
            "{app} {container} {file}"
        );
    }
}
