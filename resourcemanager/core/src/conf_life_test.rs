//! Settings of the life cycles.
//! May touch: the tested module.
//! Must not: read files.

use std::collections::BTreeMap;

use super::LifeConf;

fn table(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

#[test]
fn defaults_are_those_of_hadoop_3_5() {
    let conf = LifeConf::from_lookup(&table(&[])).unwrap();
    assert_eq!((conf.am_max_attempts, conf.am_global_max_attempts), (2, 2));
    assert_eq!((conf.am_expiry_ms, conf.nm_expiry_ms), (900_000, 600_000));
    assert_eq!(conf.container_allocation_expiry_ms, 600_000);
    assert_eq!(conf.max_completed_applications, 1000);
    assert_eq!(conf.nm_minimum_version, None);
}

#[test]
fn the_global_maximum_follows_the_default_one() {
    let conf = LifeConf::from_lookup(&table(&[("yarn.resourcemanager.am.max-attempts", "5")]));
    assert_eq!(conf.unwrap().am_global_max_attempts, 5);
}

#[test]
fn every_wrong_value_is_named() {
    let conf = LifeConf::from_lookup(&table(&[
        ("yarn.resourcemanager.am.max-attempts", "0"),
        ("yarn.nm.liveness-monitor.expiry-interval-ms", "10 minutes"),
    ]));
    let texts: Vec<String> = conf.unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "yarn.resourcemanager.am.max-attempts=0: is not a whole number from 1 to 2147483647",
            "yarn.nm.liveness-monitor.expiry-interval-ms=10 minutes: is not a whole number from 1 \
             to 2147483647"
        ]
    );
}
