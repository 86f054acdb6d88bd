//! The cards as the library sees them now: the topology file with its failing reads counted down.
//! May touch: the topology file and its own table.
//! Must not: know C types.

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use crate::topology::{Gpu, TOPOLOGY_ENV, Topology};

/// What the last reading of the file gave.
#[derive(Default)]
pub(crate) struct Cards {
    path: Option<PathBuf>,
    /// Modification time and length of the file that was read.
    stamp: Option<(SystemTime, u64)>,
    topology: Option<Topology>,
    failing: Vec<u32>,
}

static CARDS: Mutex<Cards> = Mutex::new(Cards {
    path: None,
    stamp: None,
    topology: None,
    failing: Vec::new(),
});

/// The cards, re-read if the file was edited.
pub(crate) fn cards() -> MutexGuard<'static, Cards> {
    let mut cards = CARDS.lock().unwrap_or_else(PoisonError::into_inner);
    cards.refresh();
    cards
}

impl Cards {
    fn refresh(&mut self) {
        let path = self.path.get_or_insert_with(|| {
            std::env::var_os(TOPOLOGY_ENV)
                .map_or_else(|| PathBuf::from("topology.toml"), PathBuf::from)
        });
        let stamp = std::fs::metadata(&*path)
            .ok()
            .and_then(|m| Some((m.modified().ok()?, m.len())));
        if stamp == self.stamp && self.topology.is_some() {
            return;
        }
        // a half-written or faulty file leaves the earlier picture, as a driver would
        match Topology::read(path) {
            Ok(topology) => {
                self.failing = topology.gpus.iter().map(|g| g.fail_reads).collect();
                self.topology = Some(topology);
                self.stamp = stamp;
            }
            Err(_) if stamp.is_none() => {
                self.topology = None;
                self.stamp = None;
            }
            Err(_) => {}
        }
    }

    pub(crate) fn topology(&self) -> Option<&Topology> {
        self.topology.as_ref()
    }

    /// The present cards: position in the file, card.
    pub(crate) fn present(&self) -> impl Iterator<Item = (usize, &Gpu)> {
        self.topology
            .iter()
            .flat_map(|t| t.gpus.iter().enumerate())
            .filter(|(_, g)| g.present)
    }

    /// The card at a position of the file, if present.
    pub(crate) fn at(&self, position: usize) -> Option<&Gpu> {
        self.topology
            .as_ref()?
            .gpus
            .get(position)
            .filter(|g| g.present)
    }

    /// Whether this read of a card fails, counting it.
    pub(crate) fn fails(&mut self, position: usize) -> bool {
        match self.failing.get_mut(position) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}
