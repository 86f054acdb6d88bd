//! `yarn.scheduler.capacity.resource-calculator`, and what a third resource type asks of it.
//! May touch: the table and the lanes.
//! Must not: calculate; the scheduler does.

use yarn_types::ResourceTypes;

use crate::{error::Problem, table::Configuration};

const KEY: &str = "yarn.scheduler.capacity.resource-calculator";
const PACKAGE: &str = "org.apache.hadoop.yarn.util.resource";

/// How resources are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calculator {
    /// `DefaultResourceCalculator`: memory alone.
    Default,
    /// `DominantResourceCalculator`: the largest share of any type.
    Dominant,
}

/// The calculator, and a remark when it is not the one Hadoop would take.
///
/// Key absent: Default as in Hadoop, but Dominant once a third type is configured, which Hadoop refuses.
///
/// # Errors
/// Hadoop's text for an explicit Default with a third type; a class that is not known.
pub fn resource_calculator(
    conf: &Configuration,
    types: &ResourceTypes,
) -> Result<(Calculator, Option<Problem>), Problem> {
    let more = types.len() > 2;
    let written = conf.get_trimmed(KEY)?;
    let Some(class) = written.filter(|_| conf.is_set(KEY)) else {
        if !more {
            return Ok((Calculator::Default, None));
        }
        let text = format!(
            "is not set: {PACKAGE}.DominantResourceCalculator is used because yarn.resource-types names more than memory and vcores"
        );
        return Ok((Calculator::Dominant, Some(conf.problem(KEY, text))));
    };
    match class.strip_prefix(PACKAGE).unwrap_or_default() {
        ".DominantResourceCalculator" => Ok((Calculator::Dominant, None)),
        ".DefaultResourceCalculator" if more => Err(conf.problem(
            KEY,
            format!(
                "RM uses DefaultResourceCalculator which used only memory as resource-type but invalid resource-types specified {}. Use DominantResourceCalculator instead to make effective use of these resource-types",
                show(types)
            ),
        )),
        ".DefaultResourceCalculator" => Ok((Calculator::Default, None)),
        _ => Err(conf.problem(
            KEY,
            format!("is not a calculator: write {PACKAGE}.DominantResourceCalculator or {PACKAGE}.DefaultResourceCalculator"),
        )),
    }
}

/// The map of types as Java prints it (`ResourceInformation.toString`).
fn show(types: &ResourceTypes) -> String {
    let each: Vec<String> = types
        .iter()
        .map(|t| {
            format!(
                "{0}=name: {0}, units: {1}, type: COUNTABLE, value: 0, minimum allocation: {2}, maximum allocation: {3}",
                t.name, t.units, t.minimum_allocation, t.maximum_allocation
            )
        })
        .collect();
    format!("{{{}}}", each.join(", "))
}

#[cfg(test)]
#[path = "calculator_test.rs"]
mod tests;
