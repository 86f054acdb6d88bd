//! Placement as `CSMappingPlacementRule` does it.
//! May touch: `placement`.
//! Must not: repeat what the case files show.

use super::*;
use std::collections::BTreeMap;

fn tree() -> QueueNames {
    let mut names = QueueNames::default();
    for parent in ["root", "root.users", "root.x", "root.y"] {
        names.insert(parent, QueueKind::Parent { dynamic: false });
    }
    names.insert("root.dyn", QueueKind::Parent { dynamic: true });
    names.insert("root.man", QueueKind::Managed);
    for leaf in [
        "root.default",
        "root.users.alice",
        "root.x.dup",
        "root.y.dup",
    ] {
        names.insert(leaf, QueueKind::Leaf);
    }
    names
}

fn app<'a>(user: &'a str, groups: &'a [String], queue: &'a str) -> PlacementContext<'a> {
    PlacementContext {
        user,
        groups,
        app_name: "job",
        queue,
        recovery: false,
    }
}

fn legacy(mappings: &str, override_queue: bool) -> Result<Rules, Vec<Problem>> {
    let raw = RawRules {
        queue_mappings: Some(mappings.to_owned()),
        override_queue,
        ..RawRules::default()
    };
    Rules::parse(&raw, &tree())
}

fn json(rules: &str) -> Result<Rules, Vec<Problem>> {
    let raw = RawRules {
        format: Some("json".to_owned()),
        json: Some(rules.to_owned()),
        ..RawRules::default()
    };
    Rules::parse(&raw, &tree())
}

fn message<T: std::fmt::Debug>(result: Result<T, Vec<Problem>>) -> String {
    result.unwrap_err()[0].message.clone()
}

#[test]
fn the_queue_that_the_client_named_stands_unless_overridden() {
    let place = |override_queue, queue| {
        let rules = legacy("u:%user:root.users.%user", override_queue).unwrap();
        let placed = rules.place(&app("alice", &[], queue), &tree()).unwrap();
        placed.map(|p| p.queue)
    };
    let users = Some("root.users.alice".to_owned());
    assert_eq!(place(false, "root.x.dup"), None);
    assert_eq!(place(false, "default"), users);
    assert_eq!(
        place(false, "root.default"),
        None,
        "the full path counts as named"
    );
    assert_eq!(place(true, "root.x.dup"), users);
}

#[test]
fn two_missing_levels_are_created_below_a_dynamic_parent() {
    let rules = legacy("u:%user:root.dyn.%primary_group.%user", false).unwrap();
    let groups = ["a.b".to_owned()];
    let placed = rules.place(&app("c.d", &groups, "default"), &tree());
    let placed = placed.unwrap().unwrap();
    assert_eq!(placed.queue, "root.dyn.a_dot_b.c_dot_d");
    assert!(placed.create);
    // not below a v1 parent
    let rules = legacy("u:%user:root.man.%primary_group.%user", false).unwrap();
    let placed = rules
        .place(&app("c", &groups, "default"), &tree())
        .unwrap()
        .unwrap();
    assert_eq!(placed.queue, "root.default");
}

#[test]
fn matching_takes_the_users_own_name() {
    let rules = legacy("u:c.d:root.users.alice", false).unwrap();
    let placed = rules.place(&app("c.d", &[], "default"), &tree()).unwrap();
    assert_eq!(placed.unwrap().queue, "root.users.alice");
    let rules = legacy("g:a.b:root.users.alice", false).unwrap();
    let groups = ["x".to_owned(), "a.b".to_owned()];
    let placed = rules.place(&app("z", &groups, "default"), &tree()).unwrap();
    assert_eq!(placed.unwrap().queue, "root.users.alice");
}

#[test]
fn names_of_applications_come_after_users_and_groups() {
    let raw = RawRules {
        queue_mappings: Some("u:bob:root.users.alice".to_owned()),
        app_name_mappings: Some("job:root.x.dup".to_owned()),
        ..RawRules::default()
    };
    let rules = Rules::parse(&raw, &tree()).unwrap();
    let queue_of = |user| {
        let placed = rules.place(&app(user, &[], "default"), &tree()).unwrap();
        placed.unwrap().queue
    };
    assert_eq!(queue_of("bob"), "root.users.alice");
    assert_eq!(queue_of("eve"), "root.x.dup");
}

#[test]
fn malformed_settings_have_hadoops_texts() {
    for (mappings, text) in [
        ("u:a", "Illegal queue mapping u:a"),
        ("u::root.default", "Illegal queue mapping u::root.default"),
        ("x:a:root.default", "unknown mapping prefix x"),
        (
            "u:a:nowhere",
            "Path root 'nowhere' does not exist. Path 'nowhere' is invalid",
        ),
        (
            "u:a:dup",
            "Path root 'dup' is ambiguous. Path 'dup' is invalid",
        ),
        (
            "u:a:root.users.x",
            "Mapping rule specified a parent queue 'root.users', but it is not a dynamic parent \
             queue, and no queue exists with name 'x' under it.",
        ),
        (
            "u:a:root.users",
            "Target queue 'root.users' but it's not a leaf queue.",
        ),
        (
            "u:a:root.default.%user",
            "Queue path 'root.default.%user' is invalid because 'root.default' is a leaf queue, \
             which can have no other queues under it.",
        ),
        (
            "u:a:root.no.no2.%user",
            "No eligible parent found on path 'root.no.no2.%user'.",
        ),
        (
            "u:a:root..%user",
            "Path segment cannot be empty 'root..%user'.",
        ),
    ] {
        assert_eq!(message(legacy(mappings, false)), text, "{mappings}");
    }
    let raw = RawRules {
        format: Some("xml".to_owned()),
        placement_rules: Some("user-group,user-group".to_owned()),
        ..RawRules::default()
    };
    let problems = Rules::parse(&raw, &tree()).unwrap_err();
    let texts: Vec<_> = problems.iter().map(|p| p.message.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Invalid PlacementRule inputs which contains duplicate rule strings",
            "Illegal queue mapping format 'xml' please use 'legacy' or 'json'"
        ]
    );
}

#[test]
fn json_policies_name_their_queues() {
    let rules = json(
        r#"{"rules":[
        {"type":"user","matches":"*","policy":"setDefaultQueue","value":"root.users.alice"},
        {"type":"user","matches":"a","policy":"primaryGroupUser","parentQueue":"root.dyn"},
        {"type":"group","matches":"g","policy":"custom","customPlacement":"root.dyn.%application",
         "create":false,"fallbackResult":"reject"},
        {"type":"application","matches":"job","policy":"specified","fallbackResult":"placeDefault"}
        ],"more":1}"#,
    )
    .unwrap();
    let groups = ["g".to_owned()];
    let queue_of = |user, groups: &[String]| {
        let placed = rules.place(&app(user, groups, "default"), &tree());
        placed.map(|p| p.unwrap().queue)
    };
    assert_eq!(queue_of("a", &groups).unwrap(), "root.dyn.g.a");
    assert_eq!(
        queue_of("b", &groups).unwrap_err().reason,
        "refused by mapping rule for group g: place in root.dyn.%application: Mapping rule \
         doesn't allow auto-creation of the queue 'root.dyn.job'."
    );
    assert_eq!(queue_of("b", &[]).unwrap(), "root.users.alice");
}

#[test]
fn malformed_json_rules_have_hadoops_texts() {
    let one = |rule: &str| message(json(&format!("{{\"rules\":[{rule}]}}")));
    assert_eq!(
        one(r#"{"type":"user","matches":"a"}"#),
        "Rule policy is undefined"
    );
    assert_eq!(
        one(r#"{"policy":"user","matches":"a"}"#),
        "Rule type is undefined"
    );
    assert_eq!(
        one(r#"{"policy":"user","type":"user"}"#),
        "Match string is undefined"
    );
    assert_eq!(
        one(r#"{"policy":"user","type":"user","matches":""}"#),
        "Match string is empty"
    );
    assert_eq!(
        one(r#"{"policy":"user","type":"group","matches":"*"}"#),
        "Cannot match '*' for groups"
    );
    assert_eq!(
        one(r#"{"policy":"custom","type":"user","matches":"*"}"#),
        "custom queue is undefined"
    );
    assert_eq!(
        one(r#"{"policy":"setDefaultQueue","type":"user","matches":"*"}"#),
        "default queue is undefined"
    );
    assert!(one(r#"{"policy":"?","type":"user","matches":"*"}"#).starts_with("policy ?"));
}

#[test]
fn a_recovered_application_stays_unless_rules_confirm_its_queue() {
    let rules = legacy("u:%user:root.users.%user", false).unwrap();
    let place = |queue| {
        let mut app = app("alice", &[], queue);
        app.recovery = true;
        rules.place(&app, &tree()).unwrap().map(|p| p.queue)
    };
    assert_eq!(place("alice"), Some("root.users.alice".to_owned()));
    assert_eq!(place("root.x.dup"), None);
}

#[test]
fn tags_of_believed_submitters_name_the_user() {
    let conf = |enable: &str| {
        BTreeMap::from([
            (tag::TAG_PLACEMENT.to_owned(), enable.to_owned()),
            (tag::TAG_WHITELIST.to_owned(), "hive,spark".to_owned()),
        ])
    };
    let on = TagPlacement::read(&conf("true"));
    assert_eq!(
        on.user("hive", ["x", "userid=a=b", "userid=bob"]),
        Some("bob")
    );
    assert_eq!(on.user("eve", ["userid=bob"]), None);
    let off = TagPlacement::read(&conf("false"));
    assert_eq!(off.user("hive", ["userid=bob"]), None);
}

#[test]
fn workflows_have_the_priority_of_the_nearest_queue() {
    let conf = |mappings: &str| {
        BTreeMap::from([
            (workflow::WORKFLOW_MAPPINGS.to_owned(), mappings.to_owned()),
            (workflow::WORKFLOW_OVERRIDE.to_owned(), "true".to_owned()),
        ])
    };
    let parsed = WorkflowPriorities::parse(&conf("W1:root.a:2, w1:root.a.b:5")).unwrap();
    let tags = ["other", "workflowid:w1"];
    assert_eq!(parsed.priority("root.a.b", tags), Some(5));
    assert_eq!(parsed.priority("root.a.c", tags), Some(2));
    assert_eq!(parsed.priority("root.z", tags), None);
    assert_eq!(parsed.priority("root.a", ["workflowid:"]), None);
    let texts = ["w1:root.a", "w1:root.a:high"]
        .map(|m| WorkflowPriorities::parse(&conf(m)).unwrap_err().message);
    assert_eq!(
        texts,
        [
            "Illegal workflow priority mapping w1:root.a",
            "Illegal workflow priority for mapping w1:root.a:high"
        ]
    );
}
