//! Tests of archives, well-meant and hostile.
//! May touch: temporary directories.
//! Must not: leave them.

use std::io::{Cursor, Write};

use ::zip::write::SimpleFileOptions;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use super::*;
use crate::protocol::Limits;

/// Unpacks `bytes` as the remote file `name`; the result is the directory and the outcome.
fn unpack_as(
    name: &str,
    kind: Kind,
    pattern: Option<&str>,
    bytes: Vec<u8>,
) -> (TempDir, Result<Option<String>, FetchError>) {
    let dir = tempfile::tempdir().unwrap();
    let request = Request {
        id: 1,
        scheme: "file".into(),
        url: format!("file:/s/{name}"),
        path: format!("/s/{name}"),
        size: -1,
        timestamp_ms: 0,
        kind,
        public: false,
        pattern: pattern.map(str::to_owned),
        dest: dir.path().join("10"),
        limits: Limits {
            bytes_max: 1000,
            entries_max: 20,
        },
    };
    let target = dir.path().join("out");
    let mut budget = Budget::new(&request.url, request.limits);
    let result = unpack(
        &request,
        name,
        &mut Cursor::new(bytes),
        &target,
        &mut budget,
    );
    (dir, result)
}

fn zip_of(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut out = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in entries {
        if name.ends_with('/') {
            out.add_directory(*name, SimpleFileOptions::default())
                .unwrap();
        } else if let Some(target) = text.strip_prefix("-> ") {
            out.add_symlink(*name, target, SimpleFileOptions::default())
                .unwrap();
        } else {
            out.start_file(*name, SimpleFileOptions::default()).unwrap();
            out.write_all(text.as_bytes()).unwrap();
        }
    }
    out.finish().unwrap().into_inner()
}

/// A tar with raw names, which the tar crate's own builder would refuse.
fn tar_of(entries: &[(&str, ::tar::EntryType, &str)]) -> Vec<u8> {
    let mut out = ::tar::Builder::new(Vec::new());
    for (name, kind, text) in entries {
        let mut header = ::tar::Header::new_gnu();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        let link = matches!(kind, ::tar::EntryType::Symlink | ::tar::EntryType::Link);
        let body = if link { "" } else { *text };
        if link {
            header.as_gnu_mut().unwrap().linkname[..text.len()].copy_from_slice(text.as_bytes());
        }
        header.set_size(body.len() as u64);
        header.set_cksum();
        out.append(&header, body.as_bytes()).unwrap();
    }
    out.into_inner().unwrap()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

const REGULAR: ::tar::EntryType = ::tar::EntryType::Regular;
const SYMLINK: ::tar::EntryType = ::tar::EntryType::Symlink;
const LINK: ::tar::EntryType = ::tar::EntryType::Link;

#[test]
fn the_suffix_decides_whatever_its_case() {
    let tar = tar_of(&[("d/f", REGULAR, "x")]);
    let zip = zip_of(&[("d/", ""), ("d/f", "x")]);
    for (name, bytes) in [
        ("a.ZIP", zip.clone()),
        ("a.jar", zip),
        ("a.tar", tar.clone()),
        ("a.tar.gz", gz(&tar)),
        ("a.TGZ", gz(&tar)),
    ] {
        let (dir, result) = unpack_as(name, Kind::Archive, None, bytes);
        assert_eq!(result.unwrap(), None, "{name}");
        assert_eq!(
            fs::read_to_string(dir.path().join("out/d/f")).unwrap(),
            "x",
            "{name}"
        );
    }
}

#[test]
fn an_unknown_suffix_is_kept_as_a_file_with_a_warning() {
    let (dir, result) = unpack_as("a.7z", Kind::Archive, None, b"data".to_vec());
    assert!(
        result
            .unwrap()
            .unwrap()
            .contains("cannot unpack file:/s/a.7z")
    );
    assert_eq!(fs::read_to_string(dir.path().join("out")).unwrap(), "data");
}

#[test]
fn a_pattern_keeps_the_jar_and_unpacks_what_matches_whole() {
    let zip = zip_of(&[
        ("lib/a.jar", "a"),
        ("classes/B", "b"),
        ("x/lib/c", "c"),
        ("lib", "no"),
    ]);
    let pattern = Some("(?:classes/|lib/).*");
    let (dir, result) = unpack_as("job.jar", Kind::Pattern, pattern, zip.clone());
    assert_eq!(result.unwrap(), None);
    let out = dir.path().join("out");
    assert!(out.join("lib/a.jar").is_file() && out.join("classes/B").is_file());
    assert!(!out.join("x").exists());
    assert_eq!(fs::read(out.join("job.jar")).unwrap(), zip);
    let (_, bad) = unpack_as("job.jar", Kind::Pattern, Some("("), zip);
    assert!(matches!(bad, Err(FetchError::Pattern { .. })));
}

#[test]
fn names_that_leave_the_directory_are_refused() {
    for name in ["../evil", "/tmp/evil", "a/../../evil"] {
        let (dir, result) = unpack_as("a.zip", Kind::Archive, None, zip_of(&[(name, "x")]));
        assert!(result.is_err(), "zip {name}");
        assert!(!dir.path().join("evil").exists());
        let tar = tar_of(&[(name, REGULAR, "x")]);
        let (dir, result) = unpack_as("a.tar", Kind::Archive, None, tar);
        assert!(
            matches!(result, Err(FetchError::Outside { .. })),
            "tar {name}: {result:?}"
        );
        assert!(!dir.path().join("evil").exists());
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().to_str().unwrap();
    let tar = tar_of(&[("l", SYMLINK, target), ("l/evil", REGULAR, "x")]);
    let (_, result) = unpack_as("a.tar", Kind::Archive, None, tar);
    assert!(
        matches!(result, Err(FetchError::Outside { .. })),
        "{result:?}"
    );
    let zip = zip_of(&[("l", &format!("-> {target}")), ("l/evil", "x")]);
    let (_, result) = unpack_as("a.zip", Kind::Archive, None, zip);
    assert!(
        matches!(result, Err(FetchError::Outside { .. })),
        "{result:?}"
    );
    // A file of the link's own name replaces the link, not what it points to.
    let file = outside.path().join("f");
    fs::write(&file, "untouched").unwrap();
    let tar = tar_of(&[
        ("l", SYMLINK, file.to_str().unwrap()),
        ("l", REGULAR, "new"),
    ]);
    let (dir, result) = unpack_as("a.tar", Kind::Archive, None, tar);
    result.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "untouched");
    assert_eq!(fs::read_to_string(dir.path().join("out/l")).unwrap(), "new");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn hard_links_reach_only_files_of_the_archive() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    let path = secret.path().to_str().unwrap();
    for entries in [
        vec![("h", LINK, path)],
        vec![("l", SYMLINK, path), ("h", LINK, "l")],
        vec![("h", LINK, "../out")],
    ] {
        let (_, result) = unpack_as("a.tar", Kind::Archive, None, tar_of(&entries));
        assert!(result.is_err(), "{entries:?}");
    }
    let tar = tar_of(&[("f", REGULAR, "x"), ("h", LINK, "f")]);
    let (dir, result) = unpack_as("a.tar", Kind::Archive, None, tar);
    result.unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("out/h")).unwrap(), "x");
}

#[test]
fn packed_environments_keep_their_links() {
    let tar = tar_of(&[
        ("lib64", SYMLINK, "lib"),
        ("bin/python", SYMLINK, "/usr/bin/python3"),
    ]);
    let (dir, result) = unpack_as("venv.tar.gz", Kind::Archive, None, gz(&tar));
    result.unwrap();
    let python = fs::read_link(dir.path().join("out/bin/python")).unwrap();
    assert_eq!(python, Path::new("/usr/bin/python3"));
}

#[test]
fn devices_and_pipes_are_refused() {
    for kind in [
        ::tar::EntryType::Char,
        ::tar::EntryType::Block,
        ::tar::EntryType::Fifo,
    ] {
        let (_, result) = unpack_as("a.tar", Kind::Archive, None, tar_of(&[("dev", kind, "")]));
        assert!(
            matches!(result, Err(FetchError::Archive { .. })),
            "{kind:?}: {result:?}"
        );
    }
}

#[test]
fn bombs_hit_the_caps() {
    let big = "0".repeat(100_000);
    let (_, result) = unpack_as("a.zip", Kind::Archive, None, zip_of(&[("big", &big)]));
    assert!(
        matches!(result, Err(FetchError::TooLarge { what: "bytes", .. })),
        "{result:?}"
    );
    let tar = gz(&tar_of(&[("big", REGULAR, &big)]));
    let (_, result) = unpack_as("a.tgz", Kind::Archive, None, tar);
    assert!(
        matches!(result, Err(FetchError::TooLarge { what: "bytes", .. })),
        "{result:?}"
    );
    let names: Vec<String> = (0..30).map(|n| format!("f{n}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "")).collect();
    let (_, result) = unpack_as("a.zip", Kind::Archive, None, zip_of(&many));
    assert!(
        matches!(
            result,
            Err(FetchError::TooLarge {
                what: "entries",
                ..
            })
        ),
        "{result:?}"
    );
    let deep = "d/".repeat(30) + "f";
    let (_, result) = unpack_as("a.zip", Kind::Archive, None, zip_of(&[(&deep, "")]));
    assert!(
        matches!(
            result,
            Err(FetchError::TooLarge {
                what: "entries",
                ..
            })
        ),
        "{result:?}"
    );
}

#[test]
fn garbage_is_an_error() {
    for name in ["a.zip", "a.jar", "a.tar", "a.tgz"] {
        let (_, result) = unpack_as(name, Kind::Archive, None, vec![7; 2000]);
        assert!(
            matches!(
                result,
                Err(FetchError::Archive { .. } | FetchError::Io { .. })
            ),
            "{name}: {result:?}"
        );
    }
}
