//! What the NodeManager does about its devices: readings, lost cards, what the ResourceManager is told.
//! May touch: `Nm`, its device ledger.
//! Must not: touch a device.

use std::sync::Arc;

use yarn_types::{
    ContainerId, Millis, exit,
    gpu::{DeviceChange, GpuDevice},
};

use crate::{
    effect::{ContainerReport, GpuList},
    gpu::Gpus,
    link::LinkState,
    nm::{Ctx, Nm},
};

impl Nm {
    /// The devices; `None` on a node that manages none.
    pub fn gpus(&self) -> Option<&Gpus> {
        self.gpus.as_ref()
    }

    pub(crate) fn on_gpu_reading(&mut self, devices: Vec<GpuDevice>, ctx: &mut Ctx<'_>) {
        let Some(gpus) = &mut self.gpus else { return };
        let before = gpus.changes().0;
        gpus.read(devices);
        ctx.urgent |= gpus.changes().0 != before;
        // Neighbours live: only who holds a lost card ends.
        for (container, why) in gpus.lost() {
            self.kill(container, exit::ABORTED, &why, ctx);
        }
    }

    /// Nobody is ended: that cards cannot be read says nothing of the work on them.
    pub(crate) fn on_gpu_probe_failed(&mut self, reason: &str, ctx: &mut Ctx<'_>) {
        let Some(gpus) = &mut self.gpus else { return };
        let before = gpus.changes().0;
        gpus.unreadable(reason);
        ctx.urgent |= gpus.changes().0 != before;
    }

    pub(crate) fn on_gpu_cleaned(&mut self, uuids: &[Arc<str>], ctx: &mut Ctx<'_>) {
        let Some(gpus) = &mut self.gpus else { return };
        let before = gpus.changes().0;
        for uuid in uuids {
            gpus.set_dirty(uuid, None);
        }
        ctx.urgent |= gpus.changes().0 != before;
    }

    pub(crate) fn on_torn_down(&mut self, id: ContainerId, dirty: Option<&str>, ctx: &mut Ctx<'_>) {
        let Some(container) = self.containers.get_mut(&id) else {
            return;
        };
        container.on_torn_down(ctx);
        if container.is_done()
            && let Some(gpus) = &mut self.gpus
        {
            gpus.release(id, dirty);
        }
    }

    pub(crate) fn on_gpu_echo(&mut self, seq: Option<u64>) {
        if let (Some(gpus), Some(seq)) = (&mut self.gpus, seq) {
            gpus.echoed(seq);
        }
    }

    /// The devices for a registration.
    pub(crate) fn gpu_list(&mut self) -> Option<GpuList> {
        let gpus = self.gpus.as_ref()?;
        let (seq, devices) = gpus.list();
        let usable = gpus.usable();
        self.usable_told = usable;
        Some(GpuList {
            seq,
            devices,
            usable,
        })
    }

    /// A container's report with the devices it holds.
    pub(crate) fn with_grants(&self, mut report: ContainerReport) -> ContainerReport {
        if let Some(gpus) = &self.gpus {
            report.gpus = gpus.grants_of(report.container);
        }
        report
    }

    /// Changes for a heartbeat.
    pub(crate) fn gpu_changes(&self) -> Option<(u64, Vec<DeviceChange>)> {
        // the number goes along with no change, too: it tells a late registration from the last
        self.gpus
            .as_ref()
            .filter(|_| self.rm_knows_gpus)
            .map(Gpus::changes)
    }

    /// A ResourceManager that knows no devices learns their number from a registration alone.
    pub(crate) fn tell_stock_rm(&mut self, now: Millis) {
        let usable = self.gpus.as_ref().map_or(0, Gpus::usable);
        let stock = self.gpus.is_some() && !self.rm_knows_gpus;
        if stock
            && self.link.state() == LinkState::Registered
            && !self.link.in_flight()
            && usable != self.usable_told
        {
            self.register_again(now);
        }
    }
}

#[cfg(test)]
#[path = "nm_gpu_test.rs"]
mod tests;
