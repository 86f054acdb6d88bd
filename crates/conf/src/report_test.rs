//! Tests of what `--check` and `--print` say.
//! May touch: a directory made here.
//! Must not: start anything.

use std::path::Path;

use tempfile::TempDir;

use super::{Report, effective, replacement, unreadable};
use crate::{Configuration, Daemon, LoadError, LoadOptions};

fn directory(yarn_site: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("yarn-site.xml"), yarn_site).unwrap();
    dir
}

fn load(dir: &Path) -> Result<Configuration, LoadError> {
    Configuration::load(&LoadOptions::new(dir, Daemon::ResourceManager))
}

fn site(properties: &[(&str, &str)]) -> String {
    let of =
        |(k, v): &(&str, &str)| format!("<property><name>{k}</name><value>{v}</value></property>");
    let lines: Vec<_> = properties.iter().map(of).collect();
    format!("<configuration>\n{}\n</configuration>", lines.join("\n"))
}

#[test]
fn every_finding_is_one_line_with_its_place_and_mark() {
    let dir = directory(&site(&[
        ("hadoop.security.authorization", "true"),
        ("yarn.resourcemanager.recovery.enabled", "true"),
        ("yarn.no.such.key", "two\nlines"),
    ]));
    let conf = load(dir.path()).unwrap();
    let report = Report::new(Daemon::ResourceManager, &conf);
    assert!(!report.accepted());
    let file = dir.path().join("yarn-site.xml").display().to_string();
    let lines = report.lines();
    assert_eq!(lines.len(), 3, "{lines:#?}");
    for (line, start) in lines.iter().zip([
        ":2: hadoop.security.authorization=true: service-level authorization",
        ":3: warning: yarn.resourcemanager.recovery.enabled=true: ",
        ":4: note: yarn.no.such.key=two\\nlines: unknown key",
    ]) {
        assert!(line.starts_with(&format!("{file}{start}")), "{line}");
    }
}

#[test]
fn a_key_is_refused_once_and_a_missing_one_has_a_place() {
    let dir = directory("<configuration/>");
    std::fs::write(
        dir.path().join("capacity-scheduler.xml"),
        site(&[
            ("a", "b"),
            ("yarn.scheduler.capacity.root.queues", "default"),
        ]),
    )
    .unwrap();
    let conf = load(dir.path()).unwrap();
    let mut report = Report::default();
    let key = "yarn.scheduler.capacity.root.default.capacity";
    report.refuse(&conf, conf.problem(key, "is missing"));
    report.refuse(&conf, conf.problem(key, "is missing, said again"));
    let site = dir.path().join("yarn-site.xml");
    report.refuse(&conf, conf.problem("yarn.some.key", "is needed"));
    let scheduler = dir.path().join("capacity-scheduler.xml");
    assert_eq!(
        report.lines(),
        [
            format!("{}:3: {key}: is missing", scheduler.display()),
            format!("{}:1: yarn.some.key: is needed", site.display()),
        ]
    );
}

#[test]
fn a_reference_that_never_ends_is_said_even_of_an_unknown_key() {
    let dir = directory(&site(&[("loop", "${loop2}"), ("loop2", "${loop}")]));
    let conf = load(dir.path()).unwrap();
    let report = Report::new(Daemon::ResourceManager, &conf);
    assert!(report.accepted());
    let lines = report.lines().join("\n");
    assert!(lines.contains(":2: warning: loop=${loop2}: "), "{lines}");
}

#[test]
fn effective_values_are_expanded_and_secrets_hidden() {
    let dir = directory(&site(&[
        ("a", "1"),
        ("b", "${a}\t2\u{2028}"),
        ("c.password", "hush"),
        ("d", "jdbc:${c.password}"),
        ("e", "hush"),
    ]));
    let conf = load(dir.path()).unwrap();
    let file = dir.path().join("yarn-site.xml").display().to_string();
    assert_eq!(
        effective(&conf),
        [
            format!("a\t1\t{file}:2"),
            format!("b\t1\\t2\\u{{2028}}\t{file}:3"),
            format!("c.password\t<redacted>\t{file}:4"),
            format!("d\t<redacted>\t{file}:5"),
            format!("e\thush\t{file}:6"),
        ]
    );
}

#[test]
fn a_file_that_cannot_be_read_is_one_line_with_its_place() {
    let dir = directory("<configuration>\n<property>\n</configuration>");
    let file = dir.path().join("yarn-site.xml").display().to_string();
    let said = unreadable(&load(dir.path()).unwrap_err());
    assert!(said.starts_with(&format!("{file}:3: ")), "{said}");
}

#[test]
fn a_replacement_names_a_kind_and_a_file() {
    let wanted = ("yarn-site.xml".to_owned(), "a=b.xml".into());
    assert_eq!(replacement("yarn-site=a=b.xml"), Ok(wanted));
    for bad in ["yarn-site", "yarn-site=", "hdfs-site=a.xml", "=a.xml"] {
        assert!(replacement(bad).is_err(), "{bad}");
    }
}

#[test]
fn one_file_may_come_from_elsewhere_but_must_be_there() {
    let dir = directory("<configuration/>");
    let other = dir.path().join("mine.xml");
    let mut options = LoadOptions::new(dir.path(), Daemon::ResourceManager);
    options.instead = Some(("yarn-site.xml".to_owned(), other.clone()));
    let said = unreadable(&Configuration::load(&options).unwrap_err());
    assert!(
        said.starts_with(&format!("{}:1: ", other.display())),
        "{said}"
    );
    std::fs::write(&other, site(&[("a", "1")])).unwrap();
    let conf = Configuration::load(&options).unwrap();
    assert_eq!(
        conf.origin("a").unwrap().to_string(),
        format!("{}:2", other.display())
    );
}
