//! The tree of queues as its readers see it.
//! May touch: a made-up view.
//! Must not: need a server.

use super::*;
use crate::web::overview::tests::{made, types};

fn json() -> serde_json::Value {
    let (view, types) = (made(), types());
    let tree = Tree {
        view: &view,
        types: &types,
    };
    serde_json::to_value(tree.scheduler(&view.queues[0])).unwrap()
}

#[test]
fn shares_are_percent_and_gpus_are_devices() {
    let tree = json();
    let leaf = &tree["schedulerInfo"]["queues"]["queue"][0];
    assert_eq!(leaf["queuePath"], "root.lab");
    assert_eq!(leaf["absoluteUsedCapacity"], 25.0);
    // Beyond its guarantee.
    assert_eq!(leaf["usedCapacity"], 125.0);
    let gpus = &leaf["resourcesUsed"]["resourceInformations"]["resourceInformation"][2];
    assert_eq!(gpus["name"], "yarn.io/gpu");
    assert_eq!(gpus["value"], 2);
    assert_eq!(leaf["queueType"], "leaf");
    assert!(leaf.get("queues").is_none() && leaf.get("numContainers").is_some());
}

#[test]
fn a_parent_counts_the_applications_below_it() {
    let view = made();
    let types = types();
    let tree = Tree {
        view: &view,
        types: &types,
    };
    let root = serde_json::to_value(tree.queue(&view.queues[0])).unwrap();
    assert_eq!(root["numApplications"], 1);
    assert!(root.get("type").is_none() && root.get("maxApplications").is_none());
}
