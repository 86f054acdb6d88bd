//! Tests of reading `/proc`, with a real process that uses memory.
//! May touch: `/proc`, one child process.
//! Must not: leave it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;

#[test]
fn stat_lines_are_parsed_whatever_the_name() {
    let line = "42 (a) (b c) S 7 41 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987 1048576 25 1";
    let p = procfs::parse_stat(line).unwrap();
    assert_eq!((p.pid, p.ppid, p.pgrp, p.session), (42, 7, 41, 40));
    assert_eq!(
        (p.utime, p.stime, p.start, p.vmem, p.rss_pages),
        (5, 6, 987, 1 << 20, 25)
    );
    assert_eq!(p.name, "(a) (b c)");
    assert!(procfs::parse_stat("").is_none() && procfs::parse_stat(")(").is_none());
}

#[test]
fn a_memory_hog_is_found_once() {
    // A shell variable of 64 MiB, then a line to say that it is there.
    let script = "x=$(head -c 67108864 /dev/zero | tr '\\0' x); echo up; read wait";
    let mut child = Command::new("/bin/bash")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let conf = MonitorConf {
        check_pmem: true,
        check_vmem: false,
        node_vcores: 8,
        processors: 4,
    };
    let mut monitor = Monitor::new(conf);
    let (small, large) = (32 << 20, 1 << 40);
    // The launcher's place is taken by this test, whose only child of interest is the shell.
    monitor.start(
        "hog",
        pid,
        -1,
        Limits {
            pmem: small,
            vmem: large,
        },
    );
    monitor.start(
        "fits",
        pid,
        -1,
        Limits {
            pmem: large,
            vmem: large,
        },
    );
    assert_eq!(monitor.poll(0), Poll::default());
    let poll = monitor.poll(3000);
    assert_eq!(poll.over.len(), 1, "{poll:?}");
    let over = &poll.over[0];
    assert_eq!(
        (over.container_id.as_str(), over.exit_status),
        ("hog", tree::KILLED_EXCEEDED_PMEM)
    );
    assert!(
        over.diagnostics
            .contains(&format!("[pid={pid},containerID=hog]"))
    );
    assert!(
        over.diagnostics.contains("/bin/bash -c x=$(head"),
        "{}",
        over.diagnostics
    );
    assert!(poll.used.pmem_mb >= 128, "{:?}", poll.used);
    assert!(monitor.poll(6000).over.is_empty(), "reported once");
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(monitor.poll(9000).samples.is_empty(), "gone");
}

#[test]
fn the_nodes_usage_is_parsed() {
    let meminfo = "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB\n\
                   SwapTotal: 2097152 kB\nSwapFree: 1048576 kB\n";
    let before = node::parse(meminfo, "cpu  10 0 10 70 10 0 0 0 5 0\ncpu0 1 1 1 1\n");
    assert_eq!((before.pmem_mb, before.vmem_mb), (4096, 5120));
    let after = node::parse(meminfo, "cpu  40 0 30 130 10 0 0 0 5 0\n");
    assert!((after.cpu_since(&before) - 50.0 / 110.0).abs() < 0.001);
    assert_eq!(node::parse("", ""), NodeUsage::default());
}
