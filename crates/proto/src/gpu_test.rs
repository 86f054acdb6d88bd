//! GPU messages survive the round trip, and what is no device is refused.
//! May touch: the conversions.
//! Must not: know ledgers.

use yarn_types::gpu::LinkKind;

use super::*;

fn device() -> DeviceReport {
    DeviceReport {
        device: GpuDevice {
            uuid: Arc::from("GPU-1"),
            index: 1,
            minor: 3,
            pci: "00000000:07:00.0".to_owned(),
            model: "A100".to_owned(),
            memory_mib: 81920,
            numa: Some(1),
            links: vec![GpuLink {
                peer: Arc::from("GPU-2"),
                kind: LinkKind::NvLink(12),
            }],
            health: GpuHealth::Bad("GPU is lost".to_owned()),
        },
        dirty: Some("process 7".to_owned()),
    }
}

#[test]
fn lists_changes_and_grants_survive_the_round_trip() {
    let reports = vec![device()];
    assert_eq!(list(&list_proto(4, &reports)), Ok((4, reports)));
    let both = vec![
        DeviceChange::Is(device()),
        DeviceChange::Gone(Arc::from("GPU-2")),
    ];
    assert_eq!(changes(&changes_proto(9, &both)), Ok((9, both)));
    let held = vec![DeviceGrant {
        uuid: Arc::from("GPU-1"),
        epoch: 5,
    }];
    assert_eq!(grants(&grants_proto(&held)), Ok(held));
}

#[test]
fn lists_are_bounded_and_name_each_device_once() {
    let mut proto = list_proto(1, &[device(), device()]);
    assert!(
        list(&proto)
            .unwrap_err()
            .0
            .contains("GPU-1 is listed twice")
    );
    proto.gpus = vec![HeddleGpuProto::default(); DEVICES_MAX + 1];
    assert!(list(&proto).unwrap_err().0.contains("at most 64"));
    proto.gpus.truncate(1);
    assert!(list(&proto).unwrap_err().0.contains("without uuid"));
    assert!(
        changes(&HeddleGpuChangesProto {
            seq: None,
            changes: vec![HeddleGpuChangeProto::default()]
        })
        .is_err()
    );
}
