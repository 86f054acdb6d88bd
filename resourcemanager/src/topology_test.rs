//! Racks from tables and scripts.
//! May touch: temporary files.
//! Must not: need a resolver.

use super::*;

#[test]
fn a_table_names_racks_by_address_or_host() {
    let table = "# racks\n10.0.0.7 /row1/rack2\nnm2  /row1/rack3\nbroken line here\n";
    let rack = |names: &[&str]| rack_in_table(table, names);
    assert_eq!(rack(&["10.0.0.7", "nm1"]).as_deref(), Some("/row1/rack2"));
    assert_eq!(rack(&["10.0.0.8", "nm2"]).as_deref(), Some("/row1/rack3"));
    assert_eq!(rack(&["10.0.0.9", "nm3"]), None);
}

#[tokio::test]
async fn a_script_is_asked_once_a_host_and_its_failure_gives_the_default_rack() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("racks.sh");
    let text =
        "#!/bin/sh\necho x >> \"$0.calls\"\ncase $1 in 127.0.0.1) echo /r1;; *) exit 1;; esac\n";
    std::fs::write(&script, text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let topology = Topology::new(RackMapping::Script(script.clone()));
    let host: Arc<str> = "127.0.0.1".into();
    assert_eq!(&*topology.rack(&host).await, "/r1");
    assert_eq!(&*topology.rack(&host).await, "/r1");
    assert_eq!(
        std::fs::read_to_string(dir.path().join("racks.sh.calls")).unwrap(),
        "x\n"
    );
    assert_eq!(&*topology.rack(&"127.0.0.2".into()).await, DEFAULT_RACK);
}
