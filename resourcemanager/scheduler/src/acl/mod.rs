//! Who may do what: access lists of queues, applications and priorities.
//! May touch: names of users and groups, which come from the caller.
//! Must not: look up groups, or know whether `yarn.acl.enable` is on where a function says so.

mod priority;

pub use priority::{PriorityAcl, PriorityAclProblem, PriorityAcls};

pub use yarn_types::{AccessList, Caller};

/// What a queue's list is about (`QueueACL`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum QueueAcl {
    /// `acl_submit_applications`.
    SubmitApplications,
    /// `acl_administer_queue`.
    AdministerQueue,
}

/// Whether a queue's list, or that of a queue above it, holds the caller
/// (`ConfiguredYarnAuthorizer`). `list_of` gives the list of a full path; a queue without one, as
/// one that is yet to be created, is judged by the queues above it.
pub fn queue_allows<'a>(
    queue: &str,
    caller: Caller<'_>,
    list_of: impl Fn(&str) -> Option<&'a AccessList>,
) -> bool {
    let mut path = queue;
    loop {
        if list_of(path).is_some_and(|list| list.allows(caller)) {
            return true;
        }
        match path.rsplit_once('.') {
            Some((parent, _)) => path = parent,
            None => return false,
        }
    }
}

/// Whether the caller may submit to a queue: it may submit or administer it
/// (`RMAppManager.createAndPopulateNewRMApp`; only asked with `yarn.acl.enable`).
pub fn may_submit<'a>(
    queue: &str,
    caller: Caller<'_>,
    list_of: impl Fn(QueueAcl, &str) -> Option<&'a AccessList>,
) -> bool {
    let allows = |acl| queue_allows(queue, caller, |path| list_of(acl, path));
    allows(QueueAcl::SubmitApplications) || allows(QueueAcl::AdministerQueue)
}

/// The text of a refused submission; `queue` as the client (or its placement) named it.
pub fn submit_refused(user: &str, application_id: &str, queue: &str) -> String {
    format!("User {user} does not have permission to submit {application_id} to queue {queue}")
}

/// What an application's lists are about (`ApplicationAccessType`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AppAccess {
    /// `VIEW_APP`.
    View,
    /// `MODIFY_APP`.
    Modify,
}

/// The lists that its submitter gave an application. One that is absent admits nobody else
/// (`YarnConfiguration.DEFAULT_YARN_APP_ACL` is a blank).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct AppAcls {
    /// `VIEW_APP`.
    pub view: AccessList,
    /// `MODIFY_APP`.
    pub modify: AccessList,
}

impl AppAcls {
    /// The list of one kind of access.
    pub fn list(&self, access: AppAccess) -> &AccessList {
        match access {
            AppAccess::View => &self.view,
            AppAccess::Modify => &self.modify,
        }
    }
}

/// Whether the caller may see or change an application: its owner, an administrator of the cluster,
/// whoever its lists hold (`ApplicationACLsManager.checkAccess`), or an administrator of its queue
/// (`QueueACLsManager`, asked second by `ClientRMService`). `queue_admin` is what
/// [`queue_allows`] says of [`QueueAcl::AdministerQueue`].
pub fn may_access(
    caller: Caller<'_>,
    access: AppAccess,
    owner: &str,
    acls: &AppAcls,
    admins: &AccessList,
    queue_admin: bool,
) -> bool {
    admins.allows(caller) || caller.user == owner || acls.list(access).allows(caller) || queue_admin
}

#[cfg(test)]
#[path = "acl_test.rs"]
mod tests;
