//! The scheduler's monitors as the ResourceManager runs them: who is asked, when what is taken.
//! May touch: `testkit` and the core's public face.
//! Must not: sleep.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test"
)]

use rm_core::{
    CallId, Event, RmConf,
    conf::Calculator,
    event::{AdminRequest, Decommission, HostLists},
};
use testkit::{
    Cluster,
    conf::{settings, types},
};
use yarn_types::{ContainerId, Resource, exit};

const MONITOR: &str = "yarn.resourcemanager.scheduler.monitor.enable";
const PREEMPTION: &str = "yarn.resourcemanager.monitor.capacity.preemption.";
const PACING: &str = "yarn.scheduler.capacity.heddle.pacing";

/// Two halves; `a` has all eight GPUs and `b` wants four.
fn contended(pacing: &str, wait_ms: &str, monitor: &str, more: &[(&str, &str)]) -> Cluster {
    let c = Cluster::new().queues("a:50 b:50");
    let more = more.iter();
    let c = more
        .fold(c, |c, (key, value)| c.set(key, value))
        .set(PACING, pacing)
        .set(MONITOR, monitor)
        .set(&format!("{PREEMPTION}max_wait_before_kill"), wait_ms)
        .set(&format!("{PREEMPTION}total_preemption_per_round"), "1.0")
        .set(&format!("{PREEMPTION}natural_termination_factor"), "1.0")
        .gpu_nodes(2, "64gb 64vc", 4)
        .app_in("rich", "a")
        .run(3)
        .ask(8, "1gb 1vc 1gpu")
        .run(3);
    let mut c = c.app_in("poor", "b").run(3).ask(4, "1gb 1vc 1gpu");
    c.allocate();
    c
}

fn gpus(c: &mut Cluster, app: &str) -> i64 {
    *c = std::mem::take(c).with_app(app);
    let held = c.master().held.values();
    held.map(|g| g.resource.0[2] / yarn_types::MILLI).sum()
}

#[test]
fn a_queue_gets_its_guarantee_back_and_the_other_keeps_its_own() {
    for pacing in ["event", "heartbeat"] {
        let mut c = contended(pacing, "4000", "true", &[]).run(20);
        assert_eq!(
            (gpus(&mut c, "rich"), gpus(&mut c, "poor")),
            (4, 4),
            "{pacing}"
        );
        c = c.with_app("rich");
        let taken: Vec<i32> = c.master().ended.values().copied().collect();
        assert_eq!(taken, [exit::PREEMPTED; 4], "{pacing}");
        let report = c.report();
        assert_eq!(
            (report.preempted_containers, report.preempted_masters),
            (4, 0)
        );
        let four = Resource::new(4096, 4).with(2, 4 * yarn_types::MILLI);
        assert_eq!(report.preempted, four);
        assert!(!report.state.is_final(), "{pacing}: it lives on");
    }
}

#[test]
fn nobody_is_asked_back_from_a_node_that_goes() {
    for lazy in ["false", "true"] {
        let lazy_key = "yarn.scheduler.capacity.lazy-preemption-enabled";
        let mut c = contended("event", "4000", "true", &[(lazy_key, lazy)]);
        let lists = HostLists {
            exclude: vec!["n2".into()],
            ..HostLists::default()
        };
        let how = Decommission::Graceful { timeout_s: 3600 };
        c.admin(AdminRequest::RefreshNodes { lists, how }).unwrap();
        c = c.run(20);
        let on_n2 = |c: &mut Cluster, app: &str| {
            *c = std::mem::take(c).with_app(app);
            let held = c.master().held.values();
            held.filter(|g| *g.node.host == *"n2").count()
        };
        assert_eq!((on_n2(&mut c, "rich"), on_n2(&mut c, "poor")), (4, 0));
        let shared = (gpus(&mut c, "rich"), gpus(&mut c, "poor"));
        assert_eq!(shared, (4, 4), "lazy: {lazy}");
    }
}

#[test]
fn nothing_is_taken_while_the_monitor_is_off_or_only_watches() {
    let mut c = contended("event", "4000", "false", &[]).run(30);
    assert_eq!((gpus(&mut c, "rich"), gpus(&mut c, "poor")), (8, 0));
}

#[test]
fn the_master_is_told_first_and_has_the_grace_period() {
    let mut c = contended("event", "10000", "true", &[]).with_app("rich");
    let mut told: Vec<(u64, Vec<ContainerId>, i32)> = Vec::new();
    let mut killed_at = None;
    for _ in 0..30 {
        c.now = c.now.plus(1000);
        for at in 0..c.nodes.len() {
            c.heartbeat(at);
        }
        c.tick();
        let answer = c.allocate();
        if !answer.preempting.is_empty() {
            told.push((c.now.0, answer.preempting, answer.preempting_units));
        }
        if !answer.completed.is_empty() {
            killed_at = Some((c.now.0, answer.completed));
            break;
        }
    }
    let [(told_at, asked, units)] = &told[..] else {
        panic!("told {told:?}, once is right")
    };
    // The fourth GPU that it lacks is reserved for it already. Three of eight are 48/128 of the
    // cluster, the smallest container is 1 GiB of 128.
    assert_eq!((asked.len(), *units), (3, 48));
    let (killed_at, completed) = killed_at.expect("taken after the grace period");
    assert!(
        (10_000..15_000).contains(&(killed_at - told_at)),
        "told at {told_at}, taken at {killed_at}"
    );
    let ended: Vec<ContainerId> = completed.iter().map(|c| c.container).collect();
    assert!(asked.iter().all(|id| ended.contains(id)));
    assert!(
        completed.iter().all(|c| c.exit_status == exit::PREEMPTED
            && c.diagnostics == "Container preempted by scheduler")
    );
}

#[test]
fn a_refresh_turns_preemption_on_and_off_and_does_not_put_it_off() {
    let mut calls = 1_000_000;
    let mut reloaded = |c: &mut Cluster, monitor: &str| {
        let mut table = settings("a:50 b:50");
        for (key, value) in [
            (MONITOR.to_owned(), monitor),
            (format!("{PREEMPTION}max_wait_before_kill"), "4000"),
            (format!("{PREEMPTION}total_preemption_per_round"), "1.0"),
            (format!("{PREEMPTION}natural_termination_factor"), "1.0"),
        ] {
            table.insert(key, value.to_owned());
        }
        let conf = RmConf::from_lookup(&table, types(), Calculator::Dominant).unwrap();
        calls += 1;
        c.event(Event::Reload {
            call: CallId(calls),
            conf: Box::new(conf.sched),
        });
    };
    let mut c = contended("event", "4000", "false", &[]).run(5);
    // more often than a round is due
    for _ in 0..20 {
        reloaded(&mut c, "true");
        c = c.run(1);
    }
    assert_eq!((gpus(&mut c, "rich"), gpus(&mut c, "poor")), (4, 4));
    let mut c = contended("event", "4000", "true", &[]).run(5);
    reloaded(&mut c, "false");
    c = c.run(20);
    assert_eq!((gpus(&mut c, "rich"), gpus(&mut c, "poor")), (8, 0));
}
