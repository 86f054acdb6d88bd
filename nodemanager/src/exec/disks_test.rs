//! Tests of the rules over disks.
//! May touch: temporary directories.
//! Must not: leave them.

use super::*;

const GIB: u64 = 1 << 30;

fn report(good: &[(&str, u64)], bad: &[(&str, Fault)]) -> Report {
    Report {
        good: good.iter().map(|(p, f)| (PathBuf::from(p), *f)).collect(),
        bad: bad
            .iter()
            .map(|(p, f)| (PathBuf::from(p), f.clone()))
            .collect(),
    }
}

#[test]
fn a_disk_over_the_threshold_is_full() {
    let rules = DiskRules::default();
    assert_eq!(judge(Usage { used: 90, free: 10 }, &rules), None);
    let full = Fault::Full("used space above threshold of 90.0%".into());
    assert_eq!(judge(Usage { used: 91, free: 9 }, &rules), Some(full));
    let strict = DiskRules {
        free_mb_min: 2,
        ..rules
    };
    let low = Fault::Full("free space below limit of 2MB".into());
    assert_eq!(
        judge(
            Usage {
                used: 0,
                free: 1 << 20
            },
            &strict
        ),
        Some(low)
    );
    let hundred = DiskRules {
        used_percent_max: 100.0,
        ..rules
    };
    assert!(judge(Usage { used: 5, free: 0 }, &hundred).is_some());
}

#[test]
fn unusable_directories_are_skipped_and_reported() {
    let tmp = tempfile::tempdir().unwrap();
    let (good, file) = (tmp.path().join("good"), tmp.path().join("file"));
    std::fs::create_dir(&good).unwrap();
    std::fs::write(&file, "").unwrap();
    let rules = DiskRules {
        used_percent_max: 100.0,
        ..DiskRules::default()
    };
    let gone = tmp.path().join("gone");
    let dirs = [gone.clone(), good.clone(), file];
    let report = check(&dirs, std::slice::from_ref(&gone), &rules);
    assert_eq!(report.local.good_paths(), [good]);
    assert!(
        report.text().starts_with("2/3 local-dirs have errors: [ "),
        "{}",
        report.text()
    );
    assert!(
        report.text().contains("1/1 log-dirs have errors: [ "),
        "{}",
        report.text()
    );
    assert!(!report.healthy(&rules), "there is no log directory");
}

#[test]
fn a_full_disk_reads_as_in_hadoop() {
    let full = Fault::Full("used space above threshold of 90.0%".into());
    let report = DiskReport {
        local: report(&[], &[("/yarn/local", full)]),
        log: report(&[("/yarn/log", GIB)], &[]),
    };
    assert_eq!(
        report.text(),
        "1/1 local-dirs usable space is below configured utilization percentage/no more usable \
         space [ /yarn/local : used space above threshold of 90.0% ] "
    );
}

#[test]
fn a_quarter_of_the_disks_is_enough() {
    let rules = DiskRules::default();
    let fault = |p| (p, Fault::Error("x".into()));
    let log = report(&[("/g", GIB)], &[]);
    let three_bad = [fault("/b"), fault("/c"), fault("/d")];
    let local = report(&[("/a", GIB)], &three_bad);
    assert!(
        DiskReport {
            local,
            log: log.clone()
        }
        .healthy(&rules)
    );
    let four_bad = [fault("/b"), fault("/c"), fault("/d"), fault("/e")];
    let local = report(&[("/a", GIB)], &four_bad);
    assert!(!DiskReport { local, log }.healthy(&rules));
}

#[test]
fn picks_are_spread_by_free_space() {
    let report = report(&[("/small", 10 * GIB), ("/big", 90 * GIB)], &[]);
    let big = (0..1000)
        .filter(|turn| report.pick(*turn) == Some(Path::new("/big")))
        .count();
    assert!(
        (800..=980).contains(&big),
        "{big} of 1000 picks went to nine tenths of the space"
    );
    assert_eq!(Report::default().pick(1), None);
}
