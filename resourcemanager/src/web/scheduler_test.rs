//! The tree of queues as its readers see it.
//! May touch: a made-up view.
//! Must not: need a server.

use rm_core::view::CapacityVector as CapacityVectorOf;

use super::*;
use crate::web::overview::tests::{made, types};

fn queues() -> Vec<QueueReport> {
    made().queues.iter().map(|q| (**q).clone()).collect()
}

fn shown(queues: &[QueueReport], users: &BTreeMap<String, Vec<UserReport>>) -> serde_json::Value {
    let types = types();
    let tree = Tree {
        queues,
        users,
        health: &HealthReport::default(),
        types: &types,
    };
    serde_json::to_value(tree.scheduler(&queues[0])).unwrap()
}

fn json() -> serde_json::Value {
    shown(&queues(), &BTreeMap::new())
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
    let (queues, types) = (queues(), types());
    let tree = Tree {
        queues: &queues,
        users: &BTreeMap::new(),
        health: &HealthReport::default(),
        types: &types,
    };
    let root = serde_json::to_value(tree.queue(&queues[0])).unwrap();
    assert_eq!(root["numApplications"], 1);
    assert!(root.get("type").is_none() && root.get("maxApplications").is_none());
}

#[test]
fn a_capacity_is_shown_as_it_was_written() {
    let vector = |kind, value| CapacityVectorOf::uniform(kind, value);
    let mut mixed = vector(CapacityKind::Percent, 12.5);
    mixed.lanes[0] = rm_core::conf::LaneCapacity {
        kind: CapacityKind::Absolute,
        value: 20_971_520.0,
    };
    // Thousandths of a device.
    mixed.lanes[2] = rm_core::conf::LaneCapacity {
        kind: CapacityKind::Absolute,
        value: 4000.0,
    };
    let weight = vector(CapacityKind::Weight, 4.0);
    for (vector, text) in [
        (
            Some(weight),
            "[memory-mb=4.0w,vcores=4.0w,yarn.io/gpu=4.0w]",
        ),
        (
            Some(mixed),
            "[memory-mb=2.097152E7,vcores=12.5%,yarn.io/gpu=4.0]",
        ),
        (None, "[]"),
    ] {
        let mut queues = queues();
        queues[1].partitions[0].vector = vector;
        let tree = shown(&queues, &BTreeMap::new());
        let leaf = &tree["schedulerInfo"]["queues"]["queue"][0];
        let shown = &leaf["capacities"]["queueCapacitiesByPartition"][0]["queueCapacityVectorInfo"];
        assert_eq!(shown["configuredCapacityVector"], text);
        assert_eq!(shown.get("capacityVectorEntries").is_none(), text == "[]");
    }
}

#[test]
fn settings_and_users_stand_where_stock_has_them() {
    let mut queues = queues();
    let set = &mut queues[1].settings;
    set.dynamic = true;
    set.priority = 3;
    set.preemption_disabled = false;
    set.max_lifetime_s = 60;
    set.acl_submit = "alice ml".to_owned();
    queues[1].counts.reserved = 1;
    queues[1].counts.allocated = 2;
    let templates = &mut queues[0].settings.templates;
    templates.all.insert("capacity".to_owned(), "2w".to_owned());
    let user = UserReport {
        name: "alice".into(),
        weight: 1.5,
        active: true,
        active_apps: 1,
        pending_apps: 2,
        limit: Resource::new(2048, 2),
        partitions: vec![UserPartition {
            label: "".into(),
            used: Resource::new(1024, 1).with(2, 2000),
            am_used: Resource::new(512, 1),
            am_limit: Resource::new(768, 1),
        }],
    };
    let users = BTreeMap::from([("root.lab".to_owned(), vec![user])]);
    let tree = shown(&queues, &users);
    let root = &tree["schedulerInfo"];
    let property = &root["autoQueueTemplateProperties"]["property"][0];
    assert_eq!(
        (&property["name"], &property["value"]),
        (&"capacity".into(), &"2w".into())
    );
    let leaf = &root["queues"]["queue"][0];
    assert_eq!(leaf["creationMethod"], "dynamicFlexible");
    assert_eq!(leaf["queuePriority"], 3);
    assert_eq!(leaf["preemptionDisabled"], false);
    assert_eq!(leaf["maxApplicationLifetime"], 60);
    assert_eq!(
        (&leaf["reservedContainers"], &leaf["allocatedContainers"]),
        (&1.into(), &2.into())
    );
    let submit = &leaf["queueAcls"]["queueAcl"][2];
    assert_eq!(submit["accessType"], "SUBMIT_APP");
    assert_eq!(submit["accessControlList"], "alice ml");
    // The first user's, not the queue's.
    assert_eq!(leaf["userAMResourceLimit"]["memory"], 768);
    let user = &leaf["users"]["user"][0];
    assert_eq!(user["AMResourceUsed"]["memory"], 512);
    assert_eq!(user["userResourceLimit"]["vCores"], 2);
    assert_eq!(
        (&user["isActive"], &user["userWeight"]),
        (&true.into(), &1.5.into())
    );
    let gpus = &user["resourcesUsed"]["resourceInformations"]["resourceInformation"][2];
    assert_eq!(gpus["value"], 2);
}
