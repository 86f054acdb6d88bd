//! Which devices are taken together.
//! May touch: the choosing.
//! Must not: know nodes.

use super::*;

/// Eight cards in two NVLink groups of four, each group on one NUMA node.
fn two_groups() -> Vec<GpuDevice> {
    let uuid = |n: usize| Arc::<str>::from(format!("GPU-{n}"));
    (0..8_u32)
        .map(|n| GpuDevice {
            uuid: uuid(n as usize),
            index: n,
            minor: 7 - n,
            pci: format!("00000000:{n:02X}:00.0"),
            model: "A100".to_owned(),
            memory_mib: 81920,
            numa: Some(n / 4),
            links: (0..8)
                .filter(|p| *p != n as usize && *p / 4 == (n / 4) as usize)
                .map(|p| GpuLink {
                    peer: uuid(p),
                    kind: LinkKind::NvLink(12),
                })
                .collect(),
            health: GpuHealth::Ok,
        })
        .collect()
}

fn set(positions: &[usize]) -> DeviceSet {
    positions.iter().copied().collect()
}

#[test]
fn several_come_from_one_nvlink_group() {
    let affinity = Affinity::of(&two_groups());
    let all = set(&[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(affinity.choose(all, 4), Some(set(&[0, 1, 2, 3])));
    assert_eq!(
        affinity.choose(all.without(set(&[0])), 4),
        Some(set(&[4, 5, 6, 7]))
    );
    assert_eq!(
        affinity.choose(all.without(set(&[1, 5, 6])), 2),
        Some(set(&[4, 7])),
        "the smaller group first"
    );
}

#[test]
fn a_single_device_leaves_whole_groups_whole() {
    let affinity = Affinity::of(&two_groups());
    let free = set(&[0, 1, 2, 3, 6]);
    assert_eq!(affinity.choose(free, 1), Some(set(&[6])));
}

#[test]
fn without_links_the_numa_node_decides() {
    let mut devices = two_groups();
    for device in &mut devices {
        device.links.clear();
    }
    let affinity = Affinity::of(&devices);
    assert_eq!(affinity.choose(set(&[1, 4, 5]), 2), Some(set(&[4, 5])));
}

#[test]
fn too_few_is_none_and_nothing_is_nothing() {
    let affinity = Affinity::of(&two_groups());
    assert_eq!(affinity.choose(set(&[1]), 2), None);
    assert_eq!(affinity.choose(set(&[]), 0), Some(set(&[])));
}
