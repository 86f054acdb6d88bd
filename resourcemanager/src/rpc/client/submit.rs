//! Calls of clients that change something: new application, submit, kill, fail, signal.
//! May touch: wire messages, the submission table.
//! Must not: answer a submission before the core knows the application.

use std::{sync::Arc, time::Instant};

use hadoop_ipc::server::{Caller, RemoteException};
use rm_core::{
    CallId, Event, Reply,
    acl::{AccessList, AppAcls},
    event::{ClientRequest, SignalCommand, Submission},
};
use yarn_proto::{
    convert::{DecodedResource, app_id_proto, resource, resource_proto},
    yarn::{
        ApplicationAccessTypeProto, ApplicationSubmissionContextProto,
        FailApplicationAttemptRequestProto, FailApplicationAttemptResponseProto,
        GetNewApplicationRequestProto, GetNewApplicationResponseProto, KillApplicationRequestProto,
        KillApplicationResponseProto, PriorityProto, SignalContainerCommandProto,
        SignalContainerRequestProto, SignalContainerResponseProto, SubmitApplicationRequestProto,
        SubmitApplicationResponseProto,
    },
};

use super::super::{Context, Incoming, convert, encoded, errors, event, finish, guard};
use crate::{groups, submissions::Submitted};

/// `YarnConfiguration.APPLICATION_TYPE_LENGTH`: longer types are cut.
const APPLICATION_TYPE_CHARS_MAX: usize = 20;

fn wrap(call: CallId, request: ClientRequest) -> Event {
    Event::Client { call, request }
}

pub(super) fn new_application(context: &Arc<Context>, incoming: Incoming) {
    let make = |_: &Caller, _: GetNewApplicationRequestProto| Ok(ClientRequest::NewApplication);
    let types = context.types.clone();
    event(context, incoming, make, wrap, move |reply| match reply {
        Reply::NewApplication {
            app,
            maximum_capability,
        } => Some(GetNewApplicationResponseProto {
            application_id: Some(app_id_proto(app)),
            maximum_capability: Some(resource_proto(maximum_capability, &types)),
        }),
        _ => None,
    });
}

pub(super) fn submit(context: &Arc<Context>, incoming: Incoming) {
    let Incoming {
        caller,
        call,
        reply,
        received,
    } = incoming;
    let user: Arc<str> = caller.user.as_str().into();
    let decoded = call.decode().and_then(|m: SubmitApplicationRequestProto| {
        let submitted = m.application_submission_context;
        let submitted = submitted.ok_or_else(|| convert::missing("submission context"))?;
        Ok((submission(context, &user, &submitted)?, submitted))
    });
    let (submission, submitted) = match decoded {
        Ok(decoded) => decoded,
        Err(e) => return reply.err(e),
    };
    let app = submission.app;
    tracing::info!(target: "latency", event = "submit", app = %app);
    tracing::info!(app = %app, user = %user, queue = submission.queue, name = submission.name, peer = %caller.peer, "application submitted");
    let method = call.method;
    let shared = Arc::clone(context);
    // the account database may be across the network
    context.runtime.spawn_blocking(move || {
        let answer = move |result| finish(reply, result);
        send(&shared, method, received, submission, submitted, answer);
    });
}

/// Hands a submission to the core with the groups of those it is placed for.
fn send(
    context: &Arc<Context>,
    method: String,
    received: Instant,
    mut submission: Submission,
    submitted: ApplicationSubmissionContextProto,
    answer: impl FnOnce(Result<SubmitApplicationResponseProto, RemoteException>) + Send + 'static,
) {
    let (app, user) = (submission.app, Arc::clone(&submission.user));
    submission.groups = groups::groups_of(&user);
    let tags = submission.tags.iter().map(String::as_str);
    submission.tag_user = context.tag_placement.user(&user, tags).map(groups::who);
    let kept = context.submissions.insert(
        app,
        Submitted {
            user,
            context: submitted.am_container_spec.unwrap_or_default(),
            log_aggregation: submitted.log_aggregation_context,
        },
    );
    let asks = submitted.am_container_resource_request.iter();
    let sizes = asks.filter_map(|r| r.capability.as_ref());
    for size in sizes.chain(&submitted.resource).filter(|_| kept) {
        context.spellings.sent(app, size);
    }
    let request = ClientRequest::Submit(Box::new(submission));
    let shared = Arc::clone(context);
    context.driver.call(
        received,
        |id| wrap(id, request),
        move |told| {
            if told.is_err() && kept {
                shared.submissions.remove(app);
                shared.spellings.forget(app);
            }
            let encode = |reply| match reply {
                Reply::Done => Some(SubmitApplicationResponseProto {}),
                _ => None,
            };
            answer(encoded(&method, told, encode));
        },
    );
}

/// The lists of the launch context; of two for one kind the last counts, as in a Java map.
fn app_acls(m: &ApplicationSubmissionContextProto) -> AppAcls {
    let mut acls = AppAcls::default();
    let lists = m
        .am_container_spec
        .iter()
        .flat_map(|c| &c.application_ac_ls);
    for entry in lists {
        let list = AccessList::parse(entry.acl());
        match entry.access_type() {
            ApplicationAccessTypeProto::AppaccessViewApp => acls.view = list,
            ApplicationAccessTypeProto::AppaccessModifyApp => acls.modify = list,
        }
    }
    acls
}

fn submission(
    context: &Context,
    user: &Arc<str>,
    m: &ApplicationSubmissionContextProto,
) -> Result<Submission, RemoteException> {
    if m.reservation_id.is_some() {
        let text = "Reservation is not enabled. Please enable & try again";
        return Err(errors::yarn(text));
    }
    let unmanaged = m.unmanaged_am.unwrap_or(false);
    let (am, am_label) = if unmanaged {
        (DecodedResource::default(), None)
    } else {
        am_request(context, m)?
    };
    let text = |text: &Option<String>, default: &str, what| {
        let text = text.clone().unwrap_or_else(|| default.to_owned());
        convert::bounded(text, what)
    };
    let kind = text(&m.application_type, "YARN", "application type")?;
    let tags = m.application_tags.iter().cloned();
    let validity = m.attempt_failures_validity_interval;
    Ok(Submission {
        lifetime_s: lifetime_s(m)?,
        app: convert::app_id(m.application_id.as_ref())?,
        user: Arc::clone(user),
        groups: Vec::new(),
        tag_user: None,
        acls: Arc::new(app_acls(m)),
        name: text(&m.application_name, "N/A", "application name")?,
        queue: text(&m.queue, "", "queue")?,
        application_type: kind.chars().take(APPLICATION_TYPE_CHARS_MAX).collect(),
        tags: tags
            .map(|tag| convert::bounded(tag, "application tag"))
            .collect::<Result<_, _>>()?,
        priority: m.priority.as_ref().map(PriorityProto::priority),
        unmanaged,
        max_attempts: u32::try_from(m.max_app_attempts()).unwrap_or(0),
        attempt_failures_validity_ms: validity
            .and_then(|ms| u64::try_from(ms).ok())
            .filter(|ms| *ms > 0),
        keep_containers: m
            .keep_containers_across_application_attempts
            .unwrap_or(false),
        am_resource: am.resource,
        am_label,
        label: m.node_label_expression.clone(),
        unknown_resource: am.unknown,
    })
}

/// The LIFETIME that the client asks for, in seconds; -1 for none
/// (`RMServerUtils.validateApplicationTimeouts`).
fn lifetime_s(m: &ApplicationSubmissionContextProto) -> Result<i64, RemoteException> {
    let Some(lifetime) = m.application_timeouts.first() else {
        return Ok(-1);
    };
    match lifetime.timeout() {
        timeout if timeout < 0 => Err(errors::yarn(format!(
            "Invalid application timeout, value={timeout} for type=LIFETIME"
        ))),
        timeout => Ok(timeout),
    }
}

/// Size and label of the ApplicationMaster: field 17 when it is there, else field 9
/// (`RMAppManager.validateAndCreateResourceRequest`).
fn am_request(
    context: &Context,
    m: &ApplicationSubmissionContextProto,
) -> Result<(DecodedResource, Option<String>), RemoteException> {
    let invalid = |text: &str| RemoteException::yarn("InvalidResourceRequestException", text);
    let mut any = m
        .am_container_resource_request
        .iter()
        .filter(|r| r.resource_name() == "*");
    match (any.next(), any.next(), &m.resource) {
        (Some(request), None, _) => {
            let capability = request.capability.as_ref();
            let capability = capability.map(|c| resource(c, &context.types));
            Ok((
                capability.unwrap_or_default(),
                request.node_label_expression.clone(),
            ))
        }
        (Some(_), Some(_), _) => Err(invalid(
            "Invalid resource request, only one resource request with * is allowed",
        )),
        (None, _, _) if !m.am_container_resource_request.is_empty() => Err(invalid(
            "Invalid resource request, no resource request specified with *",
        )),
        (None, _, Some(size)) => Ok((resource(size, &context.types), None)),
        (None, _, None) => Err(invalid("Invalid resource request, no resources requested")),
    }
}

pub(super) fn kill(context: &Arc<Context>, incoming: Incoming) {
    let make = |caller: &Caller, m: KillApplicationRequestProto| {
        Ok(ClientRequest::Kill {
            app: convert::app_id(m.application_id.as_ref())?,
            user: caller.user.as_str().into(),
            peer: caller.peer.ip().to_string(),
            diagnostics: convert::capped(m.diagnostics().to_owned()),
        })
    };
    guard::change(context, incoming, make, |reply| match reply {
        Reply::KillCompleted(done) => Some(KillApplicationResponseProto {
            is_kill_completed: Some(done),
        }),
        _ => None,
    });
}

pub(super) fn fail_attempt(context: &Arc<Context>, incoming: Incoming) {
    let make = |caller: &Caller, m: FailApplicationAttemptRequestProto| {
        Ok(ClientRequest::FailAttempt {
            attempt: convert::attempt_id(m.application_attempt_id.as_ref())?,
            user: caller.user.as_str().into(),
        })
    };
    guard::change(context, incoming, make, |reply| match reply {
        Reply::Done => Some(FailApplicationAttemptResponseProto {}),
        _ => None,
    });
}

pub(super) fn signal(context: &Arc<Context>, incoming: Incoming) {
    let make = |_: &Caller, m: SignalContainerRequestProto| {
        let command = match m.command() {
            SignalContainerCommandProto::OutputThreadDump => SignalCommand::OutputThreadDump,
            SignalContainerCommandProto::GracefulShutdown => SignalCommand::GracefulShutdown,
            SignalContainerCommandProto::ForcefulShutdown => SignalCommand::ForcefulShutdown,
        };
        Ok(ClientRequest::SignalContainer {
            container: convert::container_id(Some(&m.container_id))?,
            command,
        })
    };
    guard::change(context, incoming, make, |reply| match reply {
        Reply::Done => Some(SignalContainerResponseProto {}),
        _ => None,
    });
}
