//! Tests of what `--check` finds.
//! May touch: tables made here.
//! Must not: start a daemon.

use yarn_conf::Configuration;

use super::check;

const QUEUES: [(&str, &str); 2] = [
    ("yarn.scheduler.capacity.root.queues", "default"),
    ("yarn.scheduler.capacity.root.default.capacity", "100"),
];

fn lines(pairs: &[(&str, &str)], lenient: bool) -> (bool, Vec<String>) {
    let conf = Configuration::of(QUEUES.into_iter().chain(pairs.iter().copied()));
    let report = check(&conf, lenient);
    (report.accepted(), report.lines())
}

#[test]
fn all_parts_are_judged_and_each_key_is_said_once() {
    let (accepted, lines) = lines(
        &[
            ("yarn.resourcemanager.address", "host:99999"),
            ("yarn.scheduler.capacity.root.default.capacity", "50"),
            ("yarn.scheduler.capacity.root.default.state", "ASLEEP"),
        ],
        false,
    );
    assert!(!accepted);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    for (line, start) in lines.iter().zip([
        "-D: yarn.resourcemanager.address=host:99999: ",
        "-D: yarn.scheduler.capacity.root.default.state=ASLEEP: No enum constant",
        "-D: yarn.scheduler.capacity.root.queues=default: Illegal capacity sum of 0.5",
    ]) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn another_machine_need_not_be_one_of_the_pair() {
    let pair = [
        ("yarn.resourcemanager.ha.enabled", "true"),
        ("yarn.resourcemanager.ha.rm-ids", "rm1,rm2"),
        ("yarn.resourcemanager.hostname.rm1", "192.0.2.1"),
        ("yarn.resourcemanager.hostname.rm2", "192.0.2.2"),
    ];
    assert!(!lines(&pair, false).0);
    let (accepted, lenient) = lines(&pair, true);
    assert!(accepted, "{lenient:?}");
    assert!(
        lenient.iter().any(|l| l.contains("ha.id: must be set")),
        "{lenient:?}"
    );
}

#[test]
fn a_host_list_of_another_machine_is_only_warned_of() {
    let list = [("yarn.resourcemanager.nodes.exclude-path", "/no/such/list")];
    let (accepted, strict) = lines(&list, false);
    assert!(!accepted && strict[0].starts_with("-D: yarn.resourcemanager.nodes"));
    let (accepted, lenient) = lines(&list, true);
    assert!(
        accepted && lenient[0].starts_with("-D: warning: yarn"),
        "{lenient:?}"
    );
}
