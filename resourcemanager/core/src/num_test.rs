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
