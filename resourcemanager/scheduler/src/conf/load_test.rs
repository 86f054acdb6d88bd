//! Whole configurations: what is inherited, and what Hadoop refuses with which text.
//! May touch: the module under test.
//! Must not: read files.

use super::*;
use crate::conf::{AccessibleLabels, ConfiguredState, LeafOrder, Pacing, ParentOrder, SchedConf};
use yarn_types::{GPU, MILLI, ResourceType};

fn types() -> ResourceTypes {
    let mut types: Vec<ResourceType> = ResourceTypes::memory_and_vcores().iter().cloned().collect();
    types.push(ResourceType {
        name: GPU.to_owned(),
        units: String::new(),
        minimum_allocation: 0,
        maximum_allocation: 8,
    });
    ResourceTypes::new(types).unwrap()
}

/// Keys without a dotted `yarn.` get the scheduler's prefix.
fn entries_of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let key = |k: &str| {
        if k.starts_with("yarn.") {
            k.to_owned()
        } else {
            format!("{PREFIX}{k}")
        }
    };
    pairs
        .iter()
        .map(|(k, v)| (key(k), (*v).to_owned()))
        .collect()
}

fn try_load(pairs: &[(&str, &str)]) -> Result<QueuesConf, Vec<ConfProblem>> {
    let read = SchedConf::from_lookup(&entries_of(pairs), types(), Calculator::Dominant);
    read.map(|conf| conf.queues)
}

fn load(pairs: &[(&str, &str)]) -> QueuesConf {
    try_load(pairs).unwrap()
}

/// The reasons for which `pairs` on two queues a (40) and b (60) are refused.
fn refusal(pairs: &[(&str, &str)]) -> String {
    let mut all = vec![
        ("root.queues", "a,b"),
        ("root.a.capacity", "40"),
        ("root.b.capacity", "60"),
    ];
    all.extend(pairs);
    let problems = try_load(&all).unwrap_err();
    let reasons: Vec<&str> = problems.iter().map(|p| p.reason.as_str()).collect();
    reasons.join(" | ")
}

fn of<'a>(conf: &'a QueuesConf, path: &str) -> &'a QueueConf {
    conf.queues.iter().find(|q| q.path == path).unwrap()
}

const PLAIN: [(&str, &str); 5] = [
    ("root.queues", " a , b,,"),
    ("root.a.capacity", "40"),
    ("root.b.capacity", "60"),
    ("root.b.queues", "b1"),
    ("root.b.b1.capacity", "100"),
];

fn plain(more: &[(&'static str, &'static str)]) -> QueuesConf {
    let mut all = PLAIN.to_vec();
    all.extend(more);
    load(&all)
}

#[test]
fn defaults_are_hadoops() {
    let conf = plain(&[]);
    let paths: Vec<&str> = conf.queues.iter().map(|q| q.path.as_str()).collect();
    assert_eq!(paths, ["root", "root.a", "root.b", "root.b.b1"]);
    let parents: Vec<Option<usize>> = conf.queues.iter().map(|q| q.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(0), Some(2)]);
    let a = of(&conf, "root.a");
    assert!(!a.is_parent && of(&conf, "root.b").is_parent);
    assert_eq!(a.leaf_order, LeafOrder::Fifo);
    assert_eq!(a.max_parallel_apps, i32::MAX);
    assert_eq!((a.maximum_applications, a.maximum_allocation), (None, None));
    assert_eq!((a.am_percent(0), a.user_limit_percent(0)), (0.1, 100.0));
    assert_eq!((a.state, a.lifetimes.max_s), (None, -1));
    assert!(of(&conf, "root").acl_submit.is_all() && !a.acl_submit.is_all());
    assert_eq!(conf.maximum_applications, 10_000);
    assert_eq!(conf.global_maximum_applications, None);
    let c = &conf.cluster;
    assert_eq!(c.pacing, Pacing::Event);
    assert!(c.legacy_mode && c.asynchronous && c.assign_multiple && c.continue_looking);
    assert_eq!(
        (c.node_locality_delay, c.rack_locality_additional_delay),
        (40, -1)
    );
    assert_eq!(
        (c.max_assign_per_heartbeat, c.offswitch_per_heartbeat),
        (100, 1)
    );
    assert!(!c.preemption.enabled && c.preemption.intra.conservative_drf);
    assert_eq!(c.preemption.max_wait_before_kill_ms, 15_000);
    assert_eq!(conf.remarks, []);
}

#[test]
fn settings_are_inherited_by_their_own_rules() {
    let conf = plain(&[
        ("root.ordering-policy", "priority-utilization"),
        ("root.user-settings.ann.weight", "0.5"),
        ("root.b.user-settings.ann.weight", "0.25"),
        ("root.b.user-settings.bob.x.weight", "1"),
        ("root.b.maximum-application-lifetime", "600"),
        ("root.default-application-lifetime", "900"),
        ("root.b.b1.default-application-lifetime", "300"),
        ("root.b.maximum-allocation-mb", "4096"),
        ("root.b.b1.maximum-allocation-vcores", "2"),
        ("root.b.accessible-node-labels", "x"),
        ("root.b.default-node-label-expression", "x"),
        ("maximum-am-resource-percent", "0.3"),
        ("root.b.b1.maximum-am-resource-percent", "0.5"),
        ("max-parallel-apps", "7"),
        ("root.a.max-parallel-apps", "3"),
    ]);
    let (b, b1, a) = (
        of(&conf, "root.b"),
        of(&conf, "root.b.b1"),
        of(&conf, "root.a"),
    );
    assert_eq!(b.parent_order, ParentOrder::PriorityUtilization);
    assert_eq!((b1.user_weight("ann"), a.user_weight("ann")), (0.25, 0.5));
    assert_eq!((b1.user_weight("bob.x"), b1.user_weight("eve")), (1.0, 1.0));
    assert_eq!((b.lifetimes.max_s, b.lifetimes.default_s), (600, 600));
    assert_eq!((b1.lifetimes.max_s, b1.lifetimes.default_s), (600, 300));
    let gpus = |r: Resource| Some(r.with(2, 8 * MILLI));
    assert_eq!(b.maximum_allocation, gpus(Resource::new(4096, 4)));
    assert_eq!(b1.maximum_allocation, gpus(Resource::new(4096, 2)));
    assert_eq!(b1.accessible, AccessibleLabels::Of(vec!["x".to_owned()]));
    assert_eq!(b1.default_label.as_deref(), Some("x"));
    assert_eq!(
        (a.default_label.as_deref(), a.accessible.contains("x")),
        (None, true)
    );
    assert_eq!((a.am_percent(0), b1.am_percent(0)), (0.3, 0.5));
    assert_eq!((a.max_parallel_apps, b.max_parallel_apps), (3, 7));
}

#[test]
fn figures_of_labels_are_found_by_the_callers_table() {
    let mut conf = plain(&[
        ("root.a.accessible-node-labels.x.capacity", "100"),
        (
            "root.a.accessible-node-labels.x.maximum-am-resource-percent",
            "0.9",
        ),
    ]);
    let a = conf.queues.iter_mut().find(|q| q.path == "root.a").unwrap();
    a.intern(&["", "y", "x"]);
    let percents: Vec<String> = (0..4).map(|l| a.am_percent(l).to_string()).collect();
    assert_eq!(percents, ["0.1", "0.1", "0.9", "0.1"]);
    // root has every label that some queue has
    assert_eq!(conf.queues[0].labels.len(), 2);
    assert!((conf.queues[0].labels[1].capacity - 1.0).abs() < f32::EPSILON);
}

#[test]
fn orders_may_be_named_by_class() {
    let conf = plain(&[
        (
            "root.a.ordering-policy",
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.FairOrderingPolicy",
        ),
        (
            "root.a.ordering-policy.fair.enable-size-based-weight",
            "true",
        ),
        ("root.b.b1.ordering-policy", "fifo-with-partitions"),
        (
            "root.b.b1.ordering-policy.exclusive-enforced-partitions",
            "x, y",
        ),
    ]);
    let fair = LeafOrder::Fair {
        size_based_weight: true,
    };
    assert_eq!(of(&conf, "root.a").leaf_order, fair);
    let enforced = vec!["x".to_owned(), "y".to_owned()];
    let order = LeafOrder::FifoWithPartitions { enforced };
    assert_eq!(of(&conf, "root.b.b1").leaf_order, order);
    assert_eq!(
        refusal(&[("root.ordering-policy", "fair")]),
        "Unable to construct queue ordering policy=fair queue=root"
    );
    assert_eq!(
        refusal(&[("root.a.ordering-policy", "lifo")]),
        "Unable to construct ordering policy for: lifo, lifo"
    );
}

#[test]
fn sums_of_percentages_are_a_hundred_per_label() {
    assert_eq!(
        refusal(&[("root.b.capacity", "50")]),
        "Illegal capacity sum of 0.9 for children of queue root for label=. It should be either 0 or 1.0"
    );
    assert_eq!(
        refusal(&[("root.a.capacity", "0"), ("root.b.capacity", "0")]),
        "Illegal capacity sum of 0.0 for children of queue root for label=. It is set to 0, but parent percent != 0, and doesn't allow children capacity to set to 0"
    );
    let zero = [
        ("root.a.capacity", "0"),
        ("root.b.capacity", "100"),
        ("root.a.queues", "a1"),
        ("root.a.a1.capacity", "100"),
    ];
    assert!(refusal(&zero).contains("queue=a has zero capacity, but childqueues have positive"));
    let label = ("root.a.accessible-node-labels.red.capacity", "49");
    assert!(refusal(&[label]).contains("0.49 for children of queue root for label=red."));
    load(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "40.02"),
        ("root.b.capacity", "60"),
    ]);
    load(&[
        ("root.queues", "a,b"),
        ("root.allow-zero-capacity-sum", "true"),
    ]);
}

#[test]
fn values_out_of_range_have_hadoops_texts() {
    for (key, value, text) in [
        (
            "root.a.capacity",
            "101",
            "Illegal capacity of 101.0 for queue root.a",
        ),
        ("root.a.capacity", "50%", "For input string: \"50%\""),
        ("root.a.maximum-capacity", "3w", "For input string: \"3w\""),
        (
            "root.a.accessible-node-labels.x.capacity",
            "150",
            "Illegal capacity of 150.0 for node-label=x in queue=root.a, valid capacity should in range of [0, 100].",
        ),
        (
            "root.a.capacity",
            "20000w",
            "Illegal weight=20000.0 for queue=root.alabel=. Acceptable values: [0, 10000], -1 is same as not set",
        ),
        (
            "root.a.state",
            "DRAINING",
            "Invalid queue state configuration. We can only use RUNNING or STOPPED.",
        ),
        (
            "root.a.state",
            "gone",
            "No enum constant org.apache.hadoop.yarn.api.records.QueueState.GONE",
        ),
        (
            "root.a.user-settings.ann.weight",
            "2",
            "Weight (2.0) for user \"ann\" must be between 0 and 100 / 100.0 (= 1.0, the number of concurrent active users in root.a)",
        ),
        (
            "root.a.maximum-allocation",
            "memory-mb=9216,vcores=2",
            "Queue maximum allocation cannot be larger than the cluster setting for queue root.a max allocation per queue: <memory:9216, vCores:2> cluster setting: <memory:8192, vCores:4, yarn.io/gpu: 8>",
        ),
        (
            "root.a.maximum-applications",
            "4.5",
            "For input string: \"4.5\"",
        ),
        ("heddle.pacing", "fast", "is neither event nor heartbeat"),
        (
            "root.a.reservable",
            "true",
            "the reservation system is not built yet; leave the key out or set it to false",
        ),
        (
            "root.reservable",
            "true",
            "Only Leaf Queues can be reservable for root",
        ),
    ] {
        assert_eq!(refusal(&[(key, value)]), text, "{key}={value}");
    }
    let lifetime = [
        ("root.a.maximum-application-lifetime", "300"),
        ("root.a.default-application-lifetime", "600"),
    ];
    let text = "Default lifetime 600 can't exceed maximum lifetime 300";
    assert_eq!(refusal(&lifetime), text);
}

#[test]
fn labels_stay_within_the_parents() {
    let labels = |own: &'static str| {
        refusal(&[
            ("root.a.queues", "a1"),
            ("root.a.a1.capacity", "100"),
            ("root.a.accessible-node-labels", "x,y"),
            ("root.a.a1.accessible-node-labels", own),
        ])
    };
    assert_eq!(
        labels("y,z"),
        "Some labels of child queue is not a subset of parent queue, these labels=[z]"
    );
    assert_eq!(
        labels("*"),
        "Parent's accessible queue is not ANY(*), but child's accessible queue is *"
    );
    let expression = [
        ("root.a.accessible-node-labels", "x"),
        ("root.a.default-node-label-expression", "z"),
    ];
    assert!(
        refusal(&expression).starts_with(
            "Invalid default label expression of  queue=root.a doesn't have permission"
        )
    );
    assert!(refusal(&[("root.a.accessible-node-labels.x", "5")]).contains("names no property"));
}

#[test]
fn kinds_of_capacities_are_not_mixed_in_legacy_mode() {
    let mixed = refusal(&[("root.b.capacity", "1w")]);
    assert_eq!(
        mixed,
        "Parent queue 'root' have children queue used mixed of  weight mode, percentage and absolute mode, it is not allowed, please double check, details:{Queue=root.a, label= uses percentage mode}. {Queue=root.b, label= uses weight mode}. {Queue=root.b, label= uses percentage mode}. "
    );
    let amounts = |a1: &'static str, a1_max: &'static str| {
        refusal(&[
            ("root.a.capacity", "[memory=100,vcores=2]"),
            ("root.a.maximum-capacity", "[memory=200,vcores=4]"),
            ("root.b.capacity", "[memory=100,vcores=2]"),
            ("root.a.queues", "a1"),
            ("root.a.a1.capacity", a1),
            ("root.a.a1.maximum-capacity", a1_max),
        ])
    };
    assert_eq!(
        amounts("[memory=150,vcores=2]", "100"),
        "Parent Queues capacity: <memory:100, vCores:2> is less than to its children:<memory:150, vCores:2> for queue:a"
    );
    assert_eq!(
        amounts("[memory=50,vcores=1]", "[memory=300,vcores=5]"),
        "Max resource configuration <memory:300, vCores:5> is greater than parents max value:<memory:200, vCores:4> in queue:root.a.a1"
    );
    assert_eq!(
        amounts("[memory=150,vcores=3]", "[memory=50,vcores=1]"),
        "Min resource configuration <memory:150, vCores:3> is greater than its max value:<memory:50, vCores:1> in queue:root.a.a1"
    );
    let inherited = amounts("[memory=250,vcores=4]", "100");
    assert!(inherited.contains("greater than its max value:<memory:200, vCores:4> in queue"));
    assert_eq!(
        amounts("50", "100"),
        "Parent=root.a: When absolute minResource is used, we must make sure both parent and child all use absolute minResource"
    );
    let labels = [
        ("root.a.capacity", "[memory=100]"),
        ("root.a.accessible-node-labels.x.capacity", "50"),
    ];
    assert!(refusal(&labels).contains("Queue 'root.a' should use either percentage based"));
    // as Hadoop walks: amounts take back the percentages before them, not those after them
    let (percent, amount) = ("50", "[memory=100]");
    let either = |a: &'static str, b: &'static str| {
        try_load(&[
            ("root.queues", "a,b"),
            ("root.a.capacity", a),
            ("root.b.capacity", b),
        ])
    };
    assert!(either(percent, amount).is_ok() && either(amount, percent).is_err());
    // no memory still is a capacity in amounts
    load(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "[memory=100]"),
        ("root.b.capacity", "[memory=0]"),
    ]);
}

#[test]
fn mixed_mode_takes_any_kinds_but_no_weight_as_maximum() {
    let mode = ("legacy-queue-mode.enabled", "false");
    let capacity = ("root.b.capacity", "[memory=50%,vcores=2w]");
    let conf = load(&[
        mode,
        ("root.queues", "a,b"),
        ("root.a.capacity", "5"),
        capacity,
    ]);
    assert!(
        of(&conf, "root.b")
            .default_partition()
            .vector
            .uniform
            .is_none()
    );
    let text = refusal(&[mode, ("root.b.maximum-capacity", "[memory=50%,vcores=2w]")]);
    assert_eq!(
        text,
        "Resource vcores has WEIGHT maximum capacity type, which is not supported"
    );
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    for (key, value, feature) in [
        (
            "root.a.auto-create-child-queue.enabled",
            "true",
            "managed parents",
        ),
        ("heddle.gpu-rounding", "milli", "whole devices"),
        (
            "yarn.resourcemanager.placement-constraints.handler",
            "scheduler",
            "placement constraints",
        ),
        (
            "yarn.resourcemanager.opportunistic-container-allocation.enabled",
            "true",
            "opportunistic",
        ),
        (
            "yarn.scheduler.configuration.store.class",
            "zk",
            "configuration",
        ),
        (
            "yarn.resourcemanager.reservation-system.enable",
            "true",
            "reservation system",
        ),
    ] {
        let text = refusal(&[(key, value)]);
        assert!(
            text.contains(feature) && text.contains("built yet"),
            "{text}"
        );
    }
}

#[test]
fn what_is_ignored_is_remarked() {
    let conf = plain(&[
        ("root.capacity", "50"),
        ("root.c.capacity", "50"),
        ("root.a.acl_submit_jobs", "*"),
        ("root.a.disable_preemption", "yes"),
        ("root.accessible-node-labels", "x"),
        ("per-node-heartbeat.maximum-offswitch-assignments", "0"),
    ]);
    let remarks: Vec<String> = conf.remarks.iter().map(ToString::to_string).collect();
    for part in [
        "root.capacity=50: the capacity of root is always 100",
        "root.queues does not list 'c': ignored",
        "root.a.acl_submit_jobs=*: is no setting of a queue: ignored",
        "root.a.disable_preemption=yes: is neither true nor false",
        "Accessible node labels for root queue will be ignored",
        "(0) < 1. Using 1.",
    ] {
        assert!(
            remarks.iter().any(|r| r.contains(part)),
            "{part}: {remarks:?}"
        );
    }
    assert_eq!(remarks.len(), 6);
    assert_eq!(of(&conf, "root.a").state, None);
}

#[test]
fn states_and_created_parents() {
    let conf = plain(&[("root.a.state", "stopped")]);
    assert_eq!(of(&conf, "root.a").state, Some(ConfiguredState::Stopped));
    let created = BTreeSet::from(["root.a".to_owned()]);
    let context = LoadContext {
        types: &types(),
        calculator: Calculator::Default,
        cluster: Resource::ZERO,
        created_parents: &created,
    };
    let conf = QueuesConf::load(&entries_of(&PLAIN), &context).unwrap();
    assert!(of(&conf, "root.a").is_parent);
}

#[test]
fn too_much_is_refused() {
    let names: Vec<String> = (0..=QUEUES_MAX).map(|n| format!("q{n}")).collect();
    let many = names.join(",");
    assert!(try_load(&[("root.queues", &many)]).is_err());
    let mut deep = Vec::new();
    let mut path = "root".to_owned();
    for _ in 0..40 {
        deep.push((format!("{path}.queues"), "a".to_owned()));
        path.push_str(".a");
        deep.push((format!("{path}.capacity"), "100".to_owned()));
    }
    let deep: Vec<(&str, &str)> = deep.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let problems = try_load(&deep).unwrap_err();
    assert!(problems[0].reason.contains("32 levels"), "{problems:?}");
    for names in ["a,a", "a.b", ""] {
        assert!(try_load(&[("root.queues", names), ("root.a.capacity", "100")]).is_err());
    }
}

#[test]
fn no_text_makes_it_panic() {
    let texts = [
        "",
        " ",
        "[",
        "]",
        "[]",
        "[=]",
        "[a=]",
        "[=,=]",
        "[memory==1]",
        "[memory=9223372036854775807Pi]",
        "[memory=1e999]",
        "w",
        "-w",
        "1ww",
        "-1w",
        "é",
        "[é=1]",
        "memory=é",
        "=",
        ",",
        "memory-mb=99999999999999999999",
        "*",
        "**",
        "0x",
        "-0x8000000000000000",
        "[user=]",
        "[[]]",
        "\u{0}",
        "NaN",
        "-",
        "+",
        ".",
        "1.",
        "..",
    ];
    let keys = [
        "root.queues",
        "root.a.capacity",
        "root.a.maximum-capacity",
        "root.a.accessible-node-labels",
        "root.a.accessible-node-labels.x.capacity",
        "root.a.accessible-node-labels.x.maximum-capacity",
        "root.a.maximum-allocation",
        "root.a.maximum-allocation-mb",
        "root.a.ordering-policy",
        "root.a.state",
        "root.a.user-settings.u.weight",
        "root.a.user-settings..weight",
        "root.a.user-settings",
        "root.a.acl_application_max_priority",
        "root.a.default-node-label-expression",
        "root..queues",
        "root.",
        "root",
        "root.accessible-node-labels.",
        "accessible-node-labels..x",
        "user..max-parallel-apps",
        "multi-node-sorting.policy",
        "multi-node-sorting.policy.names",
        "workflow-priority-mappings",
        "root.a.auto-queue-creation-v2.maximum-queue-depth",
        "queue.auto.refresh.monitoring-interval",
    ];
    for legacy in ["true", "false"] {
        for key in keys {
            for text in texts {
                let base = [
                    ("legacy-queue-mode.enabled", legacy),
                    ("root.queues", "a"),
                    ("root.a.capacity", "100"),
                ];
                let mut all = base.to_vec();
                all.push((key, text));
                let _ = try_load(&all);
            }
        }
    }
}
