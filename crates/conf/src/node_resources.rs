//! What a node offers: `yarn.nodemanager.resource.*` and `yarn.nodemanager.resource-type.<name>`.
//! May touch: the table.
//! Must not: look at the hardware; that is asked of the caller where the keys say so.

use yarn_types::{Resource, ResourceTypes};

use crate::{error::Problem, table::Configuration, units};

/// Keys of node-resources.xml, before the name of the type.
pub(crate) const PREFIX: &str = "yarn.nodemanager.resource-type.";
/// Memory of a node that says nothing (`DEFAULT_NM_PMEM_MB`), MiB.
const MEMORY_MB_DEFAULT: i64 = 8192;
/// Vcores of a node that says nothing (`DEFAULT_NM_VCORES`).
const VCORES_DEFAULT: i64 = 8;

/// Whether an amount was written down or is to be taken from the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeAmount {
    /// As configured, or Hadoop's default.
    Configured(i64),
    /// -1 with `yarn.nodemanager.resource.detect-hardware-capabilities`: ask the machine.
    Detect,
}

/// The node's resource by lane, and how memory (MiB) and vcores are to be found out.
///
/// A lane that is to be detected is 0 in the resource.
///
/// # Errors
/// A type that `yarn.resource-types` does not name, a bad unit or number.
pub fn node_resources(
    conf: &Configuration,
    types: &ResourceTypes,
) -> Result<(Resource, NodeAmount, NodeAmount), Problem> {
    let mut offered = Resource::ZERO;
    let keys: Vec<String> = yarn_types::Lookup::keys_with_prefix(conf, PREFIX);
    for key in keys {
        let name = &key[PREFIX.len()..];
        let Some((lane, unit)) = types
            .lane(name)
            .and_then(|lane| Some((lane, types.get(lane)?.units.as_str())))
        else {
            let known: Vec<&str> = types.iter().map(|t| t.name.as_str()).collect();
            return Err(conf.problem(
                &key,
                format!(
                    "Unknown resource '{name}'. Known resources are [{}]; name it in yarn.resource-types",
                    known.join(", ")
                ),
            ));
        };
        let value = conf.get(&key)?.unwrap_or_default();
        let amount = amount(&value, unit).map_err(|text| conf.problem(&key, text))?;
        offered = offered.with(lane, amount.saturating_mul(types.scale(lane)));
    }
    let detect = conf.bool(
        "yarn.nodemanager.resource.detect-hardware-capabilities",
        false,
    )?;
    let lane = |lane: usize, key: &str, default: i64| -> Result<NodeAmount, Problem> {
        if offered.0.get(lane).is_some_and(|v| *v != 0) {
            return Ok(NodeAmount::Configured(offered.0[lane]));
        }
        // both are 32-bit numbers in Hadoop, -1 stands for "not said"
        match i64::from(conf.i32(key, -1)?) {
            -1 if detect => Ok(NodeAmount::Detect),
            -1 => Ok(NodeAmount::Configured(default)),
            amount if amount <= 0 => {
                Err(conf.problem(key, "must be above 0, or -1 for the default"))
            }
            amount => Ok(NodeAmount::Configured(amount)),
        }
    };
    let memory = lane(0, "yarn.nodemanager.resource.memory-mb", MEMORY_MB_DEFAULT)?;
    let vcores = lane(1, "yarn.nodemanager.resource.cpu-vcores", VCORES_DEFAULT)?;
    for (index, amount) in [memory, vcores].into_iter().enumerate() {
        if let NodeAmount::Configured(amount) = amount {
            offered = offered.with(index, amount);
        }
    }
    Ok((offered, memory, vcores))
}

/// `8` or `5G` in `unit`.
fn amount(value: &str, unit: &str) -> Result<i64, String> {
    let value = crate::values::java_trim(value);
    let at = value.find(char::is_alphabetic).unwrap_or(value.len());
    let (number, written) = value.split_at(at);
    if !written.chars().all(char::is_alphabetic) {
        return Err(format!(
            "Units '{written}' contains non alphabet characters, which is not allowed."
        ));
    }
    let number: i64 = number
        .parse()
        .ok()
        .filter(|n| *n >= 0)
        .ok_or("is not an amount such as 8 or 5G")?;
    // without a unit Hadoop takes the number as whole units of one
    if written == unit {
        return Ok(number);
    }
    units::convert(written, unit, number)
}

#[cfg(test)]
#[path = "node_resources_test.rs"]
mod tests;
