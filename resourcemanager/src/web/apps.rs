//! `/ws/v1/cluster/apps`: applications, their attempts and states; the kill.
//! May touch: the core's read model, the kill event.
//! Must not: decide what the core decides.

use std::{sync::Arc, time::Instant};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{Bytes, Data, Path},
};
use rm_core::{
    Event, Reply,
    acl::AppAccess,
    event::ClientRequest,
    view::{AppPartition, AppReport, AskReport, AttemptReport},
};
use tokio::sync::oneshot;
use yarn_types::{
    ApplicationId, ApplicationState, Resource, ResourceTypes, limits::CLIENT_TEXT_BYTES_MAX,
};
use yarn_web::{Format, Pairs, User};

use super::{
    State,
    access::{Sight, reduced, reduced_attempt, who},
    body, busy,
    change::lifetimes,
    dto,
    filter::{self, BadQuery, Deselected, Filter},
};
use crate::{
    driver::{Refusal, wall_ms},
    rpc::{Context, app_urls},
};

fn bad_id(format: Format, text: &str) -> HttpResponse {
    format.bad_application_id(text)
}

fn not_found(format: Format, id: ApplicationId) -> HttpResponse {
    format.not_found(&format!("app with id: {id} not found"))
}

fn refused(format: Format, bad: BadQuery) -> HttpResponse {
    match bad {
        BadQuery::BadRequest(text) => format.bad_request(&text),
        BadQuery::IllegalArgument(text) => format.illegal_argument(text),
    }
}

/// GET `/apps`.
pub(super) async fn apps(
    state: Data<State>,
    format: Format,
    query: Pairs,
    user: User,
) -> HttpResponse {
    let filter = match Filter::read(&query) {
        Ok(filter) => filter,
        Err(bad) => return refused(format, bad),
    };
    let Some(view) = state.context.driver.view().await else {
        return busy(format);
    };
    let queue = match filter.queue_path(view.queues.iter().map(|q| &**q)) {
        Ok(queue) => queue,
        Err(bad) => return refused(format, bad),
    };
    let who = who(&state, &user).await;
    let sight = Sight::of(&state.context, &view, &who);
    let shown = view.apps.iter().filter(|app| filter.shows(app, queue));
    let shown = shown.filter(|app| sight.lists(app));
    let limit = filter.limit.unwrap_or(usize::MAX);
    let shown: Vec<_> = shown.take(limit).cloned().collect();
    let ids: Vec<_> = shown
        .iter()
        .map(|app| (app.id, app.current_attempt))
        .collect();
    let without = filter.deselected;
    let more = move |rm: &rm_core::Rm| {
        let of = |(id, attempt): (_, Option<_>)| {
            let attempt = attempt.and_then(|id| rm.attempt(id));
            (attempt, asks(rm, id, without))
        };
        ids.into_iter().map(of).collect::<Vec<_>>()
    };
    let Some(more) = state.ask(more).await else {
        return busy(format);
    };
    let app = shown.iter().zip(&more);
    let app = app.map(|(app, (attempt, asks))| {
        let seen = app_dto(&state, app, attempt.as_ref(), asks, without);
        if sight.sees(app) { seen } else { reduced(seen) }
    });
    format.ok("apps", &dto::Apps { app: app.collect() })
}

/// What an application asks for, unless the caller does not care.
fn asks(rm: &rm_core::Rm, id: ApplicationId, without: Deselected) -> Vec<AskReport> {
    if without.resource_requests {
        Vec::new()
    } else {
        rm.asks(id)
    }
}

/// GET `/appstatistics`: how many applications are in each state, of one type when one is named.
pub(super) async fn statistics(state: Data<State>, format: Format, query: Pairs) -> HttpResponse {
    let asked = |name: &str| -> String {
        let values = query.iter().filter(|(key, _)| key == name);
        values.map(|(_, v)| &**v).collect::<Vec<_>>().join(",")
    };
    let mut types: Vec<String> = filter::list(&asked("applicationTypes"))
        .map(str::to_lowercase)
        .collect();
    types.dedup();
    if types.len() > 1 {
        return format.bad_request(&format!(
            "# of applicationTypes = {}, we temporarily support at most one applicationType",
            types.len()
        ));
    }
    let states = match filter::states(&asked("states")) {
        Ok(states) if states.is_empty() => ApplicationState::ALL.to_vec(),
        Ok(states) => states,
        Err(bad) => return refused(format, bad),
    };
    let Some(view) = state.context.driver.view().await else {
        return busy(format);
    };
    let kind = types.pop();
    let of_kind = |app: &AppReport| {
        let kind = kind.as_ref();
        kind.is_none_or(|kind| app.application_type.eq_ignore_ascii_case(kind))
    };
    let item = |state: ApplicationState| dto::StatItem {
        state: state.as_str(),
        kind: kind.clone().unwrap_or_else(|| "*".to_owned()),
        count: view
            .apps
            .iter()
            .filter(|app| app.state == state && of_kind(app))
            .count(),
    };
    let stat_item = states.into_iter().map(item).collect();
    format.ok("appStatInfo", &dto::AppStatistics { stat_item })
}

/// GET `/apps/{app}`.
pub(super) async fn app(
    state: Data<State>,
    format: Format,
    path: Path<String>,
    query: Pairs,
    user: User,
) -> HttpResponse {
    let Ok(id) = path.parse::<ApplicationId>() else {
        return bad_id(format, &path);
    };
    let only: Vec<_> = query
        .iter()
        .filter(|(k, _)| k == "deSelects")
        .cloned()
        .collect();
    let deselected = match Filter::read(&only) {
        Ok(filter) => filter.deselected,
        Err(bad) => return refused(format, bad),
    };
    let who = who(&state, &user).await;
    let acls = Arc::clone(&state.context.acls);
    let found = state.ask(move |rm| {
        let app = rm.app(id)?;
        let attempt = app.current_attempt.and_then(|a| rm.attempt(a));
        let may = acls.may_now(rm, &who, AppAccess::View, &app);
        Some((app, attempt, asks(rm, id, deselected), may))
    });
    match found.await {
        None => busy(format),
        Some(None) => not_found(format, id),
        Some(Some((app, attempt, asks, may))) => {
            let seen = app_dto(&state, &app, attempt.as_ref(), &asks, deselected);
            format.ok("app", &if may { seen } else { reduced(seen) })
        }
    }
}

/// GET `/apps/{app}/appattempts`.
pub(super) async fn attempts(
    state: Data<State>,
    format: Format,
    path: Path<String>,
    user: User,
) -> HttpResponse {
    let Ok(id) = path.parse::<ApplicationId>() else {
        return bad_id(format, &path);
    };
    let who = who(&state, &user).await;
    let acls = Arc::clone(&state.context.acls);
    let found = state.ask(move |rm| {
        let app = rm.app(id)?;
        let may = acls.may_now(rm, &who, AppAccess::View, &app);
        Some((rm.attempts(id)?, app, may))
    });
    match found.await {
        None => busy(format),
        Some(None) => not_found(format, id),
        Some(Some((attempts, app, may))) => {
            let seen = attempts.iter().map(|a| attempt_dto(&app, a));
            let seen = seen.map(|a| if may { a } else { reduced_attempt(a) });
            let app_attempt = seen.collect();
            format.ok("appAttempts", &dto::AppAttempts { app_attempt })
        }
    }
}

/// GET `/apps/{app}/state`.
pub(super) async fn state_of(
    state: Data<State>,
    format: Format,
    path: Path<String>,
) -> HttpResponse {
    let Ok(id) = path.parse::<ApplicationId>() else {
        return bad_id(format, &path);
    };
    match state.ask(move |rm| rm.app(id)).await {
        None => busy(format),
        Some(None) => not_found(format, id),
        Some(Some(app)) => state_answer(format, StatusCode::OK, app.state),
    }
}

fn state_answer(format: Format, status: StatusCode, state: ApplicationState) -> HttpResponse {
    let body = dto::AppState {
        state: Some(state.to_string()),
        diagnostics: None,
    };
    format.bare_with(status, "appstate", &body)
}

/// PUT `/apps/{app}/state`: a kill, or nothing when the application is in the state already.
pub(super) async fn put_state(
    state: Data<State>,
    format: Format,
    path: Path<String>,
    user: User,
    request: HttpRequest,
    bytes: Bytes,
) -> HttpResponse {
    let Ok(id) = path.parse::<ApplicationId>() else {
        return bad_id(format, &path);
    };
    let target: dto::AppState = match body::read(&request, &bytes) {
        Ok(target) => target,
        Err(why) => return why.answer(format),
    };
    let app = match state.ask(move |rm| rm.app(id)).await {
        None => return busy(format),
        Some(None) => return not_found(format, id),
        Some(Some(app)) => app,
    };
    let wanted = target.state.as_deref().unwrap_or("");
    if app.state.as_str() == wanted {
        return state_answer(format, StatusCode::OK, app.state);
    }
    if wanted != ApplicationState::Killed.as_str() {
        return format.bad_request("Only 'KILLED' is allowed as a target state.");
    }
    let who = who(&state, &user).await;
    let user = &*Arc::clone(&who.user);
    let mut diagnostics = target.diagnostics.unwrap_or_default();
    diagnostics.truncate(diagnostics.floor_char_boundary(CLIENT_TEXT_BYTES_MAX));
    let kill = ClientRequest::Kill {
        app: id,
        user: user.into(),
        // Hadoop knows the address of RPC callers alone.
        peer: String::new(),
        diagnostics,
    };
    let acls = Arc::clone(&state.context.acls);
    let checked = state.ask(move |rm| (acls.check_change(rm, &who, &kill), kill));
    let kill = match checked.await {
        None => return busy(format),
        Some((Ok(()), kill)) => kill,
        Some((Err(_), _)) => {
            let text = format!("Unauthorized attempt to kill appid {id} by remote user {user}");
            return HttpResponse::Forbidden()
                .content_type("text/plain;charset=utf-8")
                .body(text);
        }
    };
    let done = match send(&state, kill).await {
        None | Some(Err(Refusal::Busy)) => return busy(format),
        Some(Err(Refusal::Reject(r))) => return format.bad_request(&r.message),
        Some(Ok(reply)) => matches!(*reply, Reply::KillCompleted(true)),
    };
    let Some(Some(app)) = state.ask(move |rm| rm.app(id)).await else {
        return busy(format);
    };
    if done {
        return state_answer(format, StatusCode::OK, app.state);
    }
    let mut answer = state_answer(format, StatusCode::ACCEPTED, app.state);
    let here = format!("{}/ws/v1/cluster/apps/{id}/state", state.context.web_url);
    if let Ok(here) = header::HeaderValue::from_str(&here) {
        answer.headers_mut().insert(header::LOCATION, here);
    }
    answer
}

async fn send(state: &State, request: ClientRequest) -> Option<Result<Box<Reply>, Refusal>> {
    let (tell, told) = oneshot::channel();
    state.context.driver.call(
        Instant::now(),
        |call| Event::Client { call, request },
        move |answer| {
            // Nobody waits any more when the caller went away.
            let _ = tell.send(answer);
        },
    );
    told.await.ok()
}

fn log_link(http: &str, container: yarn_types::ContainerId, user: &str) -> String {
    format!("http://{http}/node/containerlogs/{container}/{user}")
}

fn attempt_dto(app: &AppReport, attempt: &AttemptReport) -> dto::AppAttempt {
    let node = attempt.am_node.as_ref();
    let container = attempt.am_container;
    dto::AppAttempt {
        id: attempt.id.attempt,
        start_time: attempt.started_wall_ms,
        finished_time: attempt.finished_wall_ms,
        container_id: container.map_or_else(String::new, |c| c.to_string()),
        node_http_address: node.map_or_else(String::new, |(_, http)| http.clone()),
        node_id: node.map_or_else(String::new, |(node, _)| node.to_string()),
        logs_link: container
            .zip(node)
            .map_or_else(String::new, |(container, (_, http))| {
                log_link(http, container, &app.user)
            }),
        blacklisted_nodes: attempt.blacklisted_nodes.join(", "),
        nodes_blacklisted_by_system: Some(attempt.nodes_blacklisted_by_system.join(", ")),
        app_attempt_id: attempt.id.to_string(),
        export_ports: "null",
        app_attempt_state: attempt.state.as_str(),
    }
}

/// Whether an application has no ApplicationMaster that runs or ran.
fn waits(state: ApplicationState) -> bool {
    matches!(
        state,
        ApplicationState::New
            | ApplicationState::NewSaving
            | ApplicationState::Submitted
            | ApplicationState::Accepted
    )
}

fn tracking_ui(registered: bool, live: bool) -> &'static str {
    match (registered, live) {
        (false, _) => "UNASSIGNED",
        (true, true) => "ApplicationMaster",
        (true, false) => "History",
    }
}

fn app_dto(
    state: &State,
    app: &AppReport,
    attempt: Option<&AttemptReport>,
    asks: &[AskReport],
    without: Deselected,
) -> dto::App {
    let live = !app.state.is_final();
    // One that was refused has nothing that could be gone.
    let gone = !live && attempt.is_some();
    let now = |held: i64| if gone { -1 } else { held };
    let urls = app_urls(&state.context, app);
    let registered = !waits(app.state) && urls.tracking != "N/A";
    let am_node = attempt.and_then(|a| a.am_node.as_ref());
    let logs = attempt.and_then(|a| Some((a.am_container?, a.am_node.as_ref()?)));
    let types = state.context.spellings.of(app.id);
    let label = |label: &Option<String>| label.clone().filter(|l| !l.is_empty());
    let end = if live {
        wall_ms()
    } else {
        app.finished_wall_ms
    };
    dto::App {
        id: app.id.to_string(),
        user: app.user.to_string(),
        name: app.name.clone(),
        queue: app.queue.clone(),
        state: app.state.as_str(),
        final_status: app.final_status.as_str(),
        progress: app.progress * 100.0,
        tracking_ui: tracking_ui(registered, live),
        tracking_url: registered.then_some(urls.tracking),
        diagnostics: app.diagnostics.clone(),
        cluster_id: state.started_wall_ms,
        rm_cluster_id: state.context.cluster_id.clone(),
        application_type: app.application_type.clone(),
        application_tags: app.tags.join(","),
        priority: app.priority,
        started_time: app.started_wall_ms,
        launch_time: app.launched_wall_ms,
        finished_time: app.finished_wall_ms,
        elapsed_time: end.saturating_sub(app.started_wall_ms).max(0),
        am_container_logs: logs.map(|(container, (_, http))| log_link(http, container, &app.user)),
        am_host_http_address: am_node.map(|(_, http)| http.clone()),
        am_rpc_address: (app.rpc_port >= 0).then(|| format!("{}:{}", app.host, app.rpc_port)),
        master_node_id: am_node.map_or_else(String::new, |(node, _)| node.to_string()),
        allocated_mb: now(app.used.memory_mb()),
        allocated_vcores: now(app.used.vcores()),
        reserved_mb: now(app.reserved.memory_mb()),
        reserved_vcores: now(app.reserved.vcores()),
        running_containers: now(i64::from(app.used_containers)),
        memory_seconds: app.resource_seconds.memory_mb(),
        vcore_seconds: app.resource_seconds.vcores(),
        queue_usage_percentage: app.queue_usage_percent,
        cluster_usage_percentage: app.cluster_usage_percent,
        resource_seconds_map: held_seconds(app, live && attempt.is_some(), &types),
        preempted_resource_mb: app.preempted.memory_mb(),
        preempted_resource_vcores: app.preempted.vcores(),
        non_am_containers_preempted: app.preempted_containers,
        am_containers_preempted: app.preempted_masters,
        preempted_memory_seconds: app.preempted_seconds.memory_mb(),
        preempted_vcore_seconds: app.preempted_seconds.vcores(),
        preempted_resource_seconds_map: (!app.preempted_seconds.is_zero())
            .then(|| seconds_map(app.preempted_seconds, &types)),
        resource_requests: asks.iter().map(|ask| request(ask, &types)).collect(),
        log_aggregation_status: Some(aggregation(&state.context)),
        unmanaged_application: app.unmanaged,
        app_node_label_expression: label(&app.label).filter(|_| !without.app_label),
        // That of the ask for its container, which is empty where none was given.
        am_node_label_expression: (!app.unmanaged && !without.am_label)
            .then(|| app.am_label.clone().unwrap_or_default()),
        resource_info: attempt
            .filter(|_| live && !without.resource_info)
            .map(|_| usages(app, &types)),
        timeouts: (!without.timeouts).then(|| lifetimes(app)),
    }
}

fn aggregation(context: &Context) -> &'static str {
    if context.log_aggregation {
        "NOT_START"
    } else {
        "DISABLED"
    }
}

fn request(ask: &AskReport, types: &ResourceTypes) -> dto::ResourceRequest {
    dto::ResourceRequest {
        priority: ask.priority,
        allocation_request_id: ask.allocation_request_id,
        resource_name: ask.place.to_string(),
        capability: dto::ResourceInfo::of(ask.size, types),
        num_containers: ask.count,
        relax_locality: ask.relax,
        node_label_expression: ask.label.to_string(),
        // Others are refused.
        execution_type_request: dto::ExecutionTypeRequest {
            execution_type: "GUARANTEED",
            enforce_execution_type: false,
        },
    }
}

/// Memory and vcores while it lives, all types once it held something, and else nothing.
fn held_seconds(app: &AppReport, lives: bool, types: &ResourceTypes) -> Option<dto::EntryMap> {
    let mut map = seconds_map(app.resource_seconds, types);
    let held = app.used_containers > 0 || !app.resource_seconds.is_zero();
    if !held {
        map.entry.truncate(2);
    }
    (held || lives).then_some(map)
}

fn seconds_map(seconds: Resource, types: &ResourceTypes) -> dto::EntryMap {
    let lanes = (0..).zip(types.iter()).zip(seconds.0);
    let entry = lanes.map(|((lane, t), value)| dto::Entry {
        key: t.name.clone(),
        value: value / types.scale(lane),
    });
    dto::EntryMap {
        entry: entry.collect(),
    }
}

fn usages(app: &AppReport, types: &ResourceTypes) -> dto::ResourceUsages {
    let info = |amounts| dto::ResourceInfo::of(amounts, types);
    let usage = |p: &AppPartition| dto::ResourceUsage {
        partition_name: p.label.to_string(),
        used: info(p.used),
        reserved: info(p.reserved),
        pending: info(p.pending),
        am_used: Some(info(p.am)),
        // Limits are those of queues and users.
        am_limit: Some(info(Resource::ZERO)),
        user_am_limit: Some(info(Resource::ZERO)),
    };
    dto::ResourceUsages {
        resource_usages_by_partition: app.partitions.iter().map(usage).collect(),
    }
}
