//! Tests of the ends of logs.
//! May touch: a temporary directory.
//! Must not: leave it.

use super::*;

const PATTERN: &str = "{*stderr*,*STDERR*}";

#[test]
fn globs_match_as_hadoops() {
    for (name, expected) in [
        ("stderr", true),
        ("a.stderr.log", true),
        ("STDERR1", true),
        ("stdout", false),
        ("std", false),
    ] {
        assert_eq!(matches(PATTERN, name), expected, "{name}");
    }
    assert!(matches("a?c*", "abcd") && !matches("a?c", "abcd") && matches("**", ""));
}

#[test]
fn the_last_bytes_are_read_and_links_are_not() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path().join("app/c");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("prelaunch.err"), "early").unwrap();
    std::fs::write(dir.join("stderr"), "0123456789").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.join("my.stderr")).unwrap();
    let tails = read_tails(tmp.path(), "app", "c", 4, PATTERN);
    assert_eq!(tails.prelaunch.unwrap().text, "arly");
    assert_eq!(tails.stderr.unwrap().text, "6789");
    assert_eq!(tails.stderr_names, ["stderr"]);
}
