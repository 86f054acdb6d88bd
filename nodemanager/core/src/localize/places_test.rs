//! Tests of places.
//! May touch: numbers.
//! Must not: create directories.

use super::*;

#[test]
fn directories_are_filled_before_new_ones_are_opened() {
    let mut places = Places::new(36 + 2);
    let paths: Vec<String> = (0..5).map(|_| places.take().path()).collect();
    assert_eq!(paths, ["10", "11", "0/12", "0/13", "1/14"]);
}

#[test]
fn room_made_is_used_again_under_a_new_number() {
    let mut places = Places::new(36 + 1);
    let first = places.take();
    assert_eq!(places.take().path(), "0/11");
    places.give_back(&first);
    assert_eq!(places.take().path(), "12");
}

#[test]
fn every_directory_has_one_path() {
    let all: Vec<String> = (0..5000).map(sub_dir).collect();
    assert_eq!(&all[..3], ["", "0", "1"]);
    assert_eq!(all[36], "z");
    assert_eq!(all[37], "0/0");
    assert_eq!(all[73], "1/0");
    let unique: BTreeSet<&String> = all.iter().collect();
    assert_eq!(unique.len(), all.len());
}
