//! Tests: keys of the disk and the script checkers.
//! May touch: the module under test.
//! Must not: read files.

use super::*;

fn rules(pairs: &[(&str, &str)]) -> DiskRules {
    let of = |(key, value): &(&str, &str)| {
        (
            format!("yarn.nodemanager.disk-health-checker.{key}"),
            (*value).to_owned(),
        )
    };
    let pairs: Vec<(String, String)> = pairs.iter().map(of).collect();
    let pairs = pairs.iter().map(|(k, v)| (k.as_str(), v.as_str()));
    disks(&Configuration::of(pairs)).unwrap()
}

fn scripts_of(pairs: &[(&str, &str)]) -> Result<Vec<HealthScript>, Problem> {
    let of = |(key, value): &(&str, &str)| {
        (
            format!("yarn.nodemanager.health-checker.{key}"),
            (*value).to_owned(),
        )
    };
    let pairs: Vec<(String, String)> = pairs.iter().map(of).collect();
    scripts(&Configuration::of(
        pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())),
    ))
}

#[test]
fn disk_limits_are_corrected_as_in_hadoop() {
    let default = DiskRules::default();
    assert_eq!(rules(&[]), default);
    let max = "max-disk-utilization-per-disk-percentage";
    let low = "disk-utilization-watermark-low-per-disk-percentage";
    let (min, high) = (
        "min-free-space-per-disk-mb",
        "min-free-space-per-disk-watermark-high-mb",
    );
    let used = |max, back| DiskRules {
        used_percent_max: max,
        used_percent_back: back,
        ..default
    };
    assert_eq!(rules(&[(max, "95.5f")]), used(95.5, 95.5));
    assert_eq!(rules(&[(max, "80"), (low, "70")]), used(80.0, 70.0));
    assert_eq!(rules(&[(max, "80"), (low, "85")]), used(80.0, 80.0));
    assert_eq!(rules(&[(max, "150")]), used(100.0, 100.0));
    assert_eq!(rules(&[(max, "-5")]), used(0.0, 0.0));
    let free = |min, back| DiskRules {
        free_mb_min: min,
        free_mb_back: back,
        ..default
    };
    assert_eq!(rules(&[(min, "0x10")]), free(16, 16));
    assert_eq!(rules(&[(min, "10"), (high, "20")]), free(10, 20));
    assert_eq!(rules(&[(min, "10"), (high, "5")]), free(10, 10));
    assert_eq!(rules(&[(min, "-1")]), free(0, 0));
    assert_eq!(
        rules(&[("disk-utilization-threshold.enabled", "false")]),
        used(100.0, 100.0)
    );
    let off = rules(&[("enable", "false"), (min, "10")]);
    assert_eq!(
        off,
        DiskRules {
            enabled: false,
            ..used(100.0, 100.0)
        }
    );
}

#[test]
fn scripts_have_their_own_times_or_the_common_ones() {
    assert_eq!(scripts_of(&[]).unwrap(), []);
    let found = scripts_of(&[
        ("scripts", "gpu, none ,fan"),
        ("gpu.path", "/opt/gpu.sh"),
        ("gpu.opts", "-a,-b"),
        ("gpu.interval-ms", "5000"),
        ("fan.path", "/opt/fan.sh"),
        ("fan.timeout-ms", "100"),
        ("timeout-ms", "7000"),
    ])
    .unwrap();
    let shown: Vec<_> = found
        .iter()
        .map(|s| (s.name.as_str(), s.opts.len(), s.interval_ms, s.timeout_ms))
        .collect();
    assert_eq!(shown, [("gpu", 2, 5000, 7000), ("fan", 0, 600_000, 100)]);
    let old = scripts_of(&[("script.path", "/opt/x.sh")]).unwrap();
    assert_eq!(old[0].name, "script");
}

#[test]
fn what_hadoop_refuses_is_refused_by_key() {
    let base = ("script.path", "/x");
    for (pairs, wanted) in [
        ([base, ("interval-ms", "-1")], "health-checker.interval-ms"),
        ([base, ("script.timeout-ms", "-1")], "script.timeout-ms"),
        ([base, ("scripts", "a,b,c,d,e")], "names 5 scripts"),
    ] {
        let e = scripts_of(&pairs).unwrap_err().to_string();
        assert!(e.contains(wanted), "{e}");
    }
}
