//! The outstanding asks of one application: absolute counts by key and place, and the
//! opportunities that it had.
//! May touch: its own table.
//! Must not: know nodes, queues or limits.

use std::{collections::BTreeMap, sync::Arc};

use yarn_types::{Millis, Resource};

use super::ids::{ContainerIdx, LabelIdx};
/// Place of an ask that may go anywhere (`ResourceRequest.ANY`).
pub const ANY: &str = "*";

/// Asks with the same key share a size and are served in the order of the key
/// (`SchedulerRequestKey`; a smaller priority number is more urgent).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct AskKey {
    /// Priority of the request.
    pub priority: i32,
    /// `allocation_request_id`.
    pub request_id: i64,
    /// The container that shall grow, for an increase.
    pub update: Option<ContainerIdx>,
}

/// One line of an allocate call (`ResourceRequest`), validated and with its size normalised.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Ask {
    /// Its key.
    pub key: AskKey,
    /// A host, a rack (begins with `/`) or [`ANY`].
    pub place: Arc<str>,
    /// Size of each container.
    pub size: Resource,
    /// Containers wanted there, absolute.
    pub count: i32,
    /// Whether this level may be used for containers wanted at a narrower place.
    pub relax: bool,
    /// Its partition; only that of the [`ANY`] line counts.
    pub label: LabelIdx,
}

/// What is asked at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct PlaceAsk {
    pub count: i32,
    pub relax: bool,
}

/// How close a container is to where it was wanted, closest first (`NodeType`).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum Locality {
    /// On a host that was named.
    Node,
    /// In a rack that was named.
    Rack,
    /// Anywhere else.
    OffSwitch,
}

/// The class that event-driven assignment noted for an ask: it decides nothing, so that asks are
/// the same with any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Noted(pub Option<u16>);

impl PartialEq for Noted {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Everything outstanding under one key.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct KeyAsks {
    pub size: Resource,
    /// Partition wanted (`getPrimaryRequestedNodePartition`).
    pub label: LabelIdx,
    /// The count that decides; without it nothing is outstanding.
    pub any: Option<PlaceAsk>,
    /// Hosts and racks (a rack begins with `/`).
    pub places: BTreeMap<Arc<str>, PlaceAsk>,
    /// When the count last went up.
    pub asked_at: Millis,
    /// Since when it would have fitted at a wider place than wanted (event-driven pacing).
    pub fits_wider_since: Option<Millis>,
    /// Since when it would have fitted in a partition that it may share (event-driven pacing).
    pub shared_since: Option<Millis>,
    /// Its class, once noted (event-driven pacing).
    #[serde(skip)]
    pub class: Noted,
    /// It holds all the room that it may, since it last changed (event-driven pacing).
    pub held_all: bool,
    /// When a wait for something closer ends, while there is one.
    pub wakes_at: Option<Millis>,
}

impl KeyAsks {
    /// Containers outstanding.
    pub fn count(&self) -> i32 {
        self.any.map_or(0, |any| any.count.max(0))
    }

    /// Outstanding amount.
    pub fn pending(&self) -> Resource {
        self.size.times(i64::from(self.count()))
    }

    /// Containers wanted at `place`.
    pub fn count_at(&self, place: &str) -> i32 {
        if place == ANY {
            return self.count();
        }
        self.places.get(place).map_or(0, |ask| ask.count.max(0))
    }

    /// Whether `place` may stand in for narrower ones (`canDelayTo`).
    pub fn relaxed_at(&self, place: &str) -> bool {
        let ask = if place == ANY {
            self.any
        } else {
            self.places.get(place).copied()
        };
        ask.is_none_or(|ask| ask.relax)
    }

    /// Places named, the any entry included (`getUniqueLocationAsks`).
    pub fn places_named(&self) -> usize {
        self.places.len() + usize::from(self.any.is_some())
    }

    fn granted(&mut self, host: &str, rack: &str, level: Locality) {
        let mut down = |place: &str| {
            if let Some(ask) = self.places.get_mut(place) {
                ask.count -= 1;
            }
        };
        if level == Locality::Node {
            down(host);
        }
        if level <= Locality::Rack {
            down(rack);
        }
        self.places.retain(|_, ask| ask.count > 0);
        if let Some(any) = &mut self.any {
            any.count -= 1;
        }
        if level == Locality::Node {
            self.fits_wider_since = None;
        }
        self.held_all = false;
        self.wakes_at = None;
    }
}

/// Counters of one key; they outlive its asks (`SchedulerApplicationAttempt`'s multisets).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Opportunities {
    /// Nodes considered since the last local grant.
    pub scheduling: u32,
    /// Chances missed on nodes of other partitions.
    pub non_partitioned: u32,
    /// Times that a reservation was renewed.
    pub re_reservations: u32,
}

/// The asks of one application.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Asks {
    keys: BTreeMap<AskKey, KeyAsks>,
    counters: BTreeMap<AskKey, Opportunities>,
}

impl Asks {
    /// Keys in the order of service.
    pub fn iter(&self) -> impl Iterator<Item = (AskKey, &KeyAsks)> {
        self.keys.iter().map(|(key, asks)| (*key, asks))
    }

    /// The first key after `key` that has asks, to walk while the table changes.
    pub fn next_key(&self, after: Option<AskKey>) -> Option<AskKey> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = after.map_or(Unbounded, Excluded);
        self.keys
            .range((from, Unbounded))
            .next()
            .map(|(key, _)| *key)
    }

    pub fn get(&self, key: AskKey) -> Option<&KeyAsks> {
        self.keys.get(&key)
    }

    pub fn get_mut(&mut self, key: AskKey) -> Option<&mut KeyAsks> {
        self.keys.get_mut(&key)
    }

    /// All asks, by key.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut KeyAsks> {
        self.keys.values_mut()
    }

    /// Containers outstanding under `key`.
    pub fn count(&self, key: AskKey) -> i32 {
        self.get(key).map_or(0, KeyAsks::count)
    }

    /// The counters of `key`.
    pub fn opportunities(&self, key: AskKey) -> Opportunities {
        self.counters.get(&key).copied().unwrap_or_default()
    }

    /// Keys with counters.
    pub fn counters(&self) -> impl Iterator<Item = (AskKey, &Opportunities)> {
        self.counters.iter().map(|(key, c)| (*key, c))
    }

    pub fn opportunities_mut(&mut self, key: AskKey) -> &mut Opportunities {
        self.counters.entry(key).or_default()
    }

    /// Replaces the count of one key and place; 0 or less deletes it.
    pub fn update(&mut self, now: Millis, ask: &Ask) {
        let is_any = &*ask.place == ANY;
        let entry = self.keys.entry(ask.key).or_insert_with(|| KeyAsks {
            size: ask.size,
            label: ask.label,
            any: None,
            places: BTreeMap::new(),
            asked_at: now,
            fits_wider_since: None,
            shared_since: None,
            class: Noted::default(),
            held_all: false,
            wakes_at: None,
        });
        let before = entry.count();
        let place = PlaceAsk {
            count: ask.count,
            relax: ask.relax,
        };
        if is_any {
            entry.size = ask.size;
            entry.label = ask.label;
            entry.any = (ask.count > 0).then_some(place);
        } else if ask.count > 0 {
            entry.places.insert(Arc::clone(&ask.place), place);
        } else {
            entry.places.remove(&ask.place);
        }
        if entry.count() > before {
            entry.asked_at = now;
        }
        entry.held_all = false;
        if entry.any.is_none() && entry.places.is_empty() {
            self.keys.remove(&ask.key);
        }
    }

    /// Drops one key with its counters.
    pub fn remove(&mut self, key: AskKey) {
        self.keys.remove(&key);
        self.counters.remove(&key);
    }

    /// Counts one container of `key` as granted on a node.
    pub fn granted(&mut self, key: AskKey, host: &str, rack: &str, level: Locality) {
        if let Some(asks) = self.keys.get_mut(&key) {
            asks.granted(host, rack, level);
            if asks.count() == 0 {
                self.keys.remove(&key);
            }
        }
    }

    /// Tries every key again, whatever was found before.
    pub fn retry(&mut self) {
        for asks in self.keys.values_mut() {
            asks.held_all = false;
        }
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.counters.clear();
    }
}
