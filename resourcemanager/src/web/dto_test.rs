//! Bodies, letter by letter.
//! May touch: made-up records.
//! Must not: need a server.

use yarn_web::Format;

use super::*;
use crate::web::overview::tests::types;

async fn text(answer: actix_web::HttpResponse) -> String {
    let bytes = actix_web::body::to_bytes(answer.into_body()).await;
    String::from_utf8(bytes.unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn a_vector_names_every_type_in_units_of_the_wire() {
    // Part of a device is shown as the whole that it takes.
    let info = ResourceInfo::of(Resource::new(1024, 2).with(2, 1500), &types());
    assert_eq!(
        text(Format::Json.bare("resource", &info)).await,
        r#"{"memory":1024,"vCores":2,"resourceInformations":{"resourceInformation":[{"maximumAllocation":9223372036854775807,"minimumAllocation":0,"name":"memory-mb","resourceType":"COUNTABLE","units":"Mi","value":1024},{"maximumAllocation":9223372036854775807,"minimumAllocation":0,"name":"vcores","resourceType":"COUNTABLE","units":"","value":2},{"maximumAllocation":9223372036854775807,"minimumAllocation":0,"name":"yarn.io/gpu","resourceType":"COUNTABLE","units":"","value":2}]}}"#
    );
    let xml = text(Format::Xml.ok("resource", &info)).await;
    assert!(
        xml.ends_with(
            "<resourceInformation><maximumAllocation>9223372036854775807</maximumAllocation>\
             <minimumAllocation>0</minimumAllocation><name>yarn.io/gpu</name>\
             <resourceType>COUNTABLE</resourceType><units/><value>2</value>\
             </resourceInformation></resourceInformations></resource>"
        ),
        "{xml}"
    );
}

#[tokio::test]
async fn an_attempt_has_hadoops_names() {
    let attempts = AppAttempts {
        app_attempt: vec![AppAttempt {
            id: 1,
            start_time: 5,
            finished_time: 0,
            container_id: "container_1_0001_01_000001".to_owned(),
            node_http_address: "n:8042".to_owned(),
            node_id: "n:8041".to_owned(),
            logs_link: "http://n:8042/x".to_owned(),
            blacklisted_nodes: String::new(),
            nodes_blacklisted_by_system: Some(String::new()),
            app_attempt_id: "appattempt_1_0001_000001".to_owned(),
            export_ports: "null",
            app_attempt_state: "RUNNING",
        }],
    };
    assert_eq!(
        text(Format::Json.ok("appAttempts", &attempts)).await,
        r#"{"appAttempts":{"appAttempt":[{"id":1,"startTime":5,"finishedTime":0,"containerId":"container_1_0001_01_000001","nodeHttpAddress":"n:8042","nodeId":"n:8041","logsLink":"http://n:8042/x","blacklistedNodes":"","nodesBlacklistedBySystem":"","appAttemptId":"appattempt_1_0001_000001","exportPorts":"null","appAttemptState":"RUNNING"}]}}"#
    );
}

#[test]
fn a_state_is_read_from_both_formats() {
    let xml = "<appstate><state>KILLED</state></appstate>";
    let read: AppState = quick_xml::de::from_str(xml).unwrap();
    assert_eq!(read.state.as_deref(), Some("KILLED"));
    let read: AppState = serde_json::from_str(r#"{"state":"KILLED","other":1}"#).unwrap();
    assert_eq!(read.state.as_deref(), Some("KILLED"));
}
