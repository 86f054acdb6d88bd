//! Tests of killable.rs.
//! May touch: small pictures built by hand.
//! Must not: depend on case files.

use yarn_types::Resource;

use super::{Killable, KillableContainer};

fn container(queues: &[usize], node: usize, mb: i64) -> KillableContainer {
    KillableContainer {
        queues: queues.to_vec(),
        partition: 0,
        node,
        size: Resource::new(mb, 1),
    }
}

#[test]
fn sums_follow_containers() {
    let mut killable = Killable::default();
    assert!(killable.add(1, container(&[3, 1, 0], 7, 10)));
    assert!(!killable.add(1, container(&[3, 1, 0], 7, 10)), "twice");
    assert!(killable.add(2, container(&[2, 1, 0], 7, 5)));
    assert_eq!(killable.of_queue(3, 0).memory_mb(), 10);
    assert_eq!(killable.of_queue(1, 0).memory_mb(), 15);
    assert_eq!(killable.of_node(7).memory_mb(), 15);
    assert_eq!(killable.on_node(7).count(), 2);

    killable.relocate(1, vec![2, 1, 0], 1);
    assert_eq!(killable.of_queue(3, 0).memory_mb(), 0);
    assert_eq!(killable.of_queue(2, 1).memory_mb(), 10);
    killable.resize(2, Resource::new(8, 1));
    assert_eq!(killable.of_queue(2, 0).memory_mb(), 8);

    assert!(killable.remove(1).is_some());
    assert!(killable.remove(1).is_none());
    killable.remove(2);
    assert!(killable.is_empty());
    assert_eq!(killable.of_queue(0, 0), Resource::ZERO);
    assert_eq!(killable.of_node(7), Resource::ZERO);
}
