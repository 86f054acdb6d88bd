//! Bodies, letter by letter.
//! May touch: made-up records.
//! Must not: need a server.

use yarn_web::Format;

use super::*;

async fn text(answer: actix_web::HttpResponse) -> String {
    let bytes = actix_web::body::to_bytes(answer.into_body()).await;
    String::from_utf8(bytes.unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn a_container_has_hadoops_names() {
    let container = ContainerInfo {
        id: "container_1_0001_01_000001".to_owned(),
        state: "RUNNING",
        exit_code: -1000,
        diagnostics: "a & b".to_owned(),
        user: "alice".to_owned(),
        memory_mb: 1024,
        vcores: 1,
        execution_type: "GUARANTEED",
        container_logs_link: "http://n:8042/x".to_owned(),
        node_id: "n:8041".to_owned(),
        container_log_files: Some(vec!["stderr".to_owned(), "stdout".to_owned()]),
        cgroups: Vec::new(),
    };
    let list = Containers {
        container: vec![container],
    };
    assert_eq!(
        text(Format::Json.ok("containers", &list)).await,
        r#"{"containers":{"container":[{"id":"container_1_0001_01_000001","state":"RUNNING","exitCode":-1000,"diagnostics":"a & b","user":"alice","totalMemoryNeededMB":1024,"totalVCoresNeeded":1,"executionType":"GUARANTEED","containerLogsLink":"http://n:8042/x","nodeId":"n:8041","containerLogFiles":["stderr","stdout"]}]}}"#
    );
    let xml = text(Format::Xml.ok("containers", &list)).await;
    assert!(
        xml.contains("<containers><container><id>container_1_0001_01_000001</id>")
            && xml.contains("<diagnostics>a &amp; b</diagnostics>")
            && xml.contains(
                "<containerLogFiles>stderr</containerLogFiles><containerLogFiles>stdout</containerLogFiles>"
            ),
        "{xml}"
    );
}

#[tokio::test]
async fn applications_and_logs_have_hadoops_names() {
    let apps = Apps {
        app: vec![AppInfo {
            id: "application_1_0001".to_owned(),
            state: "RUNNING",
            user: "alice".to_owned(),
            containerids: vec!["container_1_0001_01_000001".to_owned()],
        }],
    };
    assert_eq!(
        text(Format::Json.ok("apps", &apps)).await,
        r#"{"apps":{"app":[{"id":"application_1_0001","state":"RUNNING","user":"alice","containerids":["container_1_0001_01_000001"]}]}}"#
    );
    let logs = ContainerLogsList {
        container_logs_info: ContainerLogs {
            container_log_info: vec![ContainerLogFile {
                file_name: "stderr".to_owned(),
                file_size: "14".to_owned(),
                last_modified_time: "Thu Jan 01 00:00:00 +0000 1970".to_owned(),
            }],
            log_aggregation_type: "LOCAL",
            container_id: "container_1_0001_01_000001".to_owned(),
            node_id: "n:8041".to_owned(),
        },
    };
    assert_eq!(
        text(Format::Json.bare("containerLogsInfoes", &logs)).await,
        r#"{"containerLogsInfo":{"containerLogInfo":[{"fileName":"stderr","fileSize":"14","lastModifiedTime":"Thu Jan 01 00:00:00 +0000 1970"}],"logAggregationType":"LOCAL","containerId":"container_1_0001_01_000001","nodeId":"n:8041"}}"#
    );
}
