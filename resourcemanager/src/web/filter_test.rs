//! Which applications a query shows, and which queries are refused.
//! May touch: made-up reports.
//! Must not: need a server.

use yarn_types::Resource;

use super::*;

fn pairs(query: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
    query.iter().map(own).collect()
}

fn read(query: &[(&str, &str)]) -> Result<Filter, BadQuery> {
    Filter::read(&pairs(query))
}

fn app() -> AppReport {
    AppReport {
        acls: std::sync::Arc::default(),
        id: "application_1_0001".parse().unwrap(),
        user: "alice".into(),
        queue: "root.lab.gpu".to_owned(),
        name: "train".to_owned(),
        application_type: "SPARK".to_owned(),
        tags: vec!["nightly".to_owned()],
        state: ApplicationState::Finished,
        final_status: FinalStatus::Succeeded,
        diagnostics: String::new(),
        current_attempt: None,
        host: "N/A".to_owned(),
        rpc_port: -1,
        original_tracking_url: String::new(),
        progress: 1.0,
        submitted_wall_ms: 1000,
        started_wall_ms: 1000,
        launched_wall_ms: 1500,
        finished_wall_ms: 2000,
        granted: true,
        priority: 0,
        unmanaged: false,
        label: None,
        am_label: None,
        am_resource: Resource::ZERO,
        used: Resource::ZERO,
        used_containers: 0,
        pending: Resource::ZERO,
        pending_containers: 0,
        queue_usage_percent: 0.0,
        cluster_usage_percent: 0.0,
        resource_seconds: Resource::ZERO,
        preempted_containers: 0,
        preempted_masters: 0,
        preempted: Resource::ZERO,
        preempted_seconds: Resource::ZERO,
        expires_wall_ms: None,
        reserved: Resource::ZERO,
        reserved_containers: 0,
        partitions: Vec::new(),
    }
}

#[test]
fn every_parameter_narrows() {
    for (key, yes, no) in [
        ("states", "running, finished", "RUNNING"),
        ("state", "FINISHED", "killed"),
        ("finalStatus", "SUCCEEDED", "FAILED"),
        ("user", "alice", "Alice"),
        ("name", "train", "Train"),
        ("applicationTypes", "tez,spark", "TEZ"),
        ("applicationTags", "x,NIGHTLY", "night"),
        ("startedTimeBegin", "1000", "1001"),
        ("startedTimeEnd", "1000", "999"),
        ("finishedTimeBegin", "2000", "2001"),
        ("finishedTimeEnd", "2000", "1999"),
        ("user", "", "bob"),
        ("unheardOf", "1", ""),
    ] {
        assert!(
            read(&[(key, yes)]).unwrap().shows(&app(), None),
            "{key}={yes}"
        );
        if key != "unheardOf" {
            assert!(
                !read(&[(key, no)]).unwrap().shows(&app(), None),
                "{key}={no}"
            );
        }
    }
    let filter = Filter::default();
    assert!(filter.shows(&app(), Some("root.lab")) && filter.shows(&app(), Some("root.lab.gpu")));
    assert!(!filter.shows(&app(), Some("root.la")));
}

#[test]
fn states_of_several_parameters_add_up() {
    let filter = read(&[("states", "running"), ("states", "finished")]).unwrap();
    assert!(filter.shows(&app(), None));
}

#[test]
fn what_hadoop_refuses_is_refused_in_its_words() {
    let states = "[NEW, NEW_SAVING, SUBMITTED, ACCEPTED, RUNNING, FINISHED, FAILED, KILLED]";
    let state = format!("Invalid application-state dead specified. It should be one of {states}");
    for (query, text) in [
        (("limit", "0"), "limit value must be greater then 0"),
        (("limit", "x"), "limit value must be a number!"),
        (
            ("startedTimeBegin", "-1"),
            "startedTimeBegin must be greater than 0",
        ),
        (
            ("finishedTimeEnd", "-1"),
            "finishTimeEnd must be greater than 0",
        ),
        (("states", "dead"), &state),
    ] {
        assert_eq!(read(&[query]), Err(BadQuery::BadRequest(text.to_owned())));
    }
    assert_eq!(
        read(&[("startedTimeBegin", "2"), ("startedTimeEnd", "1")]),
        Err(BadQuery::BadRequest(
            "startedTimeEnd must be greater than startTimeBegin".to_owned()
        ))
    );
    assert_eq!(
        read(&[("finalStatus", "GOOD")]),
        Err(BadQuery::IllegalArgument(
            "No enum constant org.apache.hadoop.yarn.api.records.FinalApplicationStatus.GOOD"
                .to_owned()
        ))
    );
    let none = std::iter::empty::<&QueueReport>();
    assert_eq!(
        read(&[("queue", "root.x")]).unwrap().queue_path(none),
        Err(BadQuery::BadRequest("Unknown queue: root.x".to_owned()))
    );
}
