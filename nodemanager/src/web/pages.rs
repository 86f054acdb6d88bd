//! The few HTML pages: plain, escaped, without scripts.
//! May touch: text, the core by questions.
//! Must not: put anything into a page that was not escaped.

use std::fmt::Write as _;

use actix_web::{HttpResponse, http::header, web};

use yarn_types::{ContainerId, gpu::DeviceReport};
use yarn_web::escape;

use super::Site;

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.45 system-ui,sans-serif;max-width:78rem;margin:1.5rem auto;padding:0 1rem}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}pre{white-space:pre-wrap;overflow-wrap:anywhere}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid #8883}\
th{font-size:.85rem;opacity:.75}";

/// A page; `body` is HTML already.
pub(super) fn html(title: &str, body: &str) -> HttpResponse {
    let title = escape(title);
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header((header::X_FRAME_OPTIONS, "SAMEORIGIN"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CONTENT_SECURITY_POLICY, "default-src 'none'; img-src data:; style-src 'unsafe-inline'"))
        .body(format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\">\
             <link rel=\"icon\" href=\"data:,\"><title>{title}</title><style>{STYLE}</style></head>\n\
             <body><h1>{title}</h1>\n{body}</body></html>\n"
        ))
}

/// GET `/`.
pub(super) async fn to_node() -> HttpResponse {
    HttpResponse::Found()
        .insert_header((header::LOCATION, "/node"))
        .finish()
}

/// GET `/node`.
pub(super) async fn node(site: web::Data<Site>) -> HttpResponse {
    let state = site
        .inbox
        .ask(|nm, _| {
            let containers = nm.containers().map(|c| {
                let (id, user) = (c.spec.container.to_string(), c.spec.user.to_string());
                (id, user, c.state().as_str())
            });
            let devices = nm.gpus().into_iter().flat_map(nm_core::gpu::Gpus::devices);
            let mut gpus: Vec<_> = devices.map(|(r, holder)| (r.clone(), holder)).collect();
            gpus.sort_by_key(|(report, _)| report.device.index);
            (nm.health().clone(), containers.collect::<Vec<_>>(), gpus)
        })
        .await;
    let Some((health, containers, gpus)) = state else {
        return HttpResponse::ServiceUnavailable().body("the NodeManager is shutting down");
    };
    let total = escape(&site.types.show(site.offer.now()));
    let healthy = if health.healthy {
        "healthy"
    } else {
        "not healthy"
    };
    let mut body = format!("<p>{total}, {healthy} {}</p>\n", escape(&health.report));
    if site.manages_gpus {
        cards(&mut body, &gpus);
    }
    body.push_str(
        "<h2>Containers</h2>\n<table><tr><th>Container</th><th>User</th><th>State</th><th>Logs</th></tr>\n",
    );
    for (id, user, state) in containers {
        // Ids have a fixed alphabet; user names were judged when the container started.
        let user = escape(&user);
        let _ = writeln!(
            body,
            "<tr><td>{id}</td><td>{user}</td><td>{state}</td>\
             <td><a href=\"/node/containerlogs/{id}/{user}\">logs</a></td></tr>"
        );
    }
    body.push_str("</table>\n");
    html(&format!("NodeManager {}", site.node), &body)
}

/// The node's GPUs and who has which.
fn cards(body: &mut String, gpus: &[(DeviceReport, Option<ContainerId>)]) {
    body.push_str(
        "<h2>GPUs</h2>\n<table><tr><th>Index</th><th>Model</th><th>UUID</th><th>Container</th></tr>\n",
    );
    for (report, holder) in gpus {
        let holder = match (holder, &report.dirty) {
            (Some(id), _) => id.to_string(),
            (None, Some(why)) => why.clone(),
            (None, None) => "free".to_owned(),
        };
        let device = &report.device;
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            device.index,
            escape(&device.model),
            escape(device.uuid.as_ref()),
            escape(&holder)
        );
    }
    body.push_str("</table>\n");
}
