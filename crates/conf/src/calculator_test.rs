//! Tests of the choice of a calculator.
//! May touch: tables made here.
//! Must not: calculate.

use super::{Calculator, KEY, resource_calculator};
use crate::{Configuration, resource_types};

const DEFAULT: &str = "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator";
const DOMINANT: &str = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";

fn choose(pairs: &[(&str, &str)]) -> Result<(Calculator, Option<String>), String> {
    let conf = Configuration::of(pairs.iter().copied());
    let types = resource_types(&conf).unwrap();
    resource_calculator(&conf, &types)
        .map(|(calculator, remark)| (calculator, remark.map(|p| p.to_string())))
        .map_err(|p| p.text)
}

#[test]
fn without_the_key_a_third_type_decides() {
    assert_eq!(choose(&[]), Ok((Calculator::Default, None)));
    let (calculator, remark) = choose(&[("yarn.resource-types", "yarn.io/gpu")]).unwrap();
    assert_eq!(calculator, Calculator::Dominant);
    assert!(remark.is_some_and(|text| text.contains("DominantResourceCalculator")));
}

#[test]
fn what_is_written_counts() {
    let gpu = ("yarn.resource-types", "yarn.io/gpu");
    assert_eq!(choose(&[(KEY, DEFAULT)]), Ok((Calculator::Default, None)));
    assert_eq!(
        choose(&[(KEY, DOMINANT), gpu]),
        Ok((Calculator::Dominant, None))
    );
    let error = choose(&[(KEY, DEFAULT), gpu]).unwrap_err();
    assert!(
        error.starts_with("RM uses DefaultResourceCalculator which used only memory as resource-type but invalid resource-types specified {memory-mb=name: memory-mb, units: Mi, ")
            && error.ends_with("}. Use DominantResourceCalculator instead to make effective use of these resource-types"),
        "{error}"
    );
    assert!(choose(&[(KEY, "DominantResourceCalculator")]).is_err());
}
