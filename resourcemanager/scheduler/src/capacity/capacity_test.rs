//! Shares of small trees, with figures that Hadoop's own tests expect.
//! May touch: the configuration's reader.
//! Must not: read files.

use std::collections::BTreeMap;

use yarn_types::{GPU, MILLI, Resource, ResourceType, ResourceTypes};

use super::*;
use crate::conf::{PREFIX, QueuesConf, SchedConf};

fn with_gpu() -> ResourceTypes {
    let mut types: Vec<ResourceType> = ResourceTypes::memory_and_vcores().iter().cloned().collect();
    types.push(ResourceType {
        name: GPU.to_owned(),
        units: String::new(),
        minimum_allocation: 0,
        maximum_allocation: 8,
    });
    ResourceTypes::new(types).unwrap()
}

struct Tree {
    conf: QueuesConf,
    types: ResourceTypes,
    calculator: Calculator,
    labels: Vec<&'static str>,
    totals: Vec<Resource>,
}

impl Tree {
    fn new(entries: &[(&str, &str)], total: Resource) -> Self {
        let types = with_gpu();
        let calculator = Calculator::Default;
        let conf: BTreeMap<String, String> = entries
            .iter()
            .map(|(k, v)| (format!("{PREFIX}{k}"), (*v).to_owned()))
            .collect();
        let conf = SchedConf::from_lookup(&conf, types.clone(), calculator).unwrap();
        Self {
            conf: conf.queues,
            types,
            calculator,
            labels: vec![""],
            totals: vec![total],
        }
    }

    fn outcome(&self, prior: &[Vec<Shares>]) -> Outcome {
        let caps: Vec<QueueCaps<'_>> = self
            .conf
            .queues
            .iter()
            .enumerate()
            .map(|(at, conf)| QueueCaps {
                conf,
                parent: conf.parent,
                dynamic: false,
                prior: prior.get(at).map_or(&[], Vec::as_slice),
            })
            .collect();
        let partitions = Partitions {
            names: &self.labels,
            totals: &self.totals,
        };
        let legacy = self.conf.cluster.legacy_mode;
        compute(&caps, legacy, partitions, self.calculator, &self.types)
    }

    fn at(&self, path: &str) -> usize {
        self.conf
            .queues
            .iter()
            .position(|q| q.path == path)
            .unwrap()
    }

    fn share(&self, path: &str, label: usize) -> Shares {
        self.outcome(&[]).shares[self.at(path)][label]
    }

    fn warnings(&self) -> Vec<(&'static str, &str)> {
        let warnings = self.outcome(&[]).warnings;
        let path = |w: &Warning| self.conf.queues[w.queue].path.as_str();
        warnings
            .iter()
            .map(|w| (w.kind.as_str(), path(w)))
            .collect()
    }
}

fn near(a: f32, b: f32) -> bool {
    (a - b).abs() < 1e-5
}

#[test]
fn percentages_multiply_down_the_path() {
    let tree = Tree::new(
        &[
            ("root.queues", "a,c"),
            ("root.a.capacity", "30"),
            ("root.c.capacity", "70"),
            ("root.c.maximum-capacity", "70"),
            ("root.c.queues", "c1,c2"),
            ("root.c.c1.capacity", "50"),
            ("root.c.c1.maximum-capacity", "55"),
            ("root.c.c2.capacity", "50"),
            ("root.c.c1.queues", "c11,c12"),
            ("root.c.c1.c11.capacity", "55"),
            ("root.c.c1.c12.capacity", "45"),
            ("root.c.c1.c12.maximum-capacity", "70"),
        ],
        Resource::new(10_000, 100),
    );
    let c12 = tree.share("root.c.c1.c12", 0);
    assert!(near(c12.abs_capacity, 0.1575) && near(c12.abs_max_capacity, 0.2695));
    // 0.45 × 0.5 × 0.7 is a little less as a float, and cut off
    assert_eq!(c12.effective_min, Resource::new(1574, 15));
    let a = tree.share("root.a", 0);
    assert!(near(a.abs_max_capacity, 1.0));
    assert_eq!(a.effective_max, Resource::new(10_000, 100));
}

#[test]
fn labels_have_shares_of_their_own() {
    let mut tree = Tree::new(
        &[
            ("root.queues", "a,b"),
            ("root.a.capacity", "10"),
            ("root.b.capacity", "90"),
            ("root.a.accessible-node-labels", "red"),
            ("root.a.accessible-node-labels.red.capacity", "100"),
            ("root.a.accessible-node-labels.red.maximum-capacity", "50"),
        ],
        Resource::new(1000, 10),
    );
    tree.labels.push("red");
    tree.totals.push(Resource::new(4000, 40));
    let a = tree.share("root.a", 1);
    assert!(near(a.abs_capacity, 1.0) && near(a.abs_max_capacity, 0.5));
    assert_eq!(a.effective_min, Resource::new(4000, 40));
    assert_eq!(a.effective_max, Resource::new(2000, 20));
    assert_eq!(tree.share("root.b", 1).effective_max, Resource::ZERO);
    assert_eq!(tree.share("root", 1).effective_max, tree.totals[1]);
}

#[test]
fn weights_share_by_their_sum_and_a_created_queue_counts_one() {
    let tree = Tree::new(
        &[
            ("root.queues", "a,b"),
            ("root.a.capacity", "1w"),
            ("root.b.capacity", "3w"),
            ("root.b.auto-queue-creation-v2.enabled", "true"),
        ],
        Resource::new(1_228_800, 1200),
    );
    let b = tree.share("root.b", 0);
    assert!(near(b.normalized_weight, 0.75) && near(b.abs_capacity, 0.75));
    assert!(near(b.capacity, 0.0) && near(b.weight, 3.0));

    let root = &tree.conf.queues[0];
    let made = tree
        .conf
        .created_queue(root, "root.c", false, &tree.types, tree.calculator)
        .unwrap();
    let mut caps: Vec<QueueCaps<'_>> = Vec::new();
    for conf in &tree.conf.queues {
        caps.push(QueueCaps {
            conf,
            parent: conf.parent,
            dynamic: false,
            prior: &[],
        });
    }
    caps.push(QueueCaps {
        conf: &made,
        parent: Some(0),
        dynamic: true,
        prior: &[],
    });
    let partitions = Partitions {
        names: &[""],
        totals: &tree.totals,
    };
    let out = compute(&caps, true, partitions, tree.calculator, &tree.types);
    let c = out.shares[3][0];
    assert!(near(c.weight, 1.0) && near(c.abs_capacity, 0.2));
    assert_eq!(c.effective_min.memory_mb(), 245_760);
    assert!(
        near(out.shares[2][0].abs_capacity, 0.6),
        "siblings make room"
    );
}

#[test]
fn a_normalized_weight_survives_a_change_to_percentages() {
    let total = Resource::new(102_400, 100);
    let weights = [("root.a.capacity", "1w"), ("root.b.capacity", "3w")];
    let percent = [("root.a.capacity", "50"), ("root.b.capacity", "50")];
    let with = |caps: [(&'static str, &'static str); 2]| {
        Tree::new(&[("root.queues", "a,b"), caps[0], caps[1]], total)
    };
    let before = with(weights).outcome(&[]).shares;
    let b = with(percent).outcome(&before).shares[2][0];
    assert!(near(b.capacity, 0.5) && near(b.normalized_weight, 0.75));
    assert!(near(b.abs_capacity, 0.75));
}

#[test]
fn amounts_stand_as_written_and_maxima_come_from_above() {
    let entries = [
        ("root.queues", "a,c"),
        ("root.a.queues", "a1,a2"),
        ("root.a.capacity", "[memory=102400,vcores=10,yarn.io/gpu=4]"),
        (
            "root.a.maximum-capacity",
            "[memory=204800,vcores=30,yarn.io/gpu=8]",
        ),
        (
            "root.a.a1.capacity",
            "[memory=51200,vcores=5,yarn.io/gpu=3]",
        ),
        ("root.a.a2.capacity", "[memory=51200,vcores=5]"),
        ("root.c.capacity", "[memory=25600,vcores=5]"),
    ];
    let gpus = |r: Resource, n: i64| r.with(2, n * MILLI);
    let mut tree = Tree::new(&entries, gpus(Resource::new(256_000, 40), 8));
    let a1 = tree.share("root.a.a1", 0);
    assert_eq!(a1.effective_min, gpus(Resource::new(51_200, 5), 3));
    assert_eq!(a1.effective_max, gpus(Resource::new(204_800, 30), 8));
    assert!(near(a1.capacity, 0.5) && near(a1.abs_capacity, 0.2));
    let c = tree.share("root.c", 0);
    assert_eq!(c.effective_max, tree.totals[0], "no maximum: the parent's");

    // a cluster of half the sum: each resource by its own factor, whole GPUs, cut off
    tree.totals[0] = gpus(Resource::new(64_000, 15), 3);
    let a = tree.share("root.a", 0);
    assert_eq!(a.effective_min, gpus(Resource::new(51_200, 10), 3));
    assert_eq!(
        a.effective_max, tree.totals[0],
        "never more than the parent"
    );
    let a1 = tree.share("root.a.a1", 0);
    assert_eq!(a1.effective_min, gpus(Resource::new(25_600, 5), 3));
    // vcores of the whole tree suffice
    assert_eq!(
        tree.share("root.c", 0).effective_min,
        Resource::new(12_800, 5)
    );
}

fn mixed(entries: &[(&'static str, &'static str)]) -> Tree {
    let mut all = vec![
        ("legacy-queue-mode.enabled", "false"),
        ("root.queues", "a,b"),
        ("root.a.queues", "a1,a2"),
        ("root.a.a1.queues", "a11,a12"),
    ];
    all.extend(entries);
    Tree::new(&all, Resource::new(16_384, 16))
}

#[test]
fn mixed_amounts_come_before_percentages_before_weights() {
    let tree = mixed(&[
        ("root.queues", "a,b,c"),
        ("root.a.capacity", "[memory=30.0%, vcores=6.0w]"),
        ("root.a.a1.capacity", "[memory=1.0w, vcores=4]"),
        ("root.a.a1.a11.capacity", "[memory=35.0%, vcores=25.0%]"),
        ("root.a.a1.a12.capacity", "[memory=65.0%, vcores=75.0%]"),
        ("root.a.a2.capacity", "[memory=3.0w, vcores=100.0%]"),
        ("root.b.capacity", "[memory=8095, vcores=30.0%]"),
        ("root.b.b1.capacity", "[memory=5.0w, vcores=3]"),
        ("root.c.capacity", "[memory=3.0w, vcores=4]"),
        ("root.b.queues", "b1"),
    ]);
    for (path, memory, vcores) in [
        ("root.a", 2486, 9),
        ("root.a.a1", 621, 4),
        ("root.a.a1.a11", 217, 1),
        ("root.a.a1.a12", 403, 3),
        ("root.a.a2", 1865, 5),
        ("root.b", 8095, 3),
        ("root.b.b1", 8095, 3),
        ("root.c", 5803, 4),
    ] {
        let min = tree.share(path, 0).effective_min;
        assert_eq!(min, Resource::new(memory, vcores), "{path}");
    }
}

#[test]
fn mixed_maxima_are_cut_with_warnings() {
    let tree = mixed(&[
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.a1.capacity", "100"),
        ("root.a.a1.a11.capacity", "[memory=50.0%, vcores=100.0%]"),
        ("root.a.a1.a12.capacity", "[memory=50.0%, vcores=0.0%]"),
        ("root.a.a1.maximum-capacity", "[memory=8192, vcores=100.0%]"),
        (
            "root.a.a1.a11.maximum-capacity",
            "[memory=16384, vcores=10.0%]",
        ),
    ]);
    let a11 = tree.share("root.a.a1.a11", 0);
    assert_eq!(a11.effective_min, Resource::new(4096, 1));
    assert_eq!(a11.effective_max, Resource::new(8192, 1));
    let a12 = tree.share("root.a.a1.a12", 0);
    assert_eq!(a12.effective_min, Resource::new(4096, 0));
    assert_eq!(a12.effective_max, Resource::new(8192, 16));
    let warnings = tree.warnings();
    for kind in [
        "QUEUE_MAX_RESOURCE_EXCEEDS_PARENT",
        "QUEUE_EXCEEDS_MAX_RESOURCE",
    ] {
        assert!(warnings.contains(&(kind, "root.a.a1.a11")), "{kind}");
    }
}

#[test]
fn mixed_kinds_of_minimum_and_maximum_may_differ() {
    let mut tree = mixed(&[
        ("root.a.capacity", "[memory=50.0%, vcores=8]"),
        ("root.b.capacity", "[memory=6.0w, vcores=100.0%]"),
        ("root.a.queues", "a1"),
        ("root.a.a1.capacity", "100"),
        ("root.a.a1.a11.capacity", "50"),
        ("root.a.a1.a12.capacity", "50"),
        ("root.a.maximum-capacity", "[memory=16384, vcores=80.0%]"),
        ("root.b.maximum-capacity", "[memory=16384, vcores=8]"),
    ]);
    tree.types = ResourceTypes::memory_and_vcores();
    let a = tree.share("root.a", 0);
    assert_eq!(a.effective_min, Resource::new(8192, 8));
    assert_eq!(a.effective_max, Resource::new(16_384, 12));
    assert_eq!(
        tree.share("root.b", 0).effective_max,
        Resource::new(16_384, 8)
    );
    assert_eq!(tree.warnings(), []);
}

#[test]
fn mixed_without_memory_is_nothing() {
    let tree = mixed(&[
        ("root.a.capacity", "[memory=100.0%, vcores=6.0w]"),
        ("root.b.capacity", "[memory=16384, vcores=8]"),
        ("root.a.a1.capacity", "100"),
        ("root.a.a1.a11.capacity", "50"),
        ("root.a.a1.a12.capacity", "50"),
    ]);
    assert_eq!(tree.share("root.a", 0).effective_min, Resource::ZERO);
    assert_eq!(
        tree.share("root.b", 0).effective_min,
        Resource::new(16_384, 8)
    );
    let warnings = tree.warnings();
    assert!(warnings.contains(&("QUEUE_ZERO_RESOURCE", "root.a")));
    assert!(warnings.contains(&("BRANCH_UNDERUTILIZED", "root")));
}

#[test]
fn mixed_gpus_are_shared_as_whole_devices() {
    let mut tree = mixed(&[
        ("root.a.capacity", "[memory=50%,vcores=50%,yarn.io/gpu=30%]"),
        ("root.b.capacity", "[memory=50%,vcores=50%,yarn.io/gpu=1w]"),
    ]);
    tree.totals[0] = Resource::new(16_384, 16).with(2, 8 * MILLI);
    assert_eq!(tree.share("root.a", 0).effective_min.0[2], 2 * MILLI);
    assert_eq!(tree.share("root.b", 0).effective_min.0[2], 6 * MILLI);
}

#[test]
fn an_empty_cluster_gives_no_nonsense() {
    for legacy in ["true", "false"] {
        let mut tree = Tree::new(
            &[
                ("legacy-queue-mode.enabled", legacy),
                ("root.queues", "a,b"),
                ("root.a.capacity", "1w"),
                ("root.b.capacity", "3w"),
            ],
            Resource::ZERO,
        );
        for calculator in [Calculator::Default, Calculator::Dominant] {
            tree.calculator = calculator;
            for shares in tree.outcome(&[]).shares.concat() {
                assert!(shares.effective_max.is_zero());
                assert!(!shares.capacity.is_nan() && !shares.abs_capacity.is_nan());
            }
        }
    }
}
