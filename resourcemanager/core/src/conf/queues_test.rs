//! The hierarchy as Hadoop reads or refuses it.
//! May touch: the parser.
//! Must not: know the cluster.

#![allow(clippy::float_cmp, reason = "parsed figures are exact")]

use std::collections::BTreeMap;

use super::*;

fn conf(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(k, v)| (format!("{PREFIX}{k}"), (*v).to_owned()))
        .collect()
}

fn refusal(pairs: &[(&str, &str)]) -> String {
    let problems = QueuesConf::from_lookup(&conf(pairs)).unwrap_err();
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_tree_is_read_in_order_with_defaults() {
    let parsed = QueuesConf::from_lookup(&conf(&[
        ("root.queues", " default , gpu"),
        ("root.default.capacity", "40"),
        ("root.gpu.capacity", "60"),
        ("root.gpu.queues", "train,serve"),
        ("root.gpu.train.capacity", "12.5"),
        ("root.gpu.serve.capacity", "87.5"),
        ("root.gpu.serve.maximum-capacity", "90"),
    ]))
    .unwrap();
    let paths: Vec<&str> = parsed.queues.iter().map(|q| q.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "root",
            "root.default",
            "root.gpu",
            "root.gpu.train",
            "root.gpu.serve"
        ]
    );
    assert_eq!(parsed.queues[4].parent, Some(2));
    assert_eq!(parsed.queues[4].maximum_capacity, 0.9);
    assert_eq!(parsed.queues[3].maximum_capacity, 1.0);
    assert_eq!(parsed.queues[3].am_percent, 0.1);
    assert_eq!(parsed.maximum_applications, 10_000);
}

#[test]
fn faults_are_refused_with_hadoops_texts() {
    let missing = "Queue configuration missing child queue names for root";
    assert!(refusal(&[]).contains(missing));
    let sum = "Illegal capacity sum of 0.9 for children of queue root for label=. It should be either 0 or 1.0";
    assert!(refusal(&[("root.queues", "a"), ("root.a.capacity", "90")]).contains(sum));
    let amounts = refusal(&[("root.queues", "a"), ("root.a.capacity", "[memory=1024]")]);
    assert!(amounts.contains("absolute amounts"), "{amounts}");
    assert!(!amounts.contains("Illegal capacity sum"), "{amounts}");
    let range = refusal(&[("root.queues", "a"), ("root.a.capacity", "101")]);
    assert!(
        range.contains("Illegal capacity of 101.0 for queue root.a"),
        "{range}"
    );
    let negative = refusal(&[("root.queues", "a"), ("root.a.capacity", "-1")]);
    assert!(
        negative.contains("Illegal capacity of -1.0 for queue root.a"),
        "{negative}"
    );
    let number = refusal(&[("root.queues", "a"), ("root.a.capacity", "100%")]);
    assert!(number.contains("For input string: \"100%\""), "{number}");
    let state = refusal(&[
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.state", "STOPPED"),
        ("root.a.state", "RUNNING"),
    ]);
    assert!(
        state.contains("The parent queue:root cannot be STOPPED"),
        "{state}"
    );
}

#[test]
fn what_is_not_built_is_refused_by_name_and_never_ignored() {
    let base = [("root.queues", "a"), ("root.a.capacity", "100")];
    for (key, value, feature) in [
        ("root.a.ordering-policy", "fair", "leaf ordering policies"),
        ("root.a.accessible-node-labels", "x", "node labels"),
        (
            "root.a.accessible-node-labels.x.capacity",
            "100",
            "node labels",
        ),
        ("root.a.priority", "1", "queue priorities"),
        ("queue-mappings", "u:a:a", "queue mappings"),
        ("root.a.user-settings.bob.weight", "2", "user weights"),
        (
            "root.auto-queue-creation-v2.enabled",
            "true",
            "auto-created queues",
        ),
    ] {
        let mut pairs = base.to_vec();
        pairs.push((key, value));
        let text = refusal(&pairs);
        assert!(
            text.contains(feature) && text.contains(key),
            "{key}: {text}"
        );
    }
    let mut harmless = base.to_vec();
    harmless.extend([
        ("root.a.ordering-policy", "fifo"),
        ("root.ordering-policy", "utilization"),
        ("root.a.accessible-node-labels", "*"),
        ("root.a.maximum-application-lifetime", "-1"),
        ("root.a.acl_submit_applications", "alice"),
        ("queue-mappings", ""),
        ("root.default.unknown", "1"),
    ]);
    assert!(QueuesConf::from_lookup(&conf(&harmless)).is_ok());
}
