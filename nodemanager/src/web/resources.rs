//! `/ws/v1/node/resources/{name}`: what a resource plugin knows (`NMGpuResourceInfo`).
//! May touch: the core, by questions; the last reading of the cards.
//! Must not: decide or change anything.

use std::sync::PoisonError;

use actix_web::{HttpResponse, web};
use serde::Serialize;
use yarn_types::{ContainerId, GPU, gpu::GpuDevice, gpu::GpuHealth};

use super::Site;

/// `NMGpuResourceInfo`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GpuResource {
    gpu_device_information: Information,
    total_gpu_devices: Vec<Device>,
    assigned_gpu_devices: Vec<Device>,
    /// Not Hadoop's: how containers are kept from devices of others, or why they cannot be.
    gpu_isolation: String,
}

/// `GpuDeviceInformation`.
#[derive(Serialize)]
struct Information {
    driver_version: String,
    gpus: Vec<Card>,
}

/// `PerGpuDeviceInformation`; the last four are not Hadoop's.
#[derive(Serialize)]
struct Card {
    product_name: String,
    uuid: String,
    minor_number: u32,
    index: u32,
    pci_bus_id: String,
    memory_mib: u64,
    health: String,
}

/// `GpuDevice` and `AssignedGpuDevice`; UUID and condition are not Hadoop's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Device {
    index: u32,
    minor_number: u32,
    uuid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    container_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dirty: Option<String>,
}

/// A plugin that is unknown or off: `NMResourceInfo`, which has no fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NoResource {
    /// Not Hadoop's: why nothing is known of GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_isolation: Option<String>,
}

/// GET `/ws/v1/node/resources/{name}`.
pub(super) async fn resource(site: web::Data<Site>, name: web::Path<String>) -> HttpResponse {
    let gpu_isolation = site.guard.state().to_string();
    if *name != GPU || !site.manages_gpus {
        let gpu_isolation = (*name == GPU).then_some(gpu_isolation);
        return HttpResponse::Ok().json(NoResource { gpu_isolation });
    }
    let all = site.inbox.ask(|nm, _| {
        let devices = nm.gpus().into_iter().flat_map(nm_core::gpu::Gpus::devices);
        let devices = devices.map(|(r, holder)| (r.clone(), holder));
        devices.collect::<Vec<_>>()
    });
    let Some(mut managed) = all.await else {
        return HttpResponse::ServiceUnavailable().body("the NodeManager is shutting down");
    };
    managed.sort_by_key(|(report, _)| report.device.index);
    let reading = site
        .cards
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let (driver_version, cards) = reading.map_or_else(Default::default, |r| (r.driver, r.devices));
    let device = |d: &GpuDevice, holder: Option<ContainerId>, dirty: Option<String>| Device {
        index: d.index,
        minor_number: d.minor,
        uuid: d.uuid.to_string(),
        container_id: holder.map(|id| id.to_string()),
        dirty,
    };
    HttpResponse::Ok().json(GpuResource {
        gpu_device_information: Information {
            driver_version,
            gpus: cards.iter().map(card).collect(),
        },
        total_gpu_devices: managed
            .iter()
            .map(|(r, _)| device(&r.device, None, r.dirty.clone()))
            .collect(),
        assigned_gpu_devices: managed
            .iter()
            .filter(|(_, holder)| holder.is_some())
            .map(|(r, holder)| device(&r.device, *holder, None))
            .collect(),
        gpu_isolation,
    })
}

fn card(d: &GpuDevice) -> Card {
    Card {
        product_name: d.model.clone(),
        uuid: d.uuid.to_string(),
        minor_number: d.minor,
        index: d.index,
        pci_bus_id: d.pci.clone(),
        memory_mib: d.memory_mib,
        health: match &d.health {
            GpuHealth::Ok => "ok".to_owned(),
            GpuHealth::Bad(why) => why.clone(),
        },
    }
}
