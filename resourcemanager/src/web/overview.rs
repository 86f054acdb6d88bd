//! `/cluster`: one page with the applications, the queues and the nodes with their GPUs.
//! May touch: the core's read model.
//! Must not: put a text into the page without escaping it, or need a script or another file.

use std::fmt::Write as _;

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
    web::Data,
};
use rm_core::view::{AppReport, GpuReport, NodeReport, QueueReport, QueueUsage, View};
use yarn_types::{ApplicationState, GPU, NodeState, Resource, ResourceTypes, gpu::GpuHealth};
use yarn_web::{User, escape};

use super::{
    State,
    access::{Sight, who},
    is_within, pages,
};
use crate::rpc::{Context, app_urls};

/// Applications on the page, the newest first; REST has them all.
const APPS_MAX: usize = 200;

/// How all pages look.
pub(super) const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8883;--soft:#8881;--ok:#2a7d46;--bad:#b3362b;--bar:#3b78c4;--more:#d08a1f}\
body{font:15px/1.45 system-ui,sans-serif;max-width:78rem;margin:1.5rem auto;padding:0 1rem}\
h1{font-size:1.5rem;margin:0 0 1rem}h2{font-size:1.15rem;margin:2rem 0 .6rem}\
nav{margin-bottom:.6rem}nav a{margin-right:1rem}a{color:var(--bar)}pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}table{border-collapse:collapse;width:100%}\
.wide{overflow-x:auto}th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}\
th{font-weight:600;font-size:.85rem;opacity:.75;white-space:nowrap}.facts th{width:9rem}\
.sums{display:flex;flex-wrap:wrap;gap:.8rem}.sums div{background:var(--soft);border-radius:.5rem;padding:.5rem .9rem}\
.sums b{display:block;font-size:1.25rem}.small{font-size:.85rem;opacity:.75}\
.bar{position:relative;margin-top:.3rem;height:.8rem;min-width:10rem;background:var(--soft);border:1px solid var(--line);border-radius:.3rem;overflow:hidden}\
.bar i{position:absolute;top:0;bottom:0;left:0;background:var(--bar)}.bar i.over{background:var(--more)}\
.bar u{position:absolute;top:0;bottom:0;width:2px;background:currentColor;opacity:.6}\
.bar s{position:absolute;top:0;bottom:0;background:var(--soft)}.bar i.kept{background:var(--bad);opacity:.5}\
.fit td{overflow-wrap:anywhere}.fit .one{white-space:nowrap}\
.ok{color:var(--ok)}.bad{color:var(--bad)}\
.gpus{display:flex;flex-wrap:wrap;gap:.3rem;width:24rem}\
.gpu{border:1px solid var(--line);border-radius:.3rem;padding:.05rem .4rem;font-size:.85rem}\
.gpu.held{white-space:nowrap;background:var(--bar);color:#fff}.gpu.broken{background:var(--bad);color:#fff}";

/// GET `/cluster`.
pub(super) async fn overview(state: Data<State>, user: User) -> HttpResponse {
    let Some(view) = state.context.driver.view().await else {
        return pages::busy();
    };
    let who = who(&state, &user).await;
    let sight = Sight::of(&state.context, &view, &who);
    HttpResponse::build(StatusCode::OK)
        .content_type("text/html; charset=utf-8")
        .insert_header((
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'",
        ))
        .body(render(&view, &state.context, &sight))
}

fn render(view: &View, context: &Context, sight: &Sight<'_>) -> String {
    let types = &context.types;
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <link rel=\"icon\" href=\"data:,\"><title>Cluster</title><style>{STYLE}</style></head>\n\
         <body><nav><a href=\"#apps\">Applications</a><a href=\"#queues\">Queues</a>\
         <a href=\"#nodes\">Nodes</a></nav><h1>Cluster</h1>\n"
    );
    sums(&mut out, view, types);
    applications(&mut out, view, context, sight);
    queues(&mut out, view, types);
    nodes(&mut out, view, types);
    out.push_str("</body></html>\n");
    out
}

/// Adds text that is HTML already.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {
        // Writing to a String does not fail.
        let _ = write!($out, $($text)*);
    };
}

fn sums(out: &mut String, view: &View, types: &ResourceTypes) {
    let metrics = &view.metrics;
    let running = NodeState::ALL.iter().position(|s| *s == NodeState::Running);
    let running = running.and_then(|at| metrics.nodes.get(at)).unwrap_or(&0);
    let live = view.apps.iter().filter(|app| !app.state.is_final()).count();
    let box_of = |name: &str, value: String| {
        format!("<div><b>{value}</b><span class=\"small\">{name}</span></div>")
    };
    let mut boxes = box_of("live applications", live.to_string());
    boxes.push_str(&box_of("running nodes", running.to_string()));
    boxes.push_str(&box_of("containers", metrics.containers.to_string()));
    for (lane, t) in types.iter().enumerate() {
        let (used, total) = (
            types.wire(lane, metrics.used),
            types.wire(lane, metrics.total),
        );
        let name = format!("{} used of {total}", label(&t.name, &t.units));
        boxes.push_str(&box_of(&name, used.to_string()));
    }
    put!(out, "<div class=\"sums\">{boxes}</div>\n");
}

/// Name and unit of a resource type, as people say it.
fn label(name: &str, units: &str) -> String {
    match (name, units) {
        ("memory-mb", _) => "MiB memory".to_owned(),
        (GPU, _) => "GPUs".to_owned(),
        (name, "") => escape(name),
        (name, units) => escape(&format!("{name} ({units})")),
    }
}

/// Memory and vcores, and whatever else is not nothing.
pub(super) fn amounts(types: &ResourceTypes, amounts: Resource) -> String {
    let lanes = types.iter().enumerate();
    let shown = lanes.filter_map(|(lane, t)| {
        let amount = types.wire(lane, amounts);
        (lane < 2 || amount != 0).then(|| format!("{amount} {}", label(&t.name, &t.units)))
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn applications(out: &mut String, view: &View, context: &Context, sight: &Sight<'_>) {
    put!(out, "<h2 id=\"apps\">Applications</h2>\n");
    let apps: Vec<_> = view.apps.iter().filter(|app| sight.lists(app)).collect();
    if apps.is_empty() {
        put!(out, "<p>None yet.</p>\n");
        return;
    }
    if apps.len() > APPS_MAX {
        let all = apps.len();
        put!(
            out,
            "<p class=\"small\">The newest {APPS_MAX} of {all}.</p>\n"
        );
    }
    out.push_str(
        "<div class=\"wide\"><table><tr><th>Application</th><th>User</th><th>Name</th><th>Type</th>\
         <th>Queue</th><th>State</th><th>Progress</th><th>Holds</th><th></th></tr>\n",
    );
    for app in apps.into_iter().rev().take(APPS_MAX) {
        application(out, app, context, sight.sees(app));
    }
    out.push_str("</table></div>\n");
}

/// A row; where the caller may not see the application, without what reports hide
/// (`RMAppImpl.createAndGetApplicationReport`).
fn application(out: &mut String, app: &AppReport, context: &Context, seen: bool) {
    let id = app.id;
    let state = match app.state {
        ApplicationState::Failed | ApplicationState::Killed => "bad",
        ApplicationState::Running => "ok",
        _ => "",
    };
    let holds = if app.state.is_final() || !seen {
        String::new()
    } else {
        amounts(&context.types, app.used)
    };
    let progress = if seen { app.progress * 100.0 } else { 0.0 };
    let outcome = if app.state.is_final() {
        app.final_status.as_str()
    } else {
        ""
    };
    let tracking = if seen {
        pages::link(&app_urls(context, app).tracking, "open")
    } else {
        String::new()
    };
    put!(
        out,
        "<tr><td><a href=\"/cluster/app/{id}\">{id}</a></td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{}</td><td class=\"{state}\">{} {outcome}</td><td>{:.0} %</td><td>{holds}</td>\
         <td>{tracking}</td></tr>\n",
        escape(&app.user),
        escape(&app.name),
        escape(&app.application_type),
        escape(&app.queue),
        app.state,
        progress,
    );
}

fn queues(out: &mut String, view: &View, types: &ResourceTypes) {
    out.push_str(
        "<h2 id=\"queues\">Queues</h2>\n<p class=\"small\">The bar is the used share of the \
         partition, the reserved part of it darker; the line in it marks the guarantee, the shade \
         ends at the maximum.</p>\n<div class=\"wide\"><table class=\"fit\"><tr>\
         <th>Queue</th><th>State</th><th>Used</th><th></th><th>Guaranteed</th><th>Maximum</th>\
         <th>Applications</th><th>Holds</th><th>Waits for</th><th>Preempted</th></tr>\n",
    );
    for queue in &view.queues {
        queue_row(out, queue, view, types);
    }
    out.push_str("</table></div>\n");
}

fn percent(share: f32) -> f32 {
    share.clamp(0.0, 1.0) * 100.0
}

/// Used, guaranteed and maximum share of a partition, as three cells and a bar.
fn bar(usage: &QueueUsage) -> String {
    let (used, guaranteed) = (
        percent(usage.abs_used_capacity),
        percent(usage.abs_capacity),
    );
    let maximum = percent(usage.abs_max_capacity);
    let over = if usage.abs_used_capacity > usage.abs_capacity {
        " class=\"over\""
    } else {
        ""
    };
    // The reserved part stands at the end of what is used.
    let part = usage.used.memory_mb().max(1) as f32;
    let kept = used * (usage.reserved.memory_mb() as f32 / part).clamp(0.0, 1.0);
    let kept = if kept > 0.0 {
        let left = used - kept;
        format!("<i class=\"kept\" style=\"left:{left:.1}%;width:{kept:.1}%\"></i>")
    } else {
        String::new()
    };
    format!(
        "<td><div class=\"bar\"><s style=\"width:{maximum:.1}%\"></s>\
         <i{over} style=\"width:{used:.1}%\"></i>{kept}\
         <u style=\"left:calc({guaranteed:.1}% - 2px)\"></u></div></td><td class=\"one\">{used:.1} %</td>\
         <td>{guaranteed:.1} %</td><td>{maximum:.1} %</td>"
    )
}

/// What is held in a partition, with the part of it that is reserved.
fn held(usage: &QueueUsage, types: &ResourceTypes) -> String {
    let used = amounts(types, usage.used);
    if usage.reserved.is_zero() {
        return used;
    }
    let reserved = amounts(types, usage.reserved);
    format!("{used}<br><span class=\"small\">reserved: {reserved}</span>")
}

fn waits(usage: &QueueUsage, types: &ResourceTypes) -> String {
    if usage.pending.is_zero() {
        String::new()
    } else {
        amounts(types, usage.pending)
    }
}

/// One row for the queue in the default partition, one more for each other partition of it.
fn queue_row(out: &mut String, queue: &QueueReport, view: &View, types: &ResourceTypes) {
    let below = || {
        let all = view.queues.iter();
        all.filter(|q| is_within(&q.path, &queue.path))
    };
    let running: u32 = below().map(|q| q.active_apps).sum();
    let waiting: u32 = below().map(|q| q.pending_apps).sum();
    let depth = f64::from(u32::try_from(queue.path.matches('.').count()).unwrap_or(0));
    let indent = 0.6 + depth * 1.2;
    let preempted = match queue.counters.containers_preempted {
        0 => String::new(),
        1 => "1 container".to_owned(),
        n => format!("{n} containers"),
    };
    for partition in &queue.partitions {
        let usage = &partition.usage;
        let (bar, held, waits) = (bar(usage), held(usage, types), waits(usage, types));
        if partition.label.is_empty() {
            put!(
                out,
                "<tr><td class=\"one\" style=\"padding-left:{indent:.1}rem\" title=\"{}\">{}</td><td class=\"one\">{}</td>{bar}\
                 <td>{running} running, {waiting} waiting</td><td>{held}</td><td>{waits}</td>\
                 <td>{preempted}</td></tr>\n",
                escape(&queue.path),
                escape(&queue.name),
                queue.state,
            );
        } else {
            put!(
                out,
                "<tr><td style=\"padding-left:{:.1}rem\" class=\"small\">in {}</td><td></td>{bar}\
                 <td></td><td>{held}</td><td>{waits}</td><td></td></tr>\n",
                indent + 1.2,
                escape(&partition.label),
            );
        }
    }
}

fn nodes(out: &mut String, view: &View, types: &ResourceTypes) {
    put!(out, "<h2 id=\"nodes\">Nodes</h2>\n");
    if view.nodes.is_empty() {
        put!(out, "<p>None has registered.</p>\n");
        return;
    }
    out.push_str(
        "<div class=\"wide\"><table><tr><th>Node</th><th>State</th><th>Containers</th>\
         <th>Used</th><th>Offers</th><th>GPUs</th></tr>\n",
    );
    for node in &view.nodes {
        node_row(out, node, types);
    }
    out.push_str("</table></div>\n");
}

fn node_row(out: &mut String, node: &NodeReport, types: &ResourceTypes) {
    let id = node.id.to_string();
    let (state, name) = if node.state == NodeState::Running {
        (
            "ok",
            pages::link(&format!("http://{}", node.http_address), &id),
        )
    } else {
        ("bad", escape(&id))
    };
    let health = if node.health_report.is_empty() {
        String::new()
    } else {
        format!(
            "<br><span class=\"small\">{}</span>",
            escape(&node.health_report)
        )
    };
    let gpus = gpus(node);
    put!(
        out,
        "<tr><td>{name}<br><span class=\"small\">{}</span></td>\
         <td class=\"{state}\">{}{health}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{gpus}</td></tr>\n",
        escape(&node.rack),
        node.state,
        node.containers,
        amounts(types, node.used),
        amounts(types, node.total),
    );
}

/// The cards of a node in the order of their numbers.
pub(super) fn gpus(node: &NodeReport) -> String {
    let mut gpus: Vec<&GpuReport> = node.gpus.iter().collect();
    gpus.sort_by_key(|gpu| gpu.index);
    let gpus: String = gpus.into_iter().map(gpu).collect();
    format!("<div class=\"gpus\">{gpus}</div>")
}

/// A card: its number; who has it, or what is wrong with it.
fn gpu(gpu: &GpuReport) -> String {
    let (class, text) = match (&gpu.health, &gpu.dirty, gpu.holder) {
        (GpuHealth::Bad(why), _, _) => (" broken", format!(": lost, {}", escape(why))),
        (GpuHealth::Ok, Some(why), _) => (" broken", format!(": dirty, {}", escape(why))),
        (GpuHealth::Ok, None, Some(holder)) => {
            let app = holder.app();
            let link =
                format!(": <a href=\"/cluster/app/{app}\" style=\"color:#fff\">{holder}</a>");
            (" held", link)
        }
        (GpuHealth::Ok, None, None) => ("", ": free".to_owned()),
    };
    let title = format!(
        "{} {} ({} MiB), minor {}",
        gpu.uuid, gpu.model, gpu.memory_mib, gpu.minor
    );
    format!(
        "<span class=\"gpu{class}\" title=\"{}\">{}{text}</span>",
        escape(&title),
        gpu.index
    )
}

#[cfg(test)]
#[path = "overview_test.rs"]
pub(super) mod tests;
