//! What the node offers: what its configuration says, until the ResourceManager says otherwise
//! (`NodeStatusUpdaterImpl.updateNMResource`).
//! May touch: one amount that several tasks read.
//! Must not: change how many devices there are; they are counted, not configured.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use yarn_types::Resource;

/// The amounts in force, shared by those who show and tell them.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    now: Arc<Mutex<Resource>>,
    /// The lane of devices that are found by themselves.
    devices: Option<usize>,
}

impl Offer {
    /// That of the configuration; `devices` is the lane whose amount is that of the devices found.
    pub fn new(configured: Resource, devices: Option<usize>) -> Self {
        Self {
            now: Arc::new(Mutex::new(configured)),
            devices,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Resource> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is offered now.
    pub fn now(&self) -> Resource {
        *self.lock()
    }

    /// The ResourceManager says what the node offers: an administrator changed it
    /// (`updateNodeResource`, dynamic-resources.xml). The amounts now, where they are others.
    pub fn replace(&self, said: Resource) -> Option<Resource> {
        let mut now = self.lock();
        let said = said.at_least_zero();
        let said = match self.devices {
            Some(lane) => said.with(lane, now.0.get(lane).copied().unwrap_or(0)),
            None => said,
        };
        let changed = *now != said;
        *now = said;
        changed.then_some(said)
    }
}

#[cfg(test)]
#[path = "offer_test.rs"]
mod tests;
