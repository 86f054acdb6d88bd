//! `yarn.nodemanager.node-labels.*`.
//! May touch: the configuration table.
//! Must not: look at a script.

use std::path::PathBuf;

use yarn_conf::{Configuration, Problem};

use super::text;

const KEY: &str = "yarn.nodemanager.node-labels";

/// Who says the node's label, and how often.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelSettings {
    /// Who.
    pub source: LabelSource,
    /// `provider.fetch-interval-ms`; `None` (-1) asks once, at start.
    pub interval_ms: Option<u64>,
}

/// `yarn.nodemanager.node-labels.provider`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LabelSource {
    /// `config`: `provider.configured-node-partition`, read again each time.
    Config,
    /// `script`.
    Script {
        /// `provider.script.path`.
        path: PathBuf,
        /// `provider.script.opts`.
        opts: Vec<String>,
        /// `provider.fetch-timeout-ms`.
        timeout_ms: u64,
    },
}

fn key(name: &str) -> String {
    format!("{KEY}.{name}")
}

fn is_set(conf: &Configuration) -> Result<Option<String>, Problem> {
    let provider = text(conf, &key("provider"))?;
    Ok(provider.map(|p| p.to_ascii_lowercase()))
}

/// How often a label that did not change is told, where there is a provider.
pub(super) fn resync_ms(conf: &Configuration) -> Result<Option<u64>, Problem> {
    if is_set(conf)?.is_none() {
        return Ok(None);
    }
    let ms = conf.i64(&key("resync-interval-ms"), 120_000)?;
    // Hadoop tells it with each heartbeat below 0.
    Ok(Some(u64::try_from(ms).unwrap_or(0)))
}

/// The provider, where there is one.
pub(super) fn read(conf: &Configuration) -> Result<Option<LabelSettings>, Problem> {
    let source = match is_set(conf)?.as_deref() {
        None => return Ok(None),
        Some("config") => LabelSource::Config,
        Some("script") => {
            let path_key = key("provider.script.path");
            let path = text(conf, &path_key)?;
            let timeout_key = key("provider.fetch-timeout-ms");
            let timeout_ms = conf.i64(&timeout_key, 1_200_000)?;
            if timeout_ms <= 0 {
                return Err(conf.problem(&timeout_key, "must be above 0"));
            }
            LabelSource::Script {
                path: path
                    .ok_or_else(|| conf.problem(&path_key, "must name the script"))?
                    .into(),
                opts: conf.strings(&key("provider.script.opts"))?,
                timeout_ms: u64::try_from(timeout_ms).unwrap_or(1_200_000),
            }
        }
        Some(_) => {
            let text = "a class is not built: write config or script";
            return Err(conf.problem(&key("provider"), text));
        }
    };
    let interval_key = key("provider.fetch-interval-ms");
    let interval_ms = match conf.i64(&interval_key, 600_000)? {
        -1 => None,
        ms if ms > 0 => u64::try_from(ms).ok(),
        _ => return Err(conf.problem(&interval_key, "must be above 0, or -1 for once")),
    };
    Ok(Some(LabelSettings {
        source,
        interval_ms,
    }))
}

#[cfg(test)]
#[path = "labels_test.rs"]
mod tests;
