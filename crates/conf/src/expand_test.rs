//! Tests of `${…}`.
//! May touch: tables made here.
//! Must not: read the process environment.

use proptest::prelude::*;

use super::{expand, find_variable};
use crate::Configuration;

fn get(pairs: &[(&str, &str)], key: &str) -> Result<String, String> {
    let conf = Configuration::of(pairs.iter().copied());
    conf.get(key)
        .map(Option::unwrap_or_default)
        .map_err(|p| p.text)
}

#[test]
fn the_first_unknown_reference_ends_it() {
    let pairs = [("a", "${b} ${none} ${b}"), ("b", "x")];
    assert_eq!(get(&pairs, "a").unwrap(), "x ${none} ${b}");
}

#[test]
fn references_within_names_are_expanded_first() {
    let pairs = [("a", "${k.${b}}"), ("b", "x"), ("k.x", "found")];
    assert_eq!(get(&pairs, "a").unwrap(), "found");
}

#[test]
fn what_is_no_reference_stays() {
    for text in ["${}", "${a b}", "$a", "${", "${x", "{x}", "a$", "${ é}"] {
        assert_eq!(get(&[("k", text)], "k").unwrap(), text);
        assert_eq!(find_variable(text), None, "{text}");
    }
}

#[test]
fn twenty_references_are_one_too_many() {
    let nineteen = "${b}".repeat(19);
    assert_eq!(
        get(&[("a", &nineteen), ("b", "x")], "a").unwrap(),
        "x".repeat(19)
    );
    let twenty = "${b}".repeat(20);
    let error = get(&[("a", &twenty), ("b", "x")], "a").unwrap_err();
    assert!(
        error.starts_with("Variable substitution depth too large: 20 "),
        "{error}"
    );
}

#[test]
fn growth_is_bounded() {
    let long = "x".repeat(600_000);
    let error = get(&[("a", "${b}${b}"), ("b", &long)], "a").unwrap_err();
    assert!(error.contains("expand to more than"), "{error}");
}

#[test]
fn hadoop_defaults_expand_to_each_other() {
    let pairs = [("yarn.resourcemanager.hostname", "h1")];
    assert_eq!(
        get(&pairs, "yarn.resourcemanager.webapp.address").unwrap(),
        "h1:8088"
    );
    assert_eq!(
        get(&[], "yarn.resourcemanager.address").unwrap(),
        "0.0.0.0:8032"
    );
}

proptest! {
    #[test]
    fn any_text_ends(text in "[a-cé${}:. -]{0,40}") {
        let conf = Configuration::of([("a", text.as_str()), ("b", "${a}"), ("c", "${env.a-b}")]);
        let _ = expand(&conf, &text);
    }
}
