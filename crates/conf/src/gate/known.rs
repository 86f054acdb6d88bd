//! Keys that Hadoop knows, whether or not they have an effect here.
//! May touch: the default tables.
//! Must not: judge keys that another table judges.

use crate::{
    defaults::{CORE, YARN},
    load::Daemon,
    table::Configuration,
};

/// How a key that Heddle does not honour stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// Nothing to report: for another daemon, a client, or at Hadoop's default.
    Other,
    /// Hadoop's daemon would act on it.
    WithoutEffect,
    /// In no table.
    Unknown,
}

/// Read by clients, by other services, or by the scheduler, which judges its keys itself.
const ELSEWHERE: &[&str] = &[
    "adl.",
    "dfs.",
    "file.",
    "fs.",
    "ftp.",
    "ha.",
    "hadoop.registry.",
    "hadoop.security.kms.client.",
    "hbase.",
    "hdfs.",
    "hive.",
    "io.",
    "ipc.client.",
    "mapred.",
    "mapreduce.",
    "nfs.",
    "rpc.metrics.",
    "s3.",
    "seq.io.",
    "spark.",
    "tfile.",
    "yarn.app.",
    "yarn.application.classpath",
    "yarn.client.",
    "yarn.federation.",
    "yarn.minicluster.",
    "yarn.router.",
    "yarn.scheduler.capacity.",
    "yarn.scheduler.fair.",
    "yarn.service.",
    "yarn.sharedcache.",
    "yarn.timeline-service.",
    "yarn.web-proxy.",
];

/// Families whose members are in no table of Hadoop's.
const FAMILIES: &[&str] = &["hadoop.proxyuser.", "ipc.", "yarn.resourcemanager.webapp."];

/// Keys of Hadoop's code that its default files leave out.
const CODE: &[&str] = &[
    "yarn.dispatcher.exit-on-error",
    "yarn.fail-fast",
    "yarn.log.dir",
    "yarn.node-labels.fs-store.retry-policy-spec",
    "yarn.node-labels.manager-class",
    "yarn.nodemanager.containers-launcher.class",
    "yarn.nodemanager.container-manager.sched-queue-maxlength",
    "yarn.nodemanager.linux-container-executor.group",
    "yarn.nodemanager.linux-container-executor.path",
    "yarn.nodemanager.opportunistic-containers-max-queue-length",
];

pub(super) fn standing(daemon: Daemon, conf: &Configuration, key: &str) -> Standing {
    if ELSEWHERE.iter().any(|prefix| key.starts_with(prefix)) {
        return Standing::Other;
    }
    let default = [YARN, CORE]
        .iter()
        .flat_map(crate::defaults::Defaults::iter)
        .find(|(known, _)| *known == key);
    let family = FAMILIES.iter().any(|prefix| key.starts_with(prefix))
        || CODE.contains(&key)
        || is_per_id(key);
    match default {
        None if !family => Standing::Unknown,
        Some((_, value)) if value == conf.raw(key).map(crate::values::java_trim) => Standing::Other,
        _ if is_for_the_other(daemon, key) => Standing::Other,
        _ => Standing::WithoutEffect,
    }
}

/// `yarn.resourcemanager.webapp.https.address.rm1` and the like.
fn is_per_id(key: &str) -> bool {
    key.starts_with("yarn.resourcemanager.") && key.contains("address.")
}

fn is_for_the_other(daemon: Daemon, key: &str) -> bool {
    let prefixes: &[&str] = match daemon {
        Daemon::ResourceManager => &["yarn.nodemanager."],
        Daemon::NodeManager => &[
            "yarn.resourcemanager.",
            "yarn.scheduler.",
            "yarn.cluster.",
            "yarn.am.",
            "yarn.nm.",
            "yarn.admin.",
            "yarn.webapp.",
            "hadoop.proxyuser.",
            "net.topology.",
        ],
    };
    prefixes.iter().any(|prefix| key.starts_with(prefix))
}
