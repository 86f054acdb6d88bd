//! Submissions: placed by rules, queues made for them, refusals in Hadoop's words.
//! May touch: the scheduler.
//! Must not: parse rules in detail (the tests of `placement` do).

use std::{collections::BTreeMap, sync::Arc};

use yarn_types::{ApplicationId, Millis, ResourceTypes};

use super::*;
use crate::{conf::Calculator, sched::AppIdx};

const ID: ApplicationId = ApplicationId {
    cluster_timestamp: 1,
    id: 1,
};

fn conf(keys: &[(&str, &str)]) -> SchedConf {
    let own = [
        ("yarn.scheduler.capacity.root.queues", "users,a,b"),
        ("yarn.scheduler.capacity.root.users.capacity", "1w"),
        ("yarn.scheduler.capacity.root.a.capacity", "1w"),
        ("yarn.scheduler.capacity.root.a.queues", "x"),
        ("yarn.scheduler.capacity.root.a.x.capacity", "1w"),
        ("yarn.scheduler.capacity.root.b.capacity", "1w"),
        ("yarn.scheduler.capacity.root.b.queues", "x"),
        ("yarn.scheduler.capacity.root.b.x.capacity", "1w"),
        (
            "yarn.scheduler.capacity.root.users.auto-queue-creation-v2.enabled",
            "true",
        ),
    ];
    let all: BTreeMap<String, String> = own
        .iter()
        .chain(keys)
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    SchedConf::from_lookup(
        &all,
        ResourceTypes::memory_and_vcores(),
        Calculator::Default,
    )
    .expect("a configuration that can be used")
}

fn rules(mappings: &str) -> Sched {
    let key = crate::placement::QUEUE_MAPPINGS;
    Sched::new(conf(&[(key, mappings)]))
}

fn submitted(queue: &str) -> Submitted {
    Submitted {
        id: ID,
        queue: queue.to_owned(),
        user: Arc::from("alice"),
        priority: None,
    }
}

fn context<'a>(user: &'a str, groups: &'a [String], queue: &'a str) -> PlacementContext<'a> {
    PlacementContext {
        user,
        groups,
        app_name: "job",
        queue,
        recovery: false,
    }
}

#[test]
fn a_rule_places_and_the_queue_is_made_when_the_application_comes() {
    let mut sched = rules("u:%user:root.users.%user");
    let placed = sched
        .place_application(&context("alice", &[], "default"))
        .unwrap()
        .expect("a rule places it");
    assert_eq!(placed.queue, "root.users.alice");
    assert_eq!(
        sched.queue_allows(QueueAcl::SubmitApplications, &placed.queue, nobody()),
        None
    );
    let app = submitted(&placed.queue);
    sched.ready_queue(Millis(7), &app, true).unwrap();
    sched.submit(AppIdx(0), &app).unwrap();
    assert_eq!(
        sched.queue_of(AppIdx(0)).as_deref(),
        Some("root.users.alice")
    );
    let idx = sched.tree.by_path("root.users.alice").unwrap();
    assert_eq!(sched.tree.get(idx).used_at, Millis(7));
    // a later submission keeps it in use
    sched.ready_queue(Millis(9), &app, true).unwrap();
    assert_eq!(sched.tree.get(idx).used_at, Millis(9));
}

fn nobody() -> Caller<'static> {
    Caller {
        user: "nobody",
        groups: &[],
    }
}

#[test]
fn a_queue_that_the_client_names_stands_unless_rules_override() {
    let sched = rules("u:%user:root.users.%user");
    let named = context("alice", &[], "root.a.x");
    assert_eq!(sched.place_application(&named).unwrap(), None);
    let sched = Sched::new(conf(&[
        (crate::placement::QUEUE_MAPPINGS, "u:%user:root.users.%user"),
        (crate::placement::OVERRIDE, "true"),
    ]));
    let placed = sched.place_application(&named).unwrap().unwrap();
    assert_eq!(placed.queue, "root.users.alice");
}

#[test]
fn a_queue_that_cannot_be_made_becomes_the_diagnostics() {
    let mut sched = rules("");
    let app = submitted("root.a.new");
    let e = sched.ready_queue(Millis(0), &app, true).unwrap_err();
    assert_eq!(
        e.message,
        "Application application_1_0001 submission by user : alice to  queue : root.a.new failed : Auto creation of queue root.a.new is not enabled under parent root.a"
    );
    // without a rule it is simply unknown
    sched.ready_queue(Millis(0), &app, false).unwrap();
    let e = sched.submit(AppIdx(0), &app).unwrap_err();
    assert_eq!(
        e.message,
        "Application application_1_0001 submitted by user alice to unknown queue: root.a.new"
    );
    let e = sched.submit(AppIdx(0), &submitted("x")).unwrap_err();
    assert_eq!(
        e.message,
        "Application application_1_0001 submitted by user alice to ambiguous queue: x please use full queue path instead."
    );
}

#[test]
fn wrong_rules_are_refused_at_start_and_at_a_refresh_which_changes_nothing() {
    let wrong = conf(&[(crate::placement::QUEUE_MAPPINGS, "u:alice:root.none")]);
    assert_eq!(Sched::placement_problems(&wrong).len(), 1);
    let mut sched = rules("u:%user:root.users.%user");
    let before = sched.clone();
    let e = sched.reload(wrong).unwrap_err();
    assert!(
        e.message.starts_with("Failed to re-init queues : "),
        "{}",
        e.message
    );
    assert!(sched == before);
}

#[test]
fn submit_lists_count_up_the_tree_and_for_queues_to_be_made() {
    let sched = Sched::new(conf(&[
        ("yarn.scheduler.capacity.root.acl_submit_applications", " "),
        ("yarn.scheduler.capacity.root.acl_administer_queue", " "),
        (
            "yarn.scheduler.capacity.root.users.acl_submit_applications",
            "alice staff",
        ),
    ]));
    let staff = ["staff".to_owned()];
    let caller = |user, groups| Caller { user, groups };
    assert!(sched.may_submit("root.users.new", true, caller("alice", &[])));
    assert!(sched.may_submit("root.users.new", true, caller("carol", &staff)));
    assert!(!sched.may_submit("root.users.new", true, caller("bob", &[])));
    assert!(!sched.may_submit("root.a.x", false, caller("alice", &[])));
    assert!(
        sched.may_submit("root.none", false, caller("bob", &[])),
        "unknown later"
    );
}

#[test]
fn priorities_are_limited_by_the_queues_list() {
    let sched = Sched::new(conf(&[
        ("yarn.cluster.max-application-priority", "10"),
        (
            "yarn.scheduler.capacity.root.a.x.acl_application_max_priority",
            "[user=alice max_priority=4 default_priority=2]",
        ),
    ]));
    let alice = Caller {
        user: "alice",
        groups: &[],
    };
    let checked = |asked| sched.checked_priority(ID, "root.a.x", asked, Some(alice));
    assert_eq!(checked(None), Ok(2));
    assert_eq!(checked(Some(4)), Ok(4));
    assert_eq!(
        checked(Some(5)).unwrap_err().message,
        "org.apache.hadoop.security.AccessControlException: User alice (auth:SIMPLE) does not have permission to submit/update application_1_0001 for {Priority: 5}"
    );
    assert_eq!(
        sched.checked_priority(ID, "root.a.x", Some(50), None),
        Ok(10)
    );
}

#[test]
fn a_workflow_gives_its_applications_a_priority() {
    let sched = Sched::new(conf(&[
        (crate::placement::WORKFLOW_OVERRIDE, "true"),
        (crate::placement::WORKFLOW_MAPPINGS, "nightly:root.a:3"),
    ]));
    let tags = ["workflowid:nightly".to_owned()];
    assert_eq!(sched.workflow_priority("root.a.x", &tags), Some(3));
    assert_eq!(sched.workflow_priority("root.b.x", &tags), None);
}

#[test]
fn a_refusal_by_a_rule_sends_the_reader_to_the_log_and_says_there_which_and_why() {
    let json = |rules: &str| {
        Sched::new(conf(&[
            (crate::placement::FORMAT, "json"),
            (crate::placement::JSON, rules),
        ]))
    };
    let refused = |sched: &Sched| {
        let placed = sched.place_application(&context("alice", &[], "default"));
        let refused = placed.unwrap_err();
        assert_eq!(refused.message, REJECTED);
        refused.detail.unwrap()
    };
    let policy = r#"{"rules":[{"type":"user","matches":"alice","policy":"reject"}]}"#;
    assert_eq!(
        refused(&json(policy)),
        "refused by mapping rule for user alice: reject: by its policy"
    );
    let missing = r#"{"rules":[{"type":"user","matches":"*","policy":"custom",
        "customPlacement":"root.a.%user","create":false,"fallbackResult":"reject"}]}"#;
    let why = refused(&json(missing));
    assert!(
        why.starts_with("refused by mapping rule for all: place in root.a.%user"),
        "{why}"
    );
    assert!(why.contains("no queue exists with name 'alice'"), "{why}");
}
