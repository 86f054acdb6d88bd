//! `LifeConf`: what the life cycles of applications, attempts, containers and nodes need of yarn-site.xml.
//! May touch: `yarn_types::Lookup`.
//! Must not: read files; know queues (that is [`crate::conf`]).

use std::hash::{Hash, Hasher};

use yarn_types::{Lookup, Resource};

use crate::conf::ConfProblem;

/// A share of something, 0 to 1 as a rule; compared and hashed by its bits.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Share(pub f32);

impl Share {
    /// `count` is less than this share of `whole` (`SimpleBlacklistManager`: a float widened to
    /// double, so that 0.2 of 5 is a little more than 1).
    pub fn is_above(self, count: usize, whole: usize) -> bool {
        (count as f64) < f64::from(self.0) * whole as f64
    }
}

impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Share {}

impl Hash for Share {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// Settings of the life cycles, parsed once at start.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct LifeConf {
    /// `yarn.resourcemanager.am.max-attempts`: attempts of an application that asks for none.
    pub am_max_attempts: u32,
    /// `yarn.resourcemanager.am.global.max-attempts`: most attempts an application may ask for.
    pub am_global_max_attempts: u32,
    /// `yarn.am.liveness-monitor.expiry-interval-ms`.
    pub am_expiry_ms: u64,
    /// `yarn.nm.liveness-monitor.expiry-interval-ms`.
    pub nm_expiry_ms: u64,
    /// `yarn.resourcemanager.rm.container-allocation.expiry-interval-ms`.
    pub container_allocation_expiry_ms: u64,
    /// `yarn.resourcemanager.auto-update.containers`: nodes learn of larger containers from their
    /// heartbeat, not from ApplicationMasters.
    pub auto_update: bool,
    /// `yarn.resourcemanager.max-completed-applications`.
    pub max_completed_applications: usize,
    /// `yarn.resourcemanager.nodemanagers.heartbeat-interval-ms`.
    pub heartbeat_ms: u64,
    /// `yarn.resourcemanager.nodemanager.minimum.version`; `None` accepts every version,
    /// `EqualToRM` is already replaced by [`crate::RM_VERSION`].
    pub nm_minimum_version: Option<String>,
    /// `yarn.scheduler.minimum-allocation-{mb,vcores}`: a node that offers less is refused.
    pub node_minimum: Resource,
    /// Share of the nodes from which hosts that failed an ApplicationMaster are not avoided any
    /// more; `None` avoids none (`yarn.resourcemanager.am-scheduling.node-blacklisting-enabled`,
    /// `…-disable-threshold`).
    pub am_blacklist_share: Option<Share>,
    /// `yarn.resourcemanager.node-labels.am.default-node-label-expression`.
    pub am_default_label: Option<String>,
    /// `yarn.acl.enable`.
    pub acl_enabled: bool,
    /// Root of the RM's web pages, e.g. `http://rm.example:8088`, used in texts that users read.
    /// Taken from `yarn.resourcemanager.webapp.address`; the shell replaces it when the port comes
    /// from the OS.
    pub web_url: String,
}

impl LifeConf {
    /// Reads the settings; a key without value takes Hadoop 3.5's default.
    ///
    /// # Errors
    /// Every value that is no number in its range, with what would be right.
    pub fn from_lookup(conf: &dyn Lookup) -> Result<Self, Vec<ConfProblem>> {
        let mut read = Reader {
            conf,
            problems: Vec::new(),
        };
        let am_max_attempts = read.number("yarn.resourcemanager.am.max-attempts", 2, 1);
        let global = "yarn.resourcemanager.am.global.max-attempts";
        let am_global_max_attempts = read.number(global, am_max_attempts, 1);
        let completed = read.number("yarn.resourcemanager.max-completed-applications", 1000, 0);
        let minimum_mb = read.number("yarn.scheduler.minimum-allocation-mb", 1024, 0);
        let minimum_vcores = read.number("yarn.scheduler.minimum-allocation-vcores", 1, 0);
        let prefix = "yarn.resourcemanager.am-scheduling.node-blacklisting";
        let am_blacklist_share = read
            .flag(&format!("{prefix}-enabled"))
            .then(|| read.share(&format!("{prefix}-disable-threshold"), 0.2));
        let version = read.text("yarn.resourcemanager.nodemanager.minimum.version");
        let web = read.text("yarn.resourcemanager.webapp.address");
        let life = Self {
            am_max_attempts: u32::try_from(am_max_attempts).unwrap_or(u32::MAX),
            am_global_max_attempts: u32::try_from(am_global_max_attempts).unwrap_or(u32::MAX),
            am_expiry_ms: read.number("yarn.am.liveness-monitor.expiry-interval-ms", 900_000, 1),
            nm_expiry_ms: read.number("yarn.nm.liveness-monitor.expiry-interval-ms", 600_000, 1),
            container_allocation_expiry_ms: read.number(
                "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms",
                600_000,
                1,
            ),
            auto_update: read.flag("yarn.resourcemanager.auto-update.containers"),
            max_completed_applications: usize::try_from(completed).unwrap_or(usize::MAX),
            heartbeat_ms: read.number(
                "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms",
                1000,
                1,
            ),
            nm_minimum_version: match version.as_deref() {
                None | Some("NONE") => None,
                Some("EqualToRM") => Some(crate::RM_VERSION.to_owned()),
                Some(other) => Some(other.to_owned()),
            },
            node_minimum: Resource::new(
                i64::try_from(minimum_mb).unwrap_or(i64::MAX),
                i64::try_from(minimum_vcores).unwrap_or(i64::MAX),
            ),
            am_blacklist_share,
            acl_enabled: read.flag("yarn.acl.enable"),
            am_default_label: read
                .text("yarn.resourcemanager.node-labels.am.default-node-label-expression"),
            web_url: format!("http://{}", web.as_deref().unwrap_or("0.0.0.0:8088")),
        };
        if read.problems.is_empty() {
            Ok(life)
        } else {
            Err(read.problems)
        }
    }
}

struct Reader<'a> {
    conf: &'a dyn Lookup,
    problems: Vec<ConfProblem>,
}

impl Reader<'_> {
    fn text(&self, key: &str) -> Option<String> {
        let value = self.conf.get(key)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// `Configuration.getBoolean` with the default false: other words count as that.
    fn flag(&self, key: &str) -> bool {
        self.text(key)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// The number under `key`, as `Configuration.getFloat` reads it.
    fn share(&mut self, key: &str, default: f32) -> Share {
        let Some(value) = self.text(key) else {
            return Share(default);
        };
        match value.parse::<f32>() {
            Ok(share) if share.is_finite() => Share(share),
            _ => {
                let reason = "is not a number".to_owned();
                self.problems
                    .push(ConfProblem::new(key, Some(value), reason));
                Share(default)
            }
        }
    }

    /// The number under `key`, at least `min` and at most what Hadoop's `int` holds.
    fn number(&mut self, key: &str, default: u64, min: u64) -> u64 {
        let Some(value) = self.text(key) else {
            return default;
        };
        match value.parse::<u64>() {
            Ok(n) if n >= min && i32::try_from(n).is_ok() => n,
            _ => {
                let reason = format!("is not a whole number from {min} to {}", i32::MAX);
                self.problems
                    .push(ConfProblem::new(key, Some(value), reason));
                default
            }
        }
    }
}

#[cfg(test)]
#[path = "conf_life_test.rs"]
mod tests;
