//! Hostile archives: whatever one holds, nothing is made outside its directory or beyond its caps.
//! May touch: tests/corpus, temporary directories.
//! Must not: leave them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::Cursor;
use std::path::Path;

use container_localizer::fetch::Budget;
use container_localizer::protocol::{Kind, Limits, Request};
use container_localizer::unpack::unpack;

const LIMITS: Limits = Limits {
    bytes_max: 16 * 1024,
    entries_max: 50,
};
const BLOCK_BYTES: usize = 512;

fn on(target: &str, name: &str, kind: Kind, prepare: impl Fn(&mut [u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    fuzz_loop::fuzz(&corpus.join(target), |input| {
        let mut bytes = input.to_vec();
        prepare(&mut bytes);
        check(name, kind, bytes);
    })
    .unwrap();
}

fn check(name: &str, kind: Kind, bytes: Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("canary"), "sings").unwrap();
    let request = Request {
        id: 1,
        scheme: "file".into(),
        url: format!("file:/s/{name}"),
        path: format!("/s/{name}"),
        size: -1,
        timestamp_ms: 0,
        kind,
        public: false,
        pattern: (kind == Kind::Pattern).then(|| "[a-f].*".into()),
        dest: dir.path().join("10"),
        limits: LIMITS,
    };
    let target = dir.path().join("out");
    let mut budget = Budget::new(&request.url, LIMITS);
    let result = unpack(
        &request,
        name,
        &mut Cursor::new(bytes),
        &target,
        &mut budget,
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("canary")).unwrap(),
        "sings"
    );
    for entry in fs::read_dir(dir.path()).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(
            name == "canary" || name == "out",
            "{}: {result:?}",
            name.display()
        );
    }
    let (bytes, entries) = held(&target);
    // One byte and one entry more are how a cap is seen to be reached.
    assert!(bytes <= LIMITS.bytes_max + 1, "{bytes} bytes: {result:?}");
    assert!(
        entries <= LIMITS.entries_max + 1,
        "{entries} entries: {result:?}"
    );
}

/// Bytes and entries below a path; links are not followed.
fn held(path: &Path) -> (u64, u64) {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return (0, 0);
    };
    if !meta.is_dir() {
        return (if meta.is_file() { meta.len() } else { 0 }, 1);
    }
    fs::read_dir(path)
        .unwrap()
        .map(|entry| held(&entry.unwrap().path()))
        .fold((0, 1), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Makes the checksums of changed headers right, or nothing behind them would ever be reached.
fn right_checksums(tar: &mut [u8]) {
    for block in tar.chunks_exact_mut(BLOCK_BYTES) {
        if block[257..262] == *b"ustar" {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
}

#[test]
fn zips() {
    on("zip", "a.zip", Kind::Archive, |_| ());
}

#[test]
fn jars_with_a_pattern() {
    on("zip", "a.jar", Kind::Pattern, |_| ());
}

#[test]
fn tars() {
    on("tar", "a.tar", Kind::Archive, right_checksums);
}

#[test]
fn gzipped_tars() {
    on("tgz", "a.tgz", Kind::Archive, |_| ());
}
