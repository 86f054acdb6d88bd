//! Rounding as Hadoop's calculators round.
//! May touch: `num`.
//! Must not: know queues.

use super::*;

fn types() -> ResourceTypes {
    ResourceTypes::memory_and_vcores()
}

#[test]
fn the_default_calculator_sees_memory_alone() {
    let max = Resource::new(8192, 4);
    assert_eq!(
        Calculator::Default.normalize(Resource::new(1025, 4), &types(), max),
        Resource::new(2048, 1)
    );
    assert_eq!(
        Calculator::Dominant.normalize(Resource::new(1025, 4), &types(), max),
        Resource::new(2048, 4)
    );
    assert!(Calculator::Default.fits(Resource::new(1, 99), Resource::new(1, 1)));
    assert!(!Calculator::Dominant.fits(Resource::new(1, 99), Resource::new(1, 1)));
}

#[test]
fn products_round_up_to_the_step() {
    let r = Resource::new(10_240, 10);
    assert_eq!(
        Calculator::Dominant.times_up(r, 0.1, &types()),
        Resource::new(1024, 1)
    );
    assert_eq!(
        Calculator::Dominant.times_up(r, 0.11, &types()),
        Resource::new(2048, 2)
    );
    assert_eq!(
        Calculator::Dominant.times_down(r, 0.15, &types()),
        Resource::new(1536, 1)
    );
}

#[test]
fn limits_of_gpus_are_whole_devices() {
    let mut list: Vec<_> = types().iter().cloned().collect();
    list.push(yarn_types::ResourceType {
        name: yarn_types::GPU.to_owned(),
        units: String::new(),
        minimum_allocation: 0,
        maximum_allocation: i64::MAX,
    });
    let types = ResourceTypes::new(list).unwrap();
    let eight = Resource::new(8192, 8).with(2, 8000);
    assert_eq!(
        Calculator::Dominant.times_up(eight, 0.1, &types).0[2],
        1000,
        "10 percent of 8 is 1"
    );
    assert_eq!(
        share_of(eight.with(2, 4000), 0.2, &types).0[2],
        0,
        "20 percent of 4 is none"
    );
    assert_eq!(share_of(eight, 0.5, &types).0[2], 4000);
}

#[test]
fn the_dominant_share_orders() {
    let cluster = Resource::new(100, 10);
    let (memory, cpu) = (Resource::new(30, 1), Resource::new(10, 4));
    assert_eq!(
        Calculator::Dominant.compare(memory, cpu, cluster, &types()),
        Ordering::Less
    );
    assert_eq!(
        Calculator::Default.compare(memory, cpu, cluster, &types()),
        Ordering::Greater
    );
}
