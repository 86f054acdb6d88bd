//! `yarn.nodemanager.disk-health-checker.*` and `yarn.nodemanager.health-checker.*`.
//! May touch: the configuration table.
//! Must not: look at a disk or a script.

use nm_core::disks::DiskRules;
use yarn_conf::{Configuration, Problem};

use super::text;
use crate::health::HealthScript;

/// Hadoop's limit (`NodeHealthCheckerServiceImpl.MAX_SCRIPTS`).
const SCRIPTS_MAX: usize = 4;

pub(super) fn disks(conf: &Configuration) -> Result<DiskRules, Problem> {
    let key = |name: &str| format!("yarn.nodemanager.disk-health-checker.{name}");
    let enabled = conf.bool(&key("enable"), true)?;
    let by_used = conf.bool(&key("disk-utilization-threshold.enabled"), true)?;
    let by_free = conf.bool(&key("disk-free-space-threshold.enabled"), true)?;
    let used_max = conf.f32(&key("max-disk-utilization-per-disk-percentage"), 90.0)?;
    let used_back = conf.f32(
        &key("disk-utilization-watermark-low-per-disk-percentage"),
        used_max,
    )?;
    // Hadoop corrects what is out of bounds, and so do we.
    let used_max = used_max.clamp(0.0, 100.0);
    let used_back = used_back.clamp(0.0, used_max);
    let free_min = conf.i64(&key("min-free-space-per-disk-mb"), 0)?;
    let free_back = conf.i64(&key("min-free-space-per-disk-watermark-high-mb"), free_min)?;
    let free_min = u64::try_from(free_min).unwrap_or(0);
    let free_back = u64::try_from(free_back).unwrap_or(0).max(free_min);
    // Without checks a directory counts as long as it can be used at all.
    let (by_used, by_free) = (by_used && enabled, by_free && enabled);
    Ok(DiskRules {
        enabled,
        used_percent_max: if by_used { used_max } else { 100.0 },
        used_percent_back: if by_used { used_back } else { 100.0 },
        free_mb_min: if by_free { free_min } else { 0 },
        free_mb_back: if by_free { free_back } else { 0 },
        healthy_fraction_min: conf.f32(&key("min-healthy-disks"), 0.25)?,
    })
}

/// Scripts that have a path, in their order.
pub(super) fn scripts(conf: &Configuration) -> Result<Vec<HealthScript>, Problem> {
    const KEY: &str = "yarn.nodemanager.health-checker.scripts";
    let key = |name: &str| format!("yarn.nodemanager.health-checker.{name}");
    let names = if conf.raw(KEY).is_some() {
        conf.trimmed_strings(KEY)?
    } else {
        vec!["script".to_owned()]
    };
    if names.len() > SCRIPTS_MAX {
        let text = format!(
            "names {} scripts, at most {SCRIPTS_MAX} are run",
            names.len()
        );
        return Err(conf.problem(KEY, text));
    }
    let own_or_common = |name: &str, what: &str, default: i64| {
        let own = key(&format!("{name}.{what}"));
        match conf.i64(&own, 0)? {
            0 => Ok((key(what), conf.i64(&key(what), default)?)),
            value => Ok((own, value)),
        }
    };
    let mut found: Vec<HealthScript> = Vec::new();
    for name in names.iter().filter(|n| !n.is_empty()) {
        let Some(path) = text(conf, &key(&format!("{name}.path")))? else {
            continue;
        };
        let (interval_key, interval_ms) = own_or_common(name, "interval-ms", 600_000)?;
        let (timeout_key, timeout_ms) = own_or_common(name, "timeout-ms", 1_200_000)?;
        if interval_ms <= 0 {
            return Err(conf.problem(&interval_key, "must be above 0"));
        }
        if timeout_ms <= 0 {
            return Err(conf.problem(&timeout_key, "must be above 0"));
        }
        if found.iter().all(|one| one.name != *name) {
            found.push(HealthScript {
                name: name.clone(),
                path: path.into(),
                opts: conf.strings(&key(&format!("{name}.opts")))?,
                interval_ms: u64::try_from(interval_ms).unwrap_or(600_000),
                timeout_ms: u64::try_from(timeout_ms).unwrap_or(1_200_000),
            });
        }
    }
    Ok(found)
}

#[cfg(test)]
#[path = "health_test.rs"]
mod tests;
