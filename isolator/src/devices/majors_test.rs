//! Tests of `/proc/devices` and of numbers behind paths.
//! May touch: `/dev/null`, a file in a temporary directory.
//! Must not: need a GPU.

use std::path::Path;

use super::*;

const TABLE: &str = "Character devices:\n  1 mem\n136 pts\n195 nvidia-frontend\n234 nvidia-nvswitch\n508 nvidia-uvm\n510 nvidia-caps\n\nBlock devices:\n  7 loop\n254 nvidia-uvm\n";

#[test]
fn dynamic_majors_are_found_among_the_character_devices() {
    let found = Majors::parse(TABLE);
    assert_eq!(
        found,
        Majors {
            gpu: Some(195),
            uvm: Some(508),
            caps: Some(510)
        }
    );
    let newer = Majors::parse("Character devices:\n195 nvidia\n");
    assert_eq!((newer.gpu, newer.uvm), (Some(195), None));
    assert_eq!(Majors::parse("nonsense\n\n x y z\n"), Majors::default());
}

#[test]
fn gpu_majors_are_known_even_without_a_driver() {
    let bare = Majors::default();
    assert!(bare.is_gpu(195) && bare.is_gpu(511) && !bare.is_gpu(10));
    assert!(Majors::parse(TABLE).is_gpu(510));
}

#[test]
fn paths_are_resolved_through_links_and_must_be_devices() {
    let null = Node {
        kind: Kind::Char,
        major: 1,
        minor: 3,
    };
    assert_eq!(resolve(Path::new("/dev/null")), Ok(null));
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    assert_eq!(resolve(&link), Ok(null));
    assert_eq!(resolve(dir.path()), Err("not a device node".to_owned()));
    assert!(resolve(&dir.path().join("absent")).is_err());
}
