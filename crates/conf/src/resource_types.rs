//! `yarn.resource-types` and its bounds to lanes, with Hadoop's checks and texts (`ResourceUtils`).
//! May touch: the table.
//! Must not: know amounts of nodes, or order lanes otherwise than as configured.

use yarn_types::{GPU, ResourceType, ResourceTypes};

use crate::{error::Problem, gpu, table::Configuration, units};

const KEY: &str = "yarn.resource-types";

/// memory-mb, vcores, then the configured types in the order of `yarn.resource-types`.
///
/// `GPU` and `gpu` name the lane `yarn.io/gpu`, which then has that spelling as an alias, unless
/// node-resources.xml offers that literal type.
///
/// # Errors
/// What Hadoop refuses, in its words; and more types than there are lanes.
pub fn resource_types(conf: &Configuration) -> Result<ResourceTypes, Problem> {
    let mut types = vec![
        mandatory(conf, "memory-mb", "Mi", "mb", (1024, 8192))?,
        mandatory(conf, "vcores", "", "vcores", (1, 4))?,
    ];
    let mut alias = None;
    for written in conf.trimmed_strings(KEY)? {
        if written.is_empty() {
            continue;
        }
        let name = gpu::standard(conf, &written);
        let added = configured(conf, &written, name)?;
        if types.iter().any(|t| t.name == name) {
            return Err(conf.problem(
                KEY,
                format!("Error in config, key '{name}' specified twice"),
            ));
        }
        types.push(added);
        if name != written {
            alias = Some(written);
        }
    }
    let types = ResourceTypes::new(types).map_err(|text| conf.problem(KEY, text))?;
    Ok(match alias {
        Some(alias) => types.with_alias(&alias, GPU),
        None => types,
    })
}

/// Bounds of memory or vcores: `yarn.resource-types.<name>.…` before `yarn.scheduler.…`.
fn mandatory(
    conf: &Configuration,
    name: &str,
    unit: &str,
    suffix: &str,
    defaults: (i64, i64),
) -> Result<ResourceType, Problem> {
    let bound = |which: &str, default| -> Result<i64, Problem> {
        let of_type = conf.i64(&format!("{KEY}.{name}.{which}-allocation"), -1)?;
        if of_type == -1 {
            conf.i64(
                &format!("yarn.scheduler.{which}-allocation-{suffix}"),
                default,
            )
        } else {
            Ok(of_type)
        }
    };
    Ok(ResourceType {
        name: name.to_owned(),
        units: unit.to_owned(),
        minimum_allocation: bound("minimum", defaults.0)?,
        maximum_allocation: bound("maximum", defaults.1)?,
    })
}

/// The type `name` with the keys of the spelling that the file uses, or else of the name itself.
fn configured(conf: &Configuration, written: &str, name: &str) -> Result<ResourceType, Problem> {
    if !is_valid_name(name) {
        return Err(conf.problem(
            KEY,
            format!(
                "'{name}' is not a valid resource name. A valid resource name must begin with a letter and contain only letters, numbers, and any of: '.', '_', or '-'. A valid resource name may also be optionally preceded by a name space followed by a slash. A valid name space consists of period-separated groups of letters, numbers, and dashes."
            ),
        ));
    }
    let key = |part: &str| {
        let as_written = format!("{KEY}.{written}.{part}");
        if conf.is_set(&as_written) {
            as_written
        } else {
            format!("{KEY}.{name}.{part}")
        }
    };
    let type_name = conf.get(&key("type"))?;
    let type_name = type_name.as_deref().unwrap_or("COUNTABLE");
    if type_name != "COUNTABLE" {
        return Err(conf.problem(
            &key("type"),
            format!("No enum constant org.apache.hadoop.yarn.api.protocolrecords.ResourceTypes.{type_name}"),
        ));
    }
    let unit = conf.get(&key("units"))?.unwrap_or_default();
    units::check(&unit).map_err(|text| conf.problem(&key("units"), text))?;
    if matches!(name, "memory" | "memory-mb" | "vcores") {
        let text = format!("Attempt to re-define mandatory resource '{name}'.");
        return Err(conf.problem(KEY, text));
    }
    if matches!(name, "yarn.io/gpu" | "yarn.io/fpga") && !unit.is_empty() {
        return Err(conf.problem(
            &key("units"),
            format!(
                "Defined mandatory resource type={name} inside resource-types.xml, however its type or unit is conflict to mandatory resource types, expected type=COUNTABLE, unit=; actual type=COUNTABLE actual unit={unit}"
            ),
        ));
    }
    Ok(ResourceType {
        name: name.to_owned(),
        units: unit,
        minimum_allocation: conf.i64(&key("minimum-allocation"), 0)?,
        maximum_allocation: conf.i64(&key("maximum-allocation"), i64::MAX)?,
    })
}

/// `[group.group…/]name` as in Hadoop's pattern.
fn is_valid_name(name: &str) -> bool {
    let (space, local) = match name.split_once('/') {
        Some((space, local)) => (Some(space), local),
        None => (None, name),
    };
    let group_ok = |group: &str| {
        group.starts_with(|c: char| c.is_ascii_alphanumeric())
            && group.ends_with(|c: char| c.is_ascii_alphanumeric())
            && group.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    space.is_none_or(|space| space.split('.').all(group_ok))
        && local.starts_with(|c: char| c.is_ascii_alphabetic())
        && local
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

#[cfg(test)]
#[path = "resource_types_test.rs"]
mod tests;
