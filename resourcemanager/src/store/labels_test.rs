//! Label files of Hadoop and our own.
//! May touch: temporary directories.
//! Must not: need Hadoop.

use std::collections::BTreeSet;

use rm_core::event::LabelTarget;

use super::*;

fn entry(log: &mut Vec<u8>, kind: u32, message: &impl Message) {
    log.extend(kind.to_be_bytes());
    log.extend(message.encode_length_delimited_to_vec());
}

fn added(all: &[(&str, bool)]) -> AddToClusterNodeLabelsRequestProto {
    let all: labels::Labels = all.iter().map(|(n, e)| ((*n).into(), *e)).collect();
    labels::to_add_proto(&all)
}

fn given(all: &[(&str, u16, &str)]) -> ReplaceLabelsOnNodeRequestProto {
    let all = all.iter();
    let all =
        all.map(|(host, port, label)| labels::mapping_proto(&NodeId::new(*host, *port), label));
    ReplaceLabelsOnNodeRequestProto {
        node_to_labels: all.collect(),
        ..Default::default()
    }
}

fn removed(name: &str) -> RemoveFromClusterNodeLabelsRequestProto {
    RemoveFromClusterNodeLabelsRequestProto {
        node_labels: vec![name.to_owned()],
        ..Default::default()
    }
}

fn of(kept: &KeptLabels, host: &str, port: u16) -> Option<String> {
    let label = kept.nodes.of(&NodeId::new(host, port));
    label.map(ToString::to_string)
}

#[test]
fn mirror_and_edits_are_read_and_become_one_mirror() {
    let dir = tempfile::tempdir().unwrap();
    let mut mirror = added(&[("x", true), ("old", true)]).encode_length_delimited_to_vec();
    // As Hadoop writes it: the label of a host stands at its nodes too.
    let map = given(&[("h", 1, "x"), ("h", 0, "x"), ("i", 7, "old")]);
    mirror.extend(map.encode_length_delimited_to_vec());
    fs::write(dir.path().join(MIRROR), mirror).unwrap();
    let mut log = Vec::new();
    entry(&mut log, 0, &added(&[("y", false), ("x", true)]));
    entry(
        &mut log,
        1,
        &given(&[("h", 2, "y"), ("g", 0, "y"), ("h", 3, "")]),
    );
    entry(&mut log, 2, &removed("old"));
    fs::write(dir.path().join(EDITS), &log).unwrap();
    let (_, kept) = LabelFiles::open(dir.path()).unwrap();
    let names: Vec<(&str, bool)> = kept.labels.iter().map(|(n, e)| (&**n, *e)).collect();
    assert_eq!(names, [("x", true), ("y", false)]);
    assert_eq!(of(&kept, "h", 1).as_deref(), Some("x"));
    assert_eq!(of(&kept, "h", 2).as_deref(), Some("y"));
    assert_eq!(of(&kept, "h", 3), None);
    assert_eq!(of(&kept, "g", 9).as_deref(), Some("y"));
    assert_eq!(of(&kept, "i", 7), None);
    assert!(!kept.nodes.nodes.contains_key(&NodeId::new("h", 1)));
    assert!(fs::read(dir.path().join(EDITS)).unwrap().is_empty());
    let (_, again) = LabelFiles::open(dir.path()).unwrap();
    assert_eq!(again, kept);
}

#[test]
fn what_was_saved_is_read_again_from_the_mirror_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (files, kept) = LabelFiles::open(&dir.path().join("new")).unwrap();
    assert_eq!(kept, KeptLabels::default());
    let mut nodes = NodeLabels::default();
    nodes.set(&LabelTarget::Host("h".into()), "x".into());
    nodes.set(&LabelTarget::Node(NodeId::new("h", 1)), "".into());
    nodes.set(&LabelTarget::Node(NodeId::new("h", 2)), "y".into());
    files
        .save(&[("x".into(), true), ("y".into(), false)], &nodes)
        .unwrap();
    let (_, kept) = LabelFiles::open(&dir.path().join("new")).unwrap();
    assert_eq!(kept.nodes, nodes);
    assert_eq!(kept.labels.get("y"), Some(&false));
}

#[test]
fn an_edit_that_was_cut_off_is_left_out_and_a_broken_file_is_named() {
    let mut log = Vec::new();
    entry(&mut log, 0, &added(&[("x", true)]));
    let whole = log.len();
    entry(&mut log, 0, &added(&[("y", true)]));
    for cut in whole..log.len() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(EDITS), &log[..cut]).unwrap();
        let (_, kept) = LabelFiles::open(dir.path()).unwrap();
        let names: BTreeSet<&str> = kept.labels.keys().map(|n| &**n).collect();
        assert_eq!(names, BTreeSet::from(["x"]), "{cut}");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(EDITS), [0, 0, 0, 9, 0]).unwrap();
    let text = LabelFiles::open(dir.path()).unwrap_err().to_string();
    assert!(
        text.contains(EDITS) && text.contains("no kind of edit: 9"),
        "{text}"
    );
    fs::remove_file(dir.path().join(EDITS)).unwrap();
    fs::write(dir.path().join(MIRROR), [5, 1]).unwrap();
    let text = LabelFiles::open(dir.path()).unwrap_err().to_string();
    assert!(
        text.contains(MIRROR) && text.contains("middle of a message"),
        "{text}"
    );
}
