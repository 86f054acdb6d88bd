//! `yarn.node-labels.*`: whether nodes have labels, who says which, and where they are kept.
//! May touch: the table.
//! Must not: open the directory (the RM's store does).

use std::path::PathBuf;

use crate::{error::Problem, expand::expand, table::Configuration};

const ENABLED: &str = "yarn.node-labels.enabled";
const KIND: &str = "yarn.node-labels.configuration-type";
const ROOT_DIR: &str = "yarn.node-labels.fs-store.root-dir";
const STORE: &str = "yarn.node-labels.fs-store.impl.class";

/// Settings of node labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeLabelSettings {
    /// `configuration-type` is `distributed`: nodes say their labels themselves. Otherwise
    /// (`centralized`) an administrator says them.
    pub distributed: bool,
    /// Directory of the store.
    pub dir: PathBuf,
}

/// What the RM needs to know of node labels; `None` while they are not enabled.
///
/// # Errors
/// A directory that is not on this machine, a kind or a store that is not built.
pub fn node_labels(conf: &Configuration) -> Result<Option<NodeLabelSettings>, Problem> {
    if !conf.bool(ENABLED, false)? {
        return Ok(None);
    }
    let distributed = match text(conf, KIND)?.as_str() {
        "" | "centralized" => false,
        "distributed" => true,
        "delegated-centralized" => {
            let text = "labels that a class in the ResourceManager says are not built; write centralized or distributed";
            return Err(conf.problem(KIND, text));
        }
        _ => return Err(conf.problem(KIND, "is neither centralized nor distributed")),
    };
    let class = text(conf, STORE)?;
    let known = ["FileSystemNodeLabelsStore", "NonAppendableFSNodeLabelStore"];
    let package = "org.apache.hadoop.yarn.nodelabels.";
    let name = class.strip_prefix(package).unwrap_or(&class);
    if !class.is_empty() && !known.contains(&name) {
        let text = format!("is not built; write {package}{}", known[0]);
        return Err(conf.problem(STORE, text));
    }
    for (key, refused, reason) in [
        (
            "yarn.node-labels.exclusive-enforced-partitions",
            text(conf, "yarn.node-labels.exclusive-enforced-partitions")?,
            "is not built: applications would be let into partitions that it closes; remove it",
        ),
        (
            "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation",
            text(
                conf,
                "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation",
            )?
            .replace("false", ""),
            "is not built: ApplicationMasters run in the partition that they ask for; write false",
        ),
    ] {
        if !refused.is_empty() {
            return Err(conf.problem(key, reason));
        }
    }
    Ok(Some(NodeLabelSettings {
        distributed,
        dir: directory(conf)?,
    }))
}

/// What an administrator should know of where labels are kept; `None` while there is nothing to say.
pub(crate) fn remark(conf: &Configuration) -> Option<Problem> {
    let unset = conf
        .get_trimmed(ROOT_DIR)
        .ok()?
        .unwrap_or_default()
        .is_empty();
    let settings = node_labels(conf).ok()??;
    unset.then(|| {
        let text = format!(
            "is not set: labels are kept in {}, which a restart of the machine may empty",
            settings.dir.display()
        );
        conf.problem(ROOT_DIR, text)
    })
}

fn text(conf: &Configuration, key: &str) -> Result<String, Problem> {
    Ok(conf.get_trimmed(key)?.unwrap_or_default())
}

/// A path without a scheme is one of `fs.defaultFS`; none is Hadoop's own (`FileSystemNodeLabelsStore`).
fn directory(conf: &Configuration) -> Result<PathBuf, Problem> {
    let written = text(conf, ROOT_DIR)?;
    let want = "a directory of this machine, as file:///var/lib/hadoop-yarn/node-labels";
    if written.is_empty() {
        return expand(conf, "/tmp/hadoop-yarn-${user.name}/node-labels")
            .map(PathBuf::from)
            .map_err(|text| conf.problem(ROOT_DIR, text));
    }
    let elsewhere = || conf.problem(ROOT_DIR, format!("is not built: want {want}"));
    let path = match written.split_once(':') {
        Some(("file", rest)) => rest,
        Some((scheme, _)) if !scheme.contains('/') => return Err(elsewhere()),
        _ => {
            let fs = text(conf, "fs.defaultFS")?;
            if !fs.is_empty() && !fs.starts_with("file:") {
                return Err(elsewhere());
            }
            &written
        }
    };
    let path = match path.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
        None => path,
    };
    if path.starts_with('/') {
        Ok(PathBuf::from(path))
    } else {
        Err(conf.problem(ROOT_DIR, format!("is not absolute: want {want}")))
    }
}

#[cfg(test)]
#[path = "node_labels_test.rs"]
mod tests;
