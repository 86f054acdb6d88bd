//! The GPUs of this node as the NodeManager keeps them: what there is, who runs on which, what to report.
//! May touch: its own ledger.
//! Must not: touch a device; or choose one when the ResourceManager has chosen.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use yarn_types::{
    ContainerId,
    gpu::{Affinity, DeviceChange, DeviceGrant, DeviceReport, DeviceSet, GpuDevice, GpuHealth},
};

/// A device with its holder.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Slot {
    report: DeviceReport,
    present: bool,
    holder: Option<ContainerId>,
}

/// Why a granted device cannot be used: the device is at fault, not the request, so the container
/// completes with ABORTED.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GpuFault(pub String);

/// The node's devices.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Gpus {
    slots: BTreeMap<Arc<str>, Slot>,
    /// Highest grant number seen of each device, kept when the device is gone.
    epochs: BTreeMap<Arc<str>, u64>,
    /// Number of the last change.
    seq: u64,
    /// Devices that are held as dirty because they cannot be read, and for no other reason.
    unread: BTreeSet<Arc<str>>,
    /// Changes that the ResourceManager has not echoed.
    unsent: VecDeque<(u64, DeviceChange)>,
}

impl Gpus {
    /// Numbers changes from `seq` up, unless there was one: a start stamp keeps the late messages of
    /// an earlier process from being newer.
    pub fn number_from(&mut self, seq: u64) {
        if self.seq == 0 {
            self.seq = seq;
        }
    }

    /// Takes a reading of the managed cards; what differs from the last becomes a change to report.
    pub fn read(&mut self, devices: Vec<GpuDevice>) {
        for uuid in std::mem::take(&mut self.unread) {
            self.set_dirty(&uuid, None);
        }
        let gone: Vec<Arc<str>> = self
            .slots
            .iter()
            .filter(|(uuid, s)| s.present && !devices.iter().any(|d| d.uuid == **uuid))
            .map(|(uuid, _)| Arc::clone(uuid))
            .collect();
        for uuid in gone {
            if let Some(slot) = self.slots.get_mut(&uuid) {
                slot.present = false;
            }
            self.forget_if_unused(&uuid);
            self.change(DeviceChange::Gone(uuid));
        }
        for device in devices {
            let uuid = Arc::clone(&device.uuid);
            let known = self.slots.get(&uuid);
            if known.is_some_and(|s| s.present && s.report.device == device) {
                continue;
            }
            let dirty = known.and_then(|s| s.report.dirty.clone());
            let holder = known.and_then(|s| s.holder);
            let report = DeviceReport { device, dirty };
            self.change(DeviceChange::Is(report.clone()));
            self.slots.insert(
                uuid,
                Slot {
                    report,
                    present: true,
                    holder,
                },
            );
        }
    }

    /// The cards cannot be read: none is granted until they are.
    pub fn unreadable(&mut self, reason: &str) {
        let clean = self
            .slots
            .iter()
            .filter(|(_, s)| s.present && s.report.dirty.is_none());
        let clean: Vec<Arc<str>> = clean.map(|(uuid, _)| Arc::clone(uuid)).collect();
        for uuid in clean {
            self.set_dirty(&uuid, Some(reason));
            self.unread.insert(uuid);
        }
    }

    /// Notes a change; an older one of the same device need not be told any more.
    fn change(&mut self, change: DeviceChange) {
        let uuid_of = |c: &DeviceChange| match c {
            DeviceChange::Is(report) => Arc::clone(&report.device.uuid),
            DeviceChange::Gone(uuid) => Arc::clone(uuid),
        };
        let uuid = uuid_of(&change);
        self.unsent.retain(|(_, c)| uuid_of(c) != uuid);
        self.seq += 1;
        self.unsent.push_back((self.seq, change));
    }

    fn forget_if_unused(&mut self, uuid: &str) {
        if self
            .slots
            .get(uuid)
            .is_some_and(|s| !s.present && s.holder.is_none())
        {
            self.slots.remove(uuid);
        }
    }

    /// The whole list for a registration, with the number that it stands for.
    pub fn list(&self) -> (u64, Vec<DeviceReport>) {
        let present = self.slots.values().filter(|s| s.present);
        (self.seq, present.map(|s| s.report.clone()).collect())
    }

    /// Changes to repeat with each heartbeat until they are echoed, and the number of the last.
    pub fn changes(&self) -> (u64, Vec<DeviceChange>) {
        (
            self.seq,
            self.unsent
                .iter()
                .map(|(_, change)| change.clone())
                .collect(),
        )
    }

    /// The ResourceManager has applied every change up to `seq`.
    pub fn echoed(&mut self, seq: u64) {
        while self.unsent.front().is_some_and(|(n, _)| *n <= seq) {
            self.unsent.pop_front();
        }
    }

    /// Devices that can be counted on.
    pub fn usable(&self) -> usize {
        self.slots.values().filter(|s| usable(s)).count()
    }

    /// The devices that `grants` name become the container's.
    ///
    /// # Errors
    /// A device that is unknown, lost, dirty or held, or a grant older than one already seen; then
    /// the container gets none.
    pub fn take(
        &mut self,
        container: ContainerId,
        grants: &[DeviceGrant],
    ) -> Result<Vec<GpuDevice>, GpuFault> {
        for grant in grants {
            self.check_grant(container, grant).map_err(GpuFault)?;
        }
        let mut devices = Vec::with_capacity(grants.len());
        for grant in grants {
            self.epochs.insert(Arc::clone(&grant.uuid), grant.epoch);
            if let Some(slot) = self.slots.get_mut(&grant.uuid) {
                slot.holder = Some(container);
                devices.push(slot.report.device.clone());
            }
        }
        Ok(devices)
    }

    fn check_grant(&self, container: ContainerId, grant: &DeviceGrant) -> Result<(), String> {
        let DeviceGrant { uuid, epoch } = grant;
        let Some(slot) = self.slots.get(uuid).filter(|s| s.present) else {
            return Err(format!("gpu unavailable: this node has no {uuid}"));
        };
        if let GpuHealth::Bad(why) = &slot.report.device.health {
            return Err(format!("gpu lost: {uuid}: {why}"));
        }
        if let Some(why) = &slot.report.dirty {
            if self.unread.contains(uuid) {
                return Err(format!("gpu unavailable: {uuid}: {why}"));
            }
            return Err(format!("gpu dirty: {uuid}: {why}"));
        }
        if let Some(other) = slot.holder.filter(|other| *other != container) {
            return Err(format!("gpu unavailable: {uuid} is held by {other}"));
        }
        match self.epochs.get(uuid) {
            Some(seen) if seen >= epoch => Err(format!(
                "gpu unavailable: grant {epoch} of {uuid} is not newer than {seen}, which was seen"
            )),
            _ => Ok(()),
        }
    }

    /// Chooses `count` free devices itself, under a ResourceManager that does not.
    ///
    /// # Errors
    /// Too few are free.
    pub fn choose(
        &mut self,
        container: ContainerId,
        count: usize,
    ) -> Result<Vec<GpuDevice>, GpuFault> {
        let devices: Vec<GpuDevice> = self
            .slots
            .values()
            .map(|s| s.report.device.clone())
            .collect();
        let free = self
            .slots
            .values()
            .enumerate()
            .filter(|(_, s)| usable(s) && s.holder.is_none());
        let free: DeviceSet = free.map(|(position, _)| position).collect();
        let Some(chosen) = Affinity::of(&devices).choose(free, count) else {
            return Err(GpuFault(format!(
                "gpu unavailable: {count} were granted and {} are free",
                free.len()
            )));
        };
        let mut taken = Vec::with_capacity(count);
        for (position, slot) in self.slots.values_mut().enumerate() {
            if chosen.holds(position) {
                slot.holder = Some(container);
                taken.push(slot.report.device.clone());
            }
        }
        Ok(taken)
    }

    /// The container is gone; `dirty` says what it left behind on its devices, if anything.
    pub fn release(&mut self, container: ContainerId, dirty: Option<&str>) {
        let held: Vec<Arc<str>> = self
            .slots
            .iter()
            .filter(|(_, s)| s.holder == Some(container))
            .map(|(uuid, _)| Arc::clone(uuid))
            .collect();
        for uuid in held {
            if let Some(slot) = self.slots.get_mut(&uuid) {
                slot.holder = None;
            }
            if dirty.is_some() {
                self.set_dirty(&uuid, dirty);
            }
            self.forget_if_unused(&uuid);
        }
    }

    /// A device is dirty, or clean again (`None`); told with the next heartbeat.
    pub fn set_dirty(&mut self, uuid: &str, dirty: Option<&str>) {
        self.unread.remove(uuid);
        let Some(slot) = self.slots.get_mut(uuid) else {
            return;
        };
        let dirty = dirty.map(str::to_owned);
        if slot.report.dirty == dirty {
            return;
        }
        slot.report.dirty = dirty;
        if slot.present {
            let report = slot.report.clone();
            self.change(DeviceChange::Is(report));
        }
    }

    /// Containers whose device is lost, each with the reason.
    pub fn lost(&self) -> Vec<(ContainerId, String)> {
        let held = self
            .slots
            .iter()
            .filter_map(|(uuid, s)| Some((uuid, s, s.holder?)));
        let lost = held.filter_map(|(uuid, slot, container)| {
            let why = match &slot.report.device.health {
                _ if !slot.present => format!("gpu lost: {uuid} is gone"),
                GpuHealth::Bad(why) => format!("gpu lost: {uuid}: {why}"),
                GpuHealth::Ok => return None,
            };
            Some((container, why))
        });
        lost.collect()
    }

    /// Every device with its holder, by UUID.
    pub fn devices(&self) -> impl Iterator<Item = (&DeviceReport, Option<ContainerId>)> {
        self.slots
            .values()
            .filter(|s| s.present)
            .map(|s| (&s.report, s.holder))
    }

    /// The grants that `container` holds, for a registration.
    pub fn grants_of(&self, container: ContainerId) -> Vec<DeviceGrant> {
        let held = self
            .slots
            .iter()
            .filter(|(_, s)| s.holder == Some(container));
        held.map(|(uuid, _)| DeviceGrant {
            uuid: Arc::clone(uuid),
            epoch: self.epochs.get(uuid).copied().unwrap_or(0),
        })
        .collect()
    }
}

fn usable(slot: &Slot) -> bool {
    slot.present && slot.report.device.health == GpuHealth::Ok && slot.report.dirty.is_none()
}

#[cfg(test)]
#[path = "gpu_test.rs"]
mod tests;
