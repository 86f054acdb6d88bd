//! Who runs a container: the account behind a submitting user.
//! May touch: the account database (getpwnam, getgrouplist).
//! Must not: start anything or change the own identity.

use std::ffi::CString;

use isolator::AccountIds;
use nix::unistd::{Group, Uid, User, getgrouplist};
use thiserror::Error;

/// The account a container's processes run as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Account name.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// Supplementary group ids, without group 0.
    pub groups: Vec<u32>,
    /// Whether the NodeManager must change to it (it runs as root).
    pub switch: bool,
}

impl Account {
    /// What the launcher is told: nothing where the NodeManager's own account stays.
    pub fn ids(&self) -> Option<AccountIds> {
        self.switch.then(|| AccountIds {
            uid: self.uid,
            gid: self.gid,
            groups: self.groups.clone(),
        })
    }
}

/// The keys that decide, with LinuxContainerExecutor's defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRules {
    /// `yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users`.
    pub limit_users: bool,
    /// `yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user`.
    pub local_user: String,
    /// `min.user.id` of container-executor.cfg.
    pub min_user_id: u32,
    /// `banned.users` of container-executor.cfg.
    pub banned_users: Vec<String>,
    /// `allowed.system.users` of container-executor.cfg: exempt from `min.user.id`.
    pub allowed_system_users: Vec<String>,
}

impl Default for AccountRules {
    fn default() -> Self {
        Self {
            limit_users: true,
            local_user: "nobody".to_owned(),
            min_user_id: 1000,
            banned_users: ["root", "yarn", "mapred", "hdfs", "bin"]
                .map(str::to_owned)
                .to_vec(),
            allowed_system_users: Vec::new(),
        }
    }
}

/// Why no account was found.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AccountError {
    /// `local-user` names no account.
    #[error(
        "yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user: no local account \
         {0:?}; name an existing account other than root"
    )]
    NoLocalUser(String),
    /// `local-user` is root or in root's group.
    #[error(
        "yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user: {0:?} is root or \
         has group 0; containers never run as root"
    )]
    LocalUserIsRoot(String),
    /// The user name could not be a directory name.
    #[error("user {0:?} is not a valid user name: letters, digits, '_', '.', '-' and '@' only")]
    BadName(String),
    /// The account database failed.
    #[error("account {name:?}: {reason}")]
    Database {
        /// Account looked for.
        name: String,
        /// What the system said.
        reason: String,
    },
}

/// Whether `user` may name a submitter: `nonsecure-mode.user-pattern`'s default,
/// `^[_.A-Za-z0-9][-@_.A-Za-z0-9]{0,255}?[$]?$`, and no name of a directory.
pub fn is_valid_user(user: &str) -> bool {
    let body = user.strip_suffix('$').unwrap_or(user);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '@');
    !matches!(body, "" | "." | "..")
        && body.len() <= 256
        && body.chars().all(plain)
        && !body.starts_with(['-', '@'])
}

/// The account for containers of `submitter`. A NodeManager that is not root runs them as
/// itself; root never does. Blocking: asks the account database.
///
/// # Errors
/// [`AccountError`] when `local-user` is needed and unusable.
pub fn account_for(submitter: &str, rules: &AccountRules) -> Result<Account, AccountError> {
    if !is_valid_user(submitter) {
        return Err(AccountError::BadName(submitter.to_owned()));
    }
    if !Uid::effective().is_root() {
        return own_account();
    }
    if !rules.limit_users
        && let Some(user) = look_up(submitter)?
        && passes(&user, rules)
    {
        let account = from_user(user)?;
        if account.gid != 0 {
            return Ok(account);
        }
    }
    let local = look_up(&rules.local_user)?
        .ok_or_else(|| AccountError::NoLocalUser(rules.local_user.clone()))?;
    let account = from_user(local)?;
    if account.uid == 0 || account.gid == 0 {
        return Err(AccountError::LocalUserIsRoot(rules.local_user.clone()));
    }
    Ok(account)
}

/// The rules of container-executor.cfg for one account.
fn passes(user: &User, rules: &AccountRules) -> bool {
    let uid = user.uid.as_raw();
    uid != 0
        && !rules.banned_users.contains(&user.name)
        && (uid >= rules.min_user_id || rules.allowed_system_users.contains(&user.name))
}

fn look_up(name: &str) -> Result<Option<User>, AccountError> {
    User::from_name(name).map_err(|e| AccountError::Database {
        name: name.to_owned(),
        reason: e.to_string(),
    })
}

fn from_user(user: User) -> Result<Account, AccountError> {
    let database = |reason: String| AccountError::Database {
        name: user.name.clone(),
        reason,
    };
    let c_name = CString::new(user.name.as_str()).map_err(|e| database(e.to_string()))?;
    let groups = getgrouplist(&c_name, user.gid).map_err(|e| database(e.to_string()))?;
    let groups = groups
        .into_iter()
        .map(nix::unistd::Gid::as_raw)
        .filter(|g| *g != 0)
        .collect();
    Ok(Account {
        uid: user.uid.as_raw(),
        gid: user.gid.as_raw(),
        groups,
        switch: true,
        name: user.name,
    })
}

/// The NodeManager's own account, which need not be in the database.
fn own_account() -> Result<Account, AccountError> {
    let uid = Uid::effective();
    let gid = nix::unistd::getegid();
    let name = User::from_uid(uid)
        .map_err(|e| AccountError::Database {
            name: uid.to_string(),
            reason: e.to_string(),
        })?
        .map_or_else(|| uid.to_string(), |u| u.name);
    Ok(Account {
        name,
        uid: uid.as_raw(),
        gid: gid.as_raw(),
        groups: Vec::new(),
        switch: false,
    })
}

/// Name of a group id, for texts; the number where it has none.
pub fn group_name(gid: u32) -> String {
    Group::from_gid(nix::unistd::Gid::from_raw(gid))
        .ok()
        .flatten()
        .map_or_else(|| gid.to_string(), |g| g.name)
}

#[cfg(test)]
#[path = "account_test.rs"]
mod tests;
