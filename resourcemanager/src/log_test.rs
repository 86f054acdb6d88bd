//! Rotation by size.
//! May touch: temporary files.
//! Must not: touch the process's log output.

use super::*;

#[test]
fn a_full_file_is_put_aside_and_the_oldest_goes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rm.log");
    let mut log = BySize::open(&path, 4, 2).unwrap();
    for line in ["one\n", "two\n", "three\n", "four\n"] {
        log.write_all(line.as_bytes()).unwrap();
    }
    let text = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(text("rm.log"), "four\n");
    assert_eq!(text("rm.log.1"), "three\n");
    assert_eq!(text("rm.log.2"), "two\n");
    assert!(!dir.path().join("rm.log.3").exists());
}
