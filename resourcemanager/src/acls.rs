//! Who may see and change what, where `yarn.acl.enable` is on; who administers the cluster.
//! May touch: lists of access, the core's read model.
//! Must not: look up groups (callers bring them), or decide on submissions (the core does).

use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock},
};

use rm_core::{
    Reject, RejectKind, Rm,
    acl::{self, AccessList, AppAccess, Caller, QueueAcl},
    event::{ClientRequest, Who},
    view::{AppReport, QueueReport},
};
use yarn_conf::{Configuration, Problem};
use yarn_types::ApplicationId;

/// `yarn.admin.acl`.
pub const ADMIN_ACL: &str = "yarn.admin.acl";

/// The lists that are not the core's.
#[derive(Debug, Default)]
pub struct Acls {
    enabled: bool,
    filter_lists: bool,
    admins: RwLock<AccessList>,
}

/// `yarn.admin.acl` with the account that this process runs as
/// (`AdminService.getAdminAclList`).
pub fn admins(conf: &Configuration) -> AccessList {
    let text = yarn_types::Lookup::get(conf, ADMIN_ACL);
    let list = AccessList::parse(text.as_deref().unwrap_or("*"));
    let own = nix::unistd::User::from_uid(nix::unistd::geteuid());
    match own.ok().flatten() {
        Some(own) => list.with_user(&own.name),
        None => list,
    }
}

impl Acls {
    /// Reads `yarn.acl.enable`, `yarn.admin.acl` and `yarn.webapp.filter-entity-list-by-user`.
    ///
    /// # Errors
    /// A switch that is neither true nor false.
    pub fn read(conf: &Configuration) -> Result<Self, Problem> {
        Ok(Self {
            enabled: conf.bool("yarn.acl.enable", false)?,
            filter_lists: conf.bool("yarn.webapp.filter-entity-list-by-user", false)?,
            admins: RwLock::new(admins(conf)),
        })
    }

    /// `yarn.acl.enable`.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Lists on pages and of REST leave out what the caller may not see.
    pub fn filter_lists(&self) -> bool {
        self.filter_lists
    }

    /// `refreshAdminAcls`.
    pub fn replace_admins(&self, list: AccessList) {
        *self.admins.write().unwrap_or_else(PoisonError::into_inner) = list;
    }

    /// Whether the caller administers the cluster; asked whatever `yarn.acl.enable` says, as by
    /// `RMServerUtils.verifyAdminAccess`.
    pub fn is_admin(&self, caller: Caller<'_>) -> bool {
        let admins = self.admins.read().unwrap_or_else(PoisonError::into_inner);
        admins.allows(caller)
    }

    /// Everybody is an administrator.
    pub fn everybody_administers(&self) -> bool {
        let admins = self.admins.read().unwrap_or_else(PoisonError::into_inner);
        admins.is_all()
    }

    /// Whether the caller may see or change an application. `administers` says whether it
    /// administers the queue of a name (`ClientRMService.checkAccess`).
    pub fn may(
        &self,
        who: &Who,
        access: AppAccess,
        app: &AppReport,
        administers: impl FnOnce(&str) -> bool,
    ) -> bool {
        if !self.enabled {
            return true;
        }
        let own = {
            let admins = self.admins.read().unwrap_or_else(PoisonError::into_inner);
            acl::may_access(who.caller(), access, &app.user, &app.acls, &admins, false)
        };
        own || administers(&app.queue)
    }

    /// [`Self::may`] on the core.
    pub fn may_now(&self, rm: &Rm, who: &Who, access: AppAccess, app: &AppReport) -> bool {
        self.may(who, access, app, |queue| {
            let list = QueueAcl::AdministerQueue;
            // applications of a queue that is gone are everybody's (`CapacityQueueACLsManager`)
            let allowed = rm.sched().queue_allows(list, queue, who.caller());
            allowed.unwrap_or_else(|| {
                !rm_core::placement::QueueLookup::is_ambiguous(rm.sched(), queue)
            })
        })
    }

    /// Whether a client may change what its request names. What is not there is the core's to refuse.
    ///
    /// # Errors
    /// Hadoop's text.
    pub fn check_change(&self, rm: &Rm, who: &Who, request: &ClientRequest) -> Result<(), Reject> {
        let Some(id) = changed(request).filter(|_| self.enabled) else {
            return Ok(());
        };
        let Some(app) = rm.app(id) else {
            return Ok(());
        };
        let user = &who.user;
        if !self.may_now(rm, who, AppAccess::Modify, &app) {
            return Err(denied(format_args!(
                "User {user} cannot perform operation MODIFY_APP on {id}"
            )));
        }
        let ClientRequest::Move { queue, .. } = request else {
            return Ok(());
        };
        let allows = |acl| rm.sched().queue_allows(acl, queue, who.caller()) == Some(true);
        if allows(QueueAcl::SubmitApplications) || allows(QueueAcl::AdministerQueue) {
            return Ok(());
        }
        Err(denied(format_args!(
            "User {user} cannot submit applications to target queue or the target queue doesn't exist: {queue} while moving {id}"
        )))
    }
}

/// `ClientRMService` refuses with Java's class of that name, not with Hadoop's own.
fn denied(text: std::fmt::Arguments<'_>) -> Reject {
    let text = format!("java.security.AccessControlException: {text}");
    Reject::new(RejectKind::Yarn, text)
}

/// The application that a request changes; none for those that make one.
fn changed(request: &ClientRequest) -> Option<ApplicationId> {
    match request {
        ClientRequest::NewApplication | ClientRequest::Submit(_) => None,
        ClientRequest::Kill { app, .. }
        | ClientRequest::Move { app, .. }
        | ClientRequest::SetPriority { app, .. }
        | ClientRequest::SetExpiry { app, .. } => Some(*app),
        ClientRequest::FailAttempt { attempt, .. } => Some(attempt.app),
        ClientRequest::SignalContainer { container, .. } => Some(container.app()),
    }
}

/// The queues' lists in a picture of the core.
pub struct QueueLists(BTreeMap<String, (AccessList, AccessList)>);

impl QueueLists {
    /// Of these queues.
    pub fn of<'a>(queues: impl IntoIterator<Item = &'a QueueReport>) -> Self {
        let lists = queues.into_iter().map(|q| {
            let submit = AccessList::parse(&q.settings.acl_submit);
            let administer = AccessList::parse(&q.settings.acl_administer);
            (q.path.clone(), (submit, administer))
        });
        Self(lists.collect())
    }

    /// Whether the caller is on the list of the queue or one above it; applications of a queue that
    /// is gone are everybody's.
    pub fn allows(&self, acl: QueueAcl, queue: &str, who: &Who) -> bool {
        let list = |path: &str| {
            self.0.get(path).map(|(submit, administer)| match acl {
                QueueAcl::SubmitApplications => submit,
                QueueAcl::AdministerQueue => administer,
            })
        };
        !self.0.contains_key(queue) || acl::queue_allows(queue, who.caller(), list)
    }
}

#[cfg(test)]
#[path = "acls_test.rs"]
mod tests;
