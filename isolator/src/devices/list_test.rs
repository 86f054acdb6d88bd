//! Tests of the device lists.
//! May touch: nothing.
//! Must not: need a GPU.

use super::super::{Query, RuleSet, decide};
use super::*;

fn may(rules: &[Rule], major: u32, minor: u32, access: Access) -> bool {
    let query = Query {
        kind: Kind::Char,
        major,
        minor,
        access,
    };
    decide(&RuleSet::new(rules.to_vec()).unwrap(), &query)
}

#[test]
fn the_base_list_holds_what_a_shell_needs_and_no_more() {
    let base = base();
    for (major, minor) in [
        (1, 3),
        (1, 5),
        (1, 7),
        (1, 8),
        (1, 9),
        (5, 0),
        (5, 2),
        (136, 77),
    ] {
        assert!(may(&base, major, minor, Access::RW), "{major}:{minor}");
    }
    // mem, kmsg, console, tty0, fuse, a card, the simulated uvm.
    for (major, minor) in [
        (1, 1),
        (1, 11),
        (5, 1),
        (4, 0),
        (10, 229),
        (195, 0),
        (511, 0),
    ] {
        assert!(!may(&base, major, minor, Access::READ), "{major}:{minor}");
        assert!(
            may(&base, major, minor, Access::MKNOD),
            "making a node is harmless"
        );
    }
}

#[test]
fn without_a_card_there_is_no_nvidiactl() {
    assert_eq!(gpus(&[], true, &Majors::default()), (vec![], vec![]));
}

#[test]
fn granted_minors_with_control_and_uvm_and_no_other() {
    let majors = Majors {
        gpu: Some(195),
        uvm: Some(234),
        caps: None,
    };
    let (rules, missing) = gpus(&[5, 2], false, &majors);
    assert!(missing.is_empty());
    let open: Vec<u32> = (0..16)
        .filter(|m| may(&rules, 195, *m, Access::RW))
        .collect();
    assert_eq!(open, [2, 5]);
    assert!(may(&rules, 195, 255, Access::RW));
    assert!(
        !may(&rules, 195, 254, Access::READ),
        "modeset is for displays"
    );
    assert!(may(&rules, 234, 0, Access::RW));
    assert!(
        !may(&rules, 234, 1, Access::READ),
        "uvm-tools is for profilers"
    );
    assert!(!may(&rules, 511, 0, Access::READ));
}

#[test]
fn simulated_cards_have_a_fixed_uvm() {
    let (rules, missing) = gpus(&[0], true, &Majors::default());
    assert!(missing.is_empty());
    assert!(may(&rules, 511, 0, Access::RW));
}

#[test]
fn an_unloaded_uvm_module_is_named() {
    let (rules, missing) = gpus(&[0], false, &Majors::default());
    assert!(may(&rules, 195, 0, Access::RW));
    assert_eq!(missing.len(), 1);
    assert!(missing[0].contains("nvidia-uvm"), "{missing:?}");
}

#[test]
fn further_nodes_are_opened_and_missing_or_gpu_ones_named() {
    let char = |major, minor| {
        Ok(Node {
            kind: Kind::Char,
            major,
            minor,
        })
    };
    let nodes = [
        ("/dev/fuse".to_owned(), char(10, 229)),
        ("/dev/gdrdrv".to_owned(), Err("no such file".to_owned())),
        ("/dev/nvidia3".to_owned(), char(195, 3)),
    ];
    let (rules, missing) = further(&nodes, &Majors::default());
    assert!(may(&rules, 10, 229, Access::RW));
    assert!(
        !may(&rules, 195, 3, Access::READ),
        "a card is never open to all"
    );
    assert_eq!(missing.len(), 2);
    assert!(
        missing[0].starts_with("/dev/gdrdrv (no such file"),
        "{missing:?}"
    );
    assert!(missing[1].starts_with("/dev/nvidia3 (a GPU"), "{missing:?}");
}
