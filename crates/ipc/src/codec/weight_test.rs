//! Tests of the bound on decoded messages.
//! May touch: messages of `yarn-proto`.
//! Must not: allocate what the bound is there to prevent.

use proptest::prelude::*;
use prost::Message;
use yarn_proto::{
    server::{NmContainerStatusProto, RegisterNodeManagerRequestProto},
    yarn::{
        AllocateRequestProto, GetApplicationsRequestProto, PriorityProto, ResourceProto,
        ResourceRequestProto,
    },
};

use super::*;
use crate::server::INPUT_BYTES_MAX;

const MIB: usize = 1 << 20;

#[test]
fn many_empty_messages_weigh_what_they_take() {
    let statuses = [0x32, 0x00].repeat(MIB / 2);
    assert_eq!(decoded_bytes(&statuses, 32 * MIB), None);
    let few = &statuses[..20_000];
    let decoded = RegisterNodeManagerRequestProto::decode(few).unwrap();
    let takes = decoded.container_statuses.capacity() * size_of::<NmContainerStatusProto>();
    let weight = decoded_bytes(few, 32 * MIB).unwrap();
    assert!(weight >= decoded.container_statuses.len() * size_of::<NmContainerStatusProto>());
    assert!(weight * 2 >= takes, "{weight} for {takes}");
}

#[test]
fn nothing_hides_behind_a_group_a_depth_or_a_text() {
    let many = [0x0a, 0x00].repeat(MIB / 2);
    let wrap = |inner: &[u8]| -> Vec<u8> {
        let mut out = vec![0x0a];
        prost::encoding::encode_varint(inner.len() as u64, &mut out);
        out.extend(inner);
        out
    };
    let deep = (0..50).fold(many.clone(), |inner, _| wrap(&inner));
    let group = [&[0x7b, 0x08, 0x01, 0x7c][..], &many].concat();
    for hidden in [
        deep,
        wrap(&group),
        [&[0x0a, 0x03][..], b"abc", &many].concat(),
    ] {
        assert_eq!(decoded_bytes(&hidden, 32 * MIB), None);
    }
    let texts = GetApplicationsRequestProto::decode(&many[..1000]).unwrap();
    assert_eq!(texts.application_types.len(), 500);
}

#[test]
fn large_requests_of_real_masters_pass() {
    let ask = |n: i32| ResourceRequestProto {
        priority: Some(PriorityProto { priority: Some(n) }),
        resource_name: Some(format!("node-{n}.rack-12.example.org")),
        capability: Some(ResourceProto {
            memory: Some(4096),
            virtual_cores: Some(4),
            ..Default::default()
        }),
        num_containers: Some(3),
        ..Default::default()
    };
    let request = AllocateRequestProto {
        ask: (0..20_000).map(ask).collect(),
        ..Default::default()
    };
    assert!(decoded_bytes(&request.encode_to_vec(), INPUT_BYTES_MAX).is_some());
    // A blob of some MiB, such as an application's data for a service.
    let blob = [&[0x0a, 0x80, 0x80, 0xc0, 0x02][..], &vec![0xff; 5 * MIB]].concat();
    assert!(decoded_bytes(&blob, INPUT_BYTES_MAX).is_some());
}

proptest! {
    #[test]
    fn any_bytes_are_weighed(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decoded_bytes(&bytes, 1000);
        prop_assert!(decoded_bytes(&bytes, usize::MAX).is_some());
    }
}
