//! Tests of the key tables and of docs/config.md.
//! May touch: docs/config.md, only with UPDATE_EXPECT=1.
//! Must not: touch other files.

use std::{collections::BTreeSet, path::PathBuf};

use super::{all, find, honoured, markdown};
use crate::defaults::{CORE, YARN};

#[test]
fn docs_are_those_of_the_tables() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, markdown()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == markdown(),
        "docs/config.md is not what the tables say; write it anew with UPDATE_EXPECT=1 cargo test -p yarn-conf"
    );
}

#[test]
fn every_key_stands_once() {
    let mut seen = BTreeSet::new();
    for key in all().flat_map(|(_, keys)| keys) {
        assert!(seen.insert(key.name), "{} stands twice", key.name);
        assert!(
            !key.doc.is_empty() && !key.doc.contains('|'),
            "{}",
            key.name
        );
    }
}

#[test]
fn keys_are_spelled_as_hadoop_spells_them() {
    let known: BTreeSet<&str> = CORE.iter().chain(YARN.iter()).map(|(k, _)| k).collect();
    // keys of Hadoop that its default files do not list, and Heddle's own
    let others = [
        "yarn.resourcemanager.ha.id",
        "yarn.resource-types",
        "yarn.resource.dynamic.nodes",
        "yarn.resourcemanager.am-scheduling.node-blacklisting-enabled",
        "yarn.resourcemanager.am-scheduling.node-blacklisting-disable-threshold",
        "yarn.nodemanager.resource.cpu.enabled",
        "yarn.nodemanager.user-home-dir",
        "yarn.nodemanager.duration-to-track-stopped-containers",
        "yarn.scheduler.capacity.resource-calculator",
        "yarn.scheduler.queue-placement-rules.app-name",
        "yarn.nodemanager.linux-container-executor.min.user.id",
        "yarn.nodemanager.linux-container-executor.banned.users",
        "yarn.nodemanager.linux-container-executor.allowed.system.users",
    ];
    for key in all().flat_map(|(_, keys)| keys) {
        let family = key.name.contains('<');
        assert!(
            family
                || known.contains(key.name)
                || others.contains(&key.name)
                || key.name.starts_with("yarn.nodemanager.heddle.")
                || key.name.starts_with("yarn.resourcemanager.heddle.")
                || key
                    .name
                    .starts_with("yarn.resourcemanager.monitor.capacity.preemption."),
            "{} is no key of Hadoop",
            key.name
        );
    }
}

#[test]
fn families_are_found() {
    for key in [
        "yarn.resourcemanager.address.rm1",
        "yarn.resource-types.yarn.io/gpu.maximum-allocation",
        "yarn.nodemanager.resource-type.yarn.io/gpu",
        "yarn.scheduler.capacity.root.queues",
    ] {
        assert!(honoured(key), "{key}");
    }
    for key in [
        "yarn.resourcemanager.address.",
        "yarn.resource-types.x",
        "yarn.x",
    ] {
        assert!(find(key).is_none(), "{key}");
    }
}
