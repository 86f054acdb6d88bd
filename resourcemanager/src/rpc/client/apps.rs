//! Queries of clients about applications, attempts and containers.
//! May touch: the core's read model.
//! Must not: change anything.

use std::sync::Arc;

use hadoop_ipc::server::{Caller, RemoteException};
use rm_core::{
    Rm,
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

use super::super::{Context, Incoming, convert, errors, read, view};
use super::reports;

pub(super) fn application(context: &Arc<Context>, incoming: Incoming) {
    let make = |caller: &Caller, m: GetApplicationReportRequestProto| {
        let app = convert::app_id(m.application_id.as_ref())?;
        Ok((app, caller.user.clone()))
    };
    read(context, incoming, make, |context, rm, (app, viewer)| {
        let report = rm.app(app).ok_or_else(|| {
            errors::application_not_found(format!(
                "Application with id '{app}' doesn't exist in RM. Please check that the job submission was successful."
            ))
        })?;
        Ok(GetApplicationReportResponseProto {
            application_report: Some(reports::app(context, &report, &viewer)),
        })
    });
}

fn known(rm: &Rm, app: ApplicationId) -> Result<AppReport, RemoteException> {
    rm.app(app).ok_or_else(|| {
        errors::application_not_found(format!("Application with id '{app}' doesn't exist in RM."))
    })
}

pub(super) fn attempt(context: &Arc<Context>, incoming: Incoming) {
    let make = |_: &Caller, m: GetApplicationAttemptReportRequestProto| {
        convert::attempt_id(m.application_attempt_id.as_ref())
    };
    read(context, incoming, make, |context, rm, id| {
        let app = known(rm, id.app)?;
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
    let make = |_: &Caller, m: GetApplicationAttemptsRequestProto| {
        convert::app_id(m.application_id.as_ref())
    };
    read(context, incoming, make, |context, rm, id| {
        let app = known(rm, id)?;
        let attempts = rm.attempts(id).unwrap_or_default();
        let attempts = attempts.iter().map(|a| reports::attempt(context, &app, a));
        Ok(GetApplicationAttemptsResponseProto {
            application_attempts: attempts.collect(),
        })
    });
}

pub(super) fn container(context: &Arc<Context>, incoming: Incoming) {
    let make = |_: &Caller, m: GetContainerReportRequestProto| {
        convert::container_id(m.container_id.as_ref())
    };
    read(context, incoming, make, |context, rm, id| {
        known(rm, id.app())?;
        let container = rm.container(id).ok_or_else(|| {
            errors::container_not_found(format!("Container with id '{id}' doesn't exist in RM."))
        })?;
        Ok(GetContainerReportResponseProto {
            container_report: Some(reports::container(context, &container)),
        })
    });
}

pub(super) fn containers(context: &Arc<Context>, incoming: Incoming) {
    let make = |_: &Caller, m: GetContainersRequestProto| {
        convert::attempt_id(m.application_attempt_id.as_ref())
    };
    read(context, incoming, make, |context, rm, id| {
        known(rm, id.app)?;
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
    view(context, incoming, |context, view: &View, caller, m| {
        let filter = Filter::new(m, &caller.user)?;
        let apps = view.apps.iter().filter(|app| filter.takes(app));
        let apps = apps.take(filter.limit);
        Ok(GetApplicationsResponseProto {
            applications: apps
                .map(|app| reports::app(context, app, &caller.user))
                .collect(),
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
}

/// Whether `value` lies between the bounds given.
fn within(value: i64, begin: Option<i64>, end: Option<i64>) -> bool {
    begin.is_none_or(|b| b <= value) && end.is_none_or(|e| value <= e)
}

impl Filter {
    fn new(request: GetApplicationsRequestProto, user: &str) -> Result<Self, RemoteException> {
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
