//! Access lists as Hadoop writes and reads them.
//! May touch: names of users and groups, which come from the caller.
//! Must not: look up groups.

use std::fmt;

/// A user with its groups.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// Short name.
    pub user: &'a str,
    /// Every group.
    pub groups: &'a [String],
}

/// `users groups`, both comma lists; `*` for all; a blank for none
/// (`org.apache.hadoop.security.authorize.AccessControlList`).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct AccessList {
    all: bool,
    users: Vec<String>,
    groups: Vec<String>,
}

impl AccessList {
    /// Everyone.
    pub fn all() -> Self {
        Self {
            all: true,
            ..Self::default()
        }
    }

    /// Parses a list; there are no malformed ones.
    pub fn parse(text: &str) -> Self {
        let (users, groups) = text.split_once(' ').unwrap_or((text, ""));
        if [users, groups].iter().any(|part| part.trim() == "*") {
            return Self::all();
        }
        Self {
            all: false,
            users: names(users),
            groups: names(groups),
        }
    }

    /// Adds a user, as the ResourceManager's own account is added to `yarn.admin.acl`
    /// (`AdminACLsManager`).
    pub fn with_user(mut self, user: &str) -> Self {
        if !self.all && !self.users.iter().any(|u| u == user) {
            self.users.push(user.to_owned());
        }
        self
    }

    /// Whether everyone is on the list.
    pub fn is_all(&self) -> bool {
        self.all
    }

    /// Whether the caller or one of its groups is on the list.
    pub fn allows(&self, caller: Caller<'_>) -> bool {
        self.all
            || self.users.iter().any(|user| user == caller.user)
            || caller
                .groups
                .iter()
                .any(|group| self.groups.contains(group))
    }
}

/// As `AccessControlList.getAclString`.
impl fmt::Display for AccessList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.all {
            return f.write_str("*");
        }
        write!(f, "{} {}", self.users.join(","), self.groups.join(","))
    }
}

fn names(list: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in list.split(',').map(str::trim) {
        if !name.is_empty() && !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
    }
    names
}
