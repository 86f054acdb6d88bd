//! Containers with GPUs: what they reach, what they are told, what the ResourceManager is told.
//! May touch: real sockets, processes, cgroups below a top directory of each test.
//! Must not: sleep, or pass where it could not run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // test code
#![allow(clippy::format_push_string)] // test code

#[path = "support/gpus.rs"]
mod gpus;
mod support;

use gpus::*;
use isolator::cgroup::mounts::Mode;
use support::*;
use yarn_proto::{convert, yarn::ResourceProto};
use yarn_types::Resource;

const MODES: [Mode; 2] = [Mode::V1, Mode::V2];

/// Cards of a token, their minors, and what the environment says.
type Case = (&'static [(&'static str, u64)], &'static [u32], &'static str);

fn gpus_of(resource: Option<&ResourceProto>) -> Option<i64> {
    let map = &resource?.resource_value_map;
    map.iter()
        .find(|r| r.key == "yarn.io/gpu")
        .map(yarn_proto::yarn::ResourceInformationProto::value)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_reaches_its_own_cards_and_no_other() {
    let test = "a_container_reaches_its_own_cards_and_no_other";
    for mode in MODES {
        let Some(mut node) = GpuNode::start(test, mode, true, &[], &[]).await else {
            continue;
        };
        assert_eq!(gpus_of(node.registered.resource.as_ref()), Some(4));
        let say =
            "echo $CUDA_VISIBLE_DEVICES; echo $NVIDIA_VISIBLE_DEVICES; echo $CUDA_DEVICE_ORDER";
        let command = format!("sh -c '{} ; {say}'", node.probe());
        let cases: [Case; 4] = [
            (&[], &[], "-1\nvoid"),
            (&[("b", 1)], &[2], "GPU-b\nGPU-b"),
            (
                &[("c", 2), ("a", 2), ("d", 2)],
                &[12, 9, 5],
                "GPU-a,GPU-c,GPU-d\nGPU-a,GPU-c,GPU-d",
            ),
            (&[("b", 3)], &[2], "GPU-b\nGPU-b"),
        ];
        for (n, (cards, minors, told)) in (2..).zip(cases) {
            node.run(cid(n), cards, &command).await;
            let (code, diagnostics) = node.completed(cid(n)).await;
            assert_eq!(code, 0, "{diagnostics}");
            let wanted = format!("{}{told}\nPCI_BUS_ID\n", table(minors));
            assert_eq!(node.output(cid(n), "stdout"), wanted, "{mode:?} {cards:?}");
        }
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_double_forked_child_is_no_better_off() {
    for mode in MODES {
        let test = "a_double_forked_child_is_no_better_off";
        let Some(mut node) = GpuNode::start(test, mode, true, &[], &[]).await else {
            continue;
        };
        let script = node.dir.path().join("probe/orphan.sh");
        let command = format!("bash {} <LOG_DIR>/orphan", script.display());
        node.run(cid(2), &[("a", 1)], &command).await;
        assert_eq!(node.completed(cid(2)).await.0, 0);
        assert_eq!(node.output(cid(2), "orphan"), table(&[9]), "{mode:?}");
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cards_that_are_not_yarns_are_closed_and_not_counted() {
    let key = "yarn.nodemanager.resource-plugins.gpu.allowed-gpu-devices";
    let test = "cards_that_are_not_yarns_are_closed_and_not_counted";
    let nodes = "yarn.nodemanager.heddle.devices.allowed";
    let keys = [(key, "0:9,GPU-b"), (nodes, "/dev/nowhere")];
    let Some(mut node) = GpuNode::start(test, Mode::V1, true, &keys, &[]).await else {
        return;
    };
    assert_eq!(gpus_of(node.registered.resource.as_ref()), Some(2));
    let probe = node.probe();
    node.run(cid(2), &[("a", 1), ("b", 1)], &probe).await;
    let (code, diagnostics) = node.completed(cid(2)).await;
    assert_eq!(code, 0, "{diagnostics}");
    assert!(
        diagnostics.contains("devices that are closed: /dev/nowhere ("),
        "{diagnostics}"
    );
    assert_eq!(node.output(cid(2), "stdout"), table(&[9, 2]));
    // A token for a card that is not YARN's: the device is at fault, not the request.
    node.run(cid(3), &[("c", 1)], &probe).await;
    let (code, diagnostics) = node.completed(cid(3)).await;
    assert_eq!(code, -100);
    assert!(
        diagnostics.contains("gpu unavailable: this node has no GPU-c"),
        "{diagnostics}"
    );
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_somebody_removed_are_restored_and_logged_once() {
    for mode in MODES {
        let test = "rules_that_somebody_removed_are_restored_and_logged_once";
        let Some(mut node) = GpuNode::start(test, mode, true, &[], &[]).await else {
            continue;
        };
        let go = node.dir.path().join("probe/go");
        let all = nix::sys::stat::Mode::from_bits_truncate(0o666);
        nix::unistd::mkfifo(&go, all).unwrap();
        let command = format!("bash -c 'cat {}; {}'", go.display(), node.probe());
        node.run(cid(2), &[("a", 1)], &command).await;
        node.see("it run", |s| running(s).then_some(())).await;
        let page = node.get(&format!("containers/{}", cid(2))).await;
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        let dir = page["container"]["cgroups"][0].as_str().expect("a cgroup");
        let dir = std::path::PathBuf::from(dir);
        match mode {
            Mode::V1 => isolator::devices::v1::release(&dir).unwrap(),
            Mode::V2 => isolator::devices::v2::release(&dir).unwrap(),
        }
        let log = node.dir.path().join("nm.log");
        let says = |_: &Seen| {
            let log = std::fs::read_to_string(&log).unwrap();
            let count = log.matches("isolation was changed, restored").count();
            (count > 0).then_some(count)
        };
        assert_eq!(node.see("the log", says).await, 1, "{mode:?}");
        let go_on = tokio::task::spawn_blocking(move || std::fs::write(go, "\n").unwrap());
        limit(go_on).await.unwrap();
        assert_eq!(node.completed(cid(2)).await.0, 0);
        let wanted = format!("\n{}", table(&[9]));
        assert_eq!(node.output(cid(2), "stdout"), wanted, "{mode:?}");
        node.stop().await;
    }
}

/// Some container runs.
fn running(seen: &Seen) -> bool {
    let Seen::Heartbeat(request) = seen else {
        return false;
    };
    let status = request.node_status.as_ref().unwrap();
    let mut all = status.containers_statuses.iter();
    all.any(|s| s.container_sub_state() as i32 == 2)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_node_left_is_taken_down_by_the_next() {
    let test = "what_a_dead_node_left_is_taken_down_by_the_next";
    let Some(mut node) = GpuNode::start(test, Mode::V1, true, &[], &[]).await else {
        return;
    };
    node.run(cid(2), &[("a", 1)], "sleep 1000").await;
    node.see("it run", |s| running(s).then_some(())).await;
    let page = node.get(&format!("containers/{}", cid(2))).await;
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    let cgroup = page["container"]["cgroups"][0].as_str().unwrap().to_owned();
    node.die().await;
    assert!(
        std::path::Path::new(&cgroup).exists(),
        "it died in its tracks"
    );
    let local = node.dir.path().join("local");
    let keys = [("yarn.nodemanager.local-dirs", local.to_str().unwrap())];
    let next = GpuNode::start(test, Mode::V1, true, &keys, &[])
        .await
        .unwrap();
    assert!(!std::path::Path::new(&cgroup).exists());
    assert!(
        next.log().contains("isolation left behind is taken down"),
        "{}",
        next.log()
    );
    next.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_library_that_cannot_be_loaded_is_no_gpu_and_is_said_once() {
    let test = "a_library_that_cannot_be_loaded_is_no_gpu_and_is_said_once";
    let keys = [(
        "yarn.nodemanager.heddle.gpu.nvml-library",
        "/nowhere/libnvidia-ml.so.1",
    )];
    let Some(node) = GpuNode::start(test, Mode::V1, true, &keys, &[]).await else {
        return;
    };
    assert_eq!(gpus_of(node.registered.resource.as_ref()), Some(0));
    let log = node.log();
    assert_eq!(
        log.matches("GPUs cannot be read, tried again").count(),
        1,
        "{log}"
    );
    assert!(log.contains("/nowhere/libnvidia-ml.so.1"), "{log}");
    node.stop().await;
}

/// What a heartbeat tells of one card: its health, or that it is gone.
fn told(seen: &Seen, uuid: &str) -> Option<Result<Option<String>, &'static str>> {
    let Seen::Heartbeat(request) = seen else {
        return None;
    };
    let changes = &request.heddle_gpus.as_ref()?.changes;
    changes.iter().find_map(|c| match (&c.is, &c.gone) {
        (Some(gpu), _) if gpu.uuid() == uuid => Some(Ok(gpu.bad_health.clone())),
        (_, Some(gone)) if gone == uuid => Some(Err("gone")),
        _ => None,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_topology_is_told_and_ends_the_holder_of_a_lost_card_alone() {
    let test = "an_edited_topology_is_told";
    let Some(mut node) = GpuNode::start(test, Mode::V1, true, &[], &[]).await else {
        return;
    };
    let dev = node.dir.path().join("dev");
    assert!(dev.join("nvidia9").exists() && dev.join("nvidiactl").exists());
    node.run(cid(2), &[("a", 1)], "sleep 1000").await;
    node.run(cid(3), &[("b", 1)], "sleep 1000").await;
    let mut cards = CARDS;
    cards[0].2 = "present = false";
    node.write_topology(&cards);
    let a = |s: &Seen| told(s, "GPU-a");
    let d = |s: &Seen| told(s, "GPU-d");
    assert_eq!(node.see("the loss", a).await, Err("gone"));
    let (code, diagnostics) = node.completed(cid(2)).await;
    assert_eq!(code, -100, "{diagnostics}");
    assert!(
        diagnostics.contains("gpu lost: GPU-a is gone"),
        "{diagnostics}"
    );
    assert!(!dev.join("nvidia9").exists());
    node.write_topology(&CARDS);
    assert_eq!(node.see("the return", a).await, Ok(None));
    // Reads that fail are a card that cannot be granted, until they succeed again.
    cards[0].2 = "";
    cards[3].2 = "fail_reads = 3";
    node.write_topology(&cards);
    assert!(node.see("the failing card", d).await.unwrap().is_some());
    let fit = |s: &Seen| d(s).filter(|t| *t == Ok(None));
    node.see("its recovery", fit).await.unwrap();
    let page: serde_json::Value =
        serde_json::from_str(&node.get("resources/yarn.io%2Fgpu").await).unwrap();
    assert_eq!(
        page["totalGpuDevices"].as_array().unwrap().len(),
        4,
        "{page}"
    );
    assert_eq!(
        page["assignedGpuDevices"].as_array().unwrap().len(),
        1,
        "{page}"
    );
    assert_eq!(
        page["assignedGpuDevices"][0]["containerId"],
        cid(3).to_string()
    );
    assert_eq!(page["assignedGpuDevices"][0]["minorNumber"], 2);
    assert_eq!(node.get("resources/yarn.io%2Ffpga").await, "{}");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_resource_manager_is_told_by_registrations_and_the_node_chooses() {
    let test = "a_stock_resource_manager_is_told_by_registrations";
    let Some(mut node) = GpuNode::start(test, Mode::V1, false, &[], &[]).await else {
        return;
    };
    let types = yarn_conf::resource_types(&yarn_conf::Configuration::of([(
        "yarn.resource-types",
        "yarn.io/gpu",
    )]))
    .unwrap();
    let lane = types.gpu_lane().unwrap();
    let ask = Resource::new(1024, 1).with(lane, 2 * types.scale(lane));
    let mut token = container_identifier(&node.id, cid(2));
    token.resource = Some(convert::resource_proto(ask, &types));
    let probe = node.probe();
    node.run_as(token, &probe).await;
    assert_eq!(node.completed(cid(2)).await.0, 0);
    let seen = node.output(cid(2), "stdout");
    let open = seen.matches("ENXIO").count();
    assert_eq!(open, 2 + 2, "two cards, nvidiactl and uvm: {seen}");
    let mut cards = CARDS;
    cards[1].2 = "health = \"lost\"";
    node.write_topology(&cards);
    let count = node.see("a registration", |s| {
        let Seen::Registered(r) = s else { return None };
        gpus_of(r.resource.as_ref())
    });
    assert_eq!(count.await, 3);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernel_ends_a_container_beyond_its_memory_and_its_neighbour_lives() {
    let test = "the_kernel_ends_a_container_beyond_its_memory";
    let keys = [
        ("yarn.nodemanager.resource.memory.enabled", "true"),
        ("yarn.nodemanager.container-monitor.enabled", "false"),
        ("yarn.nodemanager.heddle.pids.max", "100"),
        ("yarn.nodemanager.resource.cpu.enabled", "true"),
    ];
    let Some(mut node) = GpuNode::start(test, Mode::V1, true, &keys, &[]).await else {
        return;
    };
    let types = yarn_types::ResourceTypes::memory_and_vcores();
    let sized = |n: u64| {
        let mut token = node.token(cid(n), &[]);
        token.resource = Some(convert::resource_proto(Resource::new(32, 1), &types));
        token
    };
    node.run_as(sized(3), "sleep 1000").await;
    // tail keeps what it reads, as there is no line end.
    node.run_as(
        sized(2),
        "bash -c 'head -c 200000000 /dev/zero | tail -c 199999999'",
    )
    .await;
    let (code, diagnostics) = node.completed(cid(2)).await;
    assert_eq!(code, -104, "{diagnostics}");
    let sentence = "beyond the 'PHYSICAL' memory limit. Current usage: 32 MB of 32 MB";
    assert!(diagnostics.contains(sentence), "{diagnostics}");
    let lives = |s: &Seen| matches!(s, Seen::Heartbeat(_)).then(|| running(s));
    assert!(node.see("a heartbeat", lives).await, "the neighbour lives");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_isolation_there_is_no_gpu_unless_one_insists() {
    let test = "without_isolation_there_is_no_gpu_unless_one_insists";
    let insist = ["--unsafe-no-isolation"];
    let Some(mut node) = GpuNode::start(test, Mode::V1, true, &[], &insist).await else {
        return;
    };
    assert_eq!(gpus_of(node.registered.resource.as_ref()), Some(4));
    node.run(cid(2), &[("a", 1)], "echo $HEDDLE_UNSAFE_NO_ISOLATION")
        .await;
    assert_eq!(node.completed(cid(2)).await.0, 0);
    assert_eq!(node.output(cid(2), "stdout"), "1\n");
    assert!(
        node.get("info")
            .await
            .contains("off (--unsafe-no-isolation)")
    );
    node.stop().await;
    let nowhere = (
        "yarn.nodemanager.linux-container-executor.cgroups.hierarchy",
        "/no name",
    );
    let Some(node) = GpuNode::start(test, Mode::V1, true, &[nowhere], &[]).await else {
        return;
    };
    assert_eq!(gpus_of(node.registered.resource.as_ref()), Some(0));
    assert!(
        node.get("info")
            .await
            .contains("\"gpuIsolation\":\"unavailable (")
    );
    assert!(
        node.log().contains("gpu isolation: unavailable ("),
        "{}",
        node.log()
    );
    node.stop().await;
}
