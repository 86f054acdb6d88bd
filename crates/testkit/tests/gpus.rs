//! GPUs from ask to release: who gets which card, when it is free again, what a lost card ends.
//! May touch: `testkit`.
//! Must not: sleep.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test"
)]

use std::{collections::BTreeSet, sync::Arc};

use rm_core::{Action, Reply, effect::Note, event::NodeRequest, view::GpuReport};
use testkit::{Cluster, gpu_device, resource};
use yarn_types::{
    ContainerId, MILLI,
    gpu::{DeviceChange, GpuDevice, GpuHealth},
};

fn cards(count: u32) -> Vec<GpuDevice> {
    (0..count).map(|n| gpu_device("n1", n)).collect()
}

fn gpus(c: &Cluster) -> Vec<GpuReport> {
    c.rm.nodes()[0].gpus.clone()
}

fn holder_of(c: &Cluster, card: usize) -> ContainerId {
    gpus(c)[card].holder.expect("the card is held")
}

fn offered(c: &Cluster) -> i64 {
    c.rm.nodes()[0].total.0[2]
}

/// UUIDs that the current master's containers have.
fn held(c: &mut Cluster) -> Vec<Arc<str>> {
    let grants = c.master().held.values();
    grants
        .flat_map(|g| g.gpus.iter().map(|d| d.uuid.clone()))
        .collect()
}

#[test]
fn each_container_gets_cards_of_its_own_and_the_rest_waits() {
    let mut c = Cluster::new()
        .gpu_nodes(1, "64gb 64vc", 8)
        .app("a")
        .ask(5, "1gb 1vc 2gpu")
        .run(3);
    let uuids = held(&mut c);
    let distinct: BTreeSet<_> = uuids.iter().collect();
    assert_eq!((uuids.len(), distinct.len()), (8, 8));
    assert_eq!(c.master().outstanding(), 1, "the ninth and tenth card");
    let first = *c.master().held.keys().next().unwrap();
    c.exit(first, 0, "");
    c = c.run(2);
    assert_eq!(held(&mut c).len(), 8);
    assert_eq!(c.master().outstanding(), 0);
    assert_eq!(c.nodes[0].gpu_faults, Vec::<String>::new());
}

#[test]
fn the_list_counts_and_not_what_the_registration_offers() {
    let c = Cluster::new().gpu_nodes(1, "8gb 8vc 3gpu", 8);
    assert_eq!(offered(&c), 8 * MILLI);
    let c = Cluster::new()
        .nodes(1, "8gb 8vc 3gpu")
        .app("a")
        .ask(4, "1gb 1vc 1gpu")
        .run(3);
    assert_eq!(offered(&c), 3 * MILLI, "a stock node is so many alike");
    let mut c = c.expect("n1:3");
    assert_eq!(held(&mut c).len(), 0, "and its tokens name no card");
}

#[test]
fn a_master_can_have_cards_too() {
    let mut c = Cluster::new().gpu_nodes(1, "8gb 8vc", 2);
    let mut submission = c.submission("default");
    submission.am_resource = resource("1gb 1vc 2gpu");
    c.submit("a", submission);
    let am = c.am_container();
    assert_eq!((holder_of(&c, 0), holder_of(&c, 1)), (am, am));
    assert!(c.nodes[0].runs(am));
}

#[test]
fn a_released_card_is_granted_again_only_when_its_node_says_so() {
    let mut c = Cluster::new()
        .gpu_nodes(1, "8gb 8vc", 1)
        .app("a")
        .ask(2, "1gb 1vc 1gpu")
        .run(2);
    let first = holder_of(&c, 0);
    c.master().releases.push(first);
    c.allocate();
    c.allocate();
    assert_eq!(c.placement(), "", "the process may still have the card");
    assert_eq!(holder_of(&c, 0), first);
    c.heartbeat(0);
    c.heartbeat(0);
    c.allocate();
    let second = holder_of(&c, 0);
    assert_ne!(second, first);
    assert!(c.nodes[0].runs(second), "{:?}", c.nodes[0].gpu_faults);
}

#[test]
fn a_card_whose_token_never_left_is_free_at_once() {
    let mut c = Cluster::new().gpu_nodes(1, "8gb 8vc", 1);
    let mut submission = c.submission("default");
    submission.am_resource = resource("1gb 1vc 1gpu");
    c.store_held = true;
    c.submit("a", submission.clone());
    c.store_now();
    let am = holder_of(&c, 0);
    c.client(rm_core::event::ClientRequest::Kill {
        app: submission.app,
        user: "alice".into(),
        peer: String::new(),
        diagnostics: String::new(),
    })
    .unwrap();
    c.store_held = false;
    c.store_now();
    c.store_now();
    assert_eq!(gpus(&c)[0].holder, None, "{am} was never launched");
}

#[test]
fn a_lost_card_ends_its_holder_alone_and_comes_back() {
    let mut c = Cluster::new()
        .gpu_nodes(1, "8gb 8vc", 4)
        .app("a")
        .ask(4, "1gb 1vc 1gpu")
        .run(3);
    let (victim, neighbour) = (holder_of(&c, 2), holder_of(&c, 1));
    let mut bad = cards(4);
    bad[2].health = GpuHealth::Bad("Xid 79".to_owned());
    let gpus = c.nodes[0].gpus.as_mut().unwrap();
    gpus.read(bad);
    c.heartbeat(0);
    assert_eq!(offered(&c), 3 * MILLI);
    let answer = c.allocate();
    let [ended] = &answer.completed[..] else {
        panic!("{answer:?}")
    };
    assert_eq!(ended.container, victim);
    assert_eq!(ended.exit_status, -100);
    assert_eq!(ended.diagnostics, "gpu lost: GPU-n1-2: Xid 79");
    assert!(!c.nodes[0].runs(victim), "its node was told");
    assert!(c.nodes[0].runs(neighbour));
    c = c.ask(1, "1gb 1vc 1gpu").run(3).expect("n1:3");
    c.nodes[0].read_gpus(cards(4));
    c = c.run(3).expect("n1:4");
    assert_eq!(offered(&c), 4 * MILLI);
    assert_eq!(c.nodes[0].gpu_faults, Vec::<String>::new());
    c.nodes[0].read_gpus(cards(3));
    c = c.run(3);
    c.nodes[0].read_gpus(cards(4));
    c = c.run(3);
    let told = |words: &str| {
        let about = |a: &&Action| matches!(a, Action::Note(Note::Text(t)) if t == words);
        c.log.iter().filter(about).count()
    };
    assert_eq!(told("n1:45454: GPU-n1-2 is lost: Xid 79"), 1, "{:?}", c.log);
    assert_eq!(told("n1:45454: GPU-n1-2 can be used"), 1);
    assert_eq!(told("n1:45454: GPU-n1-3 is gone"), 1);
    assert_eq!(told("n1:45454: GPU-n1-3 can be used"), 1);
}

#[test]
fn a_card_that_goes_before_its_container_starts_ends_it_all_the_same() {
    let mut c = Cluster::new()
        .gpu_nodes(1, "8gb 8vc", 1)
        .app("a")
        .ask(1, "1gb 1vc 1gpu");
    c.nodes[0].gpus.as_mut().unwrap().read(Vec::new());
    let granted = c.allocate().grants;
    let [grant] = &granted[..] else {
        panic!("{granted:?}")
    };
    assert_eq!(c.nodes[0].gpu_faults.len(), 1);
    c.heartbeat(0);
    let answer = c.allocate();
    assert_eq!(answer.completed[0].container, grant.container);
    assert_eq!(answer.completed[0].exit_status, -100);
    assert!(answer.completed[0].diagnostics.starts_with("gpu "));
    assert_eq!((offered(&c), gpus(&c).len()), (0, 0));
}

#[test]
fn a_dirty_card_waits_until_it_is_clean() {
    let mut c = Cluster::new().gpu_nodes(1, "8gb 8vc", 1).app("a");
    let uuid = cards(1)[0].uuid.clone();
    let set_dirty = |c: &mut Cluster, why| {
        let gpus = c.nodes[0].gpus.as_mut().unwrap();
        gpus.set_dirty(&uuid, why);
    };
    set_dirty(&mut c, Some("process 7 is left"));
    c = c.run(1).ask(1, "1gb 1vc 1gpu").run(2).expect("");
    assert_eq!(gpus(&c)[0].dirty.as_deref(), Some("process 7 is left"));
    set_dirty(&mut c, None);
    let _ = c.run(2).expect("n1:1");
}

/// A heartbeat that is sent again gets the old answer, but what it says of cards counts.
#[test]
fn a_repeated_heartbeat_still_tells_of_cards() {
    let mut c = Cluster::new().gpu_nodes(1, "8gb 8vc", 2);
    let mut again = c.nodes[0].heartbeat();
    c.heartbeat(0);
    let gone = DeviceChange::Gone(cards(2)[1].uuid.clone());
    let seq = again.gpus.as_ref().map_or(0, |(seq, _)| *seq);
    again.gpus = Some((seq + 1, vec![gone]));
    for _ in 0..2 {
        let reply = c.node(NodeRequest::Heartbeat(Box::new(again.clone())));
        assert_eq!(reply, Reply::HeartbeatAgain);
        assert_eq!(offered(&c), MILLI);
    }
}

/// A ledger that is ahead of its node's numbers is another start's: the node registers again.
#[test]
fn a_node_whose_numbers_do_not_follow_registers_again_and_keeps_its_containers() {
    let mut c = Cluster::new()
        .gpu_nodes(1, "8gb 8vc", 2)
        .app("a")
        .ask(1, "1gb 1vc 1gpu")
        .run(2);
    let mut odd = c.nodes[0].heartbeat();
    odd.gpus = Some((0, Vec::new()));
    let Reply::Heartbeat(reply) = c.node(NodeRequest::Heartbeat(Box::new(odd))) else {
        panic!("not answered")
    };
    assert_eq!(reply.action, rm_core::effect::NodeAction::Resync);
    c.nodes[0].registered = false;
    let _ = c.run(2).expect("n1:1");
}

#[test]
fn a_node_that_was_lost_comes_back_with_higher_grant_numbers() {
    let mut c = Cluster::new()
        .gpu_nodes(1, "8gb 8vc", 1)
        .app("a")
        .ask(1, "1gb 1vc 1gpu")
        .run(2);
    let before = c.master().held.values().next().unwrap().clone();
    let node = c.nodes[0].id.clone();
    c.node(NodeRequest::Unregister { node });
    assert!(gpus(&c).is_empty(), "a node that is gone has no cards");
    c.nodes[0].registered = false;
    c.register(0);
    assert_eq!(
        holder_of(&c, 0),
        before.container,
        "its process may still be there"
    );
    c.heartbeat(0);
    c.heartbeat(0);
    assert_eq!(gpus(&c)[0].holder, None);
    let mut submission = c.submission("default");
    submission.am_resource = resource("1gb 1vc 1gpu");
    c.submit("b", submission);
    let am = c.am_container();
    assert!(c.nodes[0].runs(am), "{:?}", c.nodes[0].gpu_faults);
}
