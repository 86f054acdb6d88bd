//! Tests of the spellings of GPUs.
//! May touch: tables made here and files in directories of their own.
//! Must not: know devices.

use std::fs;

use super::{gpu_plugin, standard};
use crate::{Configuration, Daemon, LoadOptions, node_resources, resource_types};

#[test]
fn a_spelling_makes_the_standard_lane_and_finds_it() {
    for written in ["GPU", "gpu"] {
        let bound = format!("yarn.resource-types.{written}.maximum-allocation");
        let conf = Configuration::of([("yarn.resource-types", written), (&bound, "4")]);
        let types = resource_types(&conf).unwrap();
        assert_eq!(types.get(2).unwrap().name, "yarn.io/gpu");
        assert_eq!(types.get(2).unwrap().maximum_allocation, 4);
        assert_eq!(types.lane(written), Some(2));
    }
    let conf = Configuration::of([("yarn.resource-types", "yarn.io/gpu")]);
    assert_eq!(resource_types(&conf).unwrap().lane("GPU"), None);
}

#[test]
fn both_spellings_are_one_type_named_twice() {
    let conf = Configuration::of([("yarn.resource-types", "yarn.io/gpu,GPU")]);
    let problem = resource_types(&conf).unwrap_err();
    assert!(problem.text.contains("specified twice"), "{problem}");
}

#[test]
fn a_node_that_offers_the_literal_type_keeps_it() {
    let conf = Configuration::of([
        ("yarn.resource-types", "GPU"),
        ("yarn.nodemanager.resource-type.GPU", "4"),
    ]);
    let types = resource_types(&conf).unwrap();
    assert_eq!(types.get(2).unwrap().name, "GPU");
    assert_eq!(types.gpu_lane(), None);
    assert_eq!(node_resources(&conf, &types).unwrap().0.0[2], 4);
}

#[test]
fn the_resourcemanager_looks_into_node_resources_for_the_literal_type() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, key: &str, value: &str| {
        let text = format!(
            "<configuration><property><name>{key}</name><value>{value}</value></property></configuration>"
        );
        fs::write(dir.path().join(name), text).unwrap();
    };
    let load =
        || Configuration::load(&LoadOptions::new(dir.path(), Daemon::ResourceManager)).unwrap();
    file("resource-types.xml", "yarn.resource-types", "GPU");
    assert_eq!(standard(&load(), "GPU"), "yarn.io/gpu");
    file(
        "node-resources.xml",
        "yarn.nodemanager.resource-type.GPU",
        "4",
    );
    assert_eq!(standard(&load(), "GPU"), "GPU");
    assert!(!load().is_set("yarn.nodemanager.resource-type.GPU"));
    fs::write(dir.path().join("node-resources.xml"), "<configuration>").unwrap();
    assert_eq!(standard(&load(), "GPU"), "yarn.io/gpu");
}

#[test]
fn the_plugin_is_found_under_any_spelling() {
    let plugin = |value| {
        gpu_plugin(&Configuration::of([(
            "yarn.nodemanager.resource-plugins",
            value,
        )]))
        .unwrap()
    };
    assert!(plugin("yarn.io/gpu") && plugin(" x, GPU ") && plugin("gpu"));
    assert!(!plugin("") && !plugin("Gpu") && !plugin("yarn.io/fpga"));
}
