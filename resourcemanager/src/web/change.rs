//! `/ws/v1/cluster/apps/{app}`: queue, priority and lifetime, read and changed; who may do what in a
//! queue.
//! May touch: the core's read model; requests to it.
//! Must not: decide whether a change is possible (the core does) or allowed (`acls.rs` does).

use std::{sync::Arc, time::Instant};

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Bytes, Data, Path},
};
use rm_core::{Event, Reply, acl::QueueAcl, event::ClientRequest, view::AppReport};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use yarn_types::ApplicationId;
use yarn_web::{Format, Pairs, User, get, rest as at};

use super::{State, access::who, body, busy, dto};
use crate::{
    acls::QueueLists,
    driver::{Refusal, wall_ms},
    groups,
    rpc::{expiry_time, parse_expiry},
};

/// The addresses below.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    let app = |name: &str| at(&format!("/ws/v1/cluster/apps/{{app}}/{name}"));
    config
        .service(
            app("queue")
                .route(get().to(queue))
                .route(web::put().to(put_queue)),
        )
        .service(
            app("priority")
                .route(get().to(priority))
                .route(web::put().to(put_priority)),
        )
        .service(app("timeouts").route(get().to(timeouts)))
        .service(app("timeouts/{type}").route(get().to(timeout)))
        .service(app("timeout").route(web::put().to(put_timeout)))
        .service(at("/ws/v1/cluster/queues/{queue}/access").route(get().to(queue_access)));
}

/// `AppQueue`.
#[derive(Serialize, Deserialize)]
struct Queue {
    queue: String,
}

/// `AppPriority`.
#[derive(Serialize, Deserialize)]
struct Priority {
    priority: i32,
}

/// `AppTimeoutInfo`, as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Timeout {
    #[serde(rename = "type")]
    kind: Option<String>,
    expiry_time: Option<String>,
}

/// It with its name around it, as JSON has it; XML has the name as its root.
#[derive(Deserialize)]
struct NamedTimeout {
    timeout: Timeout,
}

/// `RMQueueAclInfo`.
#[derive(Serialize)]
struct Access {
    allowed: bool,
    user: String,
    diagnostics: String,
}

/// The application that a path names, as it is now.
async fn known(state: &State, format: Format, text: &str) -> Result<AppReport, HttpResponse> {
    let Ok(id) = text.parse::<ApplicationId>() else {
        return Err(format.bad_application_id(text));
    };
    match state.ask(move |rm| rm.app(id)).await {
        None => Err(busy(format)),
        Some(None) => Err(format.not_found(&format!("app with id: {id} not found"))),
        Some(Some(app)) => Ok(app),
    }
}

fn plain(status: StatusCode, text: String) -> HttpResponse {
    HttpResponse::build(status)
        .content_type("text/plain;charset=utf-8")
        .body(text)
}

/// Does what `request` asks for the caller. `attempt` names it for those who may not.
async fn change(
    state: &State,
    format: Format,
    user: &User,
    mut request: ClientRequest,
    attempt: &str,
) -> Result<Reply, HttpResponse> {
    let who = who(state, user).await;
    let acls = Arc::clone(&state.context.acls);
    let checked = state.ask(move |rm| {
        let checked = acls.check_change(rm, &who, &request);
        if let ClientRequest::SetPriority { caller, .. } = &mut request {
            *caller = acls.enabled().then_some(who);
        }
        checked.map(|()| request)
    });
    let request = match checked.await {
        None => return Err(busy(format)),
        Some(Ok(request)) => request,
        Some(Err(_)) => {
            let text = format!(
                "Unauthorized attempt to {attempt} by remote user {}",
                user.0
            );
            return Err(plain(StatusCode::FORBIDDEN, text));
        }
    };
    let (tell, told) = oneshot::channel();
    state.context.driver.call(
        Instant::now(),
        |call| Event::Client { call, request },
        move |answer| {
            // Nobody waits any more when the caller went away.
            let _ = tell.send(answer);
        },
    );
    match told.await {
        Ok(Ok(reply)) => Ok(*reply),
        Ok(Err(Refusal::Reject(r))) => Err(refused(format, attempt, user, &r.message)),
        Ok(Err(Refusal::Busy)) | Err(_) => Err(busy(format)),
    }
}

/// What stock lets through of the core's refusals: rights, and states that forbid a change, as plain
/// text; all else is an error of the server there, and one of the request here.
fn refused(format: Format, attempt: &str, user: &User, message: &str) -> HttpResponse {
    if message.contains("AccessControlException") {
        let text = format!(
            "Unauthorized attempt to {attempt} by remote user {}",
            user.0
        );
        return plain(StatusCode::FORBIDDEN, text);
    }
    if message.starts_with("App in ") && message.ends_with(" state cannot be moved.") {
        return plain(StatusCode::BAD_REQUEST, message.to_owned());
    }
    format.bad_request(message)
}

/// GET `/queue`.
async fn queue(state: Data<State>, format: Format, path: Path<String>) -> HttpResponse {
    match known(&state, format, &path).await {
        Ok(app) => format.bare("appqueue", &Queue { queue: app.queue }),
        Err(answer) => answer,
    }
}

/// PUT `/queue`.
async fn put_queue(
    state: Data<State>,
    format: Format,
    path: Path<String>,
    user: User,
    request: HttpRequest,
    bytes: Bytes,
) -> HttpResponse {
    let target: Queue = match body::read(&request, &bytes) {
        Ok(target) => target,
        Err(why) => return why.answer(format),
    };
    let app = match known(&state, format, &path).await {
        Ok(app) => app,
        Err(answer) => return answer,
    };
    if app.queue != target.queue {
        let request = ClientRequest::Move {
            app: app.id,
            queue: target.queue,
        };
        let attempt = format!("move appid {}", app.id);
        if let Err(answer) = change(&state, format, &user, request, &attempt).await {
            return answer;
        }
    }
    queue(state, format, path).await
}

/// GET `/priority`.
async fn priority(state: Data<State>, format: Format, path: Path<String>) -> HttpResponse {
    match known(&state, format, &path).await {
        Ok(app) => prioritized(format, app.priority),
        Err(answer) => answer,
    }
}

fn prioritized(format: Format, priority: i32) -> HttpResponse {
    format.bare("applicationpriority", &Priority { priority })
}

/// PUT `/priority`.
async fn put_priority(
    state: Data<State>,
    format: Format,
    path: Path<String>,
    user: User,
    request: HttpRequest,
    bytes: Bytes,
) -> HttpResponse {
    let target: Priority = match body::read(&request, &bytes) {
        Ok(target) => target,
        Err(why) => return why.answer(format),
    };
    let app = match known(&state, format, &path).await {
        Ok(app) => app,
        Err(answer) => return answer,
    };
    if app.priority == target.priority {
        return prioritized(format, app.priority);
    }
    let request = ClientRequest::SetPriority {
        app: app.id,
        priority: target.priority,
        caller: None,
    };
    let attempt = format!("change priority of appid {}", app.id);
    match change(&state, format, &user, request, &attempt).await {
        Ok(Reply::Priority(now)) => prioritized(format, now),
        Ok(_) => prioritized(format, app.priority),
        Err(answer) => answer,
    }
}

/// Its only kind of timeout; times as Hadoop writes them.
fn lifetime(app: &AppReport) -> dto::Timeout {
    let left = app.expires_wall_ms.map(|at| (at - wall_ms()).max(0) / 1000);
    dto::Timeout {
        kind: "LIFETIME",
        expiry_time: expiry_time(app.expires_wall_ms),
        remaining_time_in_seconds: left.unwrap_or(-1),
    }
}

/// All its timeouts.
pub(super) fn lifetimes(app: &AppReport) -> dto::Timeouts {
    dto::Timeouts {
        timeout: vec![lifetime(app)],
    }
}

/// GET `/timeouts`.
async fn timeouts(state: Data<State>, format: Format, path: Path<String>) -> HttpResponse {
    match known(&state, format, &path).await {
        Ok(app) => format.ok("timeouts", &lifetimes(&app)),
        Err(answer) => answer,
    }
}

fn is_lifetime(kind: &str) -> bool {
    kind.trim().eq_ignore_ascii_case("LIFETIME")
}

/// GET `/timeouts/{type}`.
async fn timeout(state: Data<State>, format: Format, path: Path<(String, String)>) -> HttpResponse {
    let (id, kind) = path.into_inner();
    match known(&state, format, &id).await {
        Ok(app) if is_lifetime(&kind) => format.ok("timeout", &lifetime(&app)),
        Ok(_) => {
            let kind = kind.trim();
            format.bad_request(&format!(
                "Invalid application-state {kind} specified. It should be one of [LIFETIME]"
            ))
        }
        Err(answer) => answer,
    }
}

/// PUT `/timeout`.
async fn put_timeout(
    state: Data<State>,
    format: Format,
    path: Path<String>,
    user: User,
    request: HttpRequest,
    bytes: Bytes,
) -> HttpResponse {
    let named: Result<NamedTimeout, _> = body::read(&request, &bytes);
    let read = named.map(|named| named.timeout);
    let target = match read.or_else(|_| body::read::<Timeout>(&request, &bytes)) {
        Ok(target) => target,
        Err(why) => return why.answer(format),
    };
    let app = match known(&state, format, &path).await {
        Ok(app) => app,
        Err(answer) => return answer,
    };
    let kind = target.kind.filter(|kind| is_lifetime(kind));
    let (Some(_), Some(text)) = (kind, target.expiry_time) else {
        let text = "Timeout type or ExpiryTime is null.".to_owned();
        return plain(StatusCode::BAD_REQUEST, text);
    };
    let expiry_wall_ms = match parse_expiry(&text) {
        Ok(at) => at,
        Err(text) => return plain(StatusCode::BAD_REQUEST, text),
    };
    let request = ClientRequest::SetExpiry {
        app: app.id,
        expiry_wall_ms,
    };
    let attempt = format!("change timeout of app {}", app.id);
    if let Err(answer) = change(&state, format, &user, request, &attempt).await {
        return answer;
    }
    timeout(
        state,
        format,
        Path::from((path.into_inner(), "LIFETIME".to_owned())),
    )
    .await
}

/// GET `/queues/{queue}/access?user=&queue-acl-type=`, for those who administer the queue
/// (`checkUserAccessToQueue`); asked whatever `yarn.acl.enable` says, as in Hadoop.
async fn queue_access(
    state: Data<State>,
    format: Format,
    path: Path<String>,
    query: Pairs,
    caller: User,
) -> HttpResponse {
    let named = |name: &str| {
        query
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, v)| v.clone())
    };
    let user = named("user").unwrap_or_default();
    let kind = named("queue-acl-type").unwrap_or_else(|| "SUBMIT_APPLICATIONS".to_owned());
    let Some(view) = state.context.driver.view().await else {
        return busy(format);
    };
    let asked = path.into_inner();
    let found = view.queues.iter().find(|q| q.path == asked);
    let found = found.or_else(|| view.queues.iter().find(|q| q.name == asked));
    let lists = QueueLists::of(view.queues.iter().map(|q| &**q));
    let (by, of) = (caller.0.clone(), user.clone());
    let both = web::block(move || (groups::who(&by), groups::who(&of))).await;
    let Ok((by, of)) = both else {
        return busy(format);
    };
    let may = |acl, who| found.is_some_and(|queue| lists.allows(acl, &queue.path, who));
    if !may(QueueAcl::AdministerQueue, &by) {
        let by = &caller.0;
        return format.not_permitted(format!(
            "User={by} doesn't haven access to queue={asked} so it cannot check ACLs for other users."
        ));
    }
    if user.is_empty() {
        // of `UserGroupInformation.createRemoteUser`
        return format.illegal_argument("Null user".to_owned());
    }
    let acl = match kind.as_str() {
        "SUBMIT_APPLICATIONS" => QueueAcl::SubmitApplications,
        "ADMINISTER_QUEUE" => QueueAcl::AdministerQueue,
        _ => {
            return format.bad_request(&format!(
                "Specified queueAclType={kind} is not a valid type, valid queue acl types={{SUBMIT_APPLICATIONS/ADMINISTER_QUEUE}}"
            ));
        }
    };
    let allowed = may(acl, &of);
    let diagnostics = if allowed {
        String::new()
    } else {
        format!("User={user} doesn't have access to queue={asked} with acl-type={kind}")
    };
    let answer = Access {
        allowed,
        user,
        diagnostics,
    };
    format.bare("rmQueueAclInfo", &answer)
}

#[cfg(test)]
#[path = "change_test.rs"]
mod tests;
