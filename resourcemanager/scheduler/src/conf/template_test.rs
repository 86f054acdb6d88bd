//! Settings of created queues.
//! May touch: the configuration's reader.
//! Must not: read files.

use super::*;
use crate::conf::{CapacityKind, CapacityVector, SchedConf};

fn load(pairs: &[(&str, &str)]) -> QueuesConf {
    let mut conf: BTreeMap<String, String> = BTreeMap::new();
    for (key, value) in pairs {
        conf.insert(format!("{PREFIX}{key}"), (*value).to_owned());
    }
    let types = ResourceTypes::memory_and_vcores();
    let conf = SchedConf::from_lookup(&conf, types, Calculator::Default);
    conf.unwrap().queues
}

fn create(conf: &QueuesConf, parent: &str, path: &str, is_parent: bool) -> QueueConf {
    let parent = conf.queues.iter().find(|q| q.path == parent).unwrap();
    let types = ResourceTypes::memory_and_vcores();
    conf.created_queue(parent, path, is_parent, &types, Calculator::Default)
        .unwrap()
}

const BASE: [(&str, &str); 5] = [
    ("root.queues", "a,b"),
    ("root.a.capacity", "1w"),
    ("root.b.capacity", "1w"),
    ("root.a.auto-queue-creation-v2.enabled", "true"),
    ("user-limit-factor", "3"),
];

fn with(more: &[(&'static str, &'static str)]) -> QueuesConf {
    let mut all = BASE.to_vec();
    all.extend(more);
    load(&all)
}

#[test]
fn a_created_leaf_weighs_one_and_has_no_limits_of_its_own() {
    let conf = with(&[]);
    assert!(
        conf.queues
            .iter()
            .any(|q| q.path == "root.a" && q.is_parent)
    );
    let leaf = create(&conf, "root.a", "root.a.x", false);
    let one = CapacityVector::uniform(CapacityKind::Weight, 1.0);
    assert_eq!(leaf.default_partition().vector, one);
    assert_eq!((leaf.user_limit_factor, leaf.am_percent(0)), (-1.0, 1.0));
    assert!(!leaf.auto_create.enabled && leaf.auto_create.auto_removal);
    let parent = create(&conf, "root.a", "root.a.y", true);
    assert!(parent.is_parent && parent.auto_create.enabled);
    assert!((parent.user_limit_factor - 3.0).abs() < f32::EPSILON);
}

#[test]
fn explicit_entries_win_over_special_templates_over_common_over_wildcards() {
    let conf = with(&[
        ("root.*.auto-queue-creation-v2.template.capacity", "2w"),
        (
            "root.*.auto-queue-creation-v2.template.maximum-applications",
            "2",
        ),
        ("root.*.auto-queue-creation-v2.template.priority", "2"),
        ("root.a.auto-queue-creation-v2.template.capacity", "3w"),
        (
            "root.a.auto-queue-creation-v2.template.user-limit-factor",
            "4",
        ),
        ("root.a.auto-queue-creation-v2.leaf-template.capacity", "5w"),
        (
            "root.a.auto-queue-creation-v2.parent-template.capacity",
            "6w",
        ),
        (
            "root.a.auto-queue-creation-v2.template.maximum-applications",
            "7",
        ),
        ("root.a.x.priority", "9"),
    ]);
    let x = create(&conf, "root.a", "root.a.x", false);
    let weight = |q: &QueueConf| q.default_partition().weight;
    assert_eq!(
        (weight(&x), x.priority, x.maximum_applications),
        (5.0, 9, Some(7))
    );
    assert!((x.user_limit_factor - 4.0).abs() < f32::EPSILON);
    let y = create(&conf, "root.a", "root.a.y", true);
    assert_eq!((weight(&y), y.priority), (6.0, 2));
    let z = create(&conf, "root.b", "root.b.z", false);
    assert_eq!(z.maximum_applications, Some(2));
    assert!((weight(&z) - 2.0).abs() < f32::EPSILON);
}

#[test]
fn templates_of_deeper_queues_may_be_wild_on_several_levels() {
    let conf = with(&[("root.*.*.auto-queue-creation-v2.template.capacity", "8w")]);
    let y = create(&conf, "root.a", "root.a.y", true);
    let types = ResourceTypes::memory_and_vcores();
    let leaf = conf
        .created_queue(&y, "root.a.y.l", false, &types, Calculator::Default)
        .unwrap();
    assert!((leaf.default_partition().weight - 8.0).abs() < f32::EPSILON);
}

#[test]
fn labels_come_with_the_template() {
    let conf = with(&[(
        "root.a.auto-queue-creation-v2.template.accessible-node-labels.red.capacity",
        "2w",
    )]);
    let leaf = create(&conf, "root.a", "root.a.x", false);
    assert_eq!(leaf.label("red").map(|l| l.weight), Some(2.0));
}

#[test]
fn a_template_that_cannot_be_used_is_refused_when_a_queue_is_made() {
    let conf = with(&[("root.a.auto-queue-creation-v2.template.capacity", "10001w")]);
    let parent = conf.queues.iter().find(|q| q.path == "root.a").unwrap();
    let types = ResourceTypes::memory_and_vcores();
    let made = conf.created_queue(parent, "root.a.x", false, &types, Calculator::Default);
    assert!(
        made.unwrap_err()[0]
            .reason
            .contains("Illegal weight=10001.0")
    );
}
