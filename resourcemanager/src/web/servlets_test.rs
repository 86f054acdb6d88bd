//! Beans of queues: names and numbers as monitoring reads them.
//! May touch: a made-up view.
//! Must not: need a server.

use std::sync::Arc;

use rm_core::view::Counters;
use serde_json::json;

use super::*;
use crate::web::overview::tests::{made, types};

fn shown(view: &View, name: &str) -> Value {
    let query = format!("qry=Hadoop:service=ResourceManager,name={name}");
    let query = Query::<JmxQuery>::from_query(&query).unwrap();
    let answer = jmx_answer(beans(view, &types()), &query);
    let body = actix_web::body::MessageBody::try_into_bytes(answer.into_body());
    let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap();
    body["beans"][0].clone()
}

#[test]
fn reserved_amounts_and_preemption_are_counted_by_queue_and_partition() {
    let mut view = made();
    let mut lab = (*view.queues[1]).clone();
    lab.counts.allocated = 2;
    lab.counts.reserved = 1;
    lab.counters = Counters {
        apps_submitted: 7,
        containers_preempted: 2,
        preempted: Resource::new(2048, 2),
        preempted_millis: Resource::new(2_048_000, 2000).with(2, 3_000_000),
        ..Counters::default()
    };
    let usage = &mut lab.partitions[0].usage;
    usage.reserved = Resource::new(512, 1).with(2, 1000);
    usage.available = Resource::new(3072, 4);
    let mut gpu = lab.partitions[0].clone();
    gpu.label = "gpu".into();
    gpu.usage.pending = Resource::new(64, 1);
    lab.partitions.push(gpu);
    view.queues[1] = Arc::new(lab);
    let lab = shown(&view, "QueueMetrics,q0=root,q1=lab");
    for (name, value) in [
        ("tag.Queue", json!("root.lab")),
        ("AllocatedContainers", json!(2)),
        ("ReservedContainers", json!(1)),
        ("AllocatedMB", json!(512)),
        ("AllocatedResource.yarn.io/gpu", json!(1)),
        ("ReservedMB", json!(512)),
        ("ReservedResource.yarn.io/gpu", json!(1)),
        ("AvailableMB", json!(3072)),
        ("AppsSubmitted", json!(7)),
        ("AggregateContainersPreempted", json!(2)),
        ("AggregateMemoryMBPreempted", json!(2048)),
        ("AggregateMemoryMBSecondsPreempted", json!(2048)),
        ("AggregatePreemptedSeconds.yarn.io/gpu", json!(3)),
    ] {
        assert_eq!(lab[name], value, "{name}");
    }
    let gpu = shown(&view, "PartitionQueueMetrics,partition=gpu,q0=root,q1=lab");
    assert_eq!(
        (&gpu["tag.Partition"], &gpu["PendingMB"]),
        (&json!("gpu"), &json!(64))
    );
    let default = shown(&view, "PartitionQueueMetrics,partition=default,q0=root");
    assert_eq!(default["tag.Queue"], "root");
    assert_eq!(shown(&view, "QueueMetrics,q0=root")["AMResourceLimitMB"], 0);
}
