//! Runs assembled programs in a user-space machine and compares them with the evaluator.
//! May touch: nothing.
//! Must not: load anything into the kernel.

use proptest::prelude::*;

use super::super::tests::{any_query, any_rule};
use super::super::{Query, RuleSet, decide, list};
use super::*;

/// What the program answers to `query`.
fn run(program: &[u8], query: &Query) -> bool {
    let kind = if query.kind == Kind::Block { 1 } else { 2 };
    let first = kind | (u32::from(query.access.bits()) << 16);
    let mut context: Vec<u8> = [first, query.major, query.minor]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    let machine = rbpf::EbpfVmRaw::new(Some(program)).unwrap();
    machine.execute_program(&mut context).unwrap() == 1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn the_program_decides_as_the_evaluator(
        rules in prop::collection::vec(any_rule(), 0..8),
        queries in prop::collection::vec(any_query(), 30),
    ) {
        let set = RuleSet::new(rules).unwrap();
        let program = bytes(&assemble(&set));
        for query in queries {
            prop_assert_eq!(run(&program, &query), decide(&set, &query), "{:?}", query);
        }
    }
}

#[test]
fn a_container_without_gpu_reaches_null_and_no_card() {
    let program = bytes(&assemble(&RuleSet::new(list::base()).unwrap()));
    let ask = |major, minor| Query {
        kind: Kind::Char,
        major,
        minor,
        access: super::super::Access::RW,
    };
    assert!(run(&program, &ask(1, 3)));
    for minor in (0..16).chain([255]) {
        assert!(!run(&program, &ask(195, minor)), "195:{minor}");
    }
}
