//! Keys whose absence would weaken safety or change who runs where: the daemon does not start.
//! May touch: the table.
//! Must not: refuse a value that Hadoop's default already is.

use super::rule::{
    Rule,
    When::{AnyNot, Not, Set, True},
    both, nm, rm,
};
use crate::{error::Problem, gpu, load::Daemon, table::Configuration};

/// Every refusal that looks at one key.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        details: &[
            "yarn.resourcemanager.keytab",
            "yarn.resourcemanager.principal",
            "yarn.resourcemanager.webapp.spnego-",
            "yarn.nodemanager.keytab",
            "yarn.nodemanager.principal",
            "yarn.nodemanager.webapp.spnego-",
            "hadoop.security.auth_to_local",
            "hadoop.kerberos.",
            "hadoop.http.authentication.kerberos.",
        ],
        ..both(
            "hadoop.security.authentication",
            Not(&["simple"]),
            "only simple is built: clients would not be asked who they are",
        )
    },
    both(
        "hadoop.security.authorization",
        True,
        "service-level authorization (hadoop-policy.xml) is not built yet: every host and user could call; write false to start without it",
    ),
    both(
        "hadoop.rpc.protection",
        AnyNot(&["authentication"]),
        "integrity and privacy of RPC are not built yet: traffic would go unprotected; write authentication",
    ),
    both(
        "hadoop.security.saslproperties.resolver.class",
        Set,
        "a resolver of protection by client is not built: traffic would go unprotected; remove it",
    ),
    both(
        "hadoop.security.sasl.mechanism",
        Not(&["DIGEST-MD5"]),
        "only DIGEST-MD5 is built for tokens",
    ),
    both(
        "hadoop.security.sasl.CustomizedCallbackHandler.class",
        Set,
        "Java classes cannot be loaded: the checks of this handler would not be made; remove it",
    ),
    both(
        "hadoop.security.secret-manager.key-generator.algorithm",
        Not(&["HmacSHA1"]),
        "tokens are signed with HmacSHA1 here",
    ),
    both(
        "yarn.authorization-provider",
        Not(&["org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer"]),
        "Java classes cannot be loaded: what this provider forbids would be allowed; remove it",
    ),
    Rule {
        details: &[
            "yarn.resourcemanager.webapp.https.address",
            "yarn.nodemanager.webapp.https.address",
            "hadoop.ssl.",
        ],
        ..both(
            "yarn.http.policy",
            Not(&["HTTP_ONLY"]),
            "HTTPS is not built yet: pages and logs would travel in the clear; write HTTP_ONLY",
        )
    },
    both(
        "hadoop.http.authentication.type",
        Not(&["simple"]),
        "authentication of HTTP clients is not built yet: pages and logs would be open; write simple",
    ),
    both(
        "hadoop.http.filter.initializers",
        AnyNot(&[
            "org.apache.hadoop.http.lib.StaticUserWebFilter",
            "org.apache.hadoop.security.HttpCrossOriginFilterInitializer",
        ]),
        "Java classes cannot be loaded: what this filter keeps out would get in; StaticUserWebFilter and HttpCrossOriginFilterInitializer are known",
    ),
    both(
        "yarn.intermediate-data-encryption.enable",
        True,
        "encryption of intermediate data is not built: it would lie in the clear",
    ),
    rm(
        "yarn.resourcemanager.application-https.policy",
        Not(&["NONE"]),
        "HTTPS to ApplicationMasters is not built; write NONE",
    ),
    rm(
        "yarn.resourcemanager.scheduler.class",
        Not(&[
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
        ]),
        "only org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler is built",
    ),
    rm(
        "yarn.resourcemanager.configuration.provider-class",
        Not(&["org.apache.hadoop.yarn.LocalConfigurationProvider"]),
        "only org.apache.hadoop.yarn.LocalConfigurationProvider is built: the files in the configuration directory would be used instead",
    ),
    rm(
        "yarn.scheduler.configuration.store.class",
        Not(&["file"]),
        "only file is built: queues are read from capacity-scheduler.xml",
    ),
    Rule {
        details: &["yarn.resourcemanager.reservation-system."],
        ..rm(
            "yarn.resourcemanager.reservation-system.enable",
            True,
            "reservations are not built: promised capacity would not be kept; write false",
        )
    },
    rm(
        "yarn.resourcemanager.placement-constraints.handler",
        Not(&["disabled"]),
        "placement constraints are not built yet; write disabled",
    ),
    rm(
        "yarn.resourcemanager.opportunistic-container-allocation.enabled",
        True,
        "opportunistic containers are not built; write false",
    ),
    rm(
        "yarn.resourcemanager.application-tag-based-placement.enable",
        True,
        "placement by the user in a tag is not built; write false",
    ),
    Rule {
        details: &["yarn.resourcemanager.resource-profiles."],
        ..rm(
            "yarn.resourcemanager.resource-profiles.enabled",
            True,
            "resource profiles are not built; write false",
        )
    },
    both(
        "yarn.federation.enabled",
        True,
        "federation is not built; write false",
    ),
    Rule {
        details: &["yarn.nodemanager.amrmproxy."],
        ..nm(
            "yarn.nodemanager.amrmproxy.enabled",
            True,
            "the AMRMProxy is not built; write false",
        )
    },
    nm(
        "yarn.nodemanager.node-labels.provider",
        Not(&["config", "script"]),
        "a class is not built: write config or script",
    ),
    nm(
        "yarn.nodemanager.distributed-scheduling.enabled",
        True,
        "distributed scheduling is not built; write false",
    ),
    nm(
        "yarn.nodemanager.container-executor.class",
        Not(&[
            "org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor",
            "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor",
        ]),
        "is not an executor that is built: write org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor or …LinuxContainerExecutor",
    ),
    nm(
        "yarn.nodemanager.default-container-executor.log-dirs.permissions",
        Not(&["710"]),
        "log directories get mode 710 here",
    ),
    nm(
        "yarn.nodemanager.linux-container-executor.nonsecure-mode.user-pattern",
        Not(&["^[_.A-Za-z0-9][-@_.A-Za-z0-9]{0,255}?[$]?$"]),
        "other patterns of user names are not built: names that it forbids would be taken; remove it",
    ),
    nm(
        "yarn.nodemanager.runtime.linux.sandbox-mode",
        Not(&["disabled"]),
        "the Java sandbox is not built: containers would run without it; write disabled",
    ),
    Rule {
        details: &["yarn.nodemanager.pluggable-device-framework."],
        ..nm(
            "yarn.nodemanager.pluggable-device-framework.enabled",
            True,
            "pluggable devices are not built: containers would share them unguarded; write false",
        )
    },
];

/// All refusals for `daemon`.
pub(super) fn check(daemon: Daemon, conf: &Configuration, refused: &mut Vec<Problem>) {
    refused.extend(RULES.iter().filter_map(|rule| rule.judge(daemon, conf)));
    let mut add = |found: Result<Option<Problem>, Problem>| match found {
        Ok(None) => {}
        Ok(Some(problem)) | Err(problem) => refused.push(problem),
    };
    add(anonymous_http(conf));
    if daemon == Daemon::NodeManager {
        add(gpu::refused_plugins(conf));
    }
}

/// Keys that [`check`] looks at.
pub(super) fn judges(key: &str) -> bool {
    RULES.iter().any(|rule| rule.covers(key))
        || key == "hadoop.http.authentication.simple.anonymous.allowed"
        || key == gpu::PLUGINS
}

/// Anonymous HTTP clients are let in whatever this key says, so it may not forbid them.
fn anonymous_http(conf: &Configuration) -> Result<Option<Problem>, Problem> {
    let key = "hadoop.http.authentication.simple.anonymous.allowed";
    let text = "authentication of HTTP clients is not built yet: anonymous clients would be let in; write true";
    Ok((!conf.bool(key, true)?).then(|| conf.problem(key, text)))
}
