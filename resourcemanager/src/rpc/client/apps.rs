//! Queries of clients about applications, attempts and containers.
//! May touch: the core's read model.
//! Must not: change anything.

use std::sync::Arc;

use hadoop_ipc::server::RemoteException;
use rm_core::{
    Rm,
    acl::{AppAccess, QueueAcl},
    event::Who,
    view::{AppReport, View},
};
use yarn_proto::{
    convert::app_state,
    yarn::{
        ApplicationsRequestScopeProto, GetApplicationAttemptReportRequestProto,
        GetApplicationAttemptReportResponseProto, GetApplicationAttemptsRequestProto,
        GetApplicationAttemptsResponseProto, GetApplicationReportRequestProto,
        GetApplicationReportResponseProto, GetApplicationsRequestProto,
        GetApplicationsResponseProto, GetContainerReportRequestProto,
        GetContainerReportResponseProto, GetContainersRequestProto, GetContainersResponseProto,
    },
};
use yarn_types::ApplicationId;

use super::super::{Context, Incoming, convert, errors, guard};
use super::reports;
use crate::acls::QueueLists;

pub(super) fn application(context: &Arc<Context>, incoming: Incoming) {
    let make = |m: GetApplicationReportRequestProto| convert::app_id(m.application_id.as_ref());
    guard::read(context, incoming, make, |context, rm, who, app| {
        let report = rm.app(app).ok_or_else(|| {
            errors::application_not_found(format!(
                "Application with id '{app}' doesn't exist in RM. Please check that the job submission was successful."
            ))
        })?;
        Ok(GetApplicationReportResponseProto {
            application_report: Some(if context.acls.may_now(rm, who, AppAccess::View, &report) {
                reports::app(context, &report, &who.user)
            } else {
                reports::hidden(context, &report)
            }),
        })
    });
}

fn known(rm: &Rm, app: ApplicationId) -> Result<AppReport, RemoteException> {
    rm.app(app).ok_or_else(|| {
        errors::application_not_found(format!("Application with id '{app}' doesn't exist in RM."))
    })
}

/// Refuses those who may not see an application, in Hadoop's words.
fn visible(
    context: &Context,
    rm: &Rm,
    who: &Who,
    app: &AppReport,
    what: impl FnOnce() -> String,
) -> Result<(), RemoteException> {
    if context.acls.may_now(rm, who, AppAccess::View, app) {
        return Ok(());
    }
    let (user, what) = (&who.user, what());
    Err(errors::yarn(format!(
        "User {user} does not have privilege to see this {what}"
    )))
}

pub(super) fn attempt(context: &Arc<Context>, incoming: Incoming) {
    let make = |m: GetApplicationAttemptReportRequestProto| {
        convert::attempt_id(m.application_attempt_id.as_ref())
    };
    guard::read(context, incoming, make, |context, rm, who, id| {
        let app = known(rm, id.app)?;
        visible(context, rm, who, &app, || format!("attempt {id}"))?;
        let attempt = rm.attempt(id).ok_or_else(|| {
            errors::attempt_not_found(format!(
                "ApplicationAttempt with id '{id}' doesn't exist in RM."
            ))
        })?;
        Ok(GetApplicationAttemptReportResponseProto {
            application_attempt_report: Some(reports::attempt(context, &app, &attempt)),
        })
    });
}

pub(super) fn attempts(context: &Arc<Context>, incoming: Incoming) {
    let make = |m: GetApplicationAttemptsRequestProto| convert::app_id(m.application_id.as_ref());
    guard::read(context, incoming, make, |context, rm, who, id| {
        let app = known(rm, id)?;
        visible(context, rm, who, &app, || format!("application {id}"))?;
        let attempts = rm.attempts(id).unwrap_or_default();
        let attempts = attempts.iter().map(|a| reports::attempt(context, &app, a));
        Ok(GetApplicationAttemptsResponseProto {
            application_attempts: attempts.collect(),
        })
    });
}

pub(super) fn container(context: &Arc<Context>, incoming: Incoming) {
    let make = |m: GetContainerReportRequestProto| convert::container_id(m.container_id.as_ref());
    guard::read(context, incoming, make, |context, rm, who, id| {
        let app = known(rm, id.app())?;
        visible(context, rm, who, &app, || format!("application {}", app.id))?;
        let container = rm.container(id).ok_or_else(|| {
            errors::container_not_found(format!("Container with id '{id}' doesn't exist in RM."))
        })?;
        Ok(GetContainerReportResponseProto {
            container_report: Some(reports::container(context, &container)),
        })
    });
}

pub(super) fn containers(context: &Arc<Context>, incoming: Incoming) {
    let make =
        |m: GetContainersRequestProto| convert::attempt_id(m.application_attempt_id.as_ref());
    guard::read(context, incoming, make, |context, rm, who, id| {
        let app = known(rm, id.app)?;
        visible(context, rm, who, &app, || format!("application {}", app.id))?;
        let containers = rm.containers(id).ok_or_else(|| {
            errors::attempt_not_found(format!(
                "ApplicationAttempt with id '{id}' doesn't exist in RM."
            ))
        })?;
        let containers = containers.iter().map(|c| reports::container(context, c));
        Ok(GetContainersResponseProto {
            containers: containers.collect(),
        })
    });
}

pub(super) fn applications(context: &Arc<Context>, incoming: Incoming) {
    guard::view(context, incoming, |context, view: &View, who, m| {
        let filter = Filter::new(m, &who.user, context.acls.filter_lists())?;
        let lists = QueueLists::of(view.queues.iter().map(|q| &**q));
        let may = |app: &AppReport| {
            let list = QueueAcl::AdministerQueue;
            let administers = |queue: &str| lists.allows(list, queue, who);
            context.acls.may(who, AppAccess::View, app, administers)
        };
        let apps = view.apps.iter().filter(|app| filter.takes(app));
        let apps = apps.map(|app| (app, may(app)));
        let apps = apps.filter(|(_, may)| *may || !filter.viewable);
        let report = |(app, may): (&Arc<AppReport>, bool)| {
            if may {
                reports::app(context, app, &who.user)
            } else {
                reports::hidden(context, app)
            }
        };
        Ok(GetApplicationsResponseProto {
            applications: apps.take(filter.limit).map(report).collect(),
        })
    });
}

/// `GetApplicationsRequest`: what is empty does not filter.
struct Filter {
    request: GetApplicationsRequestProto,
    /// Lower-cased as Hadoop compares them.
    types: Vec<String>,
    tags: Vec<String>,
    limit: usize,
    own: Option<String>,
    /// Only those that the caller may see.
    viewable: bool,
}

/// Whether `value` lies between the bounds given.
fn within(value: i64, begin: Option<i64>, end: Option<i64>) -> bool {
    begin.is_none_or(|b| b <= value) && end.is_none_or(|e| value <= e)
}

impl Filter {
    /// `viewable` where lists have only what their reader may see, whatever is asked.
    fn new(
        request: GetApplicationsRequestProto,
        user: &str,
        viewable: bool,
    ) -> Result<Self, RemoteException> {
        let lower = |texts: &[String]| texts.iter().map(|t| t.to_lowercase()).collect();
        for state in &request.application_states {
            if app_state(*state).is_none() {
                return Err(convert::missing("application state"));
            }
        }
        Ok(Self {
            types: lower(&request.application_types),
            tags: lower(&request.application_tags),
            limit: usize::try_from(request.limit.unwrap_or(i64::MAX)).unwrap_or(usize::MAX),
            viewable: viewable || request.scope() == ApplicationsRequestScopeProto::Viewable,
            own: (request.scope() == ApplicationsRequestScopeProto::Own).then(|| user.to_owned()),
            request,
        })
    }

    fn takes(&self, app: &AppReport) -> bool {
        let r = &self.request;
        let states = &r.application_states;
        let in_state = |state: &i32| app_state(*state) == Some(app.state);
        let has_tag = |tag: &String| self.tags.contains(&tag.to_lowercase());
        // clients name a queue by its path or its last part
        let leaf = app.queue.rsplit('.').next();
        let in_queue = |queue: &String| *queue == app.queue || Some(queue.as_str()) == leaf;
        (states.is_empty() || states.iter().any(in_state))
            && (self.types.is_empty() || self.types.contains(&app.application_type.to_lowercase()))
            && (self.tags.is_empty() || app.tags.iter().any(has_tag))
            && (r.users.is_empty() || r.users.iter().any(|user| **user == *app.user))
            && (r.queues.is_empty() || r.queues.iter().any(in_queue))
            && self.own.as_ref().is_none_or(|own| **own == *app.user)
            && r.name.as_ref().is_none_or(|name| *name == app.name)
            && within(app.started_wall_ms, r.start_begin, r.start_end)
            && within(app.finished_wall_ms, r.finish_begin, r.finish_end)
    }
}
