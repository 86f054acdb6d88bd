//! Labels of hosts and nodes, and their names.
//! May touch: the tables.
//! Must not: need a running core.

use super::*;

fn node(port: u16) -> LabelTarget {
    LabelTarget::Node(NodeId::new("h", port))
}

#[test]
fn a_nodes_own_label_wins_until_its_host_gets_another() {
    let mut labels = NodeLabels::default();
    labels.set(&LabelTarget::Host("h".into()), "x".into());
    labels.set(&node(1), "y".into());
    labels.set(&node(2), "".into());
    let of =
        |labels: &NodeLabels, port| labels.of(&NodeId::new("h", port)).map(ToString::to_string);
    assert_eq!(of(&labels, 1).as_deref(), Some("y"));
    assert_eq!(of(&labels, 2), None);
    assert_eq!(of(&labels, 3).as_deref(), Some("x"));
    labels.set(&LabelTarget::Host("h".into()), "z".into());
    assert_eq!(of(&labels, 1).as_deref(), Some("z"));
    assert_eq!(of(&labels, 2).as_deref(), Some("z"));
    labels.set(&LabelTarget::Host("h".into()), "".into());
    assert_eq!(labels, NodeLabels::default());
}

#[test]
fn names_are_those_of_hadoop() {
    for good in ["x", "GPU-a_1", "0", &"a".repeat(255)] {
        assert!(check_name(good).is_ok(), "{good}");
    }
    for bad in ["-x", "_x", "x y", "x/y", "é"] {
        let text = check_name(bad).unwrap_err().message;
        assert!(text.ends_with(&format!("now it is= {bad}")), "{text}");
    }
    for bad in ["", &"a".repeat(256)] {
        let text = check_name(bad).unwrap_err().message;
        assert_eq!(text, "label added is empty or exceeds 255 character(s)");
    }
}
