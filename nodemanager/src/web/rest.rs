//! `/ws/v1/node`: the node, its applications and containers.
//! May touch: the core, by questions; names of log files.
//! Must not: decide or change anything.

use std::time::UNIX_EPOCH;

use actix_web::{HttpResponse, web};
use nm_core::{App, Container, launch::iso8601_utc};
use yarn_types::{ApplicationId, ContainerId};
use yarn_web::{Format, Pairs, User};

use super::{
    Site,
    dto::{
        AppInfo, Apps, ContainerInfo, ContainerLogFile, ContainerLogs, ContainerLogsList,
        Containers, NodeInfo,
    },
};
use crate::{
    exec::dirs::{list_logs, open_log},
    tracker::VERSION,
};

/// Built from which sources; there is no build date, so that builds repeat.
const BUILT_ON: &str = "N/A";

fn ending(format: Format) -> HttpResponse {
    format.unavailable("the NodeManager is shutting down")
}

/// GET `/ws/v1/node/info`.
pub(super) async fn info(site: web::Data<Site>, format: Format) -> HttpResponse {
    let Some(health) = site.inbox.ask(|nm, _| nm.health().clone()).await else {
        return ending(format);
    };
    let names = site.types.iter().map(|t| match t.units.as_str() {
        "" => t.name.clone(),
        units => format!("{} (unit={units})", t.name),
    });
    let total = site.offer.now();
    let pmem = total.memory_mb();
    let build = format!("heddle {}", env!("CARGO_PKG_VERSION"));
    format.ok(
        "nodeInfo",
        &NodeInfo {
            health_report: health.report,
            total_vmem_mb: vmem_mb(pmem, site.monitor.vmem_ratio),
            total_pmem_mb: pmem,
            total_vcores: total.vcores(),
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
    )
}

/// Memory times ratio, in MiB.
fn vmem_mb(pmem_mb: i64, ratio: f32) -> i64 {
    let pmem = u64::try_from(pmem_mb).unwrap_or(0);
    i64::try_from(crate::exec::monitor::vmem_limit(pmem, ratio)).unwrap_or(i64::MAX)
}

/// GET `/ws/v1/node/containers`.
pub(super) async fn containers(site: web::Data<Site>, format: Format, user: User) -> HttpResponse {
    let all = site
        .inbox
        .ask(|nm, _| nm.containers().cloned().collect::<Vec<_>>())
        .await;
    let Some(all) = all else {
        return ending(format);
    };
    let shown = web::block(move || {
        let apps: Vec<_> = all.iter().map(|c| c.spec.container.app()).collect();
        let sees = site.acls.visible(&user.0, &apps);
        let all = all.iter().zip(sees);
        let listed = all.filter(|(_, sees)| *sees || !site.acls.filters_lists());
        listed.map(|(c, sees)| show(c, &site, sees)).collect()
    });
    let container = shown.await.unwrap_or_default();
    format.ok("containers", &Containers { container })
}

fn bad_container(format: Format, text: &str) -> HttpResponse {
    format.bad_request(&format!("invalid container id, {text}"))
}

/// GET `/ws/v1/node/containers/{id}`.
pub(super) async fn container(
    site: web::Data<Site>,
    format: Format,
    id: web::Path<String>,
    user: User,
) -> HttpResponse {
    let Ok(known) = id.parse::<ContainerId>() else {
        return bad_container(format, &id);
    };
    let found = site
        .inbox
        .ask(move |nm, _| nm.container(known).cloned())
        .await;
    let Some(found) = found else {
        return ending(format);
    };
    let Some(found) = found else {
        return format.not_found(&format!("container with id, {id}, not found"));
    };
    let shown = web::block(move || {
        let sees = site.acls.may_view(&user.0, known.app());
        show(&found, &site, sees)
    });
    match shown.await {
        Ok(container) => format.ok("container", &container),
        Err(_) => ending(format),
    }
}

/// GET `/ws/v1/node/containers/{id}/logs`.
pub(super) async fn container_logs(
    site: web::Data<Site>,
    format: Format,
    id: web::Path<String>,
    user: User,
) -> HttpResponse {
    let Ok(known) = id.parse::<ContainerId>() else {
        return bad_container(format, &id);
    };
    if let Err(text) = super::logs::check(&site, &user, known).await {
        return HttpResponse::Forbidden().body(text);
    }
    let node_id = site.node.to_string();
    let files = web::block(move || log_files(&site, known)).await;
    let container_log_info = files.unwrap_or_default();
    // A container that is not known has no files, here as in Hadoop.
    let list = ContainerLogsList {
        container_logs_info: ContainerLogs {
            container_log_info,
            log_aggregation_type: "LOCAL",
            container_id: known.to_string(),
            node_id,
        },
    };
    format.bare("containerLogsInfoes", &list)
}

fn log_files(site: &Site, id: ContainerId) -> Vec<ContainerLogFile> {
    let (app, container) = (id.app().to_string(), id.to_string());
    let file = |(file_name, bytes): (String, u64)| {
        let opened = open_log(&site.log_dirs, &app, &container, &file_name).ok()?;
        let modified = opened.metadata().and_then(|meta| meta.modified()).ok()?;
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(ContainerLogFile {
            file_name,
            file_size: bytes.to_string(),
            last_modified_time: java_time(i64::try_from(since.as_millis()).unwrap_or(0)),
        })
    };
    let files = list_logs(&site.log_dirs, &app, &container).into_iter();
    files.filter_map(file).collect()
}

/// `EEE MMM dd HH:mm:ss Z yyyy`, as Hadoop's `Times.format`, in UTC.
pub(super) fn java_time(wall_ms: i64) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    // 1970-01-01 was a Thursday.
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let name = |names: &[&'static str], at: Option<usize>| {
        at.and_then(|at| names.get(at).copied()).unwrap_or("")
    };
    let weekday = usize::try_from(wall_ms.div_euclid(86_400_000).rem_euclid(7)).ok();
    let text = iso8601_utc(wall_ms);
    let (date, time) = text.split_once('T').unwrap_or_default();
    let mut parts = date.split('-');
    let year = parts.next().unwrap_or("");
    let month = parts
        .next()
        .and_then(|m| m.parse::<usize>().ok()?.checked_sub(1));
    let day = parts.next().unwrap_or("");
    let time = time.split('.').next().unwrap_or("");
    let (weekday, month) = (name(&DAYS, weekday), name(&MONTHS, month));
    format!("{weekday} {month} {day} {time} +0000 {year}")
}

/// GET `/ws/v1/node/apps`.
pub(super) async fn apps(
    site: web::Data<Site>,
    format: Format,
    query: Pairs,
    caller: User,
) -> HttpResponse {
    let parameter = |name: &str| query.iter().find(|(key, _)| key == name);
    let state = parameter("state").map(|(_, state)| state.clone());
    let state = state.filter(|state| !state.is_empty());
    if let Some(state) = &state
        && !APP_STATES.contains(&state.as_str())
    {
        return format.illegal_argument(format!(
            "No enum constant org.apache.hadoop.yarn.server.nodemanager.containermanager.application.ApplicationState.{state}"
        ));
    }
    let user = parameter("user").map(|(_, user)| user.clone());
    if user.as_deref() == Some("") {
        return format.bad_request("Error: You must specify a non-empty string for the user");
    }
    let all = site.inbox.ask(move |nm, _| {
        let wanted = nm.apps().filter(|(_, app)| {
            state.as_deref().is_none_or(|s| s == app.state().as_str())
                && user.as_deref().is_none_or(|u| u == &*app.user)
        });
        wanted
            .map(|(id, app)| (id, app_info(nm, id, app)))
            .collect::<Vec<_>>()
    });
    let Some(all) = all.await else {
        return ending(format);
    };
    let listed = web::block(move || {
        let ids: Vec<_> = all.iter().map(|(id, _)| *id).collect();
        let sees = site.acls.visible(&caller.0, &ids);
        let all = all.into_iter().zip(sees);
        let listed = all.filter(|(_, sees)| *sees || !site.acls.filters_lists());
        listed.map(|((_, app), _)| app).collect()
    });
    let app = listed.await.unwrap_or_default();
    format.ok("apps", &Apps { app })
}

/// `ApplicationState` of Hadoop's NodeManager; not all of them occur here.
const APP_STATES: [&str; 6] = [
    "NEW",
    "INITING",
    "RUNNING",
    "FINISHING_CONTAINERS_WAIT",
    "APPLICATION_RESOURCES_CLEANINGUP",
    "FINISHED",
];

/// GET `/ws/v1/node/apps/{id}`.
pub(super) async fn app(
    site: web::Data<Site>,
    format: Format,
    id: web::Path<String>,
) -> HttpResponse {
    let Ok(known) = id.parse::<ApplicationId>() else {
        return format.bad_application_id(&id);
    };
    let found = site.inbox.ask(move |nm, _| {
        let mut apps = nm.apps();
        let app = apps.find(|(id, _)| *id == known);
        app.map(|(id, app)| app_info(nm, id, app))
    });
    match found.await {
        Some(Some(app)) => format.ok("app", &app),
        Some(None) => format.not_found(&format!("app with id {id} not found")),
        None => ending(format),
    }
}

fn app_info(nm: &nm_core::Nm, id: ApplicationId, app: &App) -> AppInfo {
    let of_app = nm.containers().map(|c| c.spec.container);
    AppInfo {
        id: id.to_string(),
        state: app.state().as_str(),
        user: app.user.to_string(),
        containerids: of_app
            .filter(|container| container.app() == id)
            .map(|container| container.to_string())
            .collect(),
    }
}

/// A container; names of its logs for those alone who may read them.
fn show(container: &Container, site: &Site, sees_logs: bool) -> ContainerInfo {
    let report = container.report();
    let id = report.container;
    let files = || {
        let files = list_logs(&site.log_dirs, &id.app().to_string(), &id.to_string());
        files.into_iter().map(|(name, _)| name).collect()
    };
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
        container_log_files: sees_logs.then(files),
    }
}

#[cfg(test)]
#[path = "rest_test.rs"]
mod tests;
