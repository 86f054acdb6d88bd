//! Settings of capacity-scheduler.xml whose behaviour is not built yet: refused by name.
//! May touch: `yarn_types::Lookup`.
//! Must not: refuse a value that changes nothing (Hadoop's default, or a feature switched off).

use yarn_types::Lookup;

use super::{ConfProblem, PREFIX, QueueConf};

/// Values under which a key changes nothing, `Any` spelling of them; otherwise the named feature is missing.
struct Rule {
    suffix: &'static str,
    harmless: &'static [&'static str],
    feature: &'static str,
}

const fn rule(
    suffix: &'static str,
    harmless: &'static [&'static str],
    feature: &'static str,
) -> Rule {
    Rule {
        suffix,
        harmless,
        feature,
    }
}

/// Keys of the whole scheduler.
const GLOBAL: &[Rule] = &[
    rule("queue-mappings", &[], "queue mappings"),
    rule("mapping-rule-json", &[], "placement rules"),
    rule("mapping-rule-json-file", &[], "placement rules"),
    rule(
        "workflow-priority-mappings",
        &[],
        "workflow priority mappings",
    ),
    rule(
        "legacy-queue-mode.enabled",
        &["true"],
        "capacity vectors (legacy mode off)",
    ),
    rule("lazy-preemption-enabled", &["false"], "lazy preemption"),
    rule(
        "multi-node-placement-enabled",
        &["false"],
        "multi-node placement",
    ),
    rule(
        "multi-node-sorting.policy.names",
        &[],
        "multi-node placement",
    ),
    rule(
        "max-parallel-apps",
        &["2147483647"],
        "parallel application limits",
    ),
    rule(
        "user.max-parallel-apps",
        &["2147483647"],
        "parallel application limits",
    ),
    rule(
        "global-queue-max-application",
        &[],
        "global-queue-max-application",
    ),
];

/// Keys of one queue.
const QUEUE: &[Rule] = &[
    rule("priority", &["0"], "queue priorities"),
    rule("default-node-label-expression", &[], "node labels"),
    rule(
        "maximum-application-lifetime",
        &["-1", "0"],
        "application lifetimes",
    ),
    rule(
        "default-application-lifetime",
        &["-1", "0"],
        "application lifetimes",
    ),
    rule(
        "max-parallel-apps",
        &["2147483647"],
        "parallel application limits",
    ),
    rule("maximum-allocation", &[], "maximum allocation per queue"),
    rule("maximum-allocation-mb", &[], "maximum allocation per queue"),
    rule(
        "maximum-allocation-vcores",
        &[],
        "maximum allocation per queue",
    ),
    rule("reservable", &["false"], "the reservation system"),
    rule(
        "auto-create-child-queue.enabled",
        &["false"],
        "auto-created queues",
    ),
    rule(
        "auto-queue-creation-v2.enabled",
        &["false"],
        "auto-created queues",
    ),
    rule("multi-node-sorting.policy", &[], "multi-node placement"),
    rule(
        "allow-zero-capacity-sum",
        &["false"],
        "allow-zero-capacity-sum",
    ),
    rule(
        "ordering-policy.fair.enable-size-based-weight",
        &["false"],
        "the fair ordering policy",
    ),
];

/// Every setting that asks for something that is not built.
pub(super) fn problems(conf: &dyn Lookup, queues: &[QueueConf]) -> Vec<ConfProblem> {
    let mut problems = Vec::new();
    for rule in GLOBAL {
        check(
            conf,
            &format!("{PREFIX}{}", rule.suffix),
            rule,
            &mut problems,
        );
    }
    for queue in queues {
        let prefix = format!("{PREFIX}{}.", queue.path);
        for rule in QUEUE {
            check(
                conf,
                &format!("{prefix}{}", rule.suffix),
                rule,
                &mut problems,
            );
        }
        let policy = if queue.is_parent {
            "utilization"
        } else {
            "fifo"
        };
        let feature = if queue.is_parent {
            "parent ordering policies"
        } else {
            "leaf ordering policies"
        };
        let ordering = rule("ordering-policy", &["fifo", "utilization"], feature);
        let key = format!("{prefix}ordering-policy");
        match conf.get(&key) {
            Some(value) if value.trim() == policy => {}
            Some(value) => problems.push(ConfProblem::new(
                key,
                Some(value),
                format!("{} other than {policy} are not built yet", ordering.feature),
            )),
            None => {}
        }
        labels(conf, &prefix, queue, &mut problems);
    }
    problems
}

fn check(conf: &dyn Lookup, key: &str, rule: &Rule, problems: &mut Vec<ConfProblem>) {
    let Some(value) = conf.get(key) else { return };
    let text = value.trim();
    if text.is_empty() || rule.harmless.iter().any(|h| h.eq_ignore_ascii_case(text)) {
        return;
    }
    let instead = match rule.harmless.first() {
        Some(value) => format!("leave the key out or set it to {value}"),
        None => "leave the key out".to_owned(),
    };
    problems.push(ConfProblem::new(
        key,
        Some(value),
        format!("{} not built yet; {instead}", plural(rule.feature)),
    ));
}

fn plural(feature: &str) -> String {
    let verb = if feature.ends_with('s') { "are" } else { "is" };
    format!("{feature} {verb}")
}

/// Labels: `*` and blank change nothing while the cluster has no labels.
fn labels(conf: &dyn Lookup, prefix: &str, queue: &QueueConf, problems: &mut Vec<ConfProblem>) {
    let key = format!("{prefix}accessible-node-labels");
    if let Some(value) = conf.get(&key)
        && !matches!(value.trim(), "" | "*")
    {
        problems.push(ConfProblem::new(
            key.clone(),
            Some(value),
            "node labels are not built yet; leave the key out",
        ));
    }
    for key in conf.keys_with_prefix(&format!("{key}.")) {
        // a key of a child queue called accessible-node-labels cannot be: names have no dots
        let value = conf.get(&key);
        problems.push(ConfProblem::new(
            key,
            value,
            "node labels are not built yet; leave the key out",
        ));
    }
    let users = format!("{prefix}user-settings.");
    for key in conf.keys_with_prefix(&users) {
        let value = conf.get(&key);
        if value
            .as_deref()
            .map(str::trim)
            .and_then(|v| v.parse::<f32>().ok())
            != Some(1.0)
        {
            problems.push(ConfProblem::new(
                key,
                value,
                "user weights are not built yet; leave the key out",
            ));
        }
    }
    if !queue.is_parent {
        return;
    }
    for part in ["leaf-queue-template.", "auto-queue-creation-v2.template."] {
        for key in conf.keys_with_prefix(&format!("{prefix}{part}")) {
            let value = conf.get(&key);
            problems.push(ConfProblem::new(
                key,
                value,
                "auto-created queues are not built yet; leave the key out",
            ));
        }
    }
}
