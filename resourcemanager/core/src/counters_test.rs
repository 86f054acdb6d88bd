//! Sums of counters up the tree of queues.
//! May touch: the counters.
//! Must not: need an RM.

use super::*;

#[test]
fn a_parent_has_what_its_leaves_had_even_those_that_are_gone() {
    let mut counters = QueueCounters::default();
    counters.count("root.a.x", |c| c.apps_submitted += 2);
    counters.count("root.a.y", |c| c.apps_submitted += 1);
    counters.count("root.ab", |c| c.containers_preempted += 4);
    let sums = counters.sums();
    let submitted = |path| sums.get(path).map(|c| c.apps_submitted);
    assert_eq!(submitted("root"), Some(3));
    assert_eq!(submitted("root.a"), Some(3));
    assert_eq!(submitted("root.a.x"), Some(2));
    assert_eq!(submitted("root.ab"), Some(0));
    assert_eq!(sums["root"].containers_preempted, 4);
    assert_eq!(sums["root.a"].containers_preempted, 0);
}
