//! Tests of directory.info.
//! May touch: a temporary directory.
//! Must not: leave it.

use super::*;

#[test]
fn links_are_named_and_not_followed() {
    let tmp = tempfile::tempdir().unwrap();
    std::fs::create_dir(tmp.path().join("tmp")).unwrap();
    std::fs::write(tmp.path().join("tmp/f"), "12345").unwrap();
    std::os::unix::fs::symlink("/etc", tmp.path().join("lib")).unwrap();
    let text = directory_info(&Dir::open(tmp.path()).unwrap());
    assert!(text.contains(" lib -> /etc\n"), "{text}");
    assert!(text.contains(" ./tmp/f\n"), "{text}");
    assert!(!text.contains("passwd"), "{text}");
    assert_eq!(mode_text(0o100_640), "-rw-r-----");
}
