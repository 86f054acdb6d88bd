//! Tests: log files are put aside by size.
//! May touch: a temporary directory.
//! Must not: start the process's logging.

use super::*;

#[test]
fn a_full_file_is_put_aside_and_the_oldest_goes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nm.log");
    let mut file = BySize::open(&path, 4, 2).unwrap();
    for line in ["1111\n", "2222\n", "3333\n", "4444\n"] {
        file.write_all(line.as_bytes()).unwrap();
    }
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(
        (read("nm.log"), read("nm.log.1"), read("nm.log.2")),
        (
            "4444\n".to_owned(),
            "3333\n".to_owned(),
            "2222\n".to_owned()
        )
    );
    assert!(!dir.path().join("nm.log.3").exists());
    // A new start goes on where the old one was.
    drop(file);
    BySize::open(&path, 4, 2)
        .unwrap()
        .write_all(b"5\n")
        .unwrap();
    assert_eq!(read("nm.log.1"), "4444\n");
}

#[test]
fn what_strangers_send_to_a_web_port_is_seen_by_who_looks_closer() {
    for (level, hidden) in [
        ("info", true),
        (" WARN ", true),
        ("debug", false),
        ("info,actix_http=error", false),
    ] {
        let shown = filter(level).unwrap().to_string();
        assert_eq!(shown.contains("actix_http=off"), hidden, "{shown}");
    }
    assert!(filter("a=b=c").is_err());
}
