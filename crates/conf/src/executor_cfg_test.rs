//! Tests of container-executor.cfg and the keys that go before it.
//! May touch: tables made here.
//! Must not: look up accounts.

use super::{ExecutorCfg, launch_users};
use crate::Configuration;

const CFG: &str = "\
# comment
yarn.nodemanager.linux-container-executor.group=hadoop
banned.users=root, hdfs#comma separated list
min.user.id = 500
allowed.system.users=

[gpu]
module.enabled=true
";

#[test]
fn lines_sections_and_comments() {
    let cfg = ExecutorCfg::parse(CFG).unwrap();
    assert_eq!(cfg.get("min.user.id"), Some("500"));
    assert_eq!(cfg.get("banned.users"), Some("root, hdfs"));
    assert_eq!(cfg.get("allowed.system.users"), None);
    assert_eq!(cfg.get("gpu.module.enabled"), Some("true"));
    let error = ExecutorCfg::parse("a=1\nnonsense\n").unwrap_err();
    assert!(error.starts_with("line 2:"), "{error}");
}

#[test]
fn the_file_counts_where_no_key_is_set() {
    let cfg = ExecutorCfg::parse(CFG).unwrap();
    let users = launch_users(&Configuration::of([]), &cfg).unwrap();
    assert_eq!(users.min_user_id, 500);
    assert_eq!(users.banned, ["root", "hdfs"]);
    assert!(users.limit_users);
    assert_eq!(users.local_user, "nobody");

    let conf = Configuration::of([
        (
            "yarn.nodemanager.linux-container-executor.min.user.id",
            "10",
        ),
        (
            "yarn.nodemanager.linux-container-executor.banned.users",
            "a,b",
        ),
        (
            "yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users",
            "false",
        ),
    ]);
    let users = launch_users(&conf, &cfg).unwrap();
    assert_eq!((users.min_user_id, users.limit_users), (10, false));
    assert_eq!(users.banned, ["a", "b"]);
}

#[test]
fn without_both_the_defaults_of_container_executor_hold() {
    let users = launch_users(&Configuration::of([]), &ExecutorCfg::default()).unwrap();
    assert_eq!(users.min_user_id, 1000);
    assert_eq!(users.banned, ["yarn", "mapred", "hdfs", "bin"]);
    let bad = ExecutorCfg::parse("min.user.id=many").unwrap();
    assert!(launch_users(&Configuration::of([]), &bad).is_err());
}

#[test]
fn the_file_is_found_in_the_directory_or_counts_as_empty() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        ExecutorCfg::read(dir.path()).unwrap(),
        ExecutorCfg::default()
    );
    std::fs::write(dir.path().join("container-executor.cfg"), CFG).unwrap();
    let cfg = ExecutorCfg::read(dir.path()).unwrap();
    assert_eq!(cfg.get("min.user.id"), Some("500"));
    std::fs::write(dir.path().join("container-executor.cfg"), "x").unwrap();
    let error = ExecutorCfg::read(dir.path()).unwrap_err().to_string();
    assert!(
        error.contains("container-executor.cfg") && error.contains("line 1"),
        "{error}"
    );
}
