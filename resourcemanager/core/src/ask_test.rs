//! Asks are absolute counts, and locality counts down as in Hadoop.
//! May touch: the table of asks.
//! Must not: know nodes.

use super::*;

fn ask(place: &str, count: i32, relax: bool) -> Ask {
    Ask {
        priority: 1,
        allocation_request_id: 0,
        place: Arc::from(place),
        capability: Resource::new(1024, 1),
        count,
        relax_locality: relax,
        label: None,
        opportunistic: false,
        unknown_resource: None,
    }
}

const KEY: AskKey = AskKey {
    priority: 1,
    request_id: 0,
};

fn asks(list: &[(&str, i32, bool)]) -> Asks {
    let mut asks = Asks::default();
    for (place, count, relax) in list {
        asks.update(Millis(1), &ask(place, *count, *relax));
    }
    asks
}

#[test]
fn a_count_replaces_the_earlier_one_and_zero_deletes() {
    let mut table = asks(&[(ANY, 3, true), (ANY, 2, true)]);
    assert_eq!(table.pending(), (Resource::new(2048, 2), 2));
    table.update(Millis(2), &ask(ANY, 0, true));
    assert_eq!(table.iter().count(), 0);
}

#[test]
fn the_any_count_is_the_one_that_decides() {
    let table = asks(&[("h1", 5, true)]);
    assert_eq!(table.pending().1, 0);
    assert_eq!(table.get(KEY).unwrap().level("h1", "/r"), None);
}

#[test]
fn a_node_local_grant_counts_down_node_rack_and_any() {
    let mut table = asks(&[("h1", 1, true), ("/r", 1, true), (ANY, 2, true)]);
    assert_eq!(
        table.get(KEY).unwrap().level("h1", "/r"),
        Some(Locality::Node)
    );
    assert_eq!(
        table.get(KEY).unwrap().level("h2", "/r"),
        Some(Locality::Rack)
    );
    assert_eq!(
        table.get(KEY).unwrap().level("h3", "/s"),
        Some(Locality::OffSwitch)
    );
    table.granted(KEY, "h1", "/r", Locality::Node);
    let left = table.get(KEY).unwrap();
    assert_eq!((left.count(), left.names_places()), (1, false));
    table.granted(KEY, "h3", "/s", Locality::Node);
    assert!(table.get(KEY).is_none());
}

#[test]
fn without_relaxing_a_wider_place_is_never_used() {
    let strict = asks(&[("h1", 1, true), ("/r", 1, false), (ANY, 1, false)]);
    let key = strict.get(KEY).unwrap();
    assert_eq!(key.level("h1", "/r"), Some(Locality::Node));
    assert_eq!(key.level("h2", "/r"), None);
    assert_eq!(key.level("h3", "/s"), None);
    let rack = asks(&[("/r", 1, true), (ANY, 1, false)]);
    assert_eq!(
        rack.get(KEY).unwrap().level("h2", "/r"),
        Some(Locality::Node)
    );
    assert_eq!(rack.get(KEY).unwrap().level("h3", "/s"), None);
}
