//! Tests: devices of containers, lost cards, what both kinds of ResourceManager are told.
//! May touch: the module under test.
//! Must not: sleep, or read clocks.

use std::sync::Arc;

use proptest::prelude::*;
use yarn_types::{
    Millis, exit,
    gpu::{DeviceChange, DeviceGrant, GpuDevice, GpuHealth},
};

use crate::{
    Action, Event, HeartbeatAnswer, Nm, NmConf, NodeAction, StartSpec, ToRm,
    container::State,
    event::CallId,
    nm::tests::{Bench, RM, app, beat, cid, conf, spec},
};

fn device(n: u32, health: GpuHealth) -> GpuDevice {
    GpuDevice {
        uuid: uuid(n),
        index: n,
        minor: n + 3,
        pci: format!("00000000:0{n}:00.0"),
        model: "A100".to_owned(),
        memory_mib: 81920,
        numa: None,
        links: Vec::new(),
        health,
    }
}

fn uuid(n: u32) -> Arc<str> {
    Arc::from(format!("GPU-{n}"))
}

fn reading(cards: &[u32]) -> Event {
    let devices = cards.iter().map(|n| device(*n, GpuHealth::Ok)).collect();
    Event::GpuReading { devices }
}

fn granted(n: u64, devices: &[(u32, u64)]) -> StartSpec {
    let grant = |(n, epoch): &(u32, u64)| DeviceGrant {
        uuid: uuid(*n),
        epoch: *epoch,
    };
    StartSpec {
        gpus: devices.iter().map(grant).collect(),
        gpu_count: devices.len(),
        ..spec(cid(n))
    }
}

fn with_gpus() -> NmConf {
    NmConf {
        gpus: true,
        ..conf()
    }
}

/// A node with four cards whose ResourceManager knows devices, or does not.
fn node(knows: bool) -> Bench {
    let mut b = Bench::new(with_gpus());
    b.apply(reading(&[0, 1, 2, 3]));
    b.apply(Event::Begin);
    let listed = b.nm.gpus().unwrap().list().0;
    b.apply(Event::Registered {
        rm_identifier: RM,
        gpu_seq: knows.then_some(listed),
    });
    b.beat(beat(1));
    b
}

fn run(b: &mut Bench, n: u64, s: StartSpec) {
    b.start(s).unwrap();
    b.apply(Event::Localized { container: cid(n) });
    b.apply(Event::Launched { container: cid(n) });
    assert_eq!(b.state(n), State::Running);
}

fn launch_of(effects: &[Action]) -> Vec<String> {
    let gpus = effects.iter().find_map(|a| match a {
        Action::Launch { gpus, .. } => Some(gpus),
        _ => None,
    });
    gpus.into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_container_is_launched_with_the_devices_of_its_token() {
    let mut b = node(true);
    b.start(granted(1, &[(2, 1), (0, 1)])).unwrap();
    let effects = b.apply(Event::Localized { container: cid(1) });
    assert_eq!(launch_of(&effects), ["GPU-0", "GPU-2"], "in NVML's order");
    let held = b.nm.gpus().unwrap().grants_of(cid(1));
    assert_eq!(held.len(), 2);
}

#[test]
fn a_device_at_fault_ends_the_accepted_container_with_aborted() {
    let mut b = node(true);
    for (n, gpus, text) in [
        (1, vec![(7, 1)], "gpu unavailable: this node has no GPU-7"),
        (2, vec![(0, 1)], ""),
        (3, vec![(0, 2)], "gpu unavailable: GPU-0 is held by"),
    ] {
        b.start(granted(n, &gpus)).unwrap();
        let report = b.nm.container(cid(n)).unwrap().report();
        if text.is_empty() {
            assert_eq!(b.state(n), State::Localizing);
        } else {
            assert_eq!(report.exit_code, exit::ABORTED);
            assert!(report.diagnostics.contains(text), "{}", report.diagnostics);
        }
    }
}

#[test]
fn a_lost_card_ends_its_holder_and_no_neighbour() {
    let mut b = node(true);
    run(&mut b, 1, granted(1, &[(1, 1)]));
    run(&mut b, 2, granted(2, &[(2, 1)]));
    let bad = GpuHealth::Bad("GPU is lost".to_owned());
    let mut devices: Vec<GpuDevice> = [0, 2, 3].map(|n| device(n, GpuHealth::Ok)).to_vec();
    devices.push(device(1, bad));
    b.apply(Event::GpuReading { devices });
    assert_eq!(b.state(1), State::Killing);
    assert_eq!(b.state(2), State::Running);
    // Even a process that takes SIGTERM for a good end is not counted against its application.
    b.exited(1, 0);
    b.apply(Event::TornDown {
        container: cid(1),
        dirty: None,
    });
    let report = b.nm.container(cid(1)).unwrap().report();
    assert_eq!(report.exit_code, exit::ABORTED);
    assert!(report.diagnostics.contains("gpu lost: GPU-1: GPU is lost"));
    assert_eq!(b.nm.gpus().unwrap().usable(), 3);
    b.apply(reading(&[0, 1, 2, 3]));
    assert_eq!(b.nm.gpus().unwrap().usable(), 4);
}

#[test]
fn a_device_is_free_when_its_container_is_torn_down_and_dirty_when_something_is_left() {
    let mut b = node(true);
    run(&mut b, 1, granted(1, &[(1, 1)]));
    b.exited(1, 0);
    b.start(granted(2, &[(1, 2)])).unwrap();
    assert_eq!(b.state(2), State::Done, "still held");
    b.apply(Event::TornDown {
        container: cid(1),
        dirty: Some("process 7".to_owned()),
    });
    b.start(granted(3, &[(1, 3)])).unwrap();
    let report = b.nm.container(cid(3)).unwrap().report();
    assert!(report.diagnostics.contains("gpu dirty: GPU-1: process 7"));
    b.apply(Event::GpuCleaned {
        uuids: vec![uuid(1)],
    });
    b.start(granted(4, &[(1, 4)])).unwrap();
    assert_eq!(b.state(4), State::Localizing);
}

fn changes(effects: &[Action]) -> Option<(u64, Vec<DeviceChange>)> {
    effects.iter().find_map(|a| match a {
        Action::Tell(ToRm::Heartbeat { gpus, .. }) => gpus.clone(),
        _ => None,
    })
}

#[test]
fn changes_are_told_at_once_and_repeated_until_they_are_echoed() {
    let mut b = node(true);
    let listed = b.nm.gpus().unwrap().list().0;
    b.at(1000);
    b.beat(beat(2));
    let effects = b.apply(reading(&[0, 1, 2]));
    let told = changes(&effects).expect("a change is urgent");
    assert_eq!(told, (listed + 1, vec![DeviceChange::Gone(uuid(3))]));
    b.beat(beat(3));
    let effects = b.at(2000);
    assert_eq!(changes(&effects), Some(told));
    b.beat(HeartbeatAnswer {
        gpu_seq: Some(listed + 1),
        ..beat(4)
    });
    let effects = b.at(3000);
    assert_eq!(
        changes(&effects),
        Some((listed + 1, Vec::new())),
        "the number goes along"
    );
}

fn registration(effects: &[Action]) -> Option<(usize, usize)> {
    effects.iter().find_map(|a| match a {
        Action::Tell(ToRm::Register { gpus, .. }) => {
            gpus.as_ref().map(|g| (g.devices.len(), g.usable))
        }
        _ => None,
    })
}

#[test]
fn a_stock_resource_manager_learns_the_number_by_another_registration() {
    let mut b = node(false);
    b.at(1000);
    b.beat(beat(2));
    let s = StartSpec {
        gpu_count: 2,
        ..spec(cid(1))
    };
    run(&mut b, 1, s);
    b.beat(beat(3));
    assert_eq!(b.nm.gpus().unwrap().grants_of(cid(1)).len(), 2);
    let effects = b.apply(reading(&[0, 1, 2]));
    assert_eq!(registration(&effects), Some((3, 3)), "{effects:?}");
    assert_eq!(b.state(1), State::Running, "nobody ends by that");
}

#[test]
fn a_registration_lists_every_device_and_who_holds_which() {
    let mut b = node(true);
    run(&mut b, 1, granted(1, &[(1, 7)]));
    b.at(1000);
    let effects = b.beat(HeartbeatAnswer {
        action: NodeAction::Resync,
        ..beat(2)
    });
    assert_eq!(registration(&effects), Some((4, 4)));
    let held = effects.iter().find_map(|a| match a {
        Action::Tell(ToRm::Register { containers, .. }) => Some(containers[0].gpus.clone()),
        _ => None,
    });
    let grant = DeviceGrant {
        uuid: uuid(1),
        epoch: 7,
    };
    assert_eq!(held, Some(vec![grant]));
}

#[test]
fn cards_that_cannot_be_read_are_not_granted_and_their_holders_live() {
    let mut b = node(true);
    run(&mut b, 1, granted(1, &[(1, 1)]));
    b.apply(Event::GpuProbeFailed {
        reason: "NVML did not answer within 10 ms".to_owned(),
    });
    assert_eq!(b.nm.gpus().unwrap().usable(), 0);
    assert_eq!(b.state(1), State::Running);
    b.start(granted(2, &[(2, 1)])).unwrap();
    let report = b.nm.container(cid(2)).unwrap().report();
    let text = "gpu unavailable: GPU-2: NVML did not answer";
    assert!(report.diagnostics.contains(text), "{}", report.diagnostics);
    b.apply(reading(&[0, 1, 2, 3]));
    assert_eq!(b.nm.gpus().unwrap().usable(), 4);
}

fn histories() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let id = || (1_u64..6).prop_map(cid);
    let caller = app(1).attempt(1);
    let cards = || proptest::collection::btree_set(0_u32..4, 0..5);
    let event = prop_oneof![
        1 => Just(Event::Begin),
        2 => proptest::option::of(0_u64..9)
            .prop_map(|gpu_seq| Event::Registered { rm_identifier: RM, gpu_seq }),
        2 => Just(Event::HeartbeatAnswered(Box::new(beat(1)))),
        3 => cards().prop_map(|c| reading(&c.into_iter().collect::<Vec<_>>())),
        1 => Just(Event::GpuProbeFailed { reason: "no".into() }),
        6 => (1_u64..6, cards(), 1_u64..4).prop_map(move |(n, cards, epoch)| {
            let gpus: Vec<(u32, u64)> = cards.into_iter().map(|c| (c, epoch)).collect();
            Event::Start { call: CallId(1), caller, starts: vec![granted(n, &gpus)] }
        }),
        3 => id().prop_map(|container| Event::Localized { container }),
        3 => id().prop_map(|container| Event::Launched { container }),
        2 => id().prop_map(move |c| Event::Stop { call: CallId(1), caller, containers: vec![c] }),
        3 => id().prop_map(|container| Event::Exited {
            container, exit_code: 143, message: String::new(),
            tails: crate::launch::diagnostics::Tails::default(),
        }),
        3 => (id(), any::<bool>()).prop_map(|(container, dirty)| Event::TornDown {
            container, dirty: dirty.then(|| "left".to_owned()),
        }),
        1 => (0_u32..4).prop_map(|n| Event::GpuCleaned { uuids: vec![uuid(n)] }),
    ];
    proptest::collection::vec((0_u64..500, event), 1..80)
}

proptest! {
    /// A device has one holder, which is known and not over.
    #[test]
    fn the_laws_hold_over_any_history(history in histories()) {
        let mut nm = Nm::new(with_gpus());
        let mut out = Vec::new();
        let mut now = Millis(0);
        for (step, event) in history {
            now = now.plus(step);
            nm.apply(now, event.clone(), &mut out);
            prop_assert_eq!(nm.check(), Vec::<String>::new(), "after {:?}", event);
        }
    }
}
