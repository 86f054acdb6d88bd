//! Tests of measuring disks.
//! May touch: temporary directories, a small file system of its own where it may mount one.
//! Must not: leave them.

use std::process::Command;

use nm_core::disks::{DiskReport, DiskRules};

use super::*;
use crate::exec::test_support::need_root;

#[test]
fn what_cannot_be_written_is_said_and_what_is_gone_is_made() {
    let tmp = tempfile::tempdir().unwrap();
    let (good, file) = (tmp.path().join("a/good"), tmp.path().join("file"));
    std::fs::write(&file, "").unwrap();
    let found = look(&[good.clone(), file.clone(), file.join("below")]);
    assert!(
        found[0]
            .1
            .as_ref()
            .is_ok_and(|s| s.total >= s.usable && s.usable > 0)
    );
    assert!(
        std::fs::read_dir(&good).unwrap().next().is_none(),
        "the trial file is gone"
    );
    let text = |n: usize| format!("{:?}", found[n].1);
    assert!(
        text(1).contains(&format!("Not a directory: {}", file.display())),
        "{}",
        text(1)
    );
    assert!(text(2).contains("Cannot create directory: "), "{}", text(2));
}

#[test]
fn a_file_system_that_fills_up_is_full_and_comes_back() {
    if !need_root("a_file_system_that_fills_up_is_full_and_comes_back") {
        return;
    }
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path().join("disk");
    std::fs::create_dir(&dir).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=4m", "heddle-test"])
        .arg(&dir)
        .status()
        .unwrap();
    if !mounted.success() {
        println!("SKIP: nothing can be mounted here");
        return;
    }
    let rules = DiskRules::default();
    let check = |before: &DiskReport| {
        let found = look(std::slice::from_ref(&dir));
        before.next(found.clone(), found, &rules)
    };
    let empty = check(&DiskReport::default());
    let filled = std::fs::write(dir.join("big"), vec![0; 8 << 20]);
    let full = check(&empty);
    std::fs::remove_file(dir.join("big")).unwrap();
    // A child that another test starts may hold the file open until it runs its program.
    let again = (0..100_000).any(|_| check(&full).healthy(&rules));
    Command::new("umount").arg(&dir).status().unwrap();
    assert_eq!(filled.unwrap_err().kind(), StorageFull);
    assert!(empty.healthy(&rules) && !full.healthy(&rules) && again);
    assert!(
        full.text(&rules).contains("no more usable space [ "),
        "{}",
        full.text(&rules)
    );
}
