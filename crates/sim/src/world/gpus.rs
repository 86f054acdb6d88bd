//! The GPUs of a run: cards that fail and come back, and the laws of the device ledgers.
//! May touch: the world.
//! Must not: repair anything.

use std::{collections::BTreeMap, sync::Arc};

use nm_core::gpu::Gpus;
use rm_core::{
    CallId, Reply,
    effect::{Grant, NodeAction},
    view::GpuReport,
};
use testkit::gpu_device;
use yarn_types::{
    ContainerId, MILLI, NodeState, Resource,
    gpu::{DeviceGrant, GpuDevice, GpuHealth},
};

use super::World;
use crate::node::SimNode;

/// After the faults end, messages sent before may still arrive for this long.
pub(super) const LATE_MS: u64 = 7_000;

/// What a run remembers of grants of devices.
#[derive(Default)]
pub(super) struct Told {
    grants: BTreeMap<ContainerId, Vec<DeviceGrant>>,
    epochs: BTreeMap<Arc<str>, u64>,
}

/// Every card of a node, healthy.
pub(super) fn all_cards(host: &str, cards: u32) -> Vec<GpuDevice> {
    (0..cards).map(|n| gpu_device(host, n)).collect()
}

impl World {
    /// Size of a container of the application with this number: one to three of four have GPUs.
    pub(super) fn container_size(&self, number: u32) -> Resource {
        let size = if self.options.town {
            super::town::container_size(number)
        } else {
            Resource::new(1024, 1)
        };
        if self.options.gpus == 0 {
            return size;
        }
        size.with(2, i64::from(number % 4) * MILLI)
    }

    /// Cards fail, vanish, are dirty, and come back; some containers are given back unused or
    /// while they run.
    pub(super) fn make_gpu_faults(&mut self) {
        let now = self.now_ms;
        if self.options.gpus == 0 {
            return;
        }
        if !self.faulty() {
            for node in self.nodes.iter_mut().filter(|n| n.is_up(now)) {
                let host = node.model.id.host.to_string();
                node.model.read_gpus(all_cards(&host, self.options.gpus));
                if let Some(gpus) = &mut node.model.gpus {
                    for card in all_cards(&host, self.options.gpus) {
                        gpus.set_dirty(&card.uuid, None);
                    }
                }
            }
            return;
        }
        if self.options.faults.gpus && self.rng.chance(1, 60) {
            self.disturb_cards();
        }
        if self.options.faults.gpus && self.rng.chance(1, 60) {
            let at = usize::try_from(self.rng.between(0, self.masters.len() as u64)).unwrap_or(0);
            if let Some(master) = self.masters.values_mut().nth(at) {
                let held: Vec<ContainerId> = master.model.held.keys().copied().collect();
                let which = usize::try_from(self.rng.between(0, held.len() as u64)).unwrap_or(0);
                master.model.releases.extend(held.get(which));
            }
        }
    }

    fn disturb_cards(&mut self) {
        let at = usize::try_from(self.rng.between(0, self.nodes.len() as u64)).unwrap_or(0);
        let host = self.nodes[at].model.id.host.to_string();
        if !self.nodes[at].is_up(self.now_ms) {
            return;
        }
        self.report.disturbed += 1;
        let mut cards = all_cards(&host, self.options.gpus);
        for card in &mut cards {
            if self.rng.chance(1, 6) {
                card.health = GpuHealth::Bad("Xid 79".to_owned());
            }
        }
        let mut kept = Vec::new();
        for card in cards {
            let uuid = Arc::clone(&card.uuid);
            if !self.rng.chance(1, 6) {
                kept.push(card);
            }
            let dirty = self.rng.chance(1, 8).then_some("process 7");
            if let Some(gpus) = &mut self.nodes[at].model.gpus {
                gpus.set_dirty(&uuid, dirty);
            }
        }
        self.nodes[at].model.read_gpus(kept);
    }

    /// The grant numbers of a device only rise, and a container's devices never change.
    pub(super) fn note_told(&mut self, grant: &Grant) -> Result<(), String> {
        let id = grant.container;
        if let Some(known) = self.told.grants.get(&id) {
            return if *known == grant.gpus {
                Ok(())
            } else {
                Err(format!("{id} was told of {known:?}, now {:?}", grant.gpus))
            };
        }
        let count = i64::try_from(grant.gpus.len()).unwrap_or(i64::MAX);
        if self.options.gpus > 0 && count * MILLI != grant.resource.0[2] {
            return Err(format!("{id} asked {:?}, got {count}", grant.resource));
        }
        for device in &grant.gpus {
            let last = self.told.epochs.insert(device.uuid.clone(), device.epoch);
            if last.is_some_and(|last| last >= device.epoch) {
                return Err(format!("{device:?} of {id} is not newer than {last:?}"));
            }
        }
        self.told.grants.insert(id, grant.gpus.clone());
        Ok(())
    }

    /// Whatever a node's container has, the ResourceManager knows: it can grant it to nobody else.
    pub(super) fn check_holders(&self) -> Result<(), String> {
        for node in &self.nodes {
            for fault in &node.model.gpu_faults {
                if fault.contains("is held by") || fault.contains("is not newer") {
                    return Err(format!("{}: {fault}", node.model.id));
                }
            }
            let (Some(gpus), Some(seen)) = (&node.model.gpus, self.rm.node(&node.model.id)) else {
                continue;
            };
            let active = matches!(seen.state, NodeState::Running | NodeState::Unhealthy);
            if !active || !node.model.registered || !node.is_up(self.now_ms) {
                continue;
            }
            for (card, holder) in gpus.devices() {
                let known = seen.gpus.iter().find(|g| g.uuid == card.device.uuid);
                let Some(holder) = holder else {
                    continue;
                };
                if known.is_some_and(|g| g.holder != Some(holder)) {
                    return Err(format!(
                        "{holder} runs on {}, which the ResourceManager gives to {:?}",
                        card.device.uuid,
                        known.and_then(|g| g.holder)
                    ));
                }
            }
        }
        Ok(())
    }

    /// Two delivered heartbeats after the faults, both ledgers say the same of every card.
    pub(super) fn check_ledgers_agree(&self) -> Result<(), String> {
        for node in self.nodes.iter().filter(|n| n.calm_beats >= 2) {
            let seen = self.rm.node(&node.model.id);
            let known = seen.map(|n| n.gpus).unwrap_or_default();
            let of_node = conditions(node);
            let of_rm: BTreeMap<_, _> = known.iter().map(condition).collect();
            if of_node != of_rm {
                return Err(format!(
                    "{} has {of_node:?}, the ResourceManager {of_rm:?}",
                    node.model.id
                ));
            }
        }
        Ok(())
    }

    /// When both parts of the cluster have come to rest, no device is held.
    pub(super) fn unreturned_device(&self) -> Option<String> {
        let nodes = self.rm.nodes();
        let mut held = nodes.iter().flat_map(|n| &n.gpus);
        let left = held.find(|g| g.holder.is_some());
        left.map(|g| format!("{} is still held by {:?}", g.uuid, g.holder))
    }

    /// Counts the heartbeats of a node that were answered in turn since the faults ended.
    pub(super) fn count_calm_beat(&mut self, at: usize, call: CallId, reply: &Reply) {
        let calm = self.now_ms >= self.options.faulty_ms + LATE_MS;
        let node = &mut self.nodes[at];
        if node.in_flight.is_none_or(|(waited, _)| waited != call) {
            return;
        }
        node.calm_beats = match reply {
            Reply::Heartbeat(beat) if beat.action == NodeAction::Normal && calm => {
                node.calm_beats + 1
            }
            _ => 0,
        };
    }
}

type Condition = (GpuHealth, Option<String>);

fn conditions(node: &SimNode) -> BTreeMap<Arc<str>, Condition> {
    let gpus = node.model.gpus.iter().flat_map(Gpus::devices);
    gpus.map(|(r, _)| {
        (
            r.device.uuid.clone(),
            (r.device.health.clone(), r.dirty.clone()),
        )
    })
    .collect()
}

fn condition(gpu: &GpuReport) -> (Arc<str>, Condition) {
    (gpu.uuid.clone(), (gpu.health.clone(), gpu.dirty.clone()))
}
