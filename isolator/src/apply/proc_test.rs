//! Tests of the `/proc` parser.
//! May touch: `/proc/self`.
//! Must not: start processes.

use super::*;

#[test]
fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
    let line = "42 (a) b (c) S 7 42 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987 1 2";
    let expected = ProcStat {
        ppid: 7,
        session: 40,
        state: 'S',
        start_ticks: 987,
    };
    assert_eq!(parse_stat(line), Some(expected));
    assert_eq!(parse_stat("garbage"), None);
}

#[test]
fn descendants_are_followed_through_zombies() {
    let p = |ppid, state| ProcStat {
        ppid,
        session: 1,
        state,
        start_ticks: 1,
    };
    let all = BTreeMap::from([
        (10, p(1, 'S')),
        (11, p(10, 'Z')),
        (12, p(11, 'R')),
        (13, p(10, 'S')),
        (99, p(1, 'S')),
    ]);
    let mut found = descendants(10, &all);
    found.sort_unstable();
    assert_eq!(found, [12, 13]);
}

#[test]
fn the_own_process_is_seen() {
    let me = i32::try_from(std::process::id()).unwrap();
    assert!(all().contains_key(&me));
}
