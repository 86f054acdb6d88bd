//! Tests of the gate: what is refused, warned of, reported.
//! May touch: tables made here.
//! Must not: start anything.

use super::{Gate, check};
use crate::{Configuration, Daemon, Problem};

fn rm(pairs: &[(&str, &str)]) -> Gate {
    check(
        Daemon::ResourceManager,
        &Configuration::of(pairs.iter().copied()),
    )
}

fn nm(pairs: &[(&str, &str)]) -> Gate {
    check(
        Daemon::NodeManager,
        &Configuration::of(pairs.iter().copied()),
    )
}

#[test]
fn hadoops_defaults_pass_without_a_word() {
    assert_eq!(rm(&[]), Gate::default());
    assert_eq!(nm(&[]), Gate::default());
}

#[test]
fn durations_have_units_where_hadoop_takes_them() {
    let am = "yarn.am.liveness-monitor.expiry-interval-ms";
    assert_eq!(rm(&[(am, "10m")]), Gate::default());
    assert_eq!(rm(&[(am, "ten")]).refused.len(), 1);
    let nm_key = "yarn.nm.liveness-monitor.expiry-interval-ms";
    assert_eq!(rm(&[(nm_key, "10m")]).refused.len(), 1);
    let gpu = "yarn.nodemanager.resource-plugins.gpu.discovery-timeout";
    assert_eq!(nm(&[(gpu, "2 s")]).refused.len(), 1);
}

#[test]
fn what_weakens_safety_is_refused_by_key() {
    for (key, value) in [
        ("hadoop.security.authentication", "kerberos"),
        ("hadoop.security.authorization", "true"),
        ("hadoop.rpc.protection", "authentication,privacy"),
        ("yarn.http.policy", "HTTPS_ONLY"),
        ("hadoop.http.authentication.type", "kerberos"),
        (
            "hadoop.http.authentication.simple.anonymous.allowed",
            "false",
        ),
        (
            "hadoop.http.filter.initializers",
            "org.apache.hadoop.http.lib.StaticUserWebFilter,org.example.Auth",
        ),
        ("yarn.authorization-provider", "org.example.Ranger"),
    ] {
        for gate in [rm(&[(key, value)]), nm(&[(key, value)])] {
            assert_eq!(gate.refused.len(), 1, "{key}: {gate:?}");
            assert_eq!(gate.refused[0].key, key);
            assert!(
                gate.warnings.is_empty() && gate.without_effect.is_empty(),
                "{gate:?}"
            );
        }
    }
}

#[test]
fn what_changes_scheduling_is_refused_by_the_rm_alone() {
    for (key, value) in [
        (
            "yarn.resourcemanager.scheduler.class",
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
        ),
        ("yarn.scheduler.configuration.store.class", "zk"),
        (
            "yarn.resourcemanager.configuration.provider-class",
            "org.apache.hadoop.yarn.FileSystemBasedConfigurationProvider",
        ),
    ] {
        assert_eq!(rm(&[(key, value)]).refused.len(), 1, "{key}");
        assert_eq!(nm(&[(key, value)]), Gate::default(), "{key}");
    }
}

#[test]
fn plugins_but_gpus_are_refused_in_hadoops_words_if_it_knows_none() {
    let key = "yarn.nodemanager.resource-plugins";
    let refused = nm(&[(key, "yarn.io/tpu")]).refused;
    assert_eq!(
        refused[0].text,
        "Trying to initialize resource plugin with name=yarn.io/tpu, it is not supported, list of supported plugins:,[yarn.io/gpu, yarn.io/fpga]"
    );
    let types = ("yarn.resource-types", "yarn.io/gpu");
    assert_eq!(nm(&[(key, "yarn.io/gpu"), types]), Gate::default());
    let refused = nm(&[(key, "yarn.io/gpu,yarn.io/fpga"), types]).refused;
    assert!(refused[0].text.contains("not built"), "{refused:?}");
    assert!(rm(&[(key, "yarn.io/fpga")]).refused.is_empty());
}

#[test]
fn gpus_that_no_type_names_are_refused() {
    let refused = nm(&[("yarn.nodemanager.resource-plugins", "yarn.io/gpu")]).refused;
    assert!(
        refused[0].text.contains("resource-types.xml"),
        "{refused:?}"
    );
}

#[test]
fn another_spelling_of_gpu_is_one_warning_with_the_standard_one() {
    let both = [
        ("yarn.resource-types", "GPU"),
        ("yarn.nodemanager.resource-plugins", "gpu"),
    ];
    for gate in [nm(&both), rm(&both)] {
        assert!(gate.refused.is_empty(), "{gate:?}");
        let of_spelling = |p: &&Problem| p.text.contains("standard spelling");
        assert_eq!(
            gate.warnings.iter().filter(of_spelling).count(),
            1,
            "{gate:?}"
        );
    }
    let literal = [both[0], ("yarn.nodemanager.resource-type.GPU", "4")];
    assert_eq!(nm(&literal), Gate::default());
}

#[test]
fn a_feature_that_is_not_built_is_one_warning() {
    let gate = nm(&[
        (
            "yarn.nodemanager.aux-services",
            "mapreduce_shuffle,spark_shuffle",
        ),
        (
            "yarn.nodemanager.aux-services.spark_shuffle.class",
            "org.example.X",
        ),
    ]);
    let said: Vec<String> = gate.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "-D: yarn.nodemanager.aux-services = 'mapreduce_shuffle,spark_shuffle': auxiliary services are Java classes and are not run: a container that asks for one gets InvalidAuxServiceException"
        ]
    );
    assert!(gate.without_effect.is_empty() && gate.unknown.is_empty());
    let timeline = rm(&[
        ("yarn.timeline-service.enabled", "true"),
        ("yarn.system-metrics-publisher.enabled", "true"),
    ]);
    assert_eq!(timeline.warnings.len(), 1);
    for key in [
        "yarn.resourcemanager.recovery.enabled",
        "yarn.resourcemanager.ha.enabled",
    ] {
        assert_eq!(rm(&[(key, "true")]).warnings.len(), 1, "{key}");
    }
    for (key, value) in [
        ("yarn.nodemanager.recovery.enabled", "true"),
        ("yarn.log-aggregation-enable", "true"),
        (
            "yarn.nodemanager.runtime.linux.allowed-runtimes",
            "default,docker",
        ),
    ] {
        assert_eq!(nm(&[(key, value)]).warnings.len(), 1, "{key}");
    }
}

#[test]
fn known_keys_without_effect_are_told_from_unknown_ones() {
    let gate = rm(&[
        ("yarn.resourcemanager.client.thread-count", "7"),
        // Hadoop's default: no effect is no news
        ("yarn.resourcemanager.scheduler.client.thread-count", "50"),
        ("yarn.nodemanager.container-manager.thread-count", "7"),
        ("mapreduce.map.memory.mb", "1"),
        ("yarn.resourcemanager.hostnam", "h"),
    ]);
    assert_eq!(
        gate.without_effect,
        ["yarn.resourcemanager.client.thread-count"]
    );
    assert_eq!(gate.unknown, ["yarn.resourcemanager.hostnam"]);
    assert!(gate.refused.is_empty() && gate.warnings.is_empty());
}

#[test]
fn values_are_read_before_anything_starts() {
    for (key, value) in [
        ("yarn.nm.liveness-monitor.expiry-interval-ms", "10s"),
        ("yarn.resourcemanager.address", "h:port"),
        ("yarn.scheduler.capacity.root.queues", "${a}"),
        ("yarn.resource-types", "memory"),
        ("yarn.scheduler.maximum-allocation-mb", "512"),
        ("yarn.scheduler.minimum-allocation-vcores", "0"),
        ("yarn.resourcemanager.am.max-attempts", "0"),
        ("yarn.nm.liveness-monitor.expiry-interval-ms", "10"),
        ("yarn.scheduler.capacity.resource-calculator", "x"),
    ] {
        let gate = rm(&[(key, value), ("a", "${b}"), ("b", "${a}")]);
        assert!(!gate.refused.is_empty(), "{key}");
    }
    let text = &rm(&[("yarn.scheduler.maximum-allocation-mb", "512")]).refused[0].text;
    assert_eq!(
        text,
        "Invalid resource scheduler memory allocation configuration, yarn.scheduler.minimum-allocation-mb=1024, yarn.scheduler.maximum-allocation-mb=512, min and max should be greater than 0, max should be no smaller than min."
    );
    let odd = nm(&[("yarn.nodemanager.vmem-check-enabled", "yes")]);
    assert!(odd.refused.is_empty());
    assert!(odd.warnings[0].text.contains("neither true nor false"));
    assert_eq!(
        rm(&[("yarn.nodemanager.resource.memory-mb", "8g")]).refused,
        []
    );
    assert_eq!(
        nm(&[("yarn.nodemanager.resource.memory-mb", "8g")])
            .refused
            .len(),
        1
    );
}
