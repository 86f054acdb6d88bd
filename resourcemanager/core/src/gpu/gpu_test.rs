//! A device has one holder, and only its node frees it.
//! May touch: the ledger.
//! Must not: know nodes or queues.

use super::*;

fn report(n: u32) -> DeviceReport {
    DeviceReport {
        device: GpuDevice {
            uuid: Arc::from(format!("GPU-{n}")),
            index: n,
            minor: n,
            pci: format!("00000000:0{n}:00.0"),
            model: "A100".to_owned(),
            memory_mib: 81920,
            numa: Some(0),
            links: Vec::new(),
            health: GpuHealth::Ok,
        },
        dirty: None,
    }
}

fn container(n: u64) -> ContainerId {
    format!("container_1_0001_01_{n:06}").parse().unwrap()
}

fn node(count: u32) -> NodeGpus {
    NodeGpus::registered(1, (0..count).map(report).collect(), &[], 100)
}

#[test]
fn devices_go_to_one_holder_each_and_all_or_none() {
    let mut gpus = node(4);
    assert_eq!(gpus.grant(container(1), 3).unwrap().len(), 3);
    assert_eq!(gpus.grant(container(2), 2), None);
    let last = gpus.grant(container(2), 1).unwrap();
    assert!(!gpus.held_by(container(1)).contains(&last[0]));
    gpus.check().unwrap();
}

#[test]
fn a_promise_is_free_at_once_a_told_grant_only_by_the_nodes_word() {
    let mut gpus = node(1);
    let first = gpus.grant(container(1), 1).unwrap();
    gpus.ended(container(1));
    let second = gpus.grant(container(2), 1).unwrap();
    assert!(second[0].epoch > first[0].epoch);
    gpus.told(container(2));
    gpus.ended(container(2));
    assert_eq!(
        gpus.grant(container(3), 1),
        None,
        "its process may still be there"
    );
    gpus.completed(container(2));
    assert!(gpus.grant(container(3), 1).is_some());
}

#[test]
fn a_container_that_never_started_is_free_after_the_answer_that_listed_it() {
    let mut gpus = node(1);
    gpus.grant(container(1), 1).unwrap();
    gpus.told(container(1));
    gpus.ended(container(1));
    gpus.answer_received(|_| false);
    assert!(gpus.free().is_empty(), "no answer listed it yet");
    gpus.cleanup_listed(container(1));
    gpus.answer_received(|c| c == container(1));
    assert!(gpus.free().is_empty(), "the node still runs it");
    gpus.answer_received(|_| false);
    assert_eq!(gpus.free().len(), 1);
}

#[test]
fn changes_count_once_and_name_who_lost_a_card() {
    let mut gpus = node(2);
    gpus.grant(container(1), 1).unwrap();
    gpus.told(container(1));
    let gone = [DeviceChange::Gone(Arc::from("GPU-0"))];
    let lost = gpus.apply(2, &gone);
    assert_eq!(lost, [(container(1), "gpu lost: GPU-0 is gone".to_owned())]);
    assert_eq!(
        gpus.apply(2, &gone),
        [],
        "a repeated change changes nothing"
    );
    assert_eq!(gpus.usable(), 1);
    gpus.ended(container(1));
    gpus.completed(container(1));
    assert_eq!(gpus.devices().count(), 1);
    gpus.apply(3, &[DeviceChange::Is(report(0))]);
    assert_eq!(gpus.free().len(), 2, "the card came back");
}

#[test]
fn a_registration_is_the_truth_and_numbers_never_repeat() {
    let mut before = node(2);
    let first = before.grant(container(1), 1).unwrap();
    before.told(container(1));
    let held = [HeldDevices {
        container: container(1),
        grants: first.clone(),
    }];
    let mut after = NodeGpus::registered(7, vec![report(0), report(1)], &held, 100);
    after.continue_from(&before);
    assert_eq!(after.held_by(container(1)), first);
    assert_eq!(after.free().len(), 1);
    after.ended(container(1));
    after.completed(container(1));
    let again = after.grant(container(2), 2).unwrap();
    assert!(
        again
            .iter()
            .find(|g| g.uuid == first[0].uuid)
            .unwrap()
            .epoch
            > first[0].epoch
    );
}

#[test]
fn a_registration_frees_nothing_whose_end_the_node_was_not_told() {
    let mut before = node(2);
    before.grant(container(1), 2).unwrap();
    before.told(container(1));
    before.ended(container(1));
    before.cleanup_listed(container(1));
    let mut after = NodeGpus::registered(1, vec![report(0)], &[], 100);
    after.continue_from(&before);
    assert!(after.free().is_empty(), "a late start may still come");
    after.answer_received(|_| false);
    assert!(
        after.free().is_empty(),
        "which answers arrived is not known"
    );
    after.cleanup_listed(container(1));
    after.answer_received(|_| false);
    assert_eq!(after.free().len(), 1);
    assert_eq!(after.devices().count(), 1, "the other card is gone");
    let again = after.grant(container(2), 1).unwrap();
    assert!(again[0].epoch > 102, "numbers go on: {again:?}");
}

#[test]
fn a_ledger_that_a_late_registration_made_is_seen() {
    let before = NodeGpus::registered(7, vec![report(0)], &[], 0);
    let made_by = |seq| {
        let mut gpus = NodeGpus::registered(seq, vec![report(0)], &[], 0);
        gpus.continue_from(&before);
        gpus
    };
    assert!(made_by(8).follows(9));
    assert!(!made_by(8).follows(7), "of another start of the node");
    assert!(!made_by(5).follows(8), "changes 6 and 7 were echoed before");
    let mut restarted = made_by(5);
    assert!(restarted.follows(5));
    assert!(restarted.follows(6));
}

#[test]
fn a_late_registration_takes_no_device_from_a_later_holder() {
    let mut gpus = node(1);
    let old = gpus.grant(container(1), 1).unwrap();
    gpus.told(container(1));
    gpus.completed(container(1));
    let new = gpus.grant(container(2), 1).unwrap();
    gpus.told(container(2));
    let late = [HeldDevices {
        container: container(1),
        grants: old,
    }];
    let mut after = NodeGpus::registered(1, vec![report(0)], &late, 100);
    after.continue_from(&gpus);
    assert_eq!(after.held_by(container(2)), new);
}
