//! Tests of directory work in the face of hostile links.
//! May touch: temporary directories.
//! Must not: leave them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::exec::test_support::need_root;

#[test]
fn a_link_in_the_way_is_not_followed() {
    let (tmp, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(outside.path().join("app")).unwrap();
    symlink(outside.path(), tmp.path().join("appcache")).unwrap();
    let root = Dir::open(tmp.path()).unwrap();
    assert!(root.descend(Path::new("appcache/app")).is_err());
    assert!(root.ensure(OsStr::new("appcache"), 0o710, None).is_err());
    assert!(root.descend(Path::new("../x")).is_err());
    assert!(root.descend(Path::new("/etc")).is_err());
    assert!(root.write_new("appcache", 0o600, None, b"x").is_err());
    remove_tree(tmp.path(), Path::new("appcache/app")).unwrap_err();
    assert!(outside.path().join("app").is_dir());
}

#[test]
fn deleting_a_tree_leaves_what_its_links_point_to() {
    let (tmp, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("keep"), "x").unwrap();
    fs::create_dir_all(tmp.path().join("c/closed/deep")).unwrap();
    symlink(outside.path(), tmp.path().join("c/closed/deep/l")).unwrap();
    symlink(outside.path(), tmp.path().join("top")).unwrap();
    let mode = fs::Permissions::from_mode(0o500);
    fs::set_permissions(tmp.path().join("c/closed"), mode).unwrap();
    remove_tree(tmp.path(), Path::new("c")).unwrap();
    remove_tree(tmp.path(), Path::new("top")).unwrap();
    remove_tree(tmp.path(), Path::new("never/there")).unwrap();
    assert_eq!(fs::read_dir(tmp.path()).unwrap().count(), 0);
    assert!(outside.path().join("keep").is_file());
    assert!(remove_tree(tmp.path(), Path::new("..")).is_err());
}

#[test]
fn directories_of_somebody_else_are_not_used() {
    if !need_root("directories_of_somebody_else_are_not_used") {
        return;
    }
    let tmp = tempfile::tempdir().unwrap();
    let root = Dir::open(tmp.path()).unwrap();
    let owner = |uid| Some(Owner { uid, gid: uid });
    let made = root.ensure(OsStr::new("d"), 0o710, owner(12345)).unwrap();
    let meta = fs::metadata(made.path()).unwrap();
    assert_eq!(
        (meta.uid(), meta.gid(), meta.mode() & 0o777),
        (12345, 12345, 0o710)
    );
    root.ensure(OsStr::new("d"), 0o710, owner(12345)).unwrap();
    let refused = root
        .ensure(OsStr::new("d"), 0o710, owner(54321))
        .unwrap_err();
    assert!(
        refused.to_string().contains("it belongs to uid 12345"),
        "{refused}"
    );
}

#[test]
fn a_tree_changes_owner_without_its_links_targets() {
    if !need_root("a_tree_changes_owner_without_its_links_targets") {
        return;
    }
    let (tmp, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(tmp.path().join("t")).unwrap();
    fs::write(tmp.path().join("t/f"), "").unwrap();
    symlink(outside.path(), tmp.path().join("t/l")).unwrap();
    let owner = Owner {
        uid: 12345,
        gid: 12345,
    };
    give_tree(&Dir::open(tmp.path()).unwrap(), OsStr::new("t"), owner).unwrap();
    let uid = |path: PathBuf| fs::symlink_metadata(path).unwrap().uid();
    assert_eq!(uid(tmp.path().join("t/f")), 12345);
    assert_eq!(uid(tmp.path().join("t/l")), 12345);
    assert_eq!(uid(outside.path().to_owned()), 0);
}

#[test]
fn only_regular_files_are_opened() {
    let tmp = tempfile::tempdir().unwrap();
    fs::write(tmp.path().join("f"), "x").unwrap();
    symlink("f", tmp.path().join("l")).unwrap();
    nix::unistd::mkfifo(&tmp.path().join("p"), Mode::from_bits_truncate(0o600)).unwrap();
    let dir = Dir::open(tmp.path()).unwrap();
    assert!(dir.open_file("f").is_ok());
    for bad in ["l", "p", ".", "missing"] {
        assert!(dir.open_file(bad).is_err(), "{bad}");
    }
}
