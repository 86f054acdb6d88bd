//! Tests of the key ring.
//! May touch: the module under test.
//! Must not: read a clock.

use super::*;

fn ring(id: i32) -> KeyRing {
    let options = KeyRingOptions {
        roll_interval_ms: 1_000,
        activation_delay_ms: 150,
    };
    KeyRing::new(
        MasterKey {
            id,
            bytes: vec![1; 8],
        },
        10,
        options,
    )
}

#[test]
fn a_rolled_key_waits_for_its_activation_and_then_replaces_the_old_one() {
    let mut ring = ring(5);
    assert_eq!(
        (ring.roll_due_ms(), ring.activation_due_ms()),
        (1_010, None)
    );
    assert_eq!(ring.newest().id, 5);
    assert_eq!(ring.roll(1_010, vec![2; 8]).id, 6);
    assert_eq!(
        (
            ring.current().id,
            ring.newest().id,
            ring.next().map(|k| k.id)
        ),
        (5, 6, Some(6))
    );
    assert!(ring.accepts(5).is_some() && ring.accepts(6).is_some() && ring.accepts(7).is_none());
    assert_eq!(ring.activation_due_ms(), Some(1_160));
    assert!(!ring.activate(1_159));
    assert!(ring.activate(1_160));
    assert_eq!((ring.current().id, ring.next()), (6, None));
    assert!(ring.accepts(5).is_none(), "the retired key is refused");
    assert!(!ring.activate(9_999), "nothing waits any more");
    assert_eq!(ring.roll_due_ms(), 2_010);
}

#[test]
fn a_roll_before_activation_activates_what_waited() {
    let mut ring = ring(5);
    ring.roll(1_010, vec![2; 8]);
    ring.roll(1_020, vec![3; 8]);
    assert_eq!((ring.current().id, ring.newest().id), (6, 7));
    assert_eq!(ring.current().bytes, vec![2; 8]);
}

#[test]
fn ids_wrap_as_java_integers_do() {
    let mut ring = ring(i32::MAX);
    assert_eq!(ring.roll(1_010, vec![2; 8]).id, i32::MIN);
}

#[test]
fn proto_form_keeps_id_and_bytes() {
    let key = MasterKey {
        id: -4,
        bytes: vec![9; 8],
    };
    assert_eq!(MasterKey::from(MasterKeyProto::from(&key)), key);
}
