//! Tests of the rule model: normal form, evaluation, the fold into an allow-list.
//! May touch: nothing.
//! Must not: need privileges.

use proptest::prelude::*;

use super::*;

pub(super) fn any_rule() -> impl Strategy<Value = Rule> {
    let kind = prop_oneof![Just(Kind::All), Just(Kind::Block), Just(Kind::Char)];
    // Few numbers, so that rules meet; the highest, since immediates are signed.
    let number = || {
        prop_oneof![
            Just(None),
            prop_oneof![0..4u32, Just(u32::MAX)].prop_map(Some)
        ]
    };
    (any::<bool>(), kind, number(), number(), 0..8u8).prop_map(
        |(allow, kind, major, minor, bits)| Rule {
            allow,
            kind,
            major,
            minor,
            access: Access::from_bits(bits).unwrap(),
        },
    )
}

pub(super) fn any_query() -> impl Strategy<Value = Query> {
    let kind = prop_oneof![Just(Kind::Block), Just(Kind::Char)];
    let number = || prop_oneof![0..4u32, Just(u32::MAX)];
    (kind, number(), number(), 1..8u8).prop_map(|(kind, major, minor, bits)| Query {
        kind,
        major,
        minor,
        access: Access::from_bits(bits).unwrap(),
    })
}

fn set(lines: &[&str]) -> RuleSet {
    RuleSet::new(lines.iter().map(|l| l.parse().unwrap())).unwrap()
}

fn may(rules: &RuleSet, device: (u32, u32), access: Access) -> bool {
    let query = Query {
        kind: Kind::Char,
        major: device.0,
        minor: device.1,
        access,
    };
    decide(rules, &query)
}

#[test]
fn what_no_rule_names_is_denied() {
    let rules = set(&["c 195:0 rw"]);
    assert!(may(&rules, (195, 0), Access::RW));
    assert!(!may(&rules, (195, 1), Access::READ));
    assert!(!may(&rules, (196, 0), Access::READ));
    assert!(!decide(
        &rules,
        &Query {
            kind: Kind::Block,
            major: 195,
            minor: 0,
            access: Access::READ
        }
    ));
    assert!(!may(&RuleSet::default(), (1, 3), Access::READ));
}

#[test]
fn an_allowance_must_hold_all_and_a_denial_any_of_what_is_asked() {
    let rules = set(&["allow c 1:* rw", "deny c 1:3 w"]);
    assert!(may(&rules, (1, 3), Access::READ));
    assert!(
        !may(&rules, (1, 3), Access::RW),
        "a read-write open asks for both at once"
    );
    assert!(!may(&rules, (1, 4), Access::RWM), "mknod is not allowed");
    assert!(may(&rules, (1, 4), Access::RW));
}

#[test]
fn rights_on_one_device_add_up_as_in_the_kernel() {
    let rules = set(&["c 1:3 r", "c 1:3 w"]);
    assert!(may(&rules, (1, 3), Access::RW));
    assert_eq!(rules.rules().len(), 1);
}

#[test]
fn all_kinds_become_block_and_char() {
    assert_eq!(set(&["a *:* rwm"]), set(&["c *:* rwm", "b *:* rwm"]));
}

#[test]
fn a_denial_that_cuts_a_hole_is_refused_for_v1() {
    let rules = set(&["allow c 195:* rw", "deny c 195:0 rw"]);
    let hole = "deny c 195:0 rw".parse().unwrap();
    assert_eq!(rules.allow_list(), Err(RuleError::Hole(hole)));
    let whole = set(&["allow c 195:1 rw", "allow c 1:3 rwm", "deny c 195:* rwm"]);
    assert_eq!(
        whole.allow_list().unwrap(),
        vec!["c 1:3 rwm".parse().unwrap()]
    );
}

#[test]
fn texts_that_are_no_rule_are_refused() {
    for text in [
        "",
        "c",
        "c 195:0",
        "x 195:0 rw",
        "c 195 rw",
        "c 195:0 rwx",
        "c 195:0 rw ",
        "c -1:0 rw",
        "c 4294967296:0 rw",
        "permit c 1:3 r",
    ] {
        assert!(text.parse::<Rule>().is_err(), "{text:?}");
    }
    assert_eq!(
        "c 4294967295:* rm".parse::<Rule>().unwrap().line(),
        "c 4294967295:* rm"
    );
}

#[test]
fn too_many_rules_are_refused() {
    let rules = (0..=1024).map(|minor| Rule::char(9, minor, Access::RW));
    assert_eq!(RuleSet::new(rules), Err(RuleError::TooMany(1025)));
}

proptest! {
    #[test]
    fn a_rule_is_read_back_from_its_text(rule in any_rule()) {
        prop_assert_eq!(rule.to_string().parse::<Rule>(), Ok(rule));
    }

    #[test]
    fn the_allow_list_decides_as_the_set(
        rules in prop::collection::vec(any_rule(), 0..6),
        queries in prop::collection::vec(any_query(), 20),
    ) {
        let set = RuleSet::new(rules).unwrap();
        if let Ok(list) = set.allow_list() {
            let folded = RuleSet::new(list).unwrap();
            for query in queries {
                prop_assert_eq!(decide(&set, &query), decide(&folded, &query), "{:?}", query);
            }
        }
    }
}
