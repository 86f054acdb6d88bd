//! What the page of the cluster shows, and that nothing in it is markup of others.
//! May touch: a made-up view.
//! Must not: need a server.

use std::sync::Arc;

use rm_core::{
    event::Who,
    view::{
        CapacityKind, CapacityVector, ClusterMetrics, Counters, PartitionReport, QueueSettings,
        QueueUsage,
    },
};
use yarn_types::{NodeId, QueueState, ResourceType};

use super::*;

pub(in crate::web) fn types() -> ResourceTypes {
    let lane = |name: &str, units: &str| ResourceType {
        name: name.to_owned(),
        units: units.to_owned(),
        minimum_allocation: 0,
        maximum_allocation: 1024,
    };
    let lanes = [("memory-mb", "Mi"), ("vcores", ""), (GPU, "")];
    ResourceTypes::new(lanes.map(|(name, units)| lane(name, units)).into()).unwrap()
}

pub(in crate::web) fn queue(path: &str, used: f32, of: f32) -> Arc<QueueReport> {
    Arc::new(QueueReport {
        name: path.rsplit('.').next().unwrap().to_owned(),
        path: path.to_owned(),
        parent: path.rsplit_once('.').map(|(parent, _)| parent.to_owned()),
        is_leaf: path != "root",
        state: QueueState::Running,
        capacity: of,
        maximum_capacity: 1.0,
        absolute_capacity: of,
        absolute_maximum_capacity: 1.0,
        used_capacity: used / of,
        absolute_used_capacity: used,
        used: Resource::new(1024, 1).with(2, 2000),
        pending: Resource::ZERO,
        guaranteed: Resource::ZERO,
        maximum: Resource::ZERO,
        // Applications stand in leaves.
        active_apps: u32::from(path != "root"),
        pending_apps: 0,
        containers: 1,
        am_used: Resource::ZERO,
        am_limit: Resource::ZERO,
        user_limit_percent: 100.0,
        user_limit_factor: 1.0,
        max_applications: 10_000,
        accessible_labels: vec!["*".to_owned()],
        default_label: None,
        apps: 1,
        counts: rm_core::view::ContainerCounts::default(),
        active_users: 0,
        max_applications_per_user: 10_000,
        counters: Counters::default(),
        settings: QueueSettings::default(),
        partitions: vec![PartitionReport {
            vector: Some(CapacityVector::uniform(
                CapacityKind::Percent,
                f64::from(of) * 100.0,
            )),
            label: "".into(),
            usage: QueueUsage {
                used: Resource::new(1024, 1).with(2, 2000),
                capacity: of,
                max_capacity: 1.0,
                abs_capacity: of,
                abs_max_capacity: 1.0,
                used_capacity: used / of,
                abs_used_capacity: used,
                weight: -1.0,
                ..QueueUsage::default()
            },
        }],
    })
}

fn card(index: u32, dirty: Option<&str>, holder: Option<&str>) -> GpuReport {
    GpuReport {
        uuid: format!("GPU-{index}").into(),
        index,
        minor: index,
        model: "H100 <b>".to_owned(),
        memory_mib: 81_559,
        health: GpuHealth::Ok,
        dirty: dirty.map(str::to_owned),
        holder: holder.map(|id| id.parse().unwrap()),
    }
}

pub(in crate::web) fn made() -> View {
    let node = NodeReport {
        id: NodeId::new("gpu-1", 8041),
        http_address: "gpu-1:8042".to_owned(),
        rack: "/<rack>".into(),
        state: NodeState::Running,
        total: Resource::new(4096, 4).with(2, 3000),
        used: Resource::new(1024, 1).with(2, 1000),
        containers: 1,
        health_report: "<script>alert(1)</script>".to_owned(),
        health_wall_ms: 0,
        last_heartbeat_wall_ms: 0,
        version: "3.5.0".to_owned(),
        decommissioning_timeout_s: None,
        label: None,
        gpus: vec![
            card(1, Some("pid <7>"), None),
            card(0, None, Some("container_1_0001_01_000002")),
            card(2, None, None),
        ],
    };
    View {
        seq: 1,
        apps: Vec::new(),
        nodes: vec![Arc::new(node)],
        queues: vec![queue("root", 0.25, 1.0), queue("root.lab", 0.25, 0.2)],
        metrics: ClusterMetrics {
            total: Resource::new(4096, 4).with(2, 3000),
            used: Resource::new(1024, 1).with(2, 1000),
            ..ClusterMetrics::default()
        },
    }
}

#[test]
fn queues_have_bars_and_nodes_their_cards_with_holders() {
    let types = types();
    let mut page = String::new();
    sums(&mut page, &made(), &types);
    queues(&mut page, &made(), &types);
    nodes(&mut page, &made(), &types);
    for wanted in [
        // Whole devices, not thousandths.
        "<b>1</b><span class=\"small\">GPUs used of 3</span>",
        "<i style=\"width:25.0%\"></i><u style=\"left:calc(100.0% - 2px)\">",
        "<i class=\"over\" style=\"width:25.0%\"></i><u style=\"left:calc(20.0% - 2px)\">",
        "<s style=\"width:100.0%\"></s>",
        "1024 MiB memory, 1 vcores, 2 GPUs",
        ">0: <a href=\"/cluster/app/application_1_0001\"",
        ">container_1_0001_01_000002</a>",
        ">1: dirty, pid &lt;7&gt;<",
        ">2: free<",
        // The root counts what is below it.
        "title=\"root\">root</td>",
        "href=\"http://gpu-1:8042\"",
    ] {
        assert!(page.contains(wanted), "{wanted}\n{page}");
    }
    assert_eq!(
        page.matches("<td>1 running, 0 waiting</td>").count(),
        2,
        "{page}"
    );
    for markup in ["<script", "H100 <b>", "/<rack>"] {
        assert!(!page.contains(markup), "{markup}\n{page}");
    }
}

#[test]
fn a_queue_has_a_bar_for_each_partition_with_what_is_reserved() {
    let mut view = made();
    let mut lab = (*view.queues[1]).clone();
    lab.counters.containers_preempted = 3;
    let mut gpu = lab.partitions[0].clone();
    gpu.label = "<gpu>".into();
    gpu.usage.abs_max_capacity = 0.75;
    gpu.usage.reserved = Resource::new(512, 1);
    lab.partitions.push(gpu);
    view.queues[1] = Arc::new(lab);
    let mut page = String::new();
    queues(&mut page, &view, &types());
    for wanted in [
        ">in &lt;gpu&gt;</td>",
        "<s style=\"width:75.0%\"></s>",
        "<i class=\"kept\" style=\"left:12.5%;width:12.5%\"></i>",
        "reserved: 512 MiB memory, 1 vcores<",
        "<td>3 containers</td>",
    ] {
        assert!(page.contains(wanted), "{wanted}\n{page}");
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let (view, context) = (made(), crate::rpc::test_context());
    let who = Who {
        user: "alice".into(),
        groups: Vec::new(),
    };
    let page = render(&view, &context, &Sight::of(&context, &view, &who));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    for other in ["<script", "src=", "@import", "url("] {
        assert!(!page.contains(other), "{other}");
    }
}
