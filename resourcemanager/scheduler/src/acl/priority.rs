//! `acl_application_max_priority`: who may use which priority in a queue
//! (`AppPriorityACLConfigurationParser`, `AppPriorityACLsManager`).
//! May touch: names of users and groups.
//! Must not: clamp a priority to the cluster's maximum (the caller did).

use std::fmt;

use super::{AccessList, Caller};

/// One `[user=… group=… max_priority=… default_priority=…]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PriorityAcl {
    /// Whom it is about.
    pub list: AccessList,
    /// Highest priority that they may use.
    pub max: i32,
    /// Priority of those who ask none.
    pub default: Option<i32>,
}

/// The entries of one queue, the lowest maximum first; none admits everyone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PriorityAcls(Vec<PriorityAcl>);

/// A part of the setting that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PriorityAclProblem {
    /// The entry between its brackets.
    pub entry: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for PriorityAclProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry [{}]: {}", self.entry, self.message)
    }
}

impl std::error::Error for PriorityAclProblem {}

impl PriorityAcls {
    /// Parses the setting; text outside brackets, as the default `*`, says nothing.
    ///
    /// # Errors
    /// The first entry with an unknown key, a priority that is no number, nobody named or no
    /// `max_priority`: Hadoop does not start with these.
    pub fn parse(text: &str, cluster_max: i32) -> Result<Self, PriorityAclProblem> {
        let mut acls = Vec::new();
        for part in text.split('[').skip(1) {
            let entry = part.split(']').next().unwrap_or_default();
            if !entry.trim().is_empty() {
                let problem = |message| PriorityAclProblem {
                    entry: entry.to_owned(),
                    message,
                };
                acls.push(parse_entry(entry, cluster_max).map_err(problem)?);
            }
        }
        acls.sort_by_key(|acl| acl.max);
        Ok(Self(acls))
    }

    /// The entries.
    pub fn entries(&self) -> &[PriorityAcl] {
        &self.0
    }

    /// Whether the caller may use `priority`.
    pub fn allows(&self, caller: Caller<'_>, priority: i32) -> bool {
        let fits = |acl: &PriorityAcl| acl.list.allows(caller) && priority <= acl.max;
        self.0.is_empty() || self.0.iter().any(fits)
    }

    /// The caller's default priority: that of the entry with the highest maximum.
    pub fn default_of(&self, caller: Caller<'_>) -> Option<i32> {
        let last = self.0.iter().rev().find(|acl| acl.list.allows(caller))?;
        last.default
    }
}

fn parse_entry(entry: &str, cluster_max: i32) -> Result<PriorityAcl, String> {
    let mut max = None;
    let mut default = None;
    // the first named is taken for users, the second for groups, as Hadoop does
    let mut named: Vec<&str> = Vec::new();
    for pair in entry.split(' ') {
        let mut sides = pair.split('=');
        let (Some(key), Some(value)) = (sides.next(), sides.next()) else {
            continue;
        };
        if value.is_empty() {
            continue;
        }
        match key.trim().to_ascii_uppercase().as_str() {
            "USER" | "GROUP" => named.push(value.trim()),
            "MAX_PRIORITY" => max = Some(number(value)?.min(cluster_max)),
            "DEFAULT_PRIORITY" => default = Some(number(value)?.max(0)),
            _ => {
                return Err(format!(
                    "key {key} is not one of user, group, max_priority, default_priority"
                ));
            }
        }
    }
    let list = match named[..] {
        [] => return Err("neither user nor group is named".to_owned()),
        ["*", ..] => AccessList::all(),
        [users] => AccessList::parse(users),
        [users, groups, ..] => AccessList::parse(&format!("{users} {groups}")),
    };
    let max = max.ok_or("max_priority is missing")?;
    Ok(PriorityAcl { list, max, default })
}

fn number(value: &str) -> Result<i32, String> {
    value
        .parse()
        .map_err(|_| format!("priority {value} is not a number"))
}
