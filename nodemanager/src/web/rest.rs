//! `/ws/v1/node`: the node and its containers as JSON.
//! May touch: the core, by questions; names of log files.
//! Must not: decide or change anything.

use actix_web::{HttpResponse, web};
use nm_core::Container;
use yarn_types::ContainerId;

use super::{
    Site,
    dto::{
        ContainerInfo, ContainerRoot, Containers, ContainersRoot, NodeInfo, NodeInfoRoot,
        RemoteExceptionDto, RemoteExceptionRoot,
    },
};
use crate::{exec::dirs::list_logs, tracker::VERSION};

/// Built from which sources; there is no build date, so that builds repeat.
const BUILT_ON: &str = "N/A";

fn json(body: &impl serde::Serialize) -> HttpResponse {
    HttpResponse::Ok().json(body)
}

fn ending() -> HttpResponse {
    HttpResponse::ServiceUnavailable().body("the NodeManager is shutting down")
}

/// GET `/ws/v1/node/info`.
pub(super) async fn info(site: web::Data<Site>) -> HttpResponse {
    let Some(health) = site.inbox.ask(|nm, _| nm.health().clone()).await else {
        return ending();
    };
    let names = site.types.iter().map(|t| match t.units.as_str() {
        "" => t.name.clone(),
        units => format!("{} (unit={units})", t.name),
    });
    let pmem = site.total.memory_mb();
    let build = format!("heddle {}", env!("CARGO_PKG_VERSION"));
    json(&NodeInfoRoot {
        node_info: NodeInfo {
            health_report: health.report,
            total_vmem_mb: vmem_mb(pmem, site.monitor.vmem_ratio),
            total_pmem_mb: pmem,
            total_vcores: site.total.vcores(),
            vmem_check_enabled: site.monitor.vmem_check,
            pmem_check_enabled: site.monitor.pmem_check,
            last_node_update_time: health.checked_wall_ms,
            resource_types: names.collect::<Vec<_>>().join(", "),
            node_healthy: health.healthy,
            node_manager_version: VERSION,
            node_manager_build_version: build.clone(),
            node_manager_version_built_on: BUILT_ON,
            hadoop_version: VERSION,
            hadoop_build_version: build,
            hadoop_version_built_on: BUILT_ON,
            id: site.node.to_string(),
            node_host_name: site.node.host.to_string(),
            startup_time: site.started_wall_ms,
            gpu_isolation: site.guard.state().to_string(),
        },
    })
}

/// Memory times ratio, in MiB.
fn vmem_mb(pmem_mb: i64, ratio: f32) -> i64 {
    let pmem = u64::try_from(pmem_mb).unwrap_or(0);
    i64::try_from(crate::exec::monitor::vmem_limit(pmem, ratio)).unwrap_or(i64::MAX)
}

/// GET `/ws/v1/node/containers`.
pub(super) async fn containers(site: web::Data<Site>) -> HttpResponse {
    let all = site
        .inbox
        .ask(|nm, _| nm.containers().cloned().collect::<Vec<_>>())
        .await;
    let Some(all) = all else { return ending() };
    let container = web::block(move || all.iter().map(|c| show(c, &site)).collect()).await;
    json(&ContainersRoot {
        containers: Containers {
            container: container.unwrap_or_default(),
        },
    })
}

/// GET `/ws/v1/node/containers/{id}`.
pub(super) async fn container(site: web::Data<Site>, id: web::Path<String>) -> HttpResponse {
    let Ok(known) = id.parse::<ContainerId>() else {
        let text = format!("invalid container id, {id}");
        return refusal(HttpResponse::BadRequest(), "BadRequestException", text);
    };
    let found = site
        .inbox
        .ask(move |nm, _| nm.container(known).cloned())
        .await;
    let Some(found) = found else { return ending() };
    let Some(found) = found else {
        let text = format!("container with id, {id}, not found");
        return refusal(HttpResponse::NotFound(), "NotFoundException", text);
    };
    let shown = web::block(move || show(&found, &site)).await;
    shown.map_or_else(|_| ending(), |container| json(&ContainerRoot { container }))
}

fn show(container: &Container, site: &Site) -> ContainerInfo {
    let report = container.report();
    let id = report.container;
    let files = list_logs(&site.log_dirs, &id.app().to_string(), &id.to_string());
    ContainerInfo {
        id: id.to_string(),
        state: container.state().as_str(),
        exit_code: report.exit_code,
        diagnostics: report.diagnostics,
        user: container.spec.user.to_string(),
        memory_mb: report.resource.memory_mb(),
        vcores: report.resource.vcores(),
        execution_type: if report.guaranteed {
            "GUARANTEED"
        } else {
            "OPPORTUNISTIC"
        },
        container_logs_link: format!(
            "http://{}/node/containerlogs/{id}/{}",
            site.address(),
            container.spec.user
        ),
        node_id: site.node.to_string(),
        cgroups: site.guard.cgroups(id),
        container_log_files: files.into_iter().map(|(name, _)| name).collect(),
    }
}

fn refusal(
    mut status: actix_web::HttpResponseBuilder,
    exception: &'static str,
    message: String,
) -> HttpResponse {
    let java_class_name = match exception {
        "NotFoundException" => "org.apache.hadoop.yarn.webapp.NotFoundException",
        _ => "org.apache.hadoop.yarn.webapp.BadRequestException",
    };
    let remote_exception = RemoteExceptionDto {
        exception,
        message,
        java_class_name,
    };
    status.json(RemoteExceptionRoot { remote_exception })
}
