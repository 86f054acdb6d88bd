//! Who asks over HTTP, and what of an application that caller may see.
//! May touch: lists of access, a picture of the core, the account database (off the connection's task).
//! Must not: let a page or an answer decide by itself.

use rm_core::{
    acl::{AppAccess, QueueAcl},
    event::Who,
    view::{AppReport, View},
};
use yarn_web::User;

use super::{State, dto};
use crate::{acls::QueueLists, groups, rpc::Context};

/// The caller, with groups where access lists count.
pub(super) async fn who(state: &State, user: &User) -> Who {
    let plain = Who {
        user: user.0.as_str().into(),
        groups: Vec::new(),
    };
    if !state.context.acls.enabled() {
        return plain;
    }
    let user = user.0.clone();
    let found = actix_web::web::block(move || groups::who(&user));
    found.await.unwrap_or(plain)
}

/// What a caller may see of a picture of the core (`RMWebServices.hasAccess`).
pub(super) struct Sight<'a> {
    context: &'a Context,
    who: &'a Who,
    /// Those of the queues; none where nobody asks for them.
    lists: Option<QueueLists>,
}

impl<'a> Sight<'a> {
    /// Of `view`, for `who`.
    pub fn of(context: &'a Context, view: &View, who: &'a Who) -> Self {
        let queues = view.queues.iter().map(|q| &**q);
        let lists = context.acls.enabled().then(|| QueueLists::of(queues));
        Self {
            context,
            who,
            lists,
        }
    }

    /// Whether the application is shown as it is.
    pub fn sees(&self, app: &AppReport) -> bool {
        let Some(lists) = &self.lists else {
            return true;
        };
        let list = QueueAcl::AdministerQueue;
        let administers = |queue: &str| lists.allows(list, queue, self.who);
        let acls = &self.context.acls;
        acls.may(self.who, AppAccess::View, app, administers)
    }

    /// Whether a list has the application at all (`yarn.webapp.filter-entity-list-by-user`).
    pub fn lists(&self, app: &AppReport) -> bool {
        !self.context.acls.filter_lists() || self.sees(app)
    }
}

/// What is left of an application for somebody who may not see it (`AppInfo`).
pub(super) fn reduced(app: dto::App) -> dto::App {
    dto::App {
        rm_cluster_id: None,
        started_time: 0,
        launch_time: 0,
        finished_time: 0,
        elapsed_time: 0,
        am_container_logs: None,
        am_host_http_address: None,
        am_rpc_address: None,
        master_node_id: String::new(),
        allocated_mb: 0,
        allocated_vcores: 0,
        reserved_mb: 0,
        reserved_vcores: 0,
        running_containers: 0,
        queue_usage_percentage: 0.0,
        cluster_usage_percentage: 0.0,
        log_aggregation_status: None,
        resource_requests: Vec::new(),
        ..app
    }
}

/// What is left of an attempt for somebody who may not see its application (`AppAttemptInfo`).
pub(super) fn reduced_attempt(attempt: dto::AppAttempt) -> dto::AppAttempt {
    dto::AppAttempt {
        container_id: String::new(),
        node_http_address: String::new(),
        node_id: String::new(),
        logs_link: String::new(),
        nodes_blacklisted_by_system: None,
        export_ports: "",
        ..attempt
    }
}

#[cfg(test)]
#[path = "access_test.rs"]
mod tests;
