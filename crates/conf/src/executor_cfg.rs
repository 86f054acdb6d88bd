//! Who may own containers: `container-executor.cfg` and the keys that stand for it in yarn-site.xml.
//! May touch: that file.
//! Must not: look up accounts; the NodeManager does.

use std::{
    collections::BTreeMap,
    io::{Error, ErrorKind},
    path::Path,
};

use crate::{
    error::{LoadError, Problem},
    table::Configuration,
    xml,
};

const PREFIX: &str = "yarn.nodemanager.linux-container-executor.";
/// `min.user.id` when nobody says (container-executor's own default).
const MIN_USER_ID_DEFAULT: u32 = 1000;
/// `banned.users` when nobody says (container-executor's own default).
const BANNED_DEFAULT: [&str; 4] = ["yarn", "mapred", "hdfs", "bin"];

/// `key=value` lines of container-executor.cfg, those of a section as `section.key`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ExecutorCfg(BTreeMap<String, String>);

impl ExecutorCfg {
    /// Reads `container-executor.cfg` in `dir`; a file that is not there holds nothing.
    ///
    /// # Errors
    /// It is there and cannot be read, or holds a line that is none.
    pub fn read(dir: &Path) -> Result<Self, LoadError> {
        let path = dir.join("container-executor.cfg");
        let bytes = match xml::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(LoadError::Io { path, source }),
        };
        let text = String::from_utf8_lossy(&bytes);
        Self::parse(&text).map_err(|text| LoadError::Io {
            path,
            source: Error::new(ErrorKind::InvalidData, text),
        })
    }

    /// Reads the lines of `text`; `#` comments and blank lines are skipped.
    ///
    /// # Errors
    /// A line that is neither `[section]` nor `key=value`, with its number.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut values = BTreeMap::new();
        let mut section = String::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                section = format!("{}.", name.trim());
                continue;
            }
            let (key, value) = line.split_once('=').ok_or_else(|| {
                format!("line {number}: '{line}' is neither [section] nor key=value")
            })?;
            // a comment may follow a value: `banned.users=#comma separated list`
            let value = value.split('#').next().unwrap_or_default().trim();
            values.insert(format!("{section}{}", key.trim()), value.to_owned());
        }
        Ok(Self(values))
    }

    /// The value of `key`; one that is empty counts as absent.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .get(key)
            .map(String::as_str)
            .filter(|v| !v.is_empty())
    }
}

/// Which accounts may own containers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchUsers {
    /// Smallest uid that may (`min.user.id`).
    pub min_user_id: u32,
    /// Accounts that may not, whatever their uid (`banned.users`).
    pub banned: Vec<String>,
    /// Accounts that may although their uid is below (`allowed.system.users`).
    pub allowed_system_users: Vec<String>,
    /// `nonsecure-mode.limit-users`: everybody's containers run as `local_user`.
    pub limit_users: bool,
    /// `nonsecure-mode.local-user`.
    pub local_user: String,
}

/// The rules of `conf`, whose keys go before those of container-executor.cfg.
///
/// # Errors
/// A value that is no number or no list.
pub fn launch_users(conf: &Configuration, cfg: &ExecutorCfg) -> Result<LaunchUsers, Problem> {
    let list = |name: &str| -> Result<Option<Vec<String>>, Problem> {
        let key = format!("{PREFIX}{name}");
        let text = match conf.get(&key)? {
            Some(text) => Some(text),
            None => cfg.get(name).map(str::to_owned),
        };
        Ok(text.map(|t| {
            t.split(',')
                .map(|u| u.trim().to_owned())
                .filter(|u| !u.is_empty())
                .collect()
        }))
    };
    let min_key = format!("{PREFIX}min.user.id");
    let min_default = match cfg.get("min.user.id") {
        None => MIN_USER_ID_DEFAULT,
        Some(text) => text.parse().map_err(|_| {
            Problem::general(format!(
                "container-executor.cfg: min.user.id = '{text}': is not a uid such as 1000"
            ))
        })?,
    };
    let local_user = conf
        .get_trimmed(&format!("{PREFIX}nonsecure-mode.local-user"))?
        .filter(|u| !u.is_empty())
        .unwrap_or_else(|| "nobody".to_owned());
    Ok(LaunchUsers {
        min_user_id: conf.u32(&min_key, min_default)?,
        banned: list("banned.users")?.unwrap_or_else(|| BANNED_DEFAULT.map(str::to_owned).to_vec()),
        allowed_system_users: list("allowed.system.users")?.unwrap_or_default(),
        limit_users: conf.bool(&format!("{PREFIX}nonsecure-mode.limit-users"), true)?,
        local_user,
    })
}

#[cfg(test)]
#[path = "executor_cfg_test.rs"]
mod tests;
