//! Who may see an application of this node, where `yarn.acl.enable` is on.
//! May touch: lists of access, the account database (blocking).
//! Must not: guard calls of the container protocol (NMTokens do).

use std::{
    collections::HashMap,
    ffi::CString,
    sync::{Mutex, MutexGuard, PoisonError},
};

use yarn_conf::{Configuration, Problem};
use yarn_proto::yarn::{ApplicationAccessTypeProto, ContainerLaunchContextProto};
use yarn_types::{AccessList, ApplicationId, Caller, Lookup};

/// Owner of an application and who else may see it.
#[derive(Debug)]
struct Seen {
    owner: String,
    view: AccessList,
}

/// `ApplicationACLsManager` of a node.
#[derive(Debug, Default)]
pub struct NodeAcls {
    enabled: bool,
    filter_lists: bool,
    admins: AccessList,
    apps: Mutex<HashMap<ApplicationId, Seen>>,
}

impl NodeAcls {
    /// Reads `yarn.acl.enable`, `yarn.admin.acl` and `yarn.webapp.filter-entity-list-by-user`; the
    /// account of this process administers too.
    ///
    /// # Errors
    /// A switch that is neither true nor false.
    pub fn read(conf: &Configuration) -> Result<Self, Problem> {
        let text = Lookup::get(conf, "yarn.admin.acl");
        let admins = AccessList::parse(text.as_deref().unwrap_or("*"));
        let own = nix::unistd::User::from_uid(nix::unistd::geteuid());
        Ok(Self {
            enabled: conf.bool("yarn.acl.enable", false)?,
            filter_lists: conf.bool("yarn.webapp.filter-entity-list-by-user", false)?,
            admins: match own.ok().flatten() {
                Some(own) => admins.with_user(&own.name),
                None => admins,
            },
            apps: Mutex::default(),
        })
    }

    fn apps(&self) -> MutexGuard<'_, HashMap<ApplicationId, Seen>> {
        self.apps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what the first container of an application brings.
    pub fn remember(&self, app: ApplicationId, owner: &str, context: &ContainerLaunchContextProto) {
        let view = ApplicationAccessTypeProto::AppaccessViewApp;
        self.apps().entry(app).or_insert_with(|| {
            let mut lists = context.application_ac_ls.iter();
            let list = lists.rfind(|entry| entry.access_type() == view);
            Seen {
                owner: owner.to_owned(),
                view: list.map_or_else(AccessList::default, |e| AccessList::parse(e.acl())),
            }
        });
    }

    /// The application's logs are deleted.
    pub fn forget(&self, app: ApplicationId) {
        self.apps().remove(&app);
    }

    /// Whether anybody is asked at all.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Lists of REST leave out what the caller may not see.
    pub fn filters_lists(&self) -> bool {
        self.enabled && self.filter_lists
    }

    /// Whether `user` may see `app`; one that is not known only administrators may. Looks up
    /// groups: blocking.
    pub fn may_view(&self, user: &str, app: ApplicationId) -> bool {
        if !self.enabled {
            return true;
        }
        let groups = groups_of(user);
        self.viewer(user, &groups)(app)
    }

    /// [`Self::may_view`] for many applications: groups are looked up once, blocking.
    pub fn visible(&self, user: &str, apps: &[ApplicationId]) -> Vec<bool> {
        if !self.enabled {
            return vec![true; apps.len()];
        }
        let groups = groups_of(user);
        apps.iter()
            .copied()
            .map(self.viewer(user, &groups))
            .collect()
    }

    fn viewer<'a>(
        &'a self,
        user: &'a str,
        groups: &'a [String],
    ) -> impl Fn(ApplicationId) -> bool + 'a {
        move |app| {
            let caller = Caller { user, groups };
            let apps = self.apps();
            let seen = apps.get(&app);
            let admitted = seen.is_some_and(|seen| seen.owner == user || seen.view.allows(caller));
            admitted || self.admins.allows(caller)
        }
    }
}

fn groups_of(user: &str) -> Vec<String> {
    let account = nix::unistd::User::from_name(user).ok().flatten();
    let (Some(account), Ok(name)) = (account, CString::new(user)) else {
        return Vec::new();
    };
    let ids = nix::unistd::getgrouplist(&name, account.gid).unwrap_or_default();
    let group = |id| nix::unistd::Group::from_gid(id).ok().flatten();
    ids.into_iter()
        .filter_map(|id| Some(group(id)?.name))
        .collect()
}

#[cfg(test)]
#[path = "acls_test.rs"]
mod tests;
