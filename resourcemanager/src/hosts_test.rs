//! Host files as Hadoop reads them.
//! May touch: temporary files.
//! Must not: know the daemon.

use super::*;

#[test]
fn words_count_and_comments_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("exclude");
    std::fs::write(
        &file,
        "a.example  b.example\n# all of this\nc # and this\n\n",
    )
    .unwrap();
    let lists = read(None, Some(&file)).unwrap();
    assert!(lists.include.is_empty());
    let hosts: Vec<&str> = lists.exclude.iter().map(|h| &**h).collect();
    assert_eq!(hosts, ["a.example", "b.example", "c"]);
}

#[test]
fn a_missing_list_is_named_with_its_key() {
    let text = read(Some(Path::new("/nowhere/include")), None)
        .unwrap_err()
        .to_string();
    assert!(text.contains("/nowhere/include"), "{text}");
    assert!(
        text.contains("yarn.resourcemanager.nodes.include-path"),
        "{text}"
    );
}
