//! Texts of capacities and amounts.
//! May touch: the module under test.
//! Must not: read files.

use super::*;
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

fn lanes(text: &str) -> Vec<(CapacityKind, f64)> {
    let vector = parse_vector(Some(text), false, &types()).unwrap();
    if vector.is_empty {
        return Vec::new();
    }
    vector.lanes[..3]
        .iter()
        .map(|l| (l.kind, l.value))
        .collect()
}

#[test]
fn a_number_or_a_weight_counts_for_every_lane() {
    use CapacityKind::{Percent, Weight};
    assert_eq!(lanes("50.0"), [(Percent, 50.0); 3]);
    assert_eq!(lanes("6w"), [(Weight, 6.0); 3]);
    let root = parse_vector(Some("50.0"), true, &types()).unwrap();
    assert_eq!(root, CapacityVector::uniform(Percent, 100.0));
}

#[test]
fn pairs_have_a_kind_each_and_gpus_count_in_milli() {
    use CapacityKind::{Absolute, Percent, Weight};
    let gpus = 10.0 * MILLI as f64;
    assert_eq!(
        lanes("[memory=12Gi, vcores=6, yarn.io/gpu=10]"),
        [(Absolute, 12288.0), (Absolute, 6.0), (Absolute, gpus)]
    );
    assert_eq!(
        lanes("[memory=12Gi, vcores=6]"),
        [(Absolute, 12288.0), (Absolute, 6.0), (Absolute, 0.0)]
    );
    assert_eq!(
        lanes("[memory=1024, vcores=50.0%, yarn.io/gpu=6.0w]"),
        [(Absolute, 1024.0), (Percent, 50.0), (Weight, 6.0)]
    );
}

#[test]
fn what_fits_no_form_is_nothing() {
    for text in [
        "50nonexistingsuffix",
        "[memory-100,vcores-60]",
        "[invalid]",
        "[]",
        "",
        "[vcores=4]",
        "[memory=0,vcores=4]",
        "-5",
    ] {
        assert_eq!(lanes(text), [], "{text}");
    }
    assert!(parse_vector(Some("[memory=Gi]"), false, &types()).is_err());
}

#[test]
fn amounts_convert_to_mebi_and_need_memory() {
    let mut skipped = Vec::new();
    let mut read = |text| parse_amounts(Some(text), &types(), &mut skipped);
    let gpu = Resource::new(10240, 12).with(2, 4 * MILLI);
    assert_eq!(read("[memory=10240,vcores=12,yarn.io/gpu=4]"), Ok(gpu));
    assert_eq!(
        read("[memory=10Gi, vcores=12]"),
        Ok(Resource::new(10240, 12))
    );
    assert_eq!(read("[vcores=12]"), Ok(Resource::ZERO));
    assert_eq!(read("[memory=50%]"), Ok(Resource::ZERO));
    assert_eq!(read("[memory=10,disk=3]"), Ok(Resource::new(10, 0)));
    assert_eq!(read("[memory=10,vcores=3X]"), Ok(Resource::new(10, 0)));
    assert!(read("[memory=1.5]").is_err());
    assert_eq!(skipped.len(), 2);
}

#[test]
fn a_maximum_allocation_takes_mega_and_giga() {
    let read = |text| parse_allocation(text, &types());
    assert_eq!(read("memory-mb=4g,vcores=2"), Ok(Resource::new(4096, 2)));
    assert_eq!(read("memory-mb=2048"), Ok(Resource::new(2048, 0)));
    let one = Resource::new(1024, 1).with(2, MILLI);
    assert_eq!(read("memory-mb=1024, vcores=1, yarn.io/gpu=1"), Ok(one));
    assert_eq!(read("memory=4096"), Ok(Resource::ZERO), "bytes, as Hadoop");
    let err = |text| read(text).unwrap_err();
    assert_eq!(err("memory-mb=4Mi"), "Acceptable units are M/G or empty");
    assert!(err("memory-mb").contains("key=amount"));
    assert_eq!(err("fpga=1"), "Unknown resource: fpga");
}
