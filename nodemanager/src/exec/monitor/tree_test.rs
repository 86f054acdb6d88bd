//! Tests of the memory rules and of Hadoop's sentence.
//! May touch: nothing outside memory.
//! Must not: read `/proc`.

use super::*;

const MB: u64 = 1 << 20;
const CONF: MonitorConf = MonitorConf {
    check_pmem: true,
    check_vmem: true,
    node_vcores: 8,
    processors: 4,
};
const LIMITS: Limits = Limits {
    pmem: 100 * MB,
    vmem: 210 * MB,
};

fn process(pid: i32, ppid: i32, rss_mb: u64) -> Process {
    Process {
        pid,
        ppid,
        pgrp: 11,
        session: 11,
        name: "(java)".into(),
        utime: 10,
        stime: 5,
        start: 1,
        vmem: rss_mb * MB,
        rss_pages: rss_mb * MB / page_bytes(),
    }
}

fn all(processes: &[Process]) -> BTreeMap<i32, Process> {
    processes.iter().map(|p| (p.pid, p.clone())).collect()
}

fn verdict(tracker: &Tracker, sample: Option<Sample>) -> Option<Over> {
    judge(tracker, &sample?, &LIMITS, &CONF, &|_| "java -X".into())
}

fn tracker() -> Tracker {
    Tracker::new("container_1_0001_01_000002".into(), 11, 10)
}

#[test]
fn over_the_limit_needs_two_polls_and_over_twice_needs_none() {
    let mut tracker = tracker();
    assert!(
        tracker.update(0, &all(&[process(11, 10, 150)])).is_none(),
        "no CPU figure yet"
    );
    let sample = tracker.update(3000, &all(&[process(11, 10, 150)]));
    assert_eq!(
        verdict(&tracker, sample).unwrap().exit_status,
        KILLED_EXCEEDED_PMEM
    );
    // A child of one poll is forgiven: a fork shows its parent's memory twice.
    let mut tracker = self::tracker();
    tracker.update(0, &all(&[process(11, 10, 90)]));
    let forked = all(&[process(11, 10, 90), process(12, 11, 90)]);
    let sample = tracker.update(3000, &forked);
    assert_eq!(verdict(&tracker, sample), None);
    let sample = tracker.update(6000, &forked);
    assert!(verdict(&tracker, sample).is_some());
    // Over twice the limit at once.
    let mut tracker = self::tracker();
    tracker.update(0, &all(&[process(11, 10, 90)]));
    let sample = tracker.update(3000, &all(&[process(11, 10, 90), process(12, 11, 111)]));
    assert!(verdict(&tracker, sample).is_some());
}

#[test]
fn a_recycled_pid_is_a_new_process() {
    let mut tracker = tracker();
    tracker.update(0, &all(&[process(11, 10, 90), process(12, 11, 90)]));
    let recycled = Process {
        start: 2,
        ..process(12, 11, 90)
    };
    let sample = tracker.update(3000, &all(&[process(11, 10, 90), recycled]));
    assert_eq!(verdict(&tracker, sample), None);
}

#[test]
fn orphans_below_the_launcher_count_and_strangers_do_not() {
    let mut tracker = tracker();
    let processes = all(&[process(11, 10, 10), process(20, 10, 7), process(30, 1, 500)]);
    tracker.update(0, &processes);
    let sample = tracker.update(1000, &processes).unwrap();
    assert_eq!(sample.pmem, 17 * MB);
}

#[test]
fn cpu_is_measured_between_polls() {
    let mut tracker = tracker();
    tracker.update(0, &all(&[process(11, 10, 1)]));
    let busy = Process {
        utime: 160,
        ..process(11, 10, 1)
    };
    let sample = tracker.update(1000, &all(&[busy])).unwrap();
    assert!(
        (sample.cpu_percent - 150.0).abs() < 0.01,
        "{}",
        sample.cpu_percent
    );
    assert_eq!(sample.cpu_ms, 1650);
}

#[test]
fn the_sentence_is_hadoops() {
    let mut tracker = tracker();
    tracker.update(0, &all(&[process(11, 10, 150)]));
    let sample = tracker.update(3000, &all(&[process(11, 10, 150)]));
    let pages = 150 * MB / page_bytes();
    assert_eq!(
        verdict(&tracker, sample).unwrap().diagnostics,
        format!(
            "Container [pid=11,containerID=container_1_0001_01_000002] is running 52428800B beyond \
             the 'PHYSICAL' memory limit. Current usage: 150 MB of 100 MB physical memory used; \
             150 MB of 210 MB virtual memory used. Killing container.\n\
             Dump of the process-tree for container_1_0001_01_000002 :\n\
             \t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) SYSTEM_TIME(MILLIS) \
             VMEM_USAGE(BYTES) RSSMEM_USAGE(PAGES) FULL_CMD_LINE\n\
             \t|- 11 10 11 11 (java) 10 5 157286400 {pages} java -X\n"
        )
    );
}

#[test]
fn virtual_memory_comes_first_and_each_check_can_be_off() {
    let mut tracker = tracker();
    tracker.update(0, &all(&[process(11, 10, 300)]));
    let sample = tracker.update(3000, &all(&[process(11, 10, 300)])).unwrap();
    let with = |conf: MonitorConf| {
        judge(&tracker, &sample, &LIMITS, &conf, &|_| String::new()).map(|o| o.exit_status)
    };
    assert_eq!(with(CONF), Some(KILLED_EXCEEDED_VMEM));
    assert_eq!(
        with(MonitorConf {
            check_vmem: false,
            ..CONF
        }),
        Some(KILLED_EXCEEDED_PMEM)
    );
    assert_eq!(
        with(MonitorConf {
            check_vmem: false,
            check_pmem: false,
            ..CONF
        }),
        None
    );
}

#[test]
fn sizes_read_as_in_java() {
    for (n, text) in [
        (0, "0"),
        (1023, "1023"),
        (1024, "1 K"),
        (1536, "1.5 K"),
        (1_342_177_280, "1.3 G"), // 1.25: halves go up
        ((1 << 30) - 1, "1.0 G"),
        (2 * (1 << 30), "2 G"),
        (u64::MAX, "16.0 E"),
    ] {
        assert_eq!(binary_prefix(n), text, "{n}");
    }
    assert_eq!(vmem_limit(1 << 30, 2.1), 2_254_857_728);
}
