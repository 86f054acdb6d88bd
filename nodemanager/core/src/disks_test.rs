//! Tests of the rules over disks.
//! May touch: the module under test.
//! Must not: look at a disk.

use super::*;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn space(used_percent: u64, total: u64) -> Space {
    Space {
        total,
        usable: total / 100 * (100 - used_percent),
    }
}

#[allow(clippy::unnecessary_wraps)] // as `judge` says it
fn full(text: &str) -> Option<Fault> {
    Some(Fault::Full(text.to_owned()))
}

fn looks(found: &[(&str, Result<Space, Fault>)]) -> Vec<Look> {
    found
        .iter()
        .map(|(path, found)| (PathBuf::from(path), found.clone()))
        .collect()
}

#[test]
fn limits_and_watermarks() {
    let percent = DiskRules {
        used_percent_back: 80.0,
        ..DiskRules::default()
    };
    let free = DiskRules {
        free_mb_min: 10,
        free_mb_back: 20,
        ..DiskRules::default()
    };
    let all = DiskRules {
        used_percent_max: 100.0,
        used_percent_back: 100.0,
        ..DiskRules::default()
    };
    let none = Space {
        total: 0,
        usable: 0,
    };
    let by_mib = |usable| Space {
        total: 40 * MIB,
        usable: usable * MIB,
    };
    let above = |limit: &str| full(&format!("used space above threshold of {limit}%"));
    let table = [
        (space(90, 100), percent, true, None),
        (space(91, 100), percent, true, above("90.0")),
        (space(85, 100), percent, false, above("80.0")),
        (space(80, 100), percent, false, None),
        (by_mib(10), free, true, None),
        (
            by_mib(9),
            free,
            true,
            full("free space below limit of 10MB"),
        ),
        (
            by_mib(19),
            free,
            false,
            full("free space below limit of 20MB"),
        ),
        (by_mib(20), free, false, None),
        (space(99, 100), all, true, None),
        (space(100, 100), all, true, above("100.0")),
        (none, all, true, None),
    ];
    for (space, rules, was_good, wanted) in table {
        assert_eq!(
            judge(space, &rules, was_good),
            wanted,
            "{space:?} {rules:?}"
        );
    }
}

#[test]
fn a_directory_goes_and_comes_back_by_the_lower_mark() {
    let rules = DiskRules {
        used_percent_back: 50.0,
        ..DiskRules::default()
    };
    let mut report = DiskReport::default();
    let mut healthy = Vec::new();
    for used in [10, 95, 70, 50, 70] {
        let found = looks(&[("/d", Ok(space(used, GIB)))]);
        report = report.next(found.clone(), found, &rules);
        healthy.push(report.healthy(&rules));
    }
    assert_eq!(healthy, [true, false, false, true, true]);
    assert_eq!(report.text(&rules), "");
}

#[test]
fn a_full_node_reads_as_in_hadoop() {
    let rules = DiskRules::default();
    let found = |path| looks(&[(path, Ok(space(99, GIB)))]);
    let report = DiskReport::default().next(found("/yarn/local"), found("/yarn/log"), &rules);
    assert_eq!(
        report.text(&rules),
        "1/1 local-dirs usable space is below configured utilization percentage/no more usable \
         space [ /yarn/local : used space above threshold of 90.0% ] ; 1/1 log-dirs usable space \
         is below configured utilization percentage/no more usable space [ /yarn/log : used space \
         above threshold of 90.0% ] "
    );
    assert!(!report.healthy(&rules));
    let off = DiskRules {
        enabled: false,
        ..rules
    };
    assert_eq!(
        (report.healthy(&off), report.text(&off)),
        (true, String::new())
    );
}

#[test]
fn errors_come_before_full_ones() {
    let rules = DiskRules::default();
    let error = |text: &str| Err(Fault::Error(text.to_owned()));
    let local = looks(&[
        ("/a", error("Cannot create directory: /a")),
        ("/b", Ok(space(99, GIB))),
        ("/c", error("Not a directory: /c")),
        ("/d", Ok(space(1, GIB))),
    ]);
    let report = DiskReport::default().next(local, looks(&[("/l", Ok(space(1, GIB)))]), &rules);
    assert_eq!(
        report.text(&rules),
        "2/4 local-dirs have errors:  [ /a : Cannot create directory: /a , /c : Not a directory: \
         /c ] 1/4 local-dirs usable space is below configured utilization percentage/no more \
         usable space [ /b : used space above threshold of 90.0% ] ; "
    );
    assert_eq!(report.local.good_paths(), [PathBuf::from("/d")]);
    assert!(report.healthy(&rules), "a quarter of the disks is enough");
}

#[test]
fn too_few_of_either_kind_are_unhealthy() {
    let rules = DiskRules::default();
    let kind = |good: usize, bad: usize| -> Vec<Look> {
        let fault = || Err(Fault::Error("x".to_owned()));
        let good = (0..good).map(|n| (format!("/g{n}").into(), Ok(space(1, GIB))));
        let bad = (0..bad).map(|n| (format!("/b{n}").into(), fault()));
        good.chain(bad).collect()
    };
    for (local, log, healthy) in [
        ((1, 3), (1, 0), true),
        ((1, 4), (1, 0), false),
        ((1, 0), (1, 4), false),
        ((0, 1), (1, 0), false),
    ] {
        let report = DiskReport::default().next(kind(local.0, local.1), kind(log.0, log.1), &rules);
        assert_eq!(report.healthy(&rules), healthy, "{local:?} {log:?}");
    }
}

#[test]
fn picks_are_spread_by_free_space() {
    let report = Report {
        good: vec![("/small".into(), 10 * GIB), ("/big".into(), 90 * GIB)],
        bad: Vec::new(),
    };
    let big = (0..1000)
        .filter(|turn| report.pick(*turn) == Some(Path::new("/big")))
        .count();
    assert!(
        (800..=980).contains(&big),
        "{big} of 1000 picks went to nine tenths of the space"
    );
    assert_eq!(Report::default().pick(1), None);
}
