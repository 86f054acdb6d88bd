//! `Lookup`: how cores read configuration without knowing files.
//! May touch: the caller's table.
//! Must not: read files or the environment.

use std::collections::BTreeMap;

/// A read-only table of expanded configuration values, as Hadoop's `Configuration.get` gives them.
pub trait Lookup {
    /// The value of `key` with `${…}` expanded, or `None` when it is neither set nor has a default.
    fn get(&self, key: &str) -> Option<String>;

    /// Every key that starts with `prefix`, in ascending order.
    fn keys_with_prefix(&self, prefix: &str) -> Vec<String>;
}

impl Lookup for BTreeMap<String, String> {
    fn get(&self, key: &str) -> Option<String> {
        BTreeMap::get(self, key).cloned()
    }

    fn keys_with_prefix(&self, prefix: &str) -> Vec<String> {
        self.range(prefix.to_owned()..)
            .take_while(|(k, _)| k.starts_with(prefix))
            .map(|(k, _)| k.clone())
            .collect()
    }
}
