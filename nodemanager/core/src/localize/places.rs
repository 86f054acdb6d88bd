//! Numbers and sub-directories for cached resources, so that no directory grows too large.
//! May touch: numbers.
//! Must not: create directories.

use std::collections::{BTreeMap, BTreeSet};

/// Sub-directories below one directory (`LocalCacheDirectoryManager.DIRECTORIES_PER_LEVEL`).
const DIRS_PER_LEVEL: u32 = 36;
/// First number given out (`LocalResourcesTrackerImpl` counts on from 9).
const FIRST_NUMBER: u64 = 10;

/// A place inside one part of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the resource's own directory.
    pub number: u64,
    dir: u32,
}

impl Place {
    /// Path relative to the cache's directory: `10`, `0/8173`, `a/b/300000`.
    pub fn path(&self) -> String {
        match sub_dir(self.dir) {
            sub if sub.is_empty() => self.number.to_string(),
            sub => format!("{sub}/{}", self.number),
        }
    }
}

/// Gives out places of one part of the cache (`LocalCacheDirectoryManager`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    per_dir_max: u32,
    next_number: u64,
    next_dir: u32,
    in_use: BTreeMap<u32, u32>,
    with_room: BTreeSet<u32>,
}

impl Places {
    /// `files_per_dir_max` is `yarn.nodemanager.local-cache.max-files-per-directory` (8192);
    /// every directory keeps room for its 36 sub-directories.
    pub fn new(files_per_dir_max: u32) -> Self {
        Self {
            per_dir_max: files_per_dir_max.saturating_sub(DIRS_PER_LEVEL).max(1),
            next_number: FIRST_NUMBER,
            next_dir: 0,
            in_use: BTreeMap::new(),
            with_room: BTreeSet::new(),
        }
    }

    /// The next place; directories with room are used before a new one is opened.
    pub fn take(&mut self) -> Place {
        let dir = if let Some(dir) = self.with_room.first() {
            *dir
        } else {
            let dir = self.next_dir;
            self.next_dir += 1;
            self.with_room.insert(dir);
            dir
        };
        let used = self.in_use.entry(dir).or_insert(0);
        *used += 1;
        if *used >= self.per_dir_max {
            self.with_room.remove(&dir);
        }
        let number = self.next_number;
        self.next_number += 1;
        Place { number, dir }
    }

    /// Makes room where a resource was deleted. Its number is not used again.
    pub fn give_back(&mut self, place: &Place) {
        if let Some(used) = self.in_use.get_mut(&place.dir) {
            *used = used.saturating_sub(1);
            self.with_room.insert(place.dir);
        }
    }
}

/// Path of the `index`th directory: the cache's own, `0`…`z`, `0/0`…`0/z`, `1/0`….
fn sub_dir(index: u32) -> String {
    let Some(mut n) = index.checked_sub(1) else {
        return String::new();
    };
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(n % DIRS_PER_LEVEL, DIRS_PER_LEVEL).unwrap_or('0'));
        n /= DIRS_PER_LEVEL;
        if n == 0 {
            break;
        }
        // One less, so that the first sub-directory of a level has sub-directories as well.
        n -= 1;
    }
    let path: Vec<String> = digits.iter().rev().map(char::to_string).collect();
    path.join("/")
}

#[cfg(test)]
#[path = "places_test.rs"]
mod tests;
