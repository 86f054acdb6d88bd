//! Plain pages: nodes, one application, what is wrong.
//! May touch: the core's read model.
//! Must not: put a text into a page without escaping it.

use std::{fmt::Write as _, sync::Arc};

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
    web::{Data, Path},
};
use rm_core::{
    acl::AppAccess,
    view::{AppReport, NodeReport},
};
use yarn_types::{ApplicationId, NodeState, ResourceTypes};
use yarn_web::{User, escape};

use super::{
    State,
    access::who,
    overview::{STYLE, amounts, gpus},
};
use crate::{driver::wall_ms, rpc::app_urls};

fn page(status: StatusCode, title: &str, body: &str) -> HttpResponse {
    let title = escape(title);
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <link rel=\"icon\" href=\"data:,\"><title>{title}</title><style>{STYLE}</style></head>\n\
         <body><nav><a href=\"/cluster\">Cluster</a><a href=\"/cluster/nodes\">Nodes</a></nav>\
         <h1>{title}</h1>{body}</body></html>\n"
    );
    HttpResponse::build(status)
        .content_type("text/html; charset=utf-8")
        .body(page)
}

/// A page that says what is wrong.
pub(super) fn problem(status: StatusCode, text: &str) -> HttpResponse {
    page(
        status,
        status.canonical_reason().unwrap_or("Problem"),
        &format!("<p>{}</p>", escape(text)),
    )
}

/// The core does not answer now.
pub(super) fn busy() -> HttpResponse {
    problem(
        StatusCode::SERVICE_UNAVAILABLE,
        "ResourceManager is too busy",
    )
}

/// A link to `http://address`, or the text alone when the address is none.
pub(super) fn link(url: &str, text: &str) -> String {
    let text = escape(text);
    let own = url.starts_with('/') && !url.starts_with("//");
    if own || url.starts_with("http://") || url.starts_with("https://") {
        format!("<a href=\"{}\">{text}</a>", escape(url))
    } else {
        text
    }
}

fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = String::from("<div class=\"wide\"><table class=\"fit\"><tr>");
    for name in head {
        let _ = write!(out, "<th>{name}</th>");
    }
    out.push_str("</tr>");
    for row in rows {
        let _ = write!(out, "<tr><td>{}</td></tr>", row.join("</td><td>"));
    }
    out.push_str("</table></div>");
    out
}

/// Names on the left, what they mean for one thing on the right.
fn facts_table(facts: &[(&str, String)]) -> String {
    let row = |(name, value): &(&str, String)| format!("<tr><th>{name}</th><td>{value}</td></tr>");
    let rows: String = facts.iter().map(row).collect();
    format!("<div class=\"wide\"><table class=\"facts\">{rows}</table></div>")
}

/// From the start to the end or to now, as people say it.
fn elapsed(app: &AppReport) -> String {
    let end_ms = if app.finished_wall_ms == 0 {
        wall_ms()
    } else {
        app.finished_wall_ms
    };
    let seconds = (end_ms - app.started_wall_ms).max(0) / 1000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let seconds = seconds % 60;
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes} min {seconds} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}

pub(super) async fn root() -> HttpResponse {
    HttpResponse::Found()
        .insert_header((header::LOCATION, "/cluster"))
        .finish()
}

pub(super) async fn nodes(state: Data<State>) -> HttpResponse {
    let Some(view) = state.context.driver.view().await else {
        return busy();
    };
    page(
        StatusCode::OK,
        "Nodes",
        &nodes_table(&view.nodes, &state.context.types),
    )
}

/// What belongs together shares a column, so that a node with many cards fits on a small screen.
fn nodes_table(nodes: &[Arc<NodeReport>], types: &ResourceTypes) -> String {
    let below = |text: &str| format!("<br><span class=\"small\">{text}</span>");
    let row = |node: &Arc<NodeReport>| {
        let (class, http) = if node.state == NodeState::Running {
            let http = &node.http_address;
            ("ok", below(&link(&format!("http://{http}"), http)))
        } else {
            ("bad", String::new())
        };
        let health = match &*node.health_report {
            "" => String::new(),
            health => below(&escape(health)),
        };
        vec![
            escape(&node.id.to_string()) + &http + &below(&escape(&node.rack)),
            format!("<span class=\"{class}\">{}</span>{health}", node.state),
            node.containers.to_string(),
            amounts(types, node.used),
            amounts(types, node.total),
            escape(&node.version),
            gpus(node),
        ]
    };
    let rows: Vec<_> = nodes.iter().map(row).collect();
    let head = [
        "Node",
        "State and health",
        "Containers",
        "Used",
        "Offers",
        "Version",
        "GPUs",
    ];
    table(&head, &rows)
}

/// The page of an application that the caller may not see: stock shows its first line alone.
fn hidden(id: ApplicationId, user: &User) -> HttpResponse {
    let user = escape(&user.0);
    let body = format!(
        "<p>Failed to read the attempts of the application {id}.</p>\
         <p>User {user} does not have privilege to see this application {id}</p>"
    );
    page(StatusCode::OK, &format!("Application {id}"), &body)
}

pub(super) async fn app(state: Data<State>, path: Path<String>, user: User) -> HttpResponse {
    let text = path.into_inner();
    let Ok(id) = text.parse::<ApplicationId>() else {
        return problem(
            StatusCode::BAD_REQUEST,
            &format!("Invalid Application ID: {text}"),
        );
    };
    let who = who(&state, &user).await;
    let acls = Arc::clone(&state.context.acls);
    let found = state.ask(move |rm| {
        let app = rm.app(id)?;
        let may = acls.may_now(rm, &who, AppAccess::View, &app);
        Some((rm.attempts(id)?, app, may))
    });
    let Some(found) = found.await else {
        return busy();
    };
    let Some((attempts, app, may)) = found else {
        return problem(
            StatusCode::NOT_FOUND,
            &format!("Application not found: {id}"),
        );
    };
    if !may {
        return hidden(id, &user);
    }
    let urls = app_urls(&state.context, &app);
    let holds = if app.state.is_final() {
        "nothing".to_owned()
    } else {
        let amounts = amounts(&state.context.types, app.used);
        format!("{} containers: {amounts}", app.used_containers)
    };
    let facts = [
        ("User", escape(&app.user)),
        ("Name", escape(&app.name)),
        ("Application Type", escape(&app.application_type)),
        ("Queue", escape(&app.queue)),
        ("State", app.state.to_string()),
        ("Final status", app.final_status.to_string()),
        ("Progress", format!("{:.0} %", app.progress * 100.0)),
        ("Elapsed", elapsed(&app)),
        ("Holds", holds),
        ("Tracking URL", link(&urls.tracking, &urls.tracking)),
        (
            "Diagnostics",
            format!("<pre>{}</pre>", escape(&app.diagnostics)),
        ),
    ];
    let attempts: Vec<_> = attempts
        .iter()
        .map(|attempt| {
            let node = attempt.am_node.as_ref();
            let logs = attempt
                .am_container
                .zip(node)
                .map(|(container, (_, http))| {
                    let user = &app.user;
                    link(
                        &format!("http://{http}/node/containerlogs/{container}/{user}"),
                        "logs",
                    )
                });
            vec![
                attempt.id.to_string(),
                attempt.state.to_string(),
                node.map_or_else(String::new, |(node, _)| escape(&node.to_string())),
                logs.unwrap_or_default(),
                format!("<pre>{}</pre>", escape(&attempt.diagnostics)),
            ]
        })
        .collect();
    let head = ["Attempt", "State", "Node", "Logs", "Diagnostics"];
    let body = format!(
        "{}<h2>Attempts</h2>{}",
        facts_table(&facts),
        table(&head, &attempts)
    );
    page(StatusCode::OK, &format!("Application {id}"), &body)
}
