//! Tests of the addresses of an RM.
//! May touch: tables made here.
//! Must not: resolve names.

use super::{RM_CLIENT, RM_TRACKER};
use crate::Configuration;

fn pair(more: &[(&'static str, &'static str)]) -> Configuration {
    let pairs = [
        ("yarn.resourcemanager.ha.enabled", "true"),
        ("yarn.resourcemanager.ha.rm-ids", "rm1, rm2"),
        ("yarn.resourcemanager.hostname.rm1", "h1"),
        ("yarn.resourcemanager.address.rm2", "h2:99"),
        ("yarn.resourcemanager.hostname.rm2", "h3"),
    ];
    Configuration::of(pairs.into_iter().chain(more.iter().copied()))
}

#[test]
fn one_rm_has_the_plain_addresses() {
    let conf = Configuration::of([("yarn.resourcemanager.hostname", "h1")]);
    assert_eq!(conf.own_rm_id(|_| false), Ok(None));
    let address = conf.rm_address(RM_CLIENT, None).unwrap();
    assert_eq!(address.to_string(), "h1:8032");
    assert_eq!(
        conf.rm_addresses(RM_TRACKER).unwrap()[0].to_string(),
        "h1:8031"
    );
}

#[test]
fn one_of_a_pair_has_those_of_its_id() {
    let conf = pair(&[("yarn.resourcemanager.ha.id", "rm2")]);
    assert_eq!(conf.own_rm_id(|_| false).unwrap().as_deref(), Some("rm2"));
    let shown = |service| -> Vec<String> {
        let all = conf.rm_addresses(service).unwrap();
        all.iter().map(ToString::to_string).collect()
    };
    assert_eq!(shown(RM_CLIENT), ["h1:8032", "h2:99"]);
    assert_eq!(shown(RM_TRACKER), ["h1:8031", "h3:8031"]);
}

#[test]
fn one_of_a_pair_must_know_which_it_is() {
    let found = pair(&[]).own_rm_id(|host| host == "h2").unwrap();
    assert_eq!(found.as_deref(), Some("rm2"));
    let error = pair(&[]).own_rm_id(|_| false).unwrap_err();
    assert!(
        error
            .text
            .contains("None of yarn.resourcemanager.address.rm1 yarn"),
        "{error}"
    );
    let stranger = pair(&[("yarn.resourcemanager.ha.id", "rm3")]);
    assert!(stranger.own_rm_id(|_| true).is_err());
    let nobody = Configuration::of([("yarn.resourcemanager.ha.enabled", "true")]);
    assert!(nobody.rm_addresses(RM_CLIENT).is_err());
}

#[test]
fn the_bind_host_replaces_the_host_alone() {
    let conf = pair(&[
        ("yarn.resourcemanager.bind-host", "0.0.0.0"),
        ("yarn.resourcemanager.bind-host.rm2", "127.0.0.2"),
    ]);
    let address = conf.rm_address(RM_CLIENT, Some("rm2")).unwrap();
    let bound = |id| conf.rm_bind(&address, id).unwrap().to_string();
    assert_eq!(bound(Some("rm1")), "0.0.0.0:99");
    assert_eq!(bound(Some("rm2")), "127.0.0.2:99");
    assert_eq!(conf.nm_bind(&address).unwrap(), address);
}
