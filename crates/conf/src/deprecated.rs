//! Old names of keys that Hadoop 3.5 still takes (`Configuration.addDeprecations`).
//! May touch: one table.
//! Must not: rename keys that Hadoop reads under both names (`yarn.resourcemanager.zk-address`).

/// Old name, new name; everything a YARN 3.5 daemon knows.
const RENAMED: &[(&str, &str)] = &[
    ("dfs.df.interval", "fs.df.interval"),
    ("dfs.nfs.exports.allowed.hosts", "nfs.exports.allowed.hosts"),
    ("dfs.umaskmode", "fs.permissions.umask-mode"),
    ("fs.default.name", "fs.defaultFS"),
    (
        "hadoop.configured.node.mapping",
        "net.topology.configured.node.mapping",
    ),
    (
        "hadoop.http.rmwebapp.scheduler.page.class",
        "yarn.http.rmwebapp.scheduler.page.class",
    ),
    (
        "topology.node.switch.mapping.impl",
        "net.topology.node.switch.mapping.impl",
    ),
    ("topology.script.file.name", "net.topology.script.file.name"),
    (
        "topology.script.number.args",
        "net.topology.script.number.args",
    ),
    (
        "yarn.client.max-nodemanagers-proxies",
        "yarn.client.max-cached-nodemanagers-proxies",
    ),
    (
        "yarn.resourcemanager.display.per-user-apps",
        "yarn.webapp.filter-entity-list-by-user",
    ),
    (
        "yarn.resourcemanager.system-metrics-publisher.enabled",
        "yarn.system-metrics-publisher.enabled",
    ),
    ("yarn.resourcemanager.zk-acl", "hadoop.zk.acl"),
    ("yarn.resourcemanager.zk-auth", "hadoop.zk.auth"),
    (
        "yarn.resourcemanager.zk-num-retries",
        "hadoop.zk.num-retries",
    ),
    (
        "yarn.resourcemanager.zk-retry-interval-ms",
        "hadoop.zk.retry-interval-ms",
    ),
    ("yarn.resourcemanager.zk-timeout-ms", "hadoop.zk.timeout-ms"),
];

/// The name that replaced `key`, if it is an old one.
pub(crate) fn new_name(key: &str) -> Option<&'static str> {
    RENAMED
        .iter()
        .find(|(old, _)| *old == key)
        .map(|(_, new)| *new)
}
