//! Arithmetic and text of resources.
//! May touch: the resource types.
//! Must not: know anything else.

use super::*;

fn with_gpu() -> ResourceTypes {
    let mut types: Vec<ResourceType> = ResourceTypes::memory_and_vcores().iter().cloned().collect();
    types.push(ResourceType {
        name: "yarn.io/gpu".to_owned(),
        units: String::new(),
        minimum_allocation: 0,
        maximum_allocation: i64::MAX,
    });
    ResourceTypes::new(types).unwrap()
}

#[test]
fn a_resource_prints_as_hadoop_prints_it() {
    let types = with_gpu();
    assert_eq!(
        types.show(Resource::new(4096, 2).with(2, 2 * MILLI)),
        "<memory:4096, vCores:2, yarn.io/gpu: 2>"
    );
    assert_eq!(
        types.show(Resource::new(4096, 2)),
        "<memory:4096, vCores:2>"
    );
}

#[test]
fn fits_needs_every_lane() {
    let room = Resource::new(4096, 2).with(2, 1);
    assert!(room.fits(room));
    assert!(!Resource::new(1, 1).with(2, 2).fits(room));
    assert!(Resource::new(4097, 2).minus(room).at_least_zero() == Resource::new(1, 0));
}

#[test]
fn a_ninth_type_is_refused_by_name() {
    let mut types: Vec<ResourceType> = ResourceTypes::memory_and_vcores().iter().cloned().collect();
    for n in 2..=LANES {
        types.push(ResourceType {
            name: format!("r{n}"),
            ..types[1].clone()
        });
    }
    assert!(ResourceTypes::new(types).unwrap_err().contains("'r8'"));
}

#[test]
fn another_spelling_finds_the_lane_and_is_not_shown() {
    let types = with_gpu().with_alias("GPU", GPU);
    assert_eq!(types.lane("GPU"), Some(2));
    assert_eq!(types.lane("gpu"), None);
    assert_eq!(types.aliases(2).collect::<Vec<_>>(), ["GPU"]);
    assert_eq!(types.len(), 3);
    let shown = types.show(Resource::new(1, 1).with(2, MILLI));
    assert_eq!(shown, "<memory:1, vCores:1, yarn.io/gpu: 1>");
}

#[test]
fn an_alias_never_hides_a_type() {
    let types = with_gpu().with_alias("vcores", GPU).with_alias("x", "none");
    assert_eq!(types.lane("vcores"), Some(1));
    assert_eq!(types.lane("x"), None);
}
