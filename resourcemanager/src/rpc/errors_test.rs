//! The table of exception classes is complete and says what stock says.
//! May touch: the table; a context without a daemon for other tests.
//! Must not: open sockets.

use std::collections::BTreeSet;

use hadoop_ipc::token::KeyRingOptions;
use rm_core::{Reject, RejectKind};
use yarn_conf::{Calculator, Configuration};

use super::*;
use crate::{auth::AuthOptions, boot::Unchanging, settings::RackMapping};

/// A context whose driver nobody serves.
pub(crate) fn test_context() -> Context {
    let ring = KeyRingOptions {
        roll_interval_ms: 86_400_000,
        activation_delay_ms: 900_000,
    };
    let options = AuthOptions {
        amrm: ring,
        nm: ring,
        container: ring,
        container_expiry_ms: 600_000,
        rm_identifier: 1,
        security: false,
    };
    let types = ResourceTypes::memory_and_vcores();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    Context {
        driver: Driver::default(),
        auth: Arc::new(Auth::new(options, types.clone())),
        submissions: Arc::default(),
        replays: Arc::default(),
        acls: Arc::default(),
        tag_placement: TagPlacement::default(),
        topology: Topology::new(RackMapping::None),
        reload: Arc::new(Unchanging(Configuration::of([]))),
        spellings: Arc::new(Spellings::new(&types)),
        types,
        calculator: Calculator::Default,
        web_url: "http://rm:8088".to_owned(),
        proxy_url: "http://rm:8088".to_owned(),
        log_aggregation: false,
        cluster_id: None,
        node_labels: None,
        heartbeat_interval_ms: 1000,
        runtime: runtime.handle().clone(),
    }
}

#[test]
fn every_kind_of_refusal_has_a_class_of_its_own() {
    let classes: BTreeSet<&str> = RejectKind::ALL
        .iter()
        .map(|kind| errors::class(*kind))
        .collect();
    assert_eq!(classes.len(), RejectKind::ALL.len());
    let known = [
        "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException",
        "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException",
        "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException",
        "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException",
        "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException",
        "org.apache.hadoop.security.AccessControlException",
    ];
    for class in known {
        assert!(classes.contains(class), "{class}");
    }
    // Stock clients would try again for a quarter of an hour.
    assert!(!classes.contains("java.io.IOException"));
}

#[test]
fn a_refusal_keeps_its_words_and_a_busy_rm_asks_for_patience() {
    let e = errors::reject(Reject::new(RejectKind::Yarn, "Hadoop's words"));
    assert_eq!(
        e.to_string(),
        "org.apache.hadoop.yarn.exceptions.YarnException: Hadoop's words"
    );
    assert_eq!(
        errors::busy().class,
        "org.apache.hadoop.ipc.RetriableException"
    );
}

#[test]
fn the_client_protocol_names_every_method_of_hadoop_once() {
    let names: BTreeSet<&str> = client::METHODS.iter().map(|m| m.name).collect();
    assert_eq!(names.len(), client::METHODS.len());
    assert_eq!(names.len(), 35);
}
