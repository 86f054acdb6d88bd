//! `gpu-isolator` and the scripts as an administrator meets them: output and exit codes.
//! May touch: cgroups below a top directory of its own, a temporary directory.
//! Must not: touch cgroups of others.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use isolator::cgroup::Mounts;

use super::support::Bench;
use super::{MODES, sleeper};

fn script(name: &str) -> Command {
    Command::new(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("scripts")
            .join(name),
    )
}

fn tool(verb: &str, cgroup: &Path, rest: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gpu-isolator"))
        .args([verb, "--cgroup"])
        .arg(cgroup)
        .args(rest)
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A map file and the path of a cgroup that does not exist yet.
fn place(bench: &Bench) -> (String, PathBuf) {
    let map = bench.dir.path().join("map.json");
    let cards = r#"[{"uuid": "GPU-a", "minor": 5}, {"uuid": "GPU-b", "minor": 2}]"#;
    std::fs::write(&map, cards).unwrap();
    let mount = Mounts::read().devices(bench.mode).unwrap().to_owned();
    let cgroup = mount.join(&bench.hierarchy).join("container");
    (map.display().to_string(), cgroup)
}

#[test]
fn rules_are_applied_verified_and_undone_by_hand() {
    for mode in MODES {
        let Some(bench) = Bench::new("rules_by_hand", mode) else {
            continue;
        };
        let (map, cgroup) = place(&bench);
        let card = |uuid| ["--devices", &map, "--simulated", "--gpus", uuid];
        let plan = tool("plan", &cgroup, &card("GPU-a"));
        assert!(out(&plan).contains("allow c 195:5 rw\n"), "{plan:?}");
        assert!(!cgroup.exists(), "a plan changes nothing");
        assert_eq!(
            tool("apply", &cgroup, &card("GPU-a")).status.code(),
            Some(0)
        );
        let same = tool("verify", &cgroup, &card("GPU-a"));
        assert_eq!(same.status.code(), Some(0), "{same:?}");
        let other = tool(
            "verify",
            &cgroup,
            &[&card("GPU-b")[..], &["--json"]].concat(),
        );
        assert_eq!(other.status.code(), Some(1), "{other:?}");
        let json: serde_json::Value = serde_json::from_slice(&other.stdout).unwrap();
        assert!(
            !json["differences"].as_array().unwrap().is_empty(),
            "{json}"
        );
        assert_eq!(tool("undo", &cgroup, &[]).status.code(), Some(0));
        let open = tool("verify", &cgroup, &card("GPU-a"));
        assert_eq!(open.status.code(), Some(1));
        assert!(out(&open).contains("no device rules"), "{open:?}");
        assert_eq!(tool("undo", &cgroup, &["--remove"]).status.code(), Some(0));
        assert!(!cgroup.exists());
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let Some(bench) = Bench::new("what_cannot_be_is_refused", MODES[0]) else {
        return;
    };
    let (map, cgroup) = place(&bench);
    let refused = |output: Output, why: &str| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains(why), "{text}");
    };
    refused(
        tool("apply", bench.dir.path(), &[]),
        "not on a cgroup file system",
    );
    refused(
        tool("apply", Path::new("relative"), &[]),
        "must be an absolute path",
    );
    let unknown = ["--devices", &map, "--gpus", "GPU-c"];
    refused(tool("apply", &cgroup, &unknown), "which has [GPU-a, GPU-b]");
    assert!(!cgroup.exists());
    assert_eq!(tool("destroy", &cgroup, &[]).status.code(), Some(2));
}

#[test]
fn the_scripts_see_and_release_what_is_there() {
    for mode in MODES {
        let Some(bench) = Bench::new("the_scripts_see_and_release", mode) else {
            continue;
        };
        let applied = bench.apply(&bench.spec("container_1", &[4]));
        let mut running = sleeper(&applied);
        let hierarchy = format!("/{}", bench.hierarchy);
        let table = script("who-can-reach")
            .args(["--hierarchy", &hierarchy])
            .args([
                "--device",
                "195:4",
                "--device",
                "195:5",
                "--device",
                "/dev/null",
            ])
            .output()
            .unwrap();
        let row = out(&table).lines().last().unwrap().to_owned();
        let row: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(row, ["container_1", "yes", "no", "yes"], "{table:?}");
        let ledger = bench.dir.path().join("ledger").display().to_string();
        let release = |more: &[&str]| {
            script("release-dead")
                .args(["--hierarchy", &hierarchy, "--ledger", &ledger])
                .args(more)
                .output()
                .unwrap()
        };
        let listed = release(&[]);
        assert_eq!(listed.status.code(), Some(1), "{listed:?}");
        assert_eq!(out(&listed), "container_1: 1 processes, 1 cgroups\n");
        assert!(running.try_wait().unwrap().is_none(), "a list ends nothing");
        let done = release(&["--yes", "--force"]);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        running.wait().unwrap();
        assert!(applied.cgroups().iter().all(|dir| !dir.exists()));
        assert!(bench.isolation.load("container_1").is_err());
    }
}

#[test]
fn check_node_tries_the_rules_and_leaves_nothing() {
    let Some(bench) = Bench::new("check_node", MODES[0]) else {
        return;
    };
    let checked = script("check-node")
        .env("GPU_ISOLATOR", env!("CARGO_BIN_EXE_gpu-isolator"))
        .arg(format!("/{}", bench.hierarchy))
        .output()
        .unwrap();
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let text = out(&checked);
    assert!(
        text.contains("ok       cgroup v1 device rules can be set and read back"),
        "{text}"
    );
    let mount = Mounts::read().devices(bench.mode).unwrap().to_owned();
    assert!(!mount.join(&bench.hierarchy).exists());
}
