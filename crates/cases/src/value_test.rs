//! Comparison of expected and read values.
//! May touch: `value`.
//! Must not: read case files.

use super::*;

fn same(expected: &str, got: &Actual) -> bool {
    let expected: Expected = serde_saphyr::from_str(expected).unwrap();
    matches(&expected, got, Tolerance::default())
}

fn dims(memory: i64, vcores: i64) -> BTreeMap<String, i64> {
    BTreeMap::from([("memory".to_owned(), memory), ("vcores".to_owned(), vcores)])
}

#[test]
fn a_number_alone_is_memory_and_a_map_its_listed_dimensions() {
    let got = Actual::Res(dims(1024, 7));
    assert!(same("1024", &got));
    assert!(!same("1025", &got));
    assert!(same("{memory: 1024}", &got));
    assert!(same("{vcores: 7}", &got));
    assert!(!same("{memory: 1024, vcores: 1}", &got));
    assert!(same("{yarn.io/gpu: 0}", &got));
}

#[test]
fn fractions_have_a_tolerance_and_counts_have_none() {
    assert!(same("0.3333", &Actual::Num(1.0 / 3.0)));
    assert!(same("1", &Actual::Num(1.0)));
    assert!(!same("0.33", &Actual::Num(1.0 / 3.0)));
    assert!(!same("1", &Actual::Int(2)));
    assert!(same("{min: 1}", &Actual::Int(2)));
    assert!(!same("{max: 1}", &Actual::Int(2)));
}

#[test]
fn names_that_are_numbers_and_absent_counts() {
    let counts = Actual::Counts(BTreeMap::from([("1".to_owned(), 3)]));
    assert!(same("{1: 3, 2: 0}", &counts));
    assert!(!same("{2: 1}", &counts));
    let sizes = Actual::Resources(BTreeMap::from([("1".to_owned(), dims(7168, 1))]));
    assert!(same("{1: 7168}", &sizes));
    assert!(!same("{2: 7168}", &sizes));
    assert!(same("null", &Actual::Nothing));
    assert!(!same("app1", &Actual::Nothing));
}
