//! The ready configuration in conf/ loads, passes the gate without a remark, and is what it says.
//! May touch: conf/.
//! Must not: read other files.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::path::PathBuf;

use yarn_conf::{
    Calculator, Configuration, Daemon, LoadOptions, gate, node_resources, resource_calculator,
    resource_types, system_properties,
};

fn load(daemon: Daemon) -> Configuration {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conf");
    let mut options = LoadOptions::new(dir, daemon);
    options.properties = system_properties("alice", "/home/alice", "/tmp", "/");
    Configuration::load(&options).unwrap()
}

#[test]
fn the_ready_configuration_passes_without_a_remark() {
    for daemon in [Daemon::ResourceManager, Daemon::NodeManager] {
        let conf = load(daemon);
        assert!(conf.set_keys().count() > 10);
        assert_eq!(
            gate::check(daemon, &conf),
            gate::Gate::default(),
            "{daemon:?}"
        );
    }
}

#[test]
fn the_resource_manager_has_two_queues_and_gpus() {
    let conf = load(Daemon::ResourceManager);
    let types = resource_types(&conf).unwrap();
    assert!(types.lane("yarn.io/gpu").is_some());
    assert_eq!(
        resource_calculator(&conf, &types).unwrap(),
        (Calculator::Dominant, None)
    );
    let prefix = "yarn.scheduler.capacity.root";
    let mut sum = 0.0;
    for queue in conf.trimmed_strings(&format!("{prefix}.queues")).unwrap() {
        sum += conf
            .f32(&format!("{prefix}.{queue}.capacity"), 0.0)
            .unwrap();
    }
    assert!((sum - 100.0).abs() < f32::EPSILON);
}

#[test]
fn a_node_offers_what_yarn_site_says() {
    let conf = load(Daemon::NodeManager);
    let types = resource_types(&conf).unwrap();
    let (offered, ..) = node_resources(&conf, &types).unwrap();
    assert_eq!(types.show(offered), "<memory:8192, vCores:8>");
    let dirs = conf.trimmed_strings("yarn.nodemanager.local-dirs").unwrap();
    assert_eq!(dirs, ["/tmp/hadoop-alice/nm-local-dir"]);
}
