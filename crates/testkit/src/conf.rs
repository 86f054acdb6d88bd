//! Configuration from one-line texts: queues `a:60 b:40`, sizes `8gb 8vc 2gpu`.
//! May touch: `Lookup` tables.
//! Must not: invent defaults that the product does not have.

use std::collections::BTreeMap;

use rm_core::{Boot, RmConf, conf::Calculator};
use yarn_types::{MILLI, Resource, ResourceType, ResourceTypes};

/// The lanes of test clusters: memory, vcores and `yarn.io/gpu`.
pub fn types() -> ResourceTypes {
    let lane = |name: &str, units: &str, minimum_allocation, maximum_allocation| ResourceType {
        name: name.to_owned(),
        units: units.to_owned(),
        minimum_allocation,
        maximum_allocation,
    };
    ResourceTypes::new(vec![
        lane("memory-mb", "Mi", 1024, 1 << 20),
        lane("vcores", "", 1, 1 << 10),
        lane("yarn.io/gpu", "", 0, 64),
    ])
    .expect("three lanes that begin with memory-mb and vcores")
}

/// A size such as `2gb 1vc` or `512mb 1vc 2gpu`.
pub fn resource(text: &str) -> Resource {
    let mut size = Resource::ZERO;
    for word in text.split_whitespace() {
        let digits = word
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(word.len());
        let (amount, unit) = word.split_at(digits);
        let amount: i64 = amount.parse().expect("a size begins with a number");
        let (lane, factor) = match unit {
            "gb" => (0, 1024),
            "mb" => (0, 1),
            "vc" => (1, 1),
            "gpu" => (2, MILLI),
            _ => panic!("'{word}' is not a size: 2gb, 512mb, 1vc, 1gpu"),
        };
        size = size.with(lane, size.0[lane] + amount * factor);
    }
    size
}

/// Keys of capacity-scheduler.xml for queues below root, e.g. `a:60 b:40 b.x:50 b.y:50`, on top of
/// settings that let small clusters run something: ApplicationMasters may use everything.
pub fn settings(queues: &str) -> BTreeMap<String, String> {
    let prefix = "yarn.scheduler.capacity.";
    let mut table = BTreeMap::new();
    let mut children: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for word in queues.split_whitespace() {
        let (path, capacity) = word.split_once(':').expect("a queue is name:capacity");
        let path = format!("root.{path}");
        let (parent, name) = path.rsplit_once('.').expect("a path below root");
        children
            .entry(parent.to_owned())
            .or_default()
            .push(name.to_owned());
        table.insert(format!("{prefix}{path}.capacity"), capacity.to_owned());
        table.insert(
            format!("{prefix}{path}.user-limit-factor"),
            "100".to_owned(),
        );
    }
    for (parent, names) in children {
        table.insert(format!("{prefix}{parent}.queues"), names.join(","));
    }
    table.insert(
        format!("{prefix}maximum-am-resource-percent"),
        "1.0".to_owned(),
    );
    table
}

/// Boot of an RM with `settings`.
pub fn boot(settings: &BTreeMap<String, String>) -> Boot {
    let conf = RmConf::from_lookup(settings, types(), Calculator::Dominant);
    Boot {
        cluster_timestamp: 1_700_000_000_000,
        epoch: 0,
        seed: 1,
        conf: conf.expect("settings that the product takes"),
    }
}
