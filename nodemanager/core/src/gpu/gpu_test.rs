//! The NodeManager's ledger obeys grants, and reports each change until it is echoed.
//! May touch: the ledger.
//! Must not: know containers' life cycles.

use super::*;

fn device(n: u32) -> GpuDevice {
    GpuDevice {
        uuid: Arc::from(format!("GPU-{n}")),
        index: n,
        minor: n + 3,
        pci: format!("00000000:0{n}:00.0"),
        model: "A100".to_owned(),
        memory_mib: 81920,
        numa: None,
        links: Vec::new(),
        health: GpuHealth::Ok,
    }
}

fn grant(n: u32, epoch: u64) -> DeviceGrant {
    DeviceGrant {
        uuid: Arc::from(format!("GPU-{n}")),
        epoch,
    }
}

fn container(n: u64) -> ContainerId {
    format!("container_1_0001_01_{n:06}").parse().unwrap()
}

fn gpus(count: u32) -> Gpus {
    let mut gpus = Gpus::default();
    gpus.read((0..count).map(device).collect());
    gpus
}

#[test]
fn the_granted_devices_are_taken_and_no_other() {
    let mut gpus = gpus(3);
    let taken = gpus
        .take(container(1), &[grant(2, 1), grant(0, 1)])
        .unwrap();
    assert_eq!(taken.iter().map(|d| d.minor).collect::<Vec<_>>(), [5, 3]);
    let fault = gpus
        .take(container(2), &[grant(1, 1), grant(0, 2)])
        .unwrap_err();
    assert!(
        fault.0.contains("held by container_1_0001_01_000001"),
        "{fault:?}"
    );
    assert!(gpus.grants_of(container(2)).is_empty(), "all or none");
}

#[test]
fn a_grant_is_used_once_and_an_older_one_never() {
    let mut gpus = gpus(1);
    gpus.take(container(1), &[grant(0, 4)]).unwrap();
    gpus.release(container(1), None);
    assert!(gpus.take(container(1), &[grant(0, 4)]).is_err());
    assert!(gpus.take(container(2), &[grant(0, 3)]).is_err());
    assert!(gpus.take(container(2), &[grant(0, 5)]).is_ok());
}

#[test]
fn changes_are_repeated_until_they_are_echoed() {
    let mut gpus = gpus(2);
    let (first, _) = gpus.list();
    gpus.echoed(first);
    gpus.read(vec![device(0)]);
    let (seq, changes) = gpus.changes();
    assert_eq!(changes, [DeviceChange::Gone(Arc::from("GPU-1"))]);
    assert_eq!(gpus.changes(), (seq, changes));
    gpus.echoed(seq);
    assert!(gpus.changes().1.is_empty());
    gpus.read(vec![device(0)]);
    assert_eq!(gpus.changes().0, seq, "nothing new");
}

#[test]
fn a_lost_card_names_its_container_and_a_dirty_one_is_not_given() {
    let mut gpus = gpus(2);
    gpus.take(container(1), &[grant(1, 1)]).unwrap();
    gpus.read(vec![device(0)]);
    assert_eq!(
        gpus.lost(),
        [(container(1), "gpu lost: GPU-1 is gone".to_owned())]
    );
    gpus.release(container(1), None);
    gpus.take(container(2), &[grant(0, 1)]).unwrap();
    gpus.release(container(2), Some("process 7 is still on it"));
    let fault = gpus.take(container(3), &[grant(0, 2)]).unwrap_err();
    assert!(
        fault.0.starts_with("gpu dirty: GPU-0: process 7"),
        "{fault:?}"
    );
    gpus.set_dirty("GPU-0", None);
    assert!(gpus.take(container(3), &[grant(0, 2)]).is_ok());
}

#[test]
fn under_a_stock_resource_manager_the_node_chooses() {
    let mut gpus = gpus(2);
    assert_eq!(gpus.choose(container(1), 1).unwrap().len(), 1);
    assert!(gpus.choose(container(2), 2).is_err());
    assert_eq!(gpus.choose(container(2), 1).unwrap().len(), 1);
}
