//! Tests of a node's keys.
//! May touch: the module under test.
//! Must not: read a clock.

use super::*;

const fn key(id: i32) -> MasterKey {
    MasterKey {
        id,
        bytes: Vec::new(),
    }
}

fn accepted(keys: &NodeKeys, attempt: &str) -> Vec<i32> {
    (0..6)
        .filter(|id| keys.accepts(attempt, *id).is_some())
        .collect()
}

#[test]
fn current_previous_and_remembered_keys_are_accepted() {
    let mut keys = NodeKeys::new();
    assert_eq!(accepted(&keys, "a"), []);
    keys.set(key(1));
    keys.remember("a", 1);
    keys.set(key(2));
    assert_eq!(accepted(&keys, "b"), [1, 2]);
    keys.set(key(3));
    assert_eq!(
        accepted(&keys, "a"),
        [1, 2, 3],
        "a keeps the key of its first start"
    );
    assert_eq!(accepted(&keys, "b"), [2, 3]);
    keys.forget(|attempt| attempt == "a");
    assert_eq!(accepted(&keys, "a"), [2, 3]);
}

#[test]
fn the_same_key_again_retires_nothing() {
    let mut keys = NodeKeys::new();
    keys.set(key(1));
    keys.set(key(2));
    keys.set(key(2));
    assert_eq!(accepted(&keys, "a"), [1, 2]);
    assert_eq!(keys.current().map(|k| k.id), Some(2));
}

#[test]
fn an_unknown_key_is_not_remembered() {
    let mut keys = NodeKeys::new();
    keys.set(key(1));
    keys.remember("a", 5);
    assert_eq!(accepted(&keys, "a"), [1]);
}
