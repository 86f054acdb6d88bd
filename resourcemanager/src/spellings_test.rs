//! An application reads the name that it wrote.
//! May touch: the table.
//! Must not: open sockets.

use yarn_proto::convert::{resource, resource_proto};
use yarn_types::{MILLI, Resource, ResourceType};

use super::*;

fn types() -> ResourceTypes {
    let mut lanes: Vec<ResourceType> = ResourceTypes::memory_and_vcores().iter().cloned().collect();
    lanes.push(ResourceType {
        name: "yarn.io/gpu".to_owned(),
        units: String::new(),
        minimum_allocation: 0,
        maximum_allocation: 8,
    });
    let types = ResourceTypes::new(lanes).unwrap();
    types
        .with_alias("GPU", "yarn.io/gpu")
        .with_alias("gpu", "yarn.io/gpu")
}

#[test]
fn an_application_gets_back_the_spelling_that_it_sent() {
    let types = types();
    let spellings = Spellings::new(&types);
    let app = |id| ApplicationId {
        cluster_timestamp: 1,
        id,
    };
    let two = Resource::new(1024, 1).with(2, 2 * MILLI);
    for (id, name) in [(1, "gpu"), (2, "GPU"), (3, "yarn.io/gpu")] {
        let mut sent = resource_proto(two, &types);
        name.clone_into(&mut sent.resource_value_map[2].key);
        assert_eq!(
            resource(&sent, &types).resource,
            two,
            "{name} is understood"
        );
        spellings.sent(app(id), &sent);
        let answer = resource_proto(two, &spellings.of(app(id)));
        assert_eq!(answer, sent, "{name} and the same amount");
    }
    assert_eq!(*spellings.of(app(9)), types, "others get the standard name");
    spellings.forget(app(1));
    assert_eq!(*spellings.of(app(1)), types);
}
