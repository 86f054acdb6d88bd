//! Tests of the ledger's files.
//! May touch: a temporary directory.
//! Must not: touch cgroups.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::cgroup::mounts::Mode;
use crate::devices::{RuleSet, list};
use crate::limits::Limit;

fn record() -> Record {
    Record {
        container: "container_1_0001_01_000002".to_owned(),
        ops: vec![
            Op::Cgroup {
                dir: "/cg/c".into(),
            },
            Op::Devices {
                dir: "/cg/c".into(),
                mode: Mode::V2,
                rules: RuleSet::new(list::base()).unwrap(),
            },
            Op::Limit {
                dir: "/cg/c".into(),
                mode: Mode::V1,
                limit: Limit::Pids(7),
            },
        ],
        attached: Some(Attached {
            id: 4,
            tag: "00ff".to_owned(),
        }),
        missing: vec!["/dev/fuse (gone)".to_owned()],
    }
}

#[test]
fn an_entry_is_read_back_whole_and_only_by_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &record()).unwrap();
    let file = path(dir.path(), &record().container);
    assert_eq!(read(&file).unwrap(), record());
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(containers(dir.path()).unwrap(), [record().container]);
    forget(dir.path(), &record().container).unwrap();
    forget(dir.path(), &record().container).unwrap();
    assert!(containers(dir.path()).unwrap().is_empty());
}

#[test]
fn damage_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &record()).unwrap();
    let file = path(dir.path(), &record().container);
    let good = std::fs::read_to_string(&file).unwrap();
    for (bad, why) in [
        (good.replace("/cg/c", "/cg/d"), "checksum"),
        (good.replace("\"version\":1", "\"version\":2"), "version 2"),
        (good.chars().take(good.len() / 2).collect(), "EOF"),
        (good.replace("\"ops\"", "\"opz\""), "opz"),
        (String::new(), "EOF"),
    ] {
        assert_ne!(good, bad);
        std::fs::write(&file, bad).unwrap();
        let error = read(&file).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert!(error.starts_with(file.to_str().unwrap()), "{error}");
    }
}
