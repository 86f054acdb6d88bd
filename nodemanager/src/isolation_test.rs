//! Tests: limits from Hadoop's keys, the choice of the mechanism.
//! May touch: the module under test.
//! Must not: touch cgroups.

use std::path::PathBuf;

use super::*;

fn cpu(strict: bool, node_percent: u32) -> CpuSettings {
    CpuSettings {
        strict,
        node_percent,
    }
}

#[test]
fn a_strict_container_gets_its_part_of_the_processors() {
    let quota =
        |c, vcores, node| super::quota(c, vcores, node, 4).map(|q| (q.quota_us, q.period_us));
    assert_eq!(quota(cpu(false, 100), 1, 8), None);
    assert_eq!(quota(cpu(true, 100), 1, 8), Some((500_000, 1_000_000)));
    assert_eq!(quota(cpu(true, 100), 4, 8), Some((1_000_000, 500_000)));
    assert_eq!(quota(cpu(true, 50), 4, 8), Some((1_000_000, 1_000_000)));
}

#[test]
fn memory_is_hard_and_soft_or_soft_alone() {
    let conf = MemorySettings {
        enforced: true,
        soft_percent: 90.0,
        swappiness: 0,
    };
    let limit = memory_limit(conf, 1000, Mode::V1).unwrap();
    assert_eq!((limit.hard_bytes, limit.soft_bytes), (1000, Some(900)));
    let lax = MemorySettings {
        enforced: false,
        ..conf
    };
    assert_eq!(
        memory_limit(lax, 1000, Mode::V1).unwrap().hard_bytes,
        i64::MAX.unsigned_abs()
    );
    assert_eq!(memory_limit(lax, 1000, Mode::V2), None);
}

#[test]
fn v1_is_taken_where_it_is_and_v2_where_it_is_alone() {
    let mut mounts = Mounts {
        v2: Some(PathBuf::from("/sys/fs/cgroup")),
        ..Mounts::default()
    };
    assert_eq!(mode(CgroupChoice::Auto, &mounts), Mode::V2);
    mounts.v1.insert("devices".to_owned(), PathBuf::from("/d"));
    assert_eq!(mode(CgroupChoice::Auto, &mounts), Mode::V1);
    assert_eq!(mode(CgroupChoice::V2, &mounts), Mode::V2);
}
