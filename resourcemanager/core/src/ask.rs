//! The outstanding asks of one application: absolute counts by key and place.
//! May touch: its own table.
//! Must not: know nodes, queues or limits.

use std::{collections::BTreeMap, sync::Arc};

use yarn_types::{Millis, Resource};

use crate::{event::Ask, why::Why};

/// Place of an ask that may go anywhere (`ResourceRequest.ANY`).
pub const ANY: &str = "*";

/// Asks with the same key share a size and are served in the order of the key
/// (`SchedulerRequestKey`; a smaller priority number is more urgent).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AskKey {
    /// Priority of the request.
    pub priority: i32,
    /// `allocation_request_id`.
    pub request_id: i64,
}

/// What is asked at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaceAsk {
    /// Containers outstanding there.
    pub count: i32,
    /// Whether this level may be used for containers wanted at a narrower place.
    pub relax: bool,
}

/// How close a container is to where it was wanted, closest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Locality {
    /// On a host that was named, or nothing was named.
    Node,
    /// In a rack that was named.
    Rack,
    /// Anywhere else.
    OffSwitch,
}

/// Everything outstanding under one key.
#[derive(Clone, PartialEq, Debug)]
pub struct KeyAsks {
    /// Size of each container.
    pub size: Resource,
    /// The count that decides; without it nothing is outstanding.
    pub any: Option<PlaceAsk>,
    /// Hosts and racks (a rack begins with `/`).
    pub places: BTreeMap<Arc<str>, PlaceAsk>,
    /// When the count last went up.
    pub asked_at: Millis,
    /// Since when it would have fitted at a wider place than wanted.
    pub fits_wider_since: Option<Millis>,
    /// Change number of the scheduler when it last found no place; 0 for not tried.
    pub failed_at: u64,
    /// When a wait for something closer ends, while there is one.
    pub wakes_at: Option<Millis>,
    /// Why it found none.
    pub why: Option<Why>,
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

    fn wants(&self, place: &str) -> Option<PlaceAsk> {
        self.places.get(place).copied().filter(|ask| ask.count > 0)
    }

    /// Whether hosts are named, so that rack and any are second choice.
    pub fn names_hosts(&self) -> bool {
        self.places
            .iter()
            .any(|(place, ask)| !place.starts_with('/') && ask.count > 0)
    }

    /// Whether any place is named.
    pub fn names_places(&self) -> bool {
        self.places.values().any(|ask| ask.count > 0)
    }

    /// Places named, the any entry included (Hadoop's `getUniqueLocationAsks`).
    pub fn places_named(&self) -> usize {
        self.places.len() + usize::from(self.any.is_some())
    }

    /// The closest level at which a node may be used, waiting aside; `None` when strict locality
    /// forbids the node.
    pub fn level(&self, host: &str, rack: &str) -> Option<Locality> {
        let any = self.any?;
        if !self.names_places() {
            return Some(Locality::Node);
        }
        if self.wants(host).is_some() {
            return Some(Locality::Node);
        }
        if let Some(ask) = self.wants(rack) {
            return if !self.names_hosts() {
                Some(Locality::Node)
            } else if ask.relax {
                Some(Locality::Rack)
            } else {
                None
            };
        }
        any.relax.then_some(Locality::OffSwitch)
    }

    /// Counts down after a grant on a node, at the levels that Hadoop counts down.
    fn granted(&mut self, host: &str, rack: &str, level: Locality) {
        let mut down = |place: &str| {
            if let Some(ask) = self.places.get_mut(place) {
                ask.count -= 1;
            }
        };
        if level <= Locality::Node {
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
        self.failed_at = 0;
        self.wakes_at = None;
        self.why = None;
    }
}

/// The asks of one application.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Asks {
    keys: BTreeMap<AskKey, KeyAsks>,
}

impl Asks {
    /// Keys in the order of service.
    pub fn iter(&self) -> impl Iterator<Item = (AskKey, &KeyAsks)> {
        self.keys.iter().map(|(key, asks)| (*key, asks))
    }

    /// The asks under `key`.
    pub fn get(&self, key: AskKey) -> Option<&KeyAsks> {
        self.keys.get(&key)
    }

    /// The asks under `key`, to note a failure or a wait.
    pub fn get_mut(&mut self, key: AskKey) -> Option<&mut KeyAsks> {
        self.keys.get_mut(&key)
    }

    /// Amount and containers outstanding.
    pub fn pending(&self) -> (Resource, u32) {
        self.keys
            .values()
            .fold((Resource::ZERO, 0), |(sum, count), asks| {
                (
                    sum.plus(asks.pending()),
                    count.saturating_add(asks.count().unsigned_abs()),
                )
            })
    }

    /// Replaces the count of one key and place; 0 or less deletes it.
    pub fn update(&mut self, now: Millis, ask: &Ask) {
        let key = AskKey {
            priority: ask.priority,
            request_id: ask.allocation_request_id,
        };
        let is_any = &*ask.place == ANY;
        let entry = self.keys.entry(key).or_insert_with(|| KeyAsks {
            size: ask.capability,
            any: None,
            places: BTreeMap::new(),
            asked_at: now,
            fits_wider_since: None,
            failed_at: 0,
            wakes_at: None,
            why: None,
        });
        let before = entry.count();
        let place = PlaceAsk {
            count: ask.count,
            relax: ask.relax_locality,
        };
        if is_any {
            entry.size = ask.capability;
            entry.any = (ask.count > 0).then_some(place);
        } else if ask.count > 0 {
            entry.places.insert(Arc::clone(&ask.place), place);
        } else {
            entry.places.remove(&ask.place);
        }
        if entry.count() > before {
            entry.asked_at = now;
        }
        entry.failed_at = 0;
        if entry.any.is_none() && entry.places.is_empty() {
            self.keys.remove(&key);
        }
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
            asks.failed_at = 0;
        }
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.keys.clear();
    }
}

#[cfg(test)]
#[path = "ask_test.rs"]
mod tests;
