//! Device isolation and limits on the cgroups of this machine, v1 and v2.
//! May touch: cgroups below a top directory of its own, device nodes in a temporary directory.
//! Must not: open a device of the machine but null; pass where it could not run.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may

mod command;
mod launch;
mod support;

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use isolator::cgroup::dir::RemovalPatience;
use isolator::cgroup::mounts::Mode;
use isolator::devices::{Rule, RuleSet, list, v1, v2};
use isolator::isolation::{Applied, Difference, Facts, Isolation, Plan, available};
use isolator::limits::{CpuLimit, CpuQuota, LimitSpec, MemoryLimit};
use support::{Bench, answers, prober, take_steps};

const MODES: [Mode; 2] = [Mode::V1, Mode::V2];

/// Not a test of its own: the face under which this binary runs as a probing process.
#[test]
fn probing_process() {
    take_steps();
}

/// A process that stays in the cgroups of `applied` until it is killed.
fn sleeper(applied: &Applied) -> std::process::Child {
    let child = Command::new("sleep")
        .arg("1000")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    for file in applied.procs_files() {
        std::fs::write(file, child.id().to_string()).unwrap();
    }
    child
}

fn all() -> RuleSet {
    RuleSet::new(["a *:* rwm".parse::<Rule>().unwrap()]).unwrap()
}

/// The node has cards with minors 2, 5, 9 and 12: no minor is an index, and there are holes.
#[test]
fn containers_reach_their_own_cards_and_no_other() {
    for mode in MODES {
        let Some(bench) = Bench::new("containers_reach_their_own_cards_and_no_other", mode) else {
            continue;
        };
        for (n, granted) in [&[][..], &[5], &[12, 2, 9], &[2, 5, 9, 12]]
            .iter()
            .enumerate()
        {
            let applied = bench.apply(&bench.spec(&format!("container_{n}"), granted));
            let seen = Bench::probe(&applied, &bench.opens());
            assert_eq!(seen, Bench::table(granted), "{mode:?}, granted {granted:?}");
            bench.isolation.undo(&applied).unwrap();
            assert!(applied.cgroups().iter().all(|dir| !dir.exists()));
        }
    }
}

#[test]
fn the_opens_are_possible_without_isolation() {
    let Some(bench) = Bench::new("the_opens_are_possible_without_isolation", Mode::V1) else {
        return;
    };
    let seen = answers(&prober(&bench.opens()).output().unwrap());
    let denied: Vec<&String> = seen.iter().filter(|a| a.ends_with("EPERM")).collect();
    assert!(
        denied.is_empty(),
        "the tables would prove nothing: {denied:?}"
    );
}

#[test]
fn neighbours_do_not_see_each_others_cards() {
    for mode in MODES {
        let Some(bench) = Bench::new("neighbours_do_not_see_each_others_cards", mode) else {
            continue;
        };
        let one = bench.apply(&bench.spec("one", &[3]));
        let two = bench.apply(&bench.spec("two", &[0]));
        assert_eq!(
            Bench::probe(&one, &bench.opens()),
            Bench::table(&[3]),
            "{mode:?}"
        );
        assert_eq!(
            Bench::probe(&two, &bench.opens()),
            Bench::table(&[0]),
            "{mode:?}"
        );
    }
}

#[test]
fn a_double_forked_child_in_a_session_of_its_own_is_no_better_off() {
    for mode in MODES {
        let Some(bench) = Bench::new("a_double_forked_child", mode) else {
            continue;
        };
        let applied = bench.apply(&bench.spec("container", &[4]));
        let mut steps = vec!["orphan".to_owned()];
        steps.extend(bench.opens());
        assert_eq!(
            Bench::probe(&applied, &steps),
            Bench::table(&[4]),
            "{mode:?}"
        );
    }
}

#[test]
fn a_child_cgroup_cannot_give_itself_more() {
    for mode in MODES {
        let Some(bench) = Bench::new("a_child_cgroup_cannot_give_itself_more", mode) else {
            continue;
        };
        let applied = bench.apply(&bench.spec("container", &[4]));
        let (dir, ..) = applied.devices().unwrap();
        let child = dir.join("child");
        std::fs::create_dir(&child).unwrap();
        let mut steps = vec![format!("join {}", child.join("cgroup.procs").display())];
        let mut wanted = Bench::table(&[4]);
        if mode == Mode::V1 {
            let allow = child.join("devices.allow");
            steps.push(format!("write {} c 195:0 rw", allow.display()));
            wanted.insert(0, "write devices.allow EPERM".to_owned());
        } else {
            v2::apply(&child, &all()).unwrap();
        }
        steps.extend(bench.opens());
        assert_eq!(Bench::probe(&applied, &steps), wanted, "{mode:?}");
    }
}

/// Why the launcher closes every descriptor: isolation does not reach what is open already.
#[test]
fn a_descriptor_from_before_stays_usable_and_cannot_be_opened_again() {
    for mode in MODES {
        let Some(bench) = Bench::new("a_descriptor_from_before", mode) else {
            continue;
        };
        let applied = bench.apply(&bench.spec("container", &[]));
        let (dir, ..) = applied.devices().unwrap();
        let none = RuleSet::default();
        match mode {
            Mode::V1 => v1::apply(dir, &none).unwrap(),
            Mode::V2 => drop(v2::apply(dir, &none).unwrap()),
        }
        let null = bench.node(1, 3);
        let steps = [
            format!("hold {}", null.display()),
            format!("join {}", dir.join("cgroup.procs").display()),
            "write-held".to_owned(),
            format!("open {}", null.display()),
        ];
        let seen = answers(&prober(&steps).output().unwrap());
        assert_eq!(seen, ["held ok", "open 1:3 EPERM"], "{mode:?}");
    }
}

#[test]
fn further_nodes_are_opened_and_a_missing_one_is_named() {
    for mode in MODES {
        let Some(bench) = Bench::new("further_nodes_are_opened", mode) else {
            continue;
        };
        let mut spec = bench.spec("container", &[]);
        spec.nodes = vec![
            bench.node(5, 1),
            bench.node(195, 1),
            "/dev/heddle-absent".into(),
        ];
        let applied = bench.apply(&spec);
        assert_eq!(applied.missing().len(), 2, "{:?}", applied.missing());
        assert!(applied.missing()[1].starts_with("/dev/heddle-absent ("));
        let seen = Bench::probe(&applied, &[bench.open(5, 1), bench.open(195, 1)]);
        assert_ne!(seen[0], "open 5:1 EPERM", "{mode:?}");
        assert_eq!(
            seen[1], "open 195:1 EPERM",
            "a card is never a further node"
        );
    }
}

#[test]
fn removed_rules_are_noticed_and_restored_while_the_container_runs() {
    for mode in MODES {
        let Some(bench) = Bench::new("removed_rules_are_noticed", mode) else {
            continue;
        };
        let mut applied = bench.apply(&bench.spec("container", &[7]));
        let mut running = sleeper(&applied);
        assert_eq!(bench.isolation.verify(&applied), []);
        let dir = applied.devices().unwrap().0.to_owned();
        match mode {
            Mode::V1 => v1::release(&dir).unwrap(),
            Mode::V2 => v2::release(&dir).unwrap(),
        }
        assert_eq!(bench.isolation.verify(&applied), [Difference::Open(dir)]);
        let open = Bench::probe(&applied, &[bench.open(195, 1)]);
        assert_eq!(
            open,
            ["open 195:1 ENXIO"],
            "the check must be about something"
        );
        bench.isolation.restore(&mut applied).unwrap();
        assert_eq!(bench.isolation.verify(&applied), []);
        assert_eq!(
            Bench::probe(&applied, &bench.opens()),
            Bench::table(&[7]),
            "{mode:?}"
        );
        assert!(
            running.try_wait().unwrap().is_none(),
            "restoring disturbs nobody"
        );
        bench.isolation.undo(&applied).unwrap();
        assert_eq!(running.wait().unwrap().signal(), Some(9));
    }
}

#[test]
fn other_rules_than_ours_are_noticed() {
    for mode in MODES {
        let Some(bench) = Bench::new("other_rules_than_ours_are_noticed", mode) else {
            continue;
        };
        let mut applied = bench.apply(&bench.spec("container", &[7]));
        let dir = applied.devices().unwrap().0.to_owned();
        let mut more = list::base();
        more.push(Rule::char(195, 8, isolator::devices::Access::RW));
        let more = RuleSet::new(more).unwrap();
        match mode {
            Mode::V1 => v1::apply(&dir, &more).unwrap(),
            Mode::V2 => drop(v2::apply(&dir, &more).unwrap()),
        }
        let found = bench.isolation.verify(&applied);
        let text = found
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n");
        if mode == Mode::V1 {
            assert!(
                text.contains("rule \"c 195:8 rw\" was not applied by us"),
                "{text}"
            );
            assert!(text.contains("rule \"c 195:7 rw\" is missing"), "{text}");
        } else {
            assert!(matches!(found[..], [Difference::Program { .. }]), "{text}");
        }
        bench.isolation.restore(&mut applied).unwrap();
        assert_eq!(
            Bench::probe(&applied, &bench.opens()),
            Bench::table(&[7]),
            "{mode:?}"
        );
    }
}

#[test]
fn what_a_dead_nodemanager_left_is_undone_and_the_living_kept() {
    for mode in MODES {
        let Some(bench) = Bench::new("what_a_dead_nodemanager_left", mode) else {
            continue;
        };
        let dead = bench.apply(&bench.spec("dead", &[1]));
        let living = bench.apply(&bench.spec("living", &[2]));
        let mut left = sleeper(&dead);
        let mut kept = sleeper(&living);
        std::fs::write(bench.dir.path().join("ledger/torn.json"), "{\"version\":1").unwrap();
        let next =
            Isolation::new(&bench.dir.path().join("ledger"), RemovalPatience::default()).unwrap();
        let keep = BTreeSet::from(["living".to_owned()]);
        let done = next.recover(&keep).unwrap();
        let texts: Vec<(&str, bool)> = done
            .iter()
            .map(|r| (r.container.as_str(), r.result.is_ok()))
            .collect();
        assert_eq!(texts, [("dead", true), ("torn", false)]);
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        assert!(dead.cgroups().iter().all(|dir| !dir.exists()));
        let known = next.load("living").unwrap();
        assert_eq!(known, living);
        assert_eq!(next.verify(&known), []);
        assert!(kept.try_wait().unwrap().is_none());
        next.undo(&known).unwrap();
        kept.wait().unwrap();
        assert!(next.load("living").is_err());
    }
}

#[test]
fn a_left_over_cgroup_is_emptied_and_used_again() {
    for mode in MODES {
        let Some(bench) = Bench::new("a_left_over_cgroup", mode) else {
            continue;
        };
        let old = bench.apply(&bench.spec("container", &[1]));
        let mut left = sleeper(&old);
        let (dir, ..) = old.devices().unwrap();
        std::fs::create_dir_all(dir.join("deep/deeper")).unwrap();
        let new = bench.apply(&bench.spec("container", &[2]));
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        assert!(!dir.join("deep").exists());
        assert_eq!(
            Bench::probe(&new, &bench.opens()),
            Bench::table(&[2]),
            "{mode:?}"
        );
    }
}

#[test]
fn a_failed_launch_leaves_nothing() {
    let Some(bench) = Bench::new("a_failed_launch_leaves_nothing", Mode::V1) else {
        return;
    };
    let mut spec = bench.spec("container", &[1]);
    spec.limits.cpu = Some(CpuLimit {
        vcores: 1,
        quota: Some(CpuQuota {
            quota_us: 1, // the kernel takes 1000 and more
            period_us: 100_000,
        }),
    });
    let plan = Plan::new(&spec, &Facts::read(&[])).unwrap();
    let error = bench.isolation.apply(&plan).unwrap_err().to_string();
    assert!(error.starts_with("cpu limit of "), "{error}");
    let dirs: Vec<_> = plan
        .ops
        .iter()
        .filter_map(|op| match op {
            isolator::isolation::Op::Cgroup { dir } => Some(dir),
            _ => None,
        })
        .collect();
    assert_eq!(dirs.len(), 2);
    assert!(dirs.iter().all(|dir| !dir.exists()), "{dirs:?}");
    assert!(bench.isolation.load("container").is_err());
}

#[test]
fn this_machine_says_whether_it_can_isolate() {
    for mode in MODES {
        let Some(bench) = Bench::new("this_machine_says_whether_it_can_isolate", mode) else {
            continue;
        };
        let facts = Facts::read(&[]);
        assert_eq!(
            available(mode, &bench.hierarchy, &facts, &bench.isolation),
            Ok(())
        );
        let nothing = Facts::default();
        let why = available(mode, &bench.hierarchy, &nothing, &bench.isolation).unwrap_err();
        let text = why.to_string();
        assert!(
            text.starts_with("unavailable (") && text.contains("mount"),
            "{text}"
        );
    }
}

#[test]
fn a_container_over_its_memory_is_killed_by_the_kernel_and_its_neighbour_lives() {
    for mode in MODES {
        let Some(bench) = Bench::new("a_container_over_its_memory", mode) else {
            continue;
        };
        let limits = LimitSpec {
            memory: Some(MemoryLimit {
                hard_bytes: 64 << 20,
                soft_bytes: Some(60 << 20),
                swappiness: Some(0),
            }),
            cpu: Some(CpuLimit {
                vcores: 2,
                quota: Some(CpuQuota {
                    quota_us: 200_000,
                    period_us: 100_000,
                }),
            }),
            pids_max: Some(64),
        };
        let [mut one, mut two] = ["one", "two"].map(|name| bench.spec(name, &[]));
        (one.limits, two.limits) = (limits, limits);
        let [one, two] = [one, two].map(|spec| bench.apply(&spec));
        let mut neighbour = sleeper(&two);
        let joins = one.procs_files();
        let joins = joins.iter().map(|file| format!("join {}", file.display()));
        let steps: Vec<String> = joins.chain(["eat 200".to_owned()]).collect();
        let status = prober(&steps).output().unwrap().status;
        assert_eq!(status.signal(), Some(9), "{mode:?}");
        assert_eq!(one.oom_kills().unwrap(), Some(1));
        assert_eq!(two.oom_kills().unwrap(), Some(0));
        assert!(neighbour.try_wait().unwrap().is_none());
        let small = Bench::probe(&two, &["eat 8".to_owned()]);
        assert_eq!(small, ["ate 2048"]);
        assert_eq!(bench.isolation.verify(&one), []);
        bench.isolation.undo(&two).unwrap();
        neighbour.wait().unwrap();
    }
}

#[test]
fn a_changed_limit_is_noticed_and_restored() {
    let Some(bench) = Bench::new("a_changed_limit_is_noticed", Mode::V1) else {
        return;
    };
    let mut spec = bench.spec("container", &[]);
    spec.limits.pids_max = Some(64);
    let mut applied = bench.apply(&spec);
    let pids = applied.cgroups()[1].join("pids.max");
    assert_eq!(std::fs::read_to_string(&pids).unwrap(), "64\n");
    std::fs::write(&pids, "max").unwrap();
    let found = bench.isolation.verify(&applied);
    assert!(matches!(found[..], [Difference::Limit { .. }]), "{found:?}");
    bench.isolation.restore(&mut applied).unwrap();
    assert_eq!(std::fs::read_to_string(&pids).unwrap(), "64\n");
}

#[test]
fn a_running_container_gets_other_limits_and_keeps_them() {
    for mode in MODES {
        let Some(bench) = Bench::new("a_running_container_gets_other_limits", mode) else {
            continue;
        };
        let limits = |mib: u64, vcores| LimitSpec {
            memory: Some(MemoryLimit {
                hard_bytes: mib << 20,
                soft_bytes: Some((mib << 20) / 2),
                swappiness: None,
            }),
            cpu: Some(CpuLimit {
                vcores,
                quota: None,
            }),
            pids_max: None,
        };
        let mut spec = bench.spec("container", &[]);
        spec.limits = limits(64, 1);
        let mut applied = bench.apply(&spec);
        let mut sleeper = sleeper(&applied);
        for (mib, vcores) in [(256, 4), (32, 2)] {
            bench
                .isolation
                .resize(&mut applied, &limits(mib, vcores))
                .unwrap();
            assert_eq!(bench.isolation.verify(&applied), [], "{mode:?}");
            let held = applied.cgroups().into_iter().find_map(|dir| {
                let files = ["memory.limit_in_bytes", "memory.max"].map(|f| dir.join(f));
                files.iter().find_map(|f| std::fs::read_to_string(f).ok())
            });
            assert_eq!(held.unwrap().trim(), (mib << 20).to_string());
            // a NodeManager that starts again finds the limits of now
            let ledger = bench.isolation.load("container").unwrap();
            assert_eq!(ledger, applied);
        }
        bench.isolation.undo(&applied).unwrap();
        sleeper.wait().unwrap();
    }
}
