//! State of every cached resource: being fetched, ready, in use, or free to go.
//! May touch: the values it is given.
//! Must not: fetch or delete; it answers what is to be done.

use std::collections::{BTreeMap, BTreeSet};

use super::places::{Place, Places};
use super::resource::{ResourceKey, Scope};

/// Names one fetch, and the cached resource it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FetchId(pub u64);

/// What a request for a resource comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is there; the request holds it until released.
    Ready {
        /// The resource.
        id: FetchId,
        /// Absolute path.
        path: String,
        /// Bytes on disk.
        size: u64,
    },
    /// The caller is the first: it must fetch, and report [`Cache::fetched`] or [`Cache::failed`].
    Fetch {
        /// The resource.
        id: FetchId,
        /// Directory to make, relative to a local directory: `usercache/alice/filecache/10`.
        dir: String,
    },
    /// Somebody fetches it already; the waiter is named when that is done.
    Wait {
        /// The resource.
        id: FetchId,
    },
}

/// The end of a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done<W> {
    /// Who waits for it.
    pub waiters: Vec<W>,
    /// The resource was given up meanwhile (its application ended): delete what was fetched.
    pub stale: bool,
}

/// A cached resource that has left the cache; its directory is to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Part of the cache it was in.
    pub scope: Scope,
    /// Its absolute path; the directory to delete is the parent.
    pub path: String,
    /// Bytes on disk.
    pub size: u64,
}

#[derive(Debug, Clone)]
enum State {
    Fetching,
    Ready { path: String, size: u64 },
}

#[derive(Debug, Clone)]
struct Entry<W> {
    scope: Scope,
    key: ResourceKey,
    place: Place,
    state: State,
    /// Containers that wait for it or use it.
    users: BTreeSet<W>,
    /// When the last user left, in ms; orders deletion.
    last_used_ms: u64,
}

/// The cache of one NodeManager. `W` names a container.
#[derive(Debug, Clone)]
pub struct Cache<W> {
    files_per_dir_max: u32,
    next_id: u64,
    entries: BTreeMap<FetchId, Entry<W>>,
    index: BTreeMap<(Scope, ResourceKey), FetchId>,
    places: BTreeMap<Scope, Places>,
    held: BTreeMap<W, BTreeSet<FetchId>>,
}

impl<W: Ord + Clone> Cache<W> {
    /// An empty cache; `files_per_dir_max` is
    /// `yarn.nodemanager.local-cache.max-files-per-directory`.
    pub fn new(files_per_dir_max: u32) -> Self {
        Self {
            files_per_dir_max,
            next_id: 1,
            entries: BTreeMap::new(),
            index: BTreeMap::new(),
            places: BTreeMap::new(),
            held: BTreeMap::new(),
        }
    }

    /// `who` needs the resource and holds it until [`Cache::release`].
    pub fn request(&mut self, scope: Scope, key: ResourceKey, who: &W) -> Answer {
        let index_key = (scope, key);
        if let Some(id) = self.index.get(&index_key).copied()
            && let Some(entry) = self.entries.get_mut(&id)
        {
            entry.users.insert(who.clone());
            self.held.entry(who.clone()).or_default().insert(id);
            return match &entry.state {
                State::Fetching => Answer::Wait { id },
                State::Ready { path, size } => Answer::Ready {
                    id,
                    path: path.clone(),
                    size: *size,
                },
            };
        }
        let id = FetchId(self.next_id);
        self.next_id += 1;
        let (scope, key) = index_key.clone();
        let max = self.files_per_dir_max;
        let place = self
            .places
            .entry(scope.clone())
            .or_insert_with(|| Places::new(max))
            .take();
        let dir = format!("{}/{}", scope.dir(), place.path());
        let users = BTreeSet::from([who.clone()]);
        let entry = Entry {
            scope,
            key,
            place,
            state: State::Fetching,
            users,
            last_used_ms: 0,
        };
        self.entries.insert(id, entry);
        self.index.insert(index_key, id);
        self.held.entry(who.clone()).or_default().insert(id);
        Answer::Fetch { id, dir }
    }

    /// A fetch has succeeded.
    pub fn fetched(&mut self, now_ms: u64, id: FetchId, path: &str, size: u64) -> Done<W> {
        let Some(entry) = self.entries.get_mut(&id) else {
            return Done {
                waiters: Vec::new(),
                stale: true,
            };
        };
        entry.state = State::Ready {
            path: path.to_owned(),
            size,
        };
        entry.last_used_ms = now_ms;
        Done {
            waiters: entry.users.iter().cloned().collect(),
            stale: false,
        }
    }

    /// A fetch has failed; the next request tries again.
    pub fn failed(&mut self, id: FetchId) -> Done<W> {
        match self.remove(id) {
            Some(entry) => Done {
                waiters: entry.users.into_iter().collect(),
                stale: false,
            },
            None => Done {
                waiters: Vec::new(),
                stale: true,
            },
        }
    }

    /// A cached file turned out to be gone from disk; the next request fetches it.
    pub fn lost(&mut self, id: FetchId) {
        self.remove(id);
    }

    /// `who` has ended or given up: what it held is free again, what it waited for is fetched on.
    pub fn release(&mut self, now_ms: u64, who: &W) {
        for id in self.held.remove(who).unwrap_or_default() {
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.users.remove(who);
                entry.last_used_ms = now_ms;
            }
        }
    }

    /// An application has ended: its own resources leave the cache.
    pub fn application_finished(&mut self, user: &str, app_id: &str) -> Vec<Removal> {
        let scope = Scope::Application {
            user: user.to_owned(),
            app_id: app_id.to_owned(),
        };
        let ids: Vec<FetchId> = self
            .entries
            .iter()
            .filter(|(_, e)| e.scope == scope)
            .map(|(id, _)| *id)
            .collect();
        let removed = ids
            .into_iter()
            .filter_map(|id| self.remove(id))
            .filter_map(removal)
            .collect();
        self.places.remove(&scope);
        removed
    }

    /// Bytes of all ready public and private resources.
    pub fn size(&self) -> u64 {
        self.entries
            .values()
            .filter(|e| counts(e))
            .map(size_of)
            .sum()
    }

    /// Drops unused resources, least recently used first, until the cache fits `target_bytes`
    /// (`yarn.nodemanager.localizer.cache.target-size-mb`, 10240 MiB). Called every
    /// `yarn.nodemanager.localizer.cache.cleanup.interval-ms` (600000).
    pub fn cleanup(&mut self, target_bytes: u64) -> Vec<Removal> {
        let mut size = self.size();
        let mut free: Vec<(u64, FetchId)> = self
            .entries
            .iter()
            .filter(|(_, e)| counts(e) && e.users.is_empty())
            .map(|(id, e)| (e.last_used_ms, *id))
            .collect();
        free.sort_unstable();
        let mut removed = Vec::new();
        for (_, id) in free {
            if size <= target_bytes {
                break;
            }
            let gone = self.remove(id).and_then(removal);
            size = size.saturating_sub(gone.as_ref().map_or(0, |r| r.size));
            removed.extend(gone);
        }
        removed
    }

    fn remove(&mut self, id: FetchId) -> Option<Entry<W>> {
        let entry = self.entries.remove(&id)?;
        self.index.remove(&(entry.scope.clone(), entry.key.clone()));
        if let Some(places) = self.places.get_mut(&entry.scope) {
            places.give_back(&entry.place);
        }
        for who in &entry.users {
            if let Some(held) = self.held.get_mut(who) {
                held.remove(&id);
            }
        }
        Some(entry)
    }
}

/// Whether an entry counts towards the cache's size: application resources end with their own.
fn counts<W>(entry: &Entry<W>) -> bool {
    matches!(entry.state, State::Ready { .. }) && !matches!(entry.scope, Scope::Application { .. })
}

fn size_of<W>(entry: &Entry<W>) -> u64 {
    match entry.state {
        State::Ready { size, .. } => size,
        State::Fetching => 0,
    }
}

fn removal<W>(entry: Entry<W>) -> Option<Removal> {
    match entry.state {
        State::Ready { path, size } => Some(Removal {
            scope: entry.scope,
            path,
            size,
        }),
        State::Fetching => None,
    }
}

#[cfg(test)]
#[path = "cache_test.rs"]
mod tests;
