//! The few HTML pages: plain, escaped, without scripts.
//! May touch: text, the core by questions.
//! Must not: put anything into a page that was not escaped.

use std::fmt::Write as _;

use actix_web::{HttpResponse, http::header, web};

use yarn_web::escape;

use super::Site;

/// A page; `body` is HTML already.
pub(super) fn html(title: &str, body: &str) -> HttpResponse {
    let title = escape(title);
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header((header::X_FRAME_OPTIONS, "SAMEORIGIN"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CONTENT_SECURITY_POLICY, "default-src 'none'"))
        .body(format!(
            "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{title}</title></head>\n\
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
            (nm.health().clone(), containers.collect::<Vec<_>>())
        })
        .await;
    let Some((health, containers)) = state else {
        return HttpResponse::ServiceUnavailable().body("the NodeManager is shutting down");
    };
    let total = escape(&site.types.show(site.total));
    let healthy = if health.healthy {
        "healthy"
    } else {
        "not healthy"
    };
    let mut body = format!(
        "<p>{total}, {healthy} {}</p>\n<table><tr><th>Container</th><th>User</th><th>State</th>\
         <th>Logs</th></tr>\n",
        escape(&health.report)
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
