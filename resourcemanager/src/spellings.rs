//! Which spelling of a resource type an application uses: its client and master are answered in it.
//! May touch: names of types.
//! Must not: change an amount; nodes and tokens always get the standard name.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use yarn_proto::yarn::ResourceProto;
use yarn_types::{ApplicationId, ResourceTypes};

/// The lanes under every name that they have, and the applications that use another than the
/// standard one.
#[derive(Debug)]
pub struct Spellings {
    standard: Arc<ResourceTypes>,
    others: Vec<(String, Arc<ResourceTypes>)>,
    /// Positions in `others`.
    by_app: Mutex<HashMap<ApplicationId, usize>>,
}

impl Spellings {
    /// The spellings that `types` has.
    pub fn new(types: &ResourceTypes) -> Self {
        let aliases = (0..types.len()).flat_map(|lane| types.aliases(lane));
        let others = aliases.filter_map(|alias| {
            let spelled = types.spelled(alias)?;
            Some((alias.to_owned(), Arc::new(spelled)))
        });
        Self {
            standard: Arc::new(types.clone()),
            others: others.collect(),
            by_app: Mutex::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<ApplicationId, usize>> {
        self.by_app.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `app` sent `resource`: what it calls the types in it is remembered when it is not standard.
    pub fn sent(&self, app: ApplicationId, resource: &ResourceProto) {
        if self.others.is_empty() {
            return;
        }
        let mut keys = resource.resource_value_map.iter().map(|entry| &entry.key);
        if let Some(at) = keys.find_map(|key| self.others.iter().position(|(name, _)| name == key))
        {
            self.table().insert(app, at);
        }
    }

    /// The lanes as `app` calls them.
    pub fn of(&self, app: ApplicationId) -> Arc<ResourceTypes> {
        let at = if self.others.is_empty() {
            None
        } else {
            self.table().get(&app).copied()
        };
        let other = at.and_then(|at| self.others.get(at));
        Arc::clone(other.map_or(&self.standard, |(_, types)| types))
    }

    /// The application is forgotten.
    pub fn forget(&self, app: ApplicationId) {
        if !self.others.is_empty() {
            self.table().remove(&app);
        }
    }
}

#[cfg(test)]
#[path = "spellings_test.rs"]
mod tests;
