//! Tests: what the NodeManager reads from its configuration.
//! May touch: the module under test.
//! Must not: read files.

use super::*;

fn read<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Settings, Problem> {
    let base = [
        ("yarn.nodemanager.local-dirs", "/d/local"),
        ("yarn.nodemanager.log-dirs", "/d/logs"),
    ];
    let conf = Configuration::of(base.into_iter().chain(pairs));
    Settings::read(&conf, &ExecutorCfg::default())
}

#[test]
fn hadoops_defaults() {
    let s = read([]).unwrap();
    assert_eq!((s.total.memory_mb(), s.total.vcores()), (8192, 8));
    assert_eq!(s.rpc_bind.to_string(), "0.0.0.0:0");
    assert_eq!(s.web_bind.to_string(), "0.0.0.0:8042");
    assert_eq!(s.tracker[0].to_string(), "0.0.0.0:8031");
    assert_eq!(s.core.log_retain_ms, 10_800_000);
    assert_eq!(s.core.link.connect_wait_ms_max, Some(900_000));
    assert!(s.accounts.limit_users);
    assert_eq!(s.accounts.local_user, "nobody");
    assert_ne!(s.node_host, "0.0.0.0");
}

#[test]
fn the_node_is_called_as_configured() {
    let s = read([
        ("yarn.nodemanager.hostname", "127.9.8.7"),
        ("yarn.nodemanager.bind-host", "0.0.0.0"),
        ("yarn.nodemanager.resourcemanager.connect.max-wait.ms", "-1"),
    ])
    .unwrap();
    assert_eq!(s.node_host, "127.9.8.7");
    assert_eq!(s.rpc_bind.to_string(), "0.0.0.0:0");
    assert_eq!(s.core.link.connect_wait_ms_max, None);
}

#[test]
fn a_relative_directory_is_refused_by_name() {
    let e = read([("yarn.nodemanager.local-dirs", "/a, b")]).unwrap_err();
    assert!(e.to_string().contains("yarn.nodemanager.local-dirs"), "{e}");
}

#[test]
fn every_resource_manager_of_an_ha_pair_is_known() {
    let s = read([
        ("yarn.resourcemanager.ha.enabled", "true"),
        ("yarn.resourcemanager.ha.rm-ids", "rm1,rm2"),
        ("yarn.resourcemanager.hostname.rm1", "a"),
        ("yarn.resourcemanager.resource-tracker.address.rm2", "b:9"),
    ])
    .unwrap();
    let shown: Vec<String> = s.tracker.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["a:8031", "b:9"]);
}
