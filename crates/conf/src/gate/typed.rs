//! Every honoured key that is set must expand and be of its kind, before anything starts.
//! May touch: the table and the key tables.
//! Must not: refuse what Hadoop takes.

use crate::{
    error::Problem,
    gpu,
    keys::{self, Kind, Reader},
    load::Daemon,
    node_labels, node_resources, resource_calculator, resource_types,
    table::Configuration,
    values::{self, TimeUnit},
};

pub(super) fn check(
    daemon: Daemon,
    conf: &Configuration,
    refused: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) {
    let other = match daemon {
        Daemon::ResourceManager => Reader::Nm,
        Daemon::NodeManager => Reader::Rm,
    };
    for (key, _) in conf.set_keys() {
        let found = match keys::find(key) {
            Some(known) if known.reader != other => kind(conf, key, known.kind),
            _ if key.starts_with("yarn.scheduler.capacity.")
                && daemon == Daemon::ResourceManager =>
            {
                conf.get(key).map(|_| None)
            }
            _ => Ok(None),
        };
        match found {
            Ok(remark) => warnings.extend(remark),
            Err(problem) => refused.push(problem),
        }
    }
    match resource_types(conf) {
        Err(problem) => push_new(refused, problem),
        Ok(types) => match daemon {
            Daemon::ResourceManager => match resource_calculator(conf, &types) {
                Ok((_, remark)) => warnings.extend(remark),
                Err(problem) => push_new(refused, problem),
            },
            Daemon::NodeManager => {
                if let Err(problem) = node_resources(conf, &types) {
                    push_new(refused, problem);
                }
                refused.extend(gpu::unnamed_type(conf, &types));
            }
        },
    }
    if daemon == Daemon::ResourceManager {
        if let Err(problem) = node_labels(conf) {
            push_new(refused, problem);
        }
        for rule in [memory_bounds, vcore_bounds, attempts, expiry] {
            // a value that is no number is refused above
            refused.extend(rule(conf).ok().flatten());
        }
    }
}

/// A value may be found wrong as a key of its own and as part of a whole: said once.
fn push_new(refused: &mut Vec<Problem>, problem: Problem) {
    if !refused.iter().any(|p| p.key == problem.key) {
        refused.push(problem);
    }
}

fn kind(conf: &Configuration, key: &str, kind: Kind) -> Result<Option<Problem>, Problem> {
    match kind {
        Kind::Int => conf.i32(key, 0).map(|_| ())?,
        Kind::Long => conf.i64(key, 0).map(|_| ())?,
        Kind::Duration => conf
            .duration_ms(key, TimeUnit::Milliseconds, 0)
            .map(|_| ())?,
        Kind::Float => conf.f32(key, 0.0).map(|_| ())?,
        Kind::Address => conf.host_port(key, "", 1).map(|_| ())?,
        Kind::Bool => {
            let text = conf.get_trimmed(key)?.unwrap_or_default();
            if !text.is_empty() && values::parse_bool(&text).is_none() {
                let remark = "is neither true nor false: Hadoop takes its default instead";
                return Ok(Some(conf.problem(key, remark)));
            }
        }
        Kind::Text | Kind::List | Kind::Path | Kind::Choice => {
            let text = conf.get(key)?.unwrap_or_default();
            if text.contains("${") {
                let remark = "still holds ${…}, which names no key, no system property and no variable that is set";
                return Ok(Some(conf.problem(key, remark)));
            }
        }
    }
    Ok(None)
}

/// `CapacityScheduler.validateConf`.
fn memory_bounds(conf: &Configuration) -> Result<Option<Problem>, Problem> {
    bounds(conf, "memory", "mb", (1024, 8192))
}

fn vcore_bounds(conf: &Configuration) -> Result<Option<Problem>, Problem> {
    bounds(conf, "vcores", "vcores", (1, 4))
}

fn bounds(
    conf: &Configuration,
    what: &str,
    suffix: &str,
    defaults: (i32, i32),
) -> Result<Option<Problem>, Problem> {
    let [min_key, max_key] =
        ["minimum", "maximum"].map(|m| format!("yarn.scheduler.{m}-allocation-{suffix}"));
    let min = conf.i32(&min_key, defaults.0)?;
    let max = conf.i32(&max_key, defaults.1)?;
    if min > 0 && min <= max {
        return Ok(None);
    }
    Ok(Some(conf.problem(
        if conf.is_set(&max_key) { &max_key } else { &min_key },
        format!(
            "Invalid resource scheduler {what} allocation configuration, {min_key}={min}, {max_key}={max}, min and max should be greater than 0, max should be no smaller than min."
        ),
    )))
}

/// `ResourceManager.validateConfigs`.
fn attempts(conf: &Configuration) -> Result<Option<Problem>, Problem> {
    let key = "yarn.resourcemanager.am.max-attempts";
    let attempts = conf.i32(key, 2)?;
    let global_key = "yarn.resourcemanager.am.global.max-attempts";
    let global = conf.i32(global_key, attempts)?;
    for (key, what, value) in [(global_key, "global", global), (key, "rm am", attempts)] {
        if value <= 0 {
            return Ok(Some(conf.problem(
                key,
                format!("Invalid {what} max attempts configuration, {key}={value}, it should be a positive integer."),
            )));
        }
    }
    Ok(None)
}

fn expiry(conf: &Configuration) -> Result<Option<Problem>, Problem> {
    let key = "yarn.nm.liveness-monitor.expiry-interval-ms";
    let heartbeat_key = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms";
    let expiry = conf.i64(key, 600_000)?;
    let heartbeat = conf.i64(heartbeat_key, 1000)?;
    Ok((expiry < heartbeat).then(|| {
        conf.problem(
            key,
            format!(
                "Nodemanager expiry interval should be no less than heartbeat interval, {key}={expiry}, {heartbeat_key}={heartbeat}"
            ),
        )
    }))
}
