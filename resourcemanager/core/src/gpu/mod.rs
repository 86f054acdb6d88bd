//! The GPUs of one node as the ResourceManager keeps them: who holds which device, and since which grant.
//! May touch: its own ledger.
//! Must not: know queues or limits; a device is free again only when its NodeManager says so.

use std::sync::Arc;

use yarn_types::{
    ContainerId,
    gpu::{
        Affinity, DEVICES_MAX, DeviceChange, DeviceGrant, DeviceReport, DeviceSet, GpuDevice,
        GpuHealth,
    },
};

/// A container that a registering NodeManager still has, with its devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldDevices {
    /// Which container.
    pub container: ContainerId,
    /// Its devices.
    pub grants: Vec<DeviceGrant>,
}

/// Who has a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
enum Holder {
    Nobody,
    /// Granted; its token has not left the RM, so it can be taken back at once.
    Promised(ContainerId),
    /// Its token left the RM.
    Held(ContainerId),
    /// Its container ended for the RM; the NodeManager has not confirmed.
    Leaving {
        container: ContainerId,
        /// An answer to the node listed it for cleanup.
        listed: bool,
    },
}

impl Holder {
    fn container(self) -> Option<ContainerId> {
        match self {
            Self::Nobody => None,
            Self::Promised(c) | Self::Held(c) | Self::Leaving { container: c, .. } => Some(c),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
struct Slot {
    report: DeviceReport,
    /// False once the NodeManager said that it is gone; the slot stays while somebody holds it.
    present: bool,
    /// Number of its last grant.
    epoch: u64,
    holder: Holder,
}

impl Slot {
    fn healthy(&self) -> bool {
        self.present && self.report.device.health == GpuHealth::Ok
    }

    fn grantable(&self) -> bool {
        self.healthy() && self.report.dirty.is_none() && self.holder == Holder::Nobody
    }

    /// One that its holder made dirty counts until that one has ended, as the holder counts too.
    fn counted(&self) -> bool {
        let in_use = matches!(self.holder, Holder::Promised(_) | Holder::Held(_));
        self.healthy() && (self.report.dirty.is_none() || in_use)
    }
}

/// The devices of a node that sent a list.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct NodeGpus {
    slots: Vec<Slot>,
    affinity: Affinity,
    /// Highest change number applied.
    seq: u64,
    /// Number of the last grant of any device of this node: one count for all of them, so that a
    /// device that went away and came back never gets a number twice.
    last_epoch: u64,
    /// The list stands for an earlier change than was applied before it: the NodeManager was
    /// started again, or the registration came late.
    behind: bool,
}

impl NodeGpus {
    /// The ledger after a registration: the NodeManager's list and what its containers hold are
    /// the truth. Grants are numbered from `first_epoch` up, or from what a container holds: the
    /// start of this RM is a number that no earlier RM has reached.
    pub fn registered(
        seq: u64,
        list: Vec<DeviceReport>,
        held: &[HeldDevices],
        first_epoch: u64,
    ) -> Self {
        let slots = list.into_iter().take(DEVICES_MAX).map(|report| {
            let uuid = &report.device.uuid;
            let by = |h: &HeldDevices| {
                let grant = h.grants.iter().find(|g| g.uuid == *uuid)?;
                Some((h.container, grant.epoch))
            };
            let (holder, epoch) = match held.iter().find_map(by) {
                Some((container, epoch)) => (Holder::Held(container), epoch),
                None => (Holder::Nobody, 0),
            };
            Slot {
                report,
                present: true,
                epoch,
                holder,
            }
        });
        let slots: Vec<Slot> = slots.collect();
        let held = slots.iter().map(|s| s.epoch).max().unwrap_or(0);
        let mut gpus = Self {
            slots,
            affinity: Affinity::default(),
            seq,
            last_epoch: first_epoch.max(held),
            behind: false,
        };
        gpus.reconnect();
        gpus
    }

    /// Takes over the grant numbers of `before`, the same node's earlier ledger, so that a
    /// re-registration never hands out a number twice; and its holders that the node does not
    /// know: their tokens are under way, or it has not been told of their end.
    pub fn continue_from(&mut self, before: &Self) {
        self.last_epoch = self.last_epoch.max(before.last_epoch);
        self.behind = self.seq < before.seq;
        for old in before.slots.iter().filter(|s| s.holder != Holder::Nobody) {
            let holder = match old.holder {
                // Which answers the node got before it registered again is not known.
                Holder::Leaving { container, .. } => Holder::Leaving {
                    container,
                    listed: false,
                },
                other => other,
            };
            let full = self.slots.len() >= DEVICES_MAX;
            match self.slot(&old.report.device.uuid) {
                // A claim older than the last grant is a late registration's: that grant was made
                // after the node had said that the former holder was gone.
                Some(slot) if slot.holder == Holder::Nobody || slot.epoch < old.epoch => {
                    slot.holder = holder;
                    slot.epoch = old.epoch;
                }
                Some(_) => {}
                None if full => {}
                None => self.slots.push(Slot {
                    present: false,
                    holder,
                    ..old.clone()
                }),
            }
        }
        self.reconnect();
    }

    /// Containers that ended for the RM and may still have devices: the node must be told.
    pub fn leaving(&self) -> impl Iterator<Item = ContainerId> {
        self.slots.iter().filter_map(|s| match s.holder {
            Holder::Leaving { container, .. } => Some(container),
            _ => None,
        })
    }

    /// Whether a heartbeat in turn, whose last change is number `seq`, follows on this ledger. It
    /// does not when a late copy of a registration made the ledger: the NodeManager repeats only
    /// what was not echoed before that, and must register again.
    pub fn follows(&mut self, seq: u64) -> bool {
        let follows = seq == self.seq || (seq > self.seq && !self.behind);
        self.behind &= !follows;
        follows
    }

    /// Highest change number applied; echoed to the NodeManager.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Applies the changes numbered above the highest applied; the number of the last is `seq`.
    /// Gives the containers whose device is no longer usable, each with the reason.
    pub fn apply(&mut self, seq: u64, changes: &[DeviceChange]) -> Vec<(ContainerId, String)> {
        if seq <= self.seq {
            return Vec::new();
        }
        self.seq = seq;
        for change in changes {
            match change {
                DeviceChange::Is(report) => self.is(report.clone()),
                DeviceChange::Gone(uuid) => {
                    if let Some(slot) = self.slot(uuid) {
                        slot.present = false;
                    }
                }
            }
        }
        self.tidy();
        self.reconnect();
        self.lost()
    }

    /// Containers that count and whose device cannot be used, each with the reason.
    pub fn lost(&self) -> Vec<(ContainerId, String)> {
        let lost = self.slots.iter().filter(|s| !s.healthy()).filter_map(|s| {
            let (Holder::Held(container) | Holder::Promised(container)) = s.holder else {
                return None;
            };
            let uuid = &s.report.device.uuid;
            Some((
                container,
                match &s.report.device.health {
                    _ if !s.present => format!("gpu lost: {uuid} is gone"),
                    GpuHealth::Bad(why) => format!("gpu lost: {uuid}: {why}"),
                    GpuHealth::Ok => return None,
                },
            ))
        });
        lost.collect()
    }

    /// Whether a change says that a card came, went, or is in another condition.
    pub fn is_news(&self, change: &DeviceChange) -> bool {
        let slot = |uuid: &str| {
            let known = self.slots.iter().find(|s| &*s.report.device.uuid == uuid);
            known.filter(|s| s.present)
        };
        match change {
            DeviceChange::Is(report) => {
                let condition = |r: &DeviceReport| (r.device.health.clone(), r.dirty.clone());
                slot(&report.device.uuid).is_none_or(|s| condition(&s.report) != condition(report))
            }
            DeviceChange::Gone(uuid) => slot(uuid).is_some(),
        }
    }

    fn is(&mut self, report: DeviceReport) {
        let full = self.slots.len() >= DEVICES_MAX;
        match self.slot(&report.device.uuid) {
            Some(slot) => {
                slot.present = true;
                slot.report = report;
            }
            None if full => {}
            None => self.slots.push(Slot {
                report,
                present: true,
                epoch: 0,
                holder: Holder::Nobody,
            }),
        }
    }

    /// Forgets devices that are gone and held by nobody.
    fn tidy(&mut self) {
        let before = self.slots.len();
        self.slots
            .retain(|s| s.present || s.holder != Holder::Nobody);
        if self.slots.len() != before {
            self.reconnect();
        }
    }

    fn slot(&mut self, uuid: &str) -> Option<&mut Slot> {
        self.slots
            .iter_mut()
            .find(|s| &*s.report.device.uuid == uuid)
    }

    fn reconnect(&mut self) {
        let devices: Vec<GpuDevice> = self.slots.iter().map(|s| s.report.device.clone()).collect();
        self.affinity = Affinity::of(&devices);
    }

    fn set(&self, test: impl Fn(&Slot) -> bool) -> DeviceSet {
        self.slots
            .iter()
            .enumerate()
            .filter(|(_, s)| test(s))
            .map(|(i, _)| i)
            .collect()
    }

    /// Devices that can be counted on: present, healthy, and clean unless in use.
    pub fn usable(&self) -> usize {
        self.set(Slot::counted).len()
    }

    /// Devices that can be granted now.
    pub fn free(&self) -> DeviceSet {
        self.set(Slot::grantable)
    }

    /// Grants `count` devices that belong together to `container`, or none at all.
    pub fn grant(&mut self, container: ContainerId, count: usize) -> Option<Vec<DeviceGrant>> {
        let chosen = self.affinity.choose(self.free(), count)?;
        let take = |position: usize| {
            self.last_epoch += 1;
            let slot = &mut self.slots[position];
            slot.epoch = self.last_epoch;
            slot.holder = Holder::Promised(container);
            DeviceGrant {
                uuid: Arc::clone(&slot.report.device.uuid),
                epoch: slot.epoch,
            }
        };
        Some(chosen.iter().map(take).collect())
    }

    /// The container's token leaves the RM: from now on only the NodeManager can free its devices.
    pub fn told(&mut self, container: ContainerId) {
        self.each(container, |h| match h {
            Holder::Promised(c) => Holder::Held(c),
            other => other,
        });
    }

    /// The container ended for the RM: what was only promised is free at once, the rest waits.
    pub fn ended(&mut self, container: ContainerId) {
        self.each(container, |h| match h {
            Holder::Promised(_) => Holder::Nobody,
            Holder::Held(container) => Holder::Leaving {
                container,
                listed: false,
            },
            other => other,
        });
        self.tidy();
    }

    /// An answer to the node listed the container for cleanup.
    pub fn cleanup_listed(&mut self, container: ContainerId) {
        self.each(container, |h| match h {
            Holder::Leaving { container, .. } => Holder::Leaving {
                container,
                listed: true,
            },
            other => other,
        });
    }

    /// The node's next heartbeat came: it got the last answer, so what that listed is not started any more
    /// unless `running` says that the node still has it.
    pub fn answer_received(&mut self, running: impl Fn(ContainerId) -> bool) {
        for slot in &mut self.slots {
            if let Holder::Leaving {
                container,
                listed: true,
            } = slot.holder
                && !running(container)
            {
                slot.holder = Holder::Nobody;
            }
        }
        self.tidy();
    }

    /// The NodeManager says that the container is complete.
    pub fn completed(&mut self, container: ContainerId) {
        self.each(container, |_| Holder::Nobody);
        self.tidy();
    }

    fn each(&mut self, container: ContainerId, to: impl Fn(Holder) -> Holder) {
        for slot in self
            .slots
            .iter_mut()
            .filter(|s| s.holder.container() == Some(container))
        {
            slot.holder = to(slot.holder);
        }
    }

    /// What `container` holds, by position; what it only still has after its end is left out.
    pub fn held_by(&self, container: ContainerId) -> Vec<DeviceGrant> {
        let held = self.slots.iter().filter(
            |s| matches!(s.holder, Holder::Promised(c) | Holder::Held(c) if c == container),
        );
        held.map(|s| DeviceGrant {
            uuid: Arc::clone(&s.report.device.uuid),
            epoch: s.epoch,
        })
        .collect()
    }

    /// Every container that has devices or may still have them; true where it counts.
    pub fn holders(&self) -> impl Iterator<Item = (ContainerId, bool)> {
        self.slots.iter().filter_map(|s| match s.holder {
            Holder::Nobody => None,
            Holder::Promised(c) | Holder::Held(c) => Some((c, true)),
            Holder::Leaving { container, .. } => Some((container, false)),
        })
    }

    /// Every device with its holder, for readers.
    pub fn devices(&self) -> impl Iterator<Item = (&DeviceReport, Option<ContainerId>)> {
        self.slots.iter().map(|s| (&s.report, s.holder.container()))
    }

    /// The laws of a ledger: a UUID once, positions within the mask.
    ///
    /// # Errors
    /// The first one that is broken.
    pub fn check(&self) -> Result<(), String> {
        if self.slots.len() > DEVICES_MAX {
            return Err(format!("{} devices in one ledger", self.slots.len()));
        }
        for (i, slot) in self.slots.iter().enumerate() {
            let uuid = &slot.report.device.uuid;
            if self
                .slots
                .iter()
                .take(i)
                .any(|s| s.report.device.uuid == *uuid)
            {
                return Err(format!("device {uuid} is in the ledger twice"));
            }
            if !slot.present && slot.holder == Holder::Nobody {
                return Err(format!(
                    "device {uuid} is gone and held by nobody, but still there"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "gpu_test.rs"]
mod tests;
