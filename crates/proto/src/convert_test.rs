//! Conversions as Hadoop's record implementations make them.
//! May touch: the conversions.
//! Must not: know anything else.

use super::*;

fn information(key: &str, value: i64, units: &str) -> ResourceInformationProto {
    ResourceInformationProto {
        key: key.to_owned(),
        value: Some(value),
        units: Some(units.to_owned()),
        ..ResourceInformationProto::default()
    }
}

#[test]
fn the_map_wins_over_the_old_fields_and_units_are_converted() {
    let types = ResourceTypes::memory_and_vcores();
    let proto = ResourceProto {
        memory: Some(1),
        virtual_cores: Some(3),
        resource_value_map: vec![information("memory-mb", 2, "Gi")],
    };
    let expected = DecodedResource {
        resource: Resource::new(2048, 3),
        unknown: None,
    };
    assert_eq!(resource(&proto, &types), expected);
}

#[test]
fn an_unknown_type_matters_only_above_zero() {
    let types = ResourceTypes::memory_and_vcores();
    let mut proto = resource_proto(Resource::new(1024, 1), &types);
    proto
        .resource_value_map
        .push(information("yarn.io/gpu", 0, ""));
    assert_eq!(resource(&proto, &types).unknown, None);
    proto
        .resource_value_map
        .push(information("yarn.io/fpga", 1, ""));
    assert_eq!(
        resource(&proto, &types).unknown.as_deref(),
        Some("yarn.io/fpga")
    );
}

#[test]
fn ids_and_states_survive_the_round_trip() {
    let id: ContainerId = "container_e17_1410901177871_0001_01_000005"
        .parse()
        .unwrap();
    assert_eq!(container_id(&container_id_proto(id)), Some(id));
    let node = NodeId::new("nm1", 8041);
    assert_eq!(node_id(&node_id_proto(&node)), Some(node));
    for &state in AttemptState::ALL {
        assert_eq!(attempt_state(attempt_state_proto(state)), Some(state));
    }
    assert_eq!(node_state(99), None);
}
