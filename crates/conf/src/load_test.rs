//! Tests of the order of files, of final values, `-D` and deprecated names.
//! May touch: a temporary directory.
//! Must not: read the process environment.

use std::{collections::BTreeMap, path::Path};

use super::{Daemon, LoadOptions, resolve_dir};
use crate::Configuration;

fn write(dir: &Path, file: &str, properties: &[(&str, &str)]) {
    let mut text = String::from("<?xml version=\"1.0\"?>\n<configuration>\n");
    for (name, value) in properties {
        let (name, last) = name
            .strip_prefix('!')
            .map_or((*name, ""), |n| (n, "<final>true</final>"));
        text = format!(
            "{text}<property><name>{name}</name><value>{value}</value>{last}</property>
"
        );
    }
    text.push_str("</configuration>\n");
    std::fs::write(dir.join(file), text).unwrap();
}

#[test]
fn later_files_win_and_each_daemon_has_its_own() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "core-site.xml", &[("a", "core"), ("b", "core")]);
    write(dir.path(), "yarn-site.xml", &[("b", "yarn"), ("c", "yarn")]);
    write(dir.path(), "resource-types.xml", &[("c", "types")]);
    write(dir.path(), "capacity-scheduler.xml", &[("d", "rm")]);
    write(dir.path(), "node-resources.xml", &[("d", "nm")]);
    for (daemon, d) in [(Daemon::ResourceManager, "rm"), (Daemon::NodeManager, "nm")] {
        let conf = Configuration::load(&LoadOptions::new(dir.path(), daemon)).unwrap();
        let raw = ["a", "b", "c", "d"].map(|k| conf.raw(k).unwrap());
        assert_eq!(raw, ["core", "yarn", "types", d]);
        let origin = conf.origin("b").unwrap();
        assert!(origin.file.ends_with("yarn-site.xml"), "{origin}");
        assert_eq!(origin.line, 3);
        assert!(conf.origin("yarn.resourcemanager.address").is_none());
    }
}

#[test]
fn missing_files_are_empty_and_a_missing_directory_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let conf = Configuration::load(&LoadOptions::new(dir.path(), Daemon::ResourceManager)).unwrap();
    assert_eq!(conf.raw("yarn.http.policy"), Some("HTTP_ONLY"));
    assert_eq!(conf.set_keys().count(), 0);
    let nowhere = LoadOptions::new(dir.path().join("nowhere"), Daemon::NodeManager);
    let error = Configuration::load(&nowhere).unwrap_err().to_string();
    assert!(error.contains("nowhere"), "{error}");
}

#[test]
fn yarn_defaults_go_over_core_site_and_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let key = "yarn.nodemanager.vmem-check-enabled";
    write(
        dir.path(),
        "core-site.xml",
        &[
            (key, "false"),
            ("!yarn.nodemanager.pmem-check-enabled", "false"),
        ],
    );
    let conf = Configuration::load(&LoadOptions::new(dir.path(), Daemon::NodeManager)).unwrap();
    assert_eq!(conf.raw(key), Some("true"));
    assert_eq!(conf.warnings().len(), 1);
    assert!(
        conf.warnings()[0]
            .to_string()
            .contains("core-site.xml:3: yarn.nodemanager.vmem-check-enabled")
    );
    assert_eq!(
        conf.raw("yarn.nodemanager.pmem-check-enabled"),
        Some("false")
    );
}

#[test]
fn overrides_stop_at_final() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "yarn-site.xml", &[("!a", "1"), ("b", "1")]);
    let mut options = LoadOptions::new(dir.path(), Daemon::ResourceManager);
    options.overrides = [("a", "2"), ("b", "2"), ("b", "3")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .to_vec();
    let conf = Configuration::load(&options).unwrap();
    assert_eq!((conf.raw("a"), conf.raw("b")), (Some("1"), Some("3")));
    assert_eq!(conf.origin("b").unwrap().to_string(), "-D");
    let said = conf.warnings()[0].to_string();
    assert!(
        said.starts_with("-D: a = '2': an attempt to override final parameter"),
        "{said}"
    );
}

#[test]
fn deprecated_names_are_renamed_with_one_warning() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        "core-site.xml",
        &[
            ("fs.default.name", "file:///a"),
            ("fs.default.name", "file:///b"),
        ],
    );
    write(
        dir.path(),
        "yarn-site.xml",
        &[("yarn.resourcemanager.zk-address", "z:1")],
    );
    let conf = Configuration::load(&LoadOptions::new(dir.path(), Daemon::ResourceManager)).unwrap();
    assert_eq!(conf.raw("fs.defaultFS"), Some("file:///b"));
    assert_eq!(conf.raw("fs.default.name"), Some("file:///b"));
    assert_eq!(conf.raw("hadoop.zk.address"), None);
    assert_eq!(conf.warnings().len(), 1);
    assert_eq!(
        conf.warnings()[0].text,
        "is deprecated. Instead, use fs.defaultFS"
    );
}

#[test]
fn system_properties_go_before_keys_and_only_within_references() {
    let mut options =
        LoadOptions::new(tempfile::tempdir().unwrap().keep(), Daemon::ResourceManager);
    options.properties = super::system_properties("alice", "/home/alice", "/tmp", "/");
    options.overrides = vec![("user.name".to_owned(), "bob".to_owned())];
    let conf = Configuration::load(&options).unwrap();
    assert_eq!(
        conf.get("hadoop.tmp.dir").unwrap().as_deref(),
        Some("/tmp/hadoop-alice")
    );
    assert_eq!(conf.get("user.name").unwrap().as_deref(), Some("bob"));
    let logs = |options: &LoadOptions| {
        let conf = Configuration::load(options).unwrap();
        conf.get("yarn.nodemanager.log-dirs").unwrap().unwrap()
    };
    assert_eq!(logs(&options), "/tmp/hadoop-alice/logs/userlogs");
    options.env = BTreeMap::from([("HADOOP_LOG_DIR".to_owned(), "/var/log/h".to_owned())]);
    assert_eq!(logs(&options), "/var/log/h/userlogs");
    std::fs::remove_dir(&options.dir).unwrap();
}

#[test]
fn the_directory_is_the_first_that_is_named() {
    let env = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    };
    let all = env(&[
        ("HADOOP_CONF_DIR", "/h"),
        ("YARN_CONF_DIR", "/y"),
        ("HADOOP_HOME", "/home"),
    ]);
    assert_eq!(
        resolve_dir(Some(Path::new("/f")), &all).unwrap(),
        Path::new("/f")
    );
    assert_eq!(resolve_dir(None, &all).unwrap(), Path::new("/h"));
    let yarn = env(&[("HADOOP_CONF_DIR", ""), ("YARN_CONF_DIR", "/y")]);
    assert_eq!(resolve_dir(None, &yarn).unwrap(), Path::new("/y"));
    let home = env(&[("HADOOP_HOME", "/home")]);
    assert_eq!(
        resolve_dir(None, &home).unwrap(),
        Path::new("/home/etc/hadoop")
    );
    assert!(resolve_dir(None, &env(&[])).is_err());
}
