//! Node labels over real sockets.
//! May touch: the daemon and its fake partners, temporary files.
//! Must not: sleep, or know the driver.

use hadoop_ipc::client::{CallError, Client};
use prost::Message;
use yarn_proto::{
    convert::resource_proto,
    server::{
        NodeHeartbeatResponseProto, NodeLabelsProto, RegisterNodeManagerRequestProto,
        RegisterNodeManagerResponseProto,
    },
    yarn::{
        AddToClusterNodeLabelsRequestProto, AddToClusterNodeLabelsResponseProto,
        AllocateRequestProto, AllocateResponseProto, GetClusterNodeLabelsRequestProto,
        GetClusterNodeLabelsResponseProto, GetClusterNodesRequestProto,
        GetClusterNodesResponseProto, GetLabelsToNodesRequestProto, GetLabelsToNodesResponseProto,
        GetNodesToLabelsRequestProto, GetNodesToLabelsResponseProto, NodeIdProto, NodeLabelProto,
        RegisterApplicationMasterRequestProto, RegisterApplicationMasterResponseProto,
        RemoveFromClusterNodeLabelsRequestProto, RemoveFromClusterNodeLabelsResponseProto,
        ReplaceLabelsOnNodeRequestProto, ReplaceLabelsOnNodeResponseProto,
    },
};
use yarn_types::{NodeId, Resource};

use crate::{
    fake::{self, ADMIN, Node, Rm, TRACKER, types},
    labels,
};

type Pairs<'a> = &'a [(&'static str, &'static str)];

/// A ResourceManager with labels, and an administrator.
async fn labelled(dir: &std::path::Path, more: Pairs<'_>) -> (Rm, Client) {
    let dir: &'static str = dir.to_str().unwrap().to_owned().leak();
    let mut pairs = vec![
        ("yarn.node-labels.enabled", "true"),
        ("yarn.node-labels.fs-store.root-dir", dir),
        ("yarn.scheduler.capacity.root.accessible-node-labels", "*"),
        (
            "yarn.scheduler.capacity.root.accessible-node-labels.x.capacity",
            "100",
        ),
        (
            "yarn.scheduler.capacity.root.gpu.accessible-node-labels",
            "x",
        ),
        (
            "yarn.scheduler.capacity.root.gpu.accessible-node-labels.x.capacity",
            "100",
        ),
        (
            "yarn.scheduler.capacity.root.default.accessible-node-labels",
            "",
        ),
    ];
    pairs.extend_from_slice(more);
    let rm = Rm::start(&pairs);
    let admin = rm.connect("rm.admin", ADMIN, "yarn").await;
    (rm, admin)
}

async fn add(admin: &Client, all: &[(&str, bool)]) -> Result<(), CallError> {
    let all: labels::Labels = all.iter().map(|(n, e)| ((*n).into(), *e)).collect();
    let request = labels::to_add_proto(&all);
    let answer: Result<AddToClusterNodeLabelsResponseProto, _> =
        admin.call("addToClusterNodeLabels", &request).await;
    answer.map(|_| ())
}

async fn remove(admin: &Client, names: &[&str]) -> Result<(), CallError> {
    let request = RemoveFromClusterNodeLabelsRequestProto {
        node_labels: names.iter().map(ToString::to_string).collect(),
        ..Default::default()
    };
    let answer: Result<RemoveFromClusterNodeLabelsResponseProto, _> =
        admin.call("removeFromClusterNodeLabels", &request).await;
    answer.map(|_| ())
}

fn mapped(to: &[(&NodeIdProto, &str)], known_only: bool) -> ReplaceLabelsOnNodeRequestProto {
    let entry = |(id, label): &(&NodeIdProto, &str)| {
        let id = yarn_proto::convert::node_id(id).unwrap();
        labels::mapping_proto(&id, label)
    };
    ReplaceLabelsOnNodeRequestProto {
        node_to_labels: to.iter().map(entry).collect(),
        fail_on_unknown_nodes: Some(known_only),
        ..Default::default()
    }
}

async fn replace(
    admin: &Client,
    request: &ReplaceLabelsOnNodeRequestProto,
) -> Result<(), CallError> {
    let answer: Result<ReplaceLabelsOnNodeResponseProto, _> =
        admin.call("replaceLabelsOnNodes", request).await;
    answer.map(|_| ())
}

async fn cluster_labels(rm: &Rm) -> Vec<(String, bool)> {
    let client = rm.client("alice").await;
    let answer: GetClusterNodeLabelsResponseProto = client
        .call("getClusterNodeLabels", &GetClusterNodeLabelsRequestProto {})
        .await
        .unwrap();
    let names: Vec<&str> = answer
        .node_labels
        .iter()
        .map(NodeLabelProto::name)
        .collect();
    assert_eq!(answer.deprecated_node_labels, names);
    let all = answer.node_labels.iter();
    all.map(|l| (l.name().to_owned(), l.is_exclusive()))
        .collect()
}

async fn node_to_labels(rm: &Rm) -> Vec<(i32, Vec<String>)> {
    let client = rm.client("alice").await;
    let answer: GetNodesToLabelsResponseProto = client
        .call("getNodeToLabels", &GetNodesToLabelsRequestProto {})
        .await
        .unwrap();
    let all = answer.node_to_labels.into_iter();
    all.map(|e| (e.node_id.unwrap().port(), e.node_labels))
        .collect()
}

async fn labels_of_nodes(rm: &Rm) -> Vec<Vec<String>> {
    let client = rm.client("alice").await;
    let answer: GetClusterNodesResponseProto = client
        .call("getClusterNodes", &GetClusterNodesRequestProto::default())
        .await
        .unwrap();
    let all = answer.node_reports.into_iter();
    all.map(|n| n.node_labels).collect()
}

fn host_of(node: &Node) -> NodeIdProto {
    NodeIdProto {
        port: Some(0),
        ..node.id.clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_outlast_the_resource_manager() {
    let dir = tempfile::tempdir().unwrap();
    let (rm, admin) = labelled(dir.path(), &[]).await;
    add(&admin, &[(" x ", true), ("y", false)]).await.unwrap();
    // Again, as they are, changes nothing.
    add(&admin, &[("x", true)]).await.unwrap();
    assert_eq!(
        cluster_labels(&rm).await,
        [("x".to_owned(), true), ("y".to_owned(), false)]
    );
    let node = Node::register(&rm, Resource::new(8192, 8)).await;
    let other = Node::register(&rm, Resource::new(8192, 8)).await;
    let request = mapped(&[(&host_of(&node), "y"), (&other.id, "x")], true);
    replace(&admin, &request).await.unwrap();
    assert_eq!(labels_of_nodes(&rm).await, [["y"], ["x"]]);
    let y = vec!["y".to_owned()];
    let x = vec!["x".to_owned()];
    let mut wanted = vec![
        (0, y.clone()),
        (node.id.port(), y.clone()),
        (other.id.port(), x.clone()),
    ];
    wanted.sort();
    assert_eq!(node_to_labels(&rm).await, wanted);
    let client = rm.client("alice").await;
    let request = GetLabelsToNodesRequestProto {
        node_labels: vec!["x".to_owned()],
    };
    let answer: GetLabelsToNodesResponseProto =
        client.call("getLabelsToNodes", &request).await.unwrap();
    let [entry] = &answer.labels_to_nodes[..] else {
        panic!("{answer:?}")
    };
    assert_eq!(entry.node_labels(), "x");
    assert_eq!(entry.node_id, std::slice::from_ref(&other.id));
    rm.0.stop().await;

    let (rm, admin) = labelled(dir.path(), &[]).await;
    assert_eq!(
        cluster_labels(&rm).await,
        [("x".to_owned(), true), ("y".to_owned(), false)]
    );
    // What a host was given holds without its nodes, and so does what a node was.
    assert_eq!(node_to_labels(&rm).await, [(0, y), (other.id.port(), x)]);
    remove(&admin, &["y"]).await.unwrap();
    assert_eq!(cluster_labels(&rm).await, [("x".to_owned(), true)]);
    rm.0.stop().await;
    let (rm, _) = labelled(dir.path(), &[]).await;
    assert_eq!(cluster_labels(&rm).await, [("x".to_owned(), true)]);
    rm.0.stop().await;
}

/// The text of a refusal, which must be one that clients do not try again.
fn refused(answer: Result<(), CallError>) -> String {
    let text = answer.unwrap_err().to_string();
    let class = "org.apache.hadoop.yarn.exceptions.YarnException";
    let (before, words) = text.split_once("java.io.IOException: ").unwrap();
    assert!(before.contains(class), "{text}");
    words.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_in_hadoops_words_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (rm, admin) = labelled(dir.path(), &[]).await;
    let node = Node::register(&rm, Resource::new(8192, 8)).await;
    let host = node.id.host();
    add(&admin, &[("x", true)]).await.unwrap();
    assert_eq!(
        refused(add(&admin, &[("z", true), ("x", false)]).await),
        "Exclusivity cannot be modified for an existing label with : <x:exclusivity=false>"
    );
    assert_eq!(
        refused(add(&admin, &[("z", true), ("-x", true)]).await),
        "label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= -x"
    );
    assert_eq!(
        refused(remove(&admin, &["x"]).await),
        "Cannot remove label=x, because queue=root.gpu is using this label. Please remove label on queue before remove the label"
    );
    assert_eq!(
        refused(remove(&admin, &["q"]).await),
        "Node label=q to be removed doesn't existed in cluster node labels collection."
    );
    let request = mapped(&[(&node.id, "x"), (&host_of(&node), "q")], false);
    assert_eq!(
        refused(replace(&admin, &request).await),
        "Not all labels being replaced contained by known label collections, please check, new labels=[q]"
    );
    let mut request = mapped(&[(&node.id, "x")], false);
    request.node_to_labels[0].node_labels.push("y".to_owned());
    assert_eq!(
        refused(replace(&admin, &request).await),
        format!(
            "2 labels specified on host={host}, please note that we do not support specifying multiple labels on a single host for now."
        )
    );
    let stranger = NodeIdProto {
        host: Some("nowhere".to_owned()),
        port: Some(1),
    };
    let request = mapped(&[(&node.id, "x"), (&stranger, "x")], true);
    assert_eq!(
        refused(replace(&admin, &request).await),
        "Failed to replace labels as there are unknown nodes:[nowhere:1]"
    );
    assert_eq!(cluster_labels(&rm).await, [("x".to_owned(), true)]);
    assert_eq!(node_to_labels(&rm).await, []);
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_that_are_not_enabled_are_refused() {
    let rm = Rm::start(&[]);
    let admin = rm.connect("rm.admin", ADMIN, "yarn").await;
    let node = Node::register(&rm, Resource::new(8192, 8)).await;
    let disabled = "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled";
    assert_eq!(refused(add(&admin, &[("x", true)]).await), disabled);
    assert_eq!(refused(remove(&admin, &["x"]).await), disabled);
    let request = mapped(&[(&node.id, "x")], false);
    assert_eq!(refused(replace(&admin, &request).await), disabled);
    assert_eq!(cluster_labels(&rm).await, []);
    rm.0.stop().await;
}

fn saying(name: &str) -> NodeLabelsProto {
    NodeLabelsProto {
        node_labels: vec![labels::label_proto(name, true)],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn distributed_labels_are_the_nodes_own() {
    let dir = tempfile::tempdir().unwrap();
    let kind = ("yarn.node-labels.configuration-type", "distributed");
    let (rm, admin) = labelled(dir.path(), &[kind]).await;
    add(&admin, &[("x", true)]).await.unwrap();
    let mut node = Node::register(&rm, Resource::new(8192, 8)).await;
    assert!(!node.registered.are_node_labels_accepted_by_rm());
    let mut beat = node.beat(vec![]);
    beat.node_labels = Some(saying("x"));
    let answer: NodeHeartbeatResponseProto =
        node.tracker.call("nodeHeartbeat", &beat).await.unwrap();
    assert!(answer.are_node_labels_accepted_by_rm());
    node.response_id = answer.response_id();
    assert_eq!(labels_of_nodes(&rm).await, [["x"]]);
    let mut beat = node.beat(vec![]);
    beat.node_labels = Some(saying("q"));
    let answer: NodeHeartbeatResponseProto =
        node.tracker.call("nodeHeartbeat", &beat).await.unwrap();
    assert!(!answer.are_node_labels_accepted_by_rm());
    let id = yarn_proto::convert::node_id(&node.id).unwrap();
    assert_eq!(
        answer.diagnostics_message(),
        format!(
            "Node Labels {{q}} reported from NM with ID {id} was rejected from RM with exception message as : Not all labels being replaced contained by known label collections, please check, new labels=[q]"
        )
    );
    assert_eq!(labels_of_nodes(&rm).await, [["x"]]);
    let request = mapped(&[(&node.id, "")], false);
    assert_eq!(
        refused(replace(&admin, &request).await),
        "Error when invoke method=replaceLabelsOnNode because centralized node label configuration is not enabled."
    );
    rm.0.stop().await;
    // The names are kept; whose they are the nodes say again.
    let (rm, _) = labelled(dir.path(), &[kind]).await;
    assert_eq!(cluster_labels(&rm).await, [("x".to_owned(), true)]);
    assert_eq!(node_to_labels(&rm).await, []);
    let tracker = rm.connect("rm.tracker", TRACKER, "yarn").await;
    let request = RegisterNodeManagerRequestProto {
        node_id: Some(node.id.clone()),
        http_port: Some(8042),
        resource: Some(resource_proto(Resource::new(8192, 8), &types())),
        nm_version: Some("3.5.0".to_owned()),
        node_labels: Some(saying("x")),
        ..Default::default()
    };
    let answer: RegisterNodeManagerResponseProto =
        tracker.call("registerNodeManager", &request).await.unwrap();
    assert!(answer.are_node_labels_accepted_by_rm());
    assert_eq!(labels_of_nodes(&rm).await, [["x"]]);
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn centralized_labels_are_not_the_nodes_to_say() {
    let dir = tempfile::tempdir().unwrap();
    let (rm, admin) = labelled(dir.path(), &[]).await;
    add(&admin, &[("x", true)]).await.unwrap();
    let node = Node::register(&rm, Resource::new(8192, 8)).await;
    let mut beat = node.beat(vec![]);
    beat.node_labels = Some(saying("x"));
    let answer: NodeHeartbeatResponseProto =
        node.tracker.call("nodeHeartbeat", &beat).await.unwrap();
    assert!(!answer.are_node_labels_accepted_by_rm());
    assert_eq!(answer.diagnostics_message, None);
    assert_eq!(labels_of_nodes(&rm).await, [Vec::<String>::new()]);
    rm.0.stop().await;
}

/// One ask with a label and lines for a host and its rack: the label says which nodes, the lines
/// which of them first.
#[tokio::test(flavor = "multi_thread")]
async fn an_ask_may_have_a_label_and_places() {
    let dir = tempfile::tempdir().unwrap();
    let (rm, admin) = labelled(dir.path(), &[]).await;
    add(&admin, &[("x", true)]).await.unwrap();
    let client = rm.client("alice").await;
    let mut plain = Node::register(&rm, Resource::new(8192, 8)).await;
    let mut with_label = Node::register(&rm, Resource::new(8192, 8)).await;
    let request = mapped(&[(&with_label.id, "x")], true);
    replace(&admin, &request).await.unwrap();
    fake::submit(&client, "gpu").await;
    // Its master asked for no label.
    let (_, token) = plain.next_started().await;
    let am = rm.master(token).await.unwrap();
    let request = RegisterApplicationMasterRequestProto::default();
    let _: RegisterApplicationMasterResponseProto = am
        .call("registerApplicationMaster", &request)
        .await
        .unwrap();
    let mut request = fake::ask(0, 1);
    let any = request.ask[0].clone();
    let host = with_label.id.host().to_owned();
    for place in [host, "/default-rack".to_owned()] {
        request.ask.push(yarn_proto::yarn::ResourceRequestProto {
            resource_name: Some(place),
            ..any.clone()
        });
    }
    for ask in &mut request.ask {
        ask.node_label_expression = Some("x".to_owned());
    }
    let nothing = |response_id| AllocateRequestProto {
        response_id: Some(response_id),
        ..Default::default()
    };
    let mut answer: AllocateResponseProto = am.call("allocate", &request).await.unwrap();
    for _ in 0..100 {
        if !answer.allocated_containers.is_empty() {
            break;
        }
        plain.heartbeat(vec![]).await;
        with_label.heartbeat(vec![]).await;
        let request = nothing(answer.response_id());
        answer = am.call("allocate", &request).await.unwrap();
    }
    let [container] = &answer.allocated_containers[..] else {
        panic!("{answer:?}")
    };
    assert_eq!(container.node_id.as_ref(), Some(&with_label.id));
    // A label that its queue may not use is refused whatever the place.
    let mut request = fake::ask(answer.response_id(), 1);
    request.ask[0].node_label_expression = Some("y".to_owned());
    let refusal = am
        .call::<_, AllocateResponseProto>("allocate", &request)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refusal.contains("InvalidLabelResourceRequestException"),
        "{refusal}"
    );
    rm.0.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hadoop_left_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = Vec::new();
    let entry = |log: &mut Vec<u8>, kind: u32, message: Vec<u8>| {
        log.extend(kind.to_be_bytes());
        log.extend(message);
    };
    let all = [("x".into(), false), ("y".into(), true)];
    let add: AddToClusterNodeLabelsRequestProto = labels::to_add_proto(&all);
    entry(&mut log, 0, add.encode_length_delimited_to_vec());
    let id = NodeId::new("h", 0);
    let replace = ReplaceLabelsOnNodeRequestProto {
        node_to_labels: vec![labels::mapping_proto(&id, "x")],
        ..Default::default()
    };
    entry(&mut log, 1, replace.encode_length_delimited_to_vec());
    std::fs::write(dir.path().join("nodelabel.editlog"), log).unwrap();
    let (rm, _) = labelled(dir.path(), &[]).await;
    assert_eq!(
        cluster_labels(&rm).await,
        [("x".to_owned(), false), ("y".to_owned(), true)]
    );
    assert_eq!(node_to_labels(&rm).await, [(0, vec!["x".to_owned()])]);
    rm.0.stop().await;
}
