//! Tests of resource types, with what Hadoop 3.5.0's `ResourceUtils` answered.
//! May touch: tables made here.
//! Must not: know amounts.

use yarn_types::ResourceTypes;

use super::{is_valid_name, resource_types};
use crate::Configuration;

fn of(pairs: &[(&str, &str)]) -> Result<ResourceTypes, String> {
    resource_types(&Configuration::of(pairs.iter().copied())).map_err(|p| p.text)
}

/// As the probe printed it.
fn show(types: &ResourceTypes) -> String {
    let mut out = String::new();
    for t in types.iter() {
        let bounds = (t.minimum_allocation, t.maximum_allocation);
        out = format!("{out}{}({},{},{}) ", t.name, t.units, bounds.0, bounds.1);
    }
    out
}

const MANDATORY: &str = "memory-mb(Mi,1024,8192) vcores(,1,4) ";

#[test]
fn types_are_those_hadoop_made() {
    let max = i64::MAX;
    let gpu = ("yarn.resource-types", "yarn.io/gpu");
    let r1 = ("yarn.resource-types", "r1");
    let cases: &[(&[(&str, &str)], String)] = &[
        (&[], String::new()),
        (
            &[
                ("yarn.resource-types", "GPU"),
                ("yarn.nodemanager.resource-type.GPU", "4"),
            ],
            format!("GPU(,0,{max}) "),
        ),
        (&[gpu], format!("yarn.io/gpu(,0,{max}) ")),
        (
            &[("yarn.resource-types", " fpga , yarn.io/gpu,, ")],
            format!("fpga(,0,{max}) yarn.io/gpu(,0,{max}) "),
        ),
        (
            &[r1, ("yarn.resource-types.r1.units", "G")],
            format!("r1(G,0,{max}) "),
        ),
        (
            &[("yarn.resource-types", "nvidia.com/gpu")],
            format!("nvidia.com/gpu(,0,{max}) "),
        ),
        (
            &[
                gpu,
                ("yarn.resource-types.yarn.io/gpu.minimum-allocation", "1"),
                ("yarn.resource-types.yarn.io/gpu.maximum-allocation", "4"),
            ],
            "yarn.io/gpu(,1,4) ".to_owned(),
        ),
        (
            &[
                r1,
                ("yarn.resource-types.r1.tags", "a,b"),
                ("yarn.resource-types.r1.minimum-allocation", "5"),
                ("yarn.resource-types.r1.maximum-allocation", "2"),
            ],
            "r1(,5,2) ".to_owned(),
        ),
    ];
    for (pairs, rest) in cases {
        let types = of(pairs).unwrap();
        assert_eq!(show(&types), format!("{MANDATORY}{rest}"));
    }
    let more = of(&[("yarn.resource-types.memory-mb.maximum-allocation", "16384")]).unwrap();
    assert_eq!(show(&more), "memory-mb(Mi,1024,16384) vcores(,1,4) ");
    let more = of(&[("yarn.scheduler.maximum-allocation-vcores", "32")]).unwrap();
    assert_eq!(show(&more), "memory-mb(Mi,1024,8192) vcores(,1,32) ");
}

#[test]
fn refusals_are_in_hadoops_words() {
    let invalid = |name: &str| {
        format!(
            "'{name}' is not a valid resource name. A valid resource name must begin with a letter and contain only letters, numbers, and any of: '.', '_', or '-'. A valid resource name may also be optionally preceded by a name space followed by a slash. A valid name space consists of period-separated groups of letters, numbers, and dashes."
        )
    };
    let gpu_unit = "Defined mandatory resource type=yarn.io/gpu inside resource-types.xml, however its type or unit is conflict to mandatory resource types, expected type=COUNTABLE, unit=; actual type=COUNTABLE actual unit=G";
    let cases: &[(&str, &str, &str, String)] = &[
        ("yarn.io/gpu", "units", "G", gpu_unit.to_owned()),
        (
            "r1",
            "units",
            "Q",
            "Unknown unit 'Q'. Known units are [, Gi, G, k, m, M, n, p, P, T, u, Ti, Pi, Mi, Ki]"
                .to_owned(),
        ),
        ("1gpu", "tags", "", invalid("1gpu")),
        ("/gpu", "tags", "", invalid("/gpu")),
        (
            "memory",
            "tags",
            "",
            "Attempt to re-define mandatory resource 'memory'.".to_owned(),
        ),
        (
            "memory-mb",
            "units",
            "Mi",
            "Attempt to re-define mandatory resource 'memory-mb'.".to_owned(),
        ),
        (
            "vcores",
            "tags",
            "",
            "Attempt to re-define mandatory resource 'vcores'.".to_owned(),
        ),
        (
            "r1",
            "type",
            "FOO",
            "No enum constant org.apache.hadoop.yarn.api.protocolrecords.ResourceTypes.FOO"
                .to_owned(),
        ),
        (
            "r1,r1",
            "tags",
            "",
            "Error in config, key 'r1' specified twice".to_owned(),
        ),
    ];
    for (names, part, value, text) in cases {
        let key = format!("yarn.resource-types.{names}.{part}");
        let error = of(&[("yarn.resource-types", names), (&key, value)]).unwrap_err();
        assert_eq!(error, *text);
    }
}

#[test]
fn a_ninth_lane_is_refused_by_name() {
    assert!(of(&[("yarn.resource-types", "a,b,c,d,e,f")]).is_ok());
    let error = of(&[("yarn.resource-types", "a,b,c,d,e,f,g")]).unwrap_err();
    assert!(error.contains("'g' is one too many: at most 8"), "{error}");
}

#[test]
fn names() {
    for name in ["a", "a.b-c_d1", "a.b/c", "1a/c", "x-y.z/A"] {
        assert!(is_valid_name(name), "{name}");
    }
    for name in [
        "", "1", "-a", "a/", "/a", "a/b/c", "-x/a", "x-/a", "a..b/c", "é", "a b",
    ] {
        assert!(!is_valid_name(name), "{name}");
    }
}
