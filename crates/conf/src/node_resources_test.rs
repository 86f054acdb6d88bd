//! Tests of what a node offers.
//! May touch: tables made here.
//! Must not: look at the hardware.

use super::{NodeAmount, node_resources};
use crate::{Configuration, resource_types};

fn offered(pairs: &[(&str, &str)]) -> Result<(String, NodeAmount, NodeAmount), String> {
    let types = [
        ("yarn.resource-types", "yarn.io/gpu,disk"),
        ("yarn.resource-types.disk.units", "Mi"),
    ];
    let conf = Configuration::of(types.into_iter().chain(pairs.iter().copied()));
    let types = resource_types(&conf).unwrap();
    let (resource, memory, vcores) = node_resources(&conf, &types).map_err(|p| p.to_string())?;
    Ok((types.show(resource), memory, vcores))
}

#[test]
fn a_silent_node_offers_hadoops_defaults() {
    let (shown, memory, _) = offered(&[]).unwrap();
    assert_eq!(shown, "<memory:8192, vCores:8>");
    assert_eq!(memory, NodeAmount::Configured(8192));
}

#[test]
fn amounts_are_converted_to_the_unit_of_the_type() {
    let (shown, ..) = offered(&[
        ("yarn.nodemanager.resource.memory-mb", "4096"),
        ("yarn.nodemanager.resource-type.yarn.io/gpu", "4"),
        ("yarn.nodemanager.resource-type.disk", "5Gi"),
        ("yarn.nodemanager.resource-type.vcores", "2"),
    ])
    .unwrap();
    assert_eq!(
        shown,
        "<memory:4096, vCores:2, yarn.io/gpu: 4, disk: 5120Mi>"
    );
}

#[test]
fn detection_is_left_to_the_node() {
    let (shown, memory, vcores) = offered(&[
        (
            "yarn.nodemanager.resource.detect-hardware-capabilities",
            "true",
        ),
        ("yarn.nodemanager.resource.cpu-vcores", "3"),
    ])
    .unwrap();
    assert_eq!(shown, "<memory:0, vCores:3>");
    assert_eq!(memory, NodeAmount::Detect);
    assert_eq!(vcores, NodeAmount::Configured(3));
}

#[test]
fn bad_amounts_name_their_key() {
    for (key, value, text) in [
        (
            "yarn.nodemanager.resource-type.nope",
            "1",
            "Unknown resource 'nope'",
        ),
        (
            "yarn.nodemanager.resource-type.yarn.io/gpu",
            "two",
            "is not an amount",
        ),
        (
            "yarn.nodemanager.resource-type.yarn.io/gpu",
            "-1",
            "is not an amount",
        ),
        (
            "yarn.nodemanager.resource-type.disk",
            "5Q",
            "Unknown unit 'Q'",
        ),
        (
            "yarn.nodemanager.resource-type.disk",
            "5G1",
            "contains non alphabet characters",
        ),
        (
            "yarn.nodemanager.resource.memory-mb",
            "0",
            "must be above 0",
        ),
    ] {
        let error = offered(&[(key, value)]).unwrap_err();
        assert!(error.contains(key) && error.contains(text), "{error}");
    }
}
