//! Features that are not built: one warning each, saying what does not happen.
//! May touch: the table.
//! Must not: repeat itself.

use super::rule::{
    Rule,
    When::{AnyNot, Not, Set, True},
    both, nm, rm,
};
use crate::{error::Problem, gpu, load::Daemon, node_labels, table::Configuration};

/// Every warning that looks at one key.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        details: &["yarn.nodemanager.aux-services."],
        ..nm(
            "yarn.nodemanager.aux-services",
            Set,
            "auxiliary services are Java classes and are not run: a container that asks for one gets InvalidAuxServiceException",
        )
    },
    Rule {
        details: &["yarn.nodemanager.recovery."],
        ..nm(
            "yarn.nodemanager.recovery.enabled",
            True,
            "recovery is not built yet: containers are killed when this NodeManager restarts",
        )
    },
    Rule {
        details: &[
            "yarn.resourcemanager.recovery.",
            "yarn.resourcemanager.work-preserving-recovery.",
            "yarn.resourcemanager.store.class",
            "yarn.resourcemanager.fs.state-store.",
            "yarn.resourcemanager.zk-",
            "yarn.resourcemanager.leveldb-state-store.",
            "yarn.resourcemanager.state-store.",
            "hadoop.zk.",
        ],
        ..rm(
            "yarn.resourcemanager.recovery.enabled",
            True,
            "recovery is not built yet: applications are forgotten when this ResourceManager restarts",
        )
    },
    Rule {
        details: &["yarn.resourcemanager.ha."],
        ..rm(
            "yarn.resourcemanager.ha.enabled",
            True,
            "high availability is not built yet: the addresses of this ResourceManager's id are used, it is active at once, and nothing fails over",
        )
    },
    Rule {
        details: &[
            "yarn.log-aggregation",
            "yarn.nodemanager.log-aggregation.",
            "yarn.nodemanager.remote-app-log-dir",
            "yarn.log.server.",
        ],
        ..nm(
            "yarn.log-aggregation-enable",
            True,
            "log aggregation is not built yet: logs stay on the node for yarn.nodemanager.log.retain-seconds",
        )
    },
    Rule {
        details: &[
            "yarn.timeline-service.",
            "yarn.system-metrics-publisher.",
            "yarn.rm.system-metrics-publisher.",
        ],
        ..both(
            "yarn.timeline-service.enabled",
            True,
            "the timeline service is not built: nothing is published to it",
        )
    },
    rm(
        "yarn.system-metrics-publisher.enabled",
        True,
        "the timeline service is not built: nothing is published to it",
    ),
    Rule {
        details: &[
            "yarn.nodemanager.runtime.linux.docker.",
            "yarn.nodemanager.runtime.linux.runc.",
        ],
        ..nm(
            "yarn.nodemanager.runtime.linux.allowed-runtimes",
            AnyNot(&["default"]),
            "docker and runc are not built yet: a container that asks for an image does not start",
        )
    },
    nm(
        "yarn.nodemanager.runtime.linux.type",
        Not(&["default"]),
        "docker and runc are not built yet: containers run as plain processes",
    ),
    nm(
        "yarn.nodemanager.linux-container-executor.resources-handler.class",
        Not(&[
            "org.apache.hadoop.yarn.server.nodemanager.util.DefaultLCEResourcesHandler",
            "org.apache.hadoop.yarn.server.nodemanager.util.CgroupsLCEResourcesHandler",
        ]),
        "Java classes cannot be loaded: this handler limits nothing; CgroupsLCEResourcesHandler is known",
    ),
    Rule {
        details: &[
            "yarn.nodemanager.linux-container-executor.cgroups.mount-path",
            "yarn.nodemanager.linux-container-executor.cgroups.v2.mount-path",
        ],
        ..nm(
            "yarn.nodemanager.linux-container-executor.cgroups.mount",
            True,
            "cgroups are not mounted by this NodeManager: it finds those that the machine has mounted, wherever they are",
        )
    },
    nm(
        "yarn.nodemanager.resource.network.enabled",
        True,
        "limits of the network are not built yet: its use is not limited",
    ),
    nm(
        "yarn.nodemanager.resource.disk.enabled",
        True,
        "limits of disks are not built yet: their use is not limited",
    ),
    Rule {
        details: &["yarn.nodemanager.elastic-memory-control."],
        ..nm(
            "yarn.nodemanager.elastic-memory-control.enabled",
            True,
            "elastic memory control is not built yet: each container is held to its own memory",
        )
    },
    Rule {
        details: &["yarn.nodemanager.container-log-monitor."],
        ..nm(
            "yarn.nodemanager.container-log-monitor.enable",
            True,
            "logs are not watched yet: a container may write without limit",
        )
    },
];

/// All warnings for `daemon`.
pub(super) fn check(daemon: Daemon, conf: &Configuration, warnings: &mut Vec<Problem>) {
    let mut said: Vec<&str> = Vec::new();
    for rule in RULES {
        // two keys of one feature: one warning
        if said.contains(&rule.text) {
            continue;
        }
        if let Some(problem) = rule.judge(daemon, conf) {
            said.push(rule.text);
            warnings.push(problem);
        }
    }
    warnings.extend(gpu::spelling(conf));
    if daemon == Daemon::ResourceManager {
        warnings.extend(node_labels::remark(conf));
    }
}

/// Keys that belong to a feature that is warned of.
pub(super) fn judges(key: &str) -> bool {
    RULES.iter().any(|rule| rule.covers(key))
}
