//! Tests of the order and content of plans.
//! May touch: nothing.
//! Must not: need privileges.

use super::*;
use crate::limits::{CpuLimit, MemoryLimit};

fn spec(mode: Mode) -> Spec {
    Spec {
        container: "container_1_0001_01_000002".to_owned(),
        hierarchy: "/hadoop-yarn".to_owned(),
        mode,
        gpu_minors: vec![3],
        simulated_gpus: true,
        nodes: vec![],
        limits: LimitSpec {
            memory: Some(MemoryLimit {
                hard_bytes: 1 << 30,
                soft_bytes: None,
                swappiness: None,
            }),
            cpu: Some(CpuLimit {
                vcores: 2,
                quota: None,
            }),
            pids_max: None,
        },
    }
}

fn facts(v1: &[&str], v2: &[&str]) -> Facts {
    let mount = |c: &&str| ((*c).to_owned(), PathBuf::from(format!("/cg/{c}")));
    Facts {
        mounts: Mounts {
            v1: v1.iter().map(mount).collect(),
            v2: Some(PathBuf::from("/cg2")),
            v2_controllers: v2.iter().map(|c| (*c).to_owned()).collect(),
        },
        ..Facts::default()
    }
}

/// Short texts of the operations.
fn texts(plan: &Plan) -> Vec<String> {
    let text = |op: &Op| match op {
        Op::Parent { dir } => format!("parent {}", dir.display()),
        Op::Delegate { dir, controllers } => {
            format!("delegate {} {}", dir.display(), controllers.join(","))
        }
        Op::Cgroup { dir } => format!("cgroup {}", dir.display()),
        Op::Devices { dir, mode, .. } => format!("devices {} {mode:?}", dir.display()),
        Op::Limit { dir, mode, limit } => {
            format!("{} {} {mode:?}", limit.controller(), dir.display())
        }
    };
    plan.ops.iter().map(text).collect()
}

#[test]
fn v1_has_a_cgroup_per_controller_and_rules_before_limits() {
    let facts = facts(&["devices", "memory", "cpu", "freezer"], &[]);
    let plan = Plan::new(&spec(Mode::V1), &facts).unwrap();
    let id = "hadoop-yarn/container_1_0001_01_000002";
    assert_eq!(
        texts(&plan),
        [
            "parent /cg/devices/hadoop-yarn".to_owned(),
            "parent /cg/memory/hadoop-yarn".to_owned(),
            "parent /cg/cpu/hadoop-yarn".to_owned(),
            format!("cgroup /cg/devices/{id}"),
            format!("cgroup /cg/memory/{id}"),
            format!("cgroup /cg/cpu/{id}"),
            format!("devices /cg/devices/{id} V1"),
            format!("memory /cg/memory/{id} V1"),
            format!("cpu /cg/cpu/{id} V1"),
        ]
    );
}

#[test]
fn a_pure_v2_host_has_one_cgroup_and_controllers_are_handed_down() {
    let plan = Plan::new(&spec(Mode::V2), &facts(&[], &["cpu", "memory", "pids"])).unwrap();
    let id = "/cg2/hadoop-yarn/container_1_0001_01_000002";
    assert_eq!(
        texts(&plan),
        [
            "delegate /cg2 memory,cpu".to_owned(),
            "parent /cg2/hadoop-yarn".to_owned(),
            "delegate /cg2/hadoop-yarn memory,cpu".to_owned(),
            format!("cgroup {id}"),
            format!("devices {id} V2"),
            format!("memory {id} V2"),
            format!("cpu {id} V2"),
        ]
    );
}

#[test]
fn a_hybrid_host_keeps_limits_on_v1_and_device_rules_on_v2() {
    let facts = facts(&["devices", "memory", "cpu"], &["hugetlb"]);
    let plan = Plan::new(&spec(Mode::V2), &facts).unwrap();
    let texts = texts(&plan);
    let has = |text: &str| texts.iter().any(|t| t.starts_with(text));
    assert!(has("devices /cg2/hadoop-yarn/"), "{texts:?}");
    assert!(has("memory /cg/memory/hadoop-yarn/"), "{texts:?}");
    assert!(!has("delegate") && !has("cgroup /cg/devices"), "{texts:?}");
}

#[test]
fn what_is_not_mounted_is_named_with_a_remedy() {
    let mut facts = facts(&["memory", "cpu"], &[]);
    let error = Plan::new(&spec(Mode::V1), &facts).unwrap_err().to_string();
    assert!(error.contains("cgroups.v2.enabled to true"), "{error}");
    facts.mounts.v2 = None;
    let error = Plan::new(&spec(Mode::V1), &facts).unwrap_err().to_string();
    assert!(error.contains("mount -t cgroup -o devices"), "{error}");
    let error = Plan::new(&spec(Mode::V2), &facts).unwrap_err().to_string();
    assert!(error.contains("mount -t cgroup2"), "{error}");
    facts.mounts.v1.insert("devices".to_owned(), "/d".into());
    facts.mounts.v1.remove("memory");
    let error = Plan::new(&spec(Mode::V1), &facts).unwrap_err();
    assert_eq!(error, PlanError::NoController("memory"));
}

#[test]
fn names_never_leave_the_hierarchy() {
    let facts = facts(&["devices", "memory", "cpu"], &[]);
    for bad in ["", ".", "..", "a/b", "../x", "a b", "ä", ".hidden"] {
        let mut spec = spec(Mode::V1);
        spec.container = bad.to_owned();
        assert!(Plan::new(&spec, &facts).is_err(), "{bad:?}");
    }
    for bad in ["", "/", "/a/../b", "/../.."] {
        let mut spec = spec(Mode::V1);
        spec.hierarchy = bad.to_owned();
        assert!(Plan::new(&spec, &facts).is_err(), "{bad:?}");
    }
}

#[test]
fn control_minors_are_no_card() {
    let facts = facts(&["devices", "memory", "cpu"], &[]);
    for minor in [254, 255, 256] {
        let mut spec = spec(Mode::V1);
        spec.gpu_minors = vec![0, minor];
        assert_eq!(Plan::new(&spec, &facts), Err(PlanError::Minor(minor)));
    }
}
