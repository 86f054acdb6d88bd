//! How GPUs are called: the standard name, and the spellings that people use for it.
//! May touch: the table.
//! Must not: know devices; `gpu-probe` does.

use yarn_types::{GPU, ResourceTypes};

use crate::{error::Problem, table::Configuration};

/// Where types are named, and where plugins are.
const TYPES: &str = "yarn.resource-types";
/// `NM_RESOURCE_PLUGINS`.
pub(crate) const PLUGINS: &str = "yarn.nodemanager.resource-plugins";
/// What is taken for [`GPU`], unless node-resources.xml offers a type of that very name.
const SPELLINGS: [&str; 2] = ["GPU", "gpu"];

/// [`GPU`] for a spelling of it, else the name itself.
pub(crate) fn standard<'a>(conf: &Configuration, name: &'a str) -> &'a str {
    if SPELLINGS.contains(&name) && !conf.offers_type(name) {
        GPU
    } else {
        name
    }
}

/// The one warning that names the standard spelling.
pub(crate) fn spelling(conf: &Configuration) -> Option<Problem> {
    [TYPES, PLUGINS].into_iter().find_map(|key| {
        let names = conf.trimmed_strings(key).ok()?;
        let other = names.iter().find(|n| standard(conf, n) != n.as_str())?;
        let text = format!(
            "'{other}' is taken for {GPU}, which is the standard spelling: write that here and in the files of clients"
        );
        Some(conf.problem(key, text))
    })
}

/// Whether `yarn.nodemanager.resource-plugins` asks for GPU discovery and isolation.
///
/// # Errors
/// A value whose references do not end.
pub fn gpu_plugin(conf: &Configuration) -> Result<bool, Problem> {
    let names = conf.trimmed_strings(PLUGINS)?;
    Ok(names.iter().any(|name| standard(conf, name) == GPU))
}

/// The plugins that are not built or not known, and the one that has no resource type.
pub(crate) fn refused_plugins(conf: &Configuration) -> Result<Option<Problem>, Problem> {
    for name in conf.trimmed_strings(PLUGINS)? {
        let text = match standard(conf, &name) {
            "" | GPU => continue,
            "yarn.io/fpga" => format!(
                "discovery and isolation of {name} are not built: containers would see every device; count them in node-resources.xml (yarn.nodemanager.resource-type.{name}) to schedule without isolation"
            ),
            _ => format!(
                "Trying to initialize resource plugin with name={name}, it is not supported, list of supported plugins:,[yarn.io/gpu, yarn.io/fpga]"
            ),
        };
        return Ok(Some(conf.problem(PLUGINS, text)));
    }
    Ok(None)
}

/// A node that discovers GPUs must be able to say so.
pub(crate) fn unnamed_type(conf: &Configuration, types: &ResourceTypes) -> Option<Problem> {
    let missing = gpu_plugin(conf).ok()? && types.gpu_lane().is_none();
    missing.then(|| {
        let text = format!(
            "{GPU} resource-type is not configured inside resource-types.xml, please configure it to enable GPU feature or remove {GPU} from {PLUGINS}"
        );
        conf.problem(PLUGINS, text)
    })
}

#[cfg(test)]
#[path = "gpu_test.rs"]
mod tests;
