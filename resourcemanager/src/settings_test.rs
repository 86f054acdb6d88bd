//! Addresses and intervals as Hadoop reads them.
//! May touch: configuration tables.
//! Must not: open sockets.

use super::*;

fn read(pairs: &[(&'static str, &'static str)]) -> Result<Settings, Problem> {
    Settings::read(&Configuration::of(pairs.iter().copied()))
}

fn at(endpoint: &Endpoint) -> String {
    endpoint.address.to_string()
}

#[test]
fn addresses_follow_the_hostname() {
    let settings = read(&[("yarn.resourcemanager.hostname", "rm.example")]).unwrap();
    let ports = settings.endpoints;
    assert_eq!(at(&ports.client), "rm.example:8032");
    assert_eq!(at(&ports.scheduler), "rm.example:8030");
    assert_eq!(at(&ports.tracker), "rm.example:8031");
    assert_eq!(at(&ports.admin), "rm.example:8033");
    assert_eq!(at(&ports.web), "rm.example:8088");
    assert_eq!(ports.client.bind_host, None);
}

#[test]
fn with_ha_the_addresses_of_this_id_hold() {
    let ha = [
        ("yarn.resourcemanager.ha.enabled", "true"),
        ("yarn.resourcemanager.ha.rm-ids", "rm1,rm2"),
        ("yarn.resourcemanager.ha.id", "rm2"),
        ("yarn.resourcemanager.hostname.rm1", "one.example"),
        ("yarn.resourcemanager.hostname.rm2", "two.example"),
        (
            "yarn.resourcemanager.scheduler.address.rm2",
            "two.example:1234",
        ),
        ("yarn.resourcemanager.bind-host", "0.0.0.0"),
    ];
    let ports = read(&ha).unwrap().endpoints;
    assert_eq!(at(&ports.client), "two.example:8032");
    assert_eq!(at(&ports.scheduler), "two.example:1234");
    assert_eq!(ports.client.key, "yarn.resourcemanager.address.rm2");
    assert_eq!(ports.client.bind_host.as_deref(), Some("0.0.0.0"));
    let mut wrong = ha;
    wrong[2].1 = "rm3";
    let text = read(&wrong).unwrap_err().to_string();
    assert!(
        text.contains("yarn.resourcemanager.ha.id = 'rm3'") && text.contains("rm1,rm2"),
        "{text}"
    );
}

#[test]
fn a_key_that_rolls_before_everyone_knows_it_is_refused() {
    let key = "yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs";
    let text = read(&[(key, "1800")]).unwrap_err().to_string();
    assert!(text.contains(key) && text.contains("3 times"), "{text}");
    let keys = read(&[]).unwrap().amrm_keys;
    assert_eq!(keys.roll_interval_ms, 86_400_000);
    assert_eq!(keys.activation_delay_ms, 1_350_000);
}

#[test]
fn a_topology_class_of_ones_own_is_refused_by_name() {
    let key = "net.topology.node.switch.mapping.impl";
    assert!(
        read(&[(key, "com.example.Racks")])
            .unwrap_err()
            .to_string()
            .contains(key)
    );
    let table = [
        (key, "org.apache.hadoop.net.TableMapping"),
        ("net.topology.table.file.name", "/etc/racks"),
    ];
    assert_eq!(
        read(&table).unwrap().racks,
        RackMapping::Table("/etc/racks".into())
    );
}
