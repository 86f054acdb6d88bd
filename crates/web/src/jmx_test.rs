//! Names and values of MBeans.
//! May touch: made-up beans.
//! Must not: need a server.

use super::*;

#[test]
fn a_pattern_means_what_java_means_by_it() {
    let name = "Hadoop:service=ResourceManager,name=QueueMetrics,q0=root,q1=gpu";
    for (pattern, wanted) in [
        ("*:*", true),
        ("Hadoop:*", true),
        ("java.lang:*", false),
        ("Hadoop:service=ResourceManager,name=QueueMetrics,*", true),
        (
            "Hadoop:name=QueueMetrics,service=ResourceManager,q1=gpu,q0=root",
            true,
        ),
        ("Hadoop:service=ResourceManager,name=QueueMetrics", false),
        ("Hadoop:service=*,name=Queue*rics,q0=root,q1=*", true),
        (
            "Hadoop:service=ResourceManager,name=ClusterMetrics,*",
            false,
        ),
        ("nonsense", false),
    ] {
        assert_eq!(matches(pattern, name), wanted, "{pattern}");
    }
}

fn asked(qry: Option<&str>, get: Option<&str>) -> JmxQuery {
    JmxQuery {
        qry: qry.map(str::to_owned),
        get: get.map(str::to_owned),
    }
}

async fn shown(query: JmxQuery) -> (u16, serde_json::Value) {
    let attributes = vec![("Count".to_owned(), 3.into())];
    let answer = answer(vec![Bean::new("NodeManager", "Made", attributes)], &query);
    let status = answer.status().as_u16();
    let bytes = actix_web::body::to_bytes(answer.into_body()).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test]
async fn a_bean_carries_hadoops_tags() {
    let (status, all) = shown(asked(None, None)).await;
    assert_eq!(status, 200);
    let bean = &all["beans"][0];
    assert_eq!(bean["name"], "Hadoop:service=NodeManager,name=Made");
    assert_eq!(bean["modelerType"], "Made");
    assert_eq!(bean["tag.Context"], "yarn");
    assert!(bean["tag.Hostname"].is_string(), "{bean}");
    assert_eq!(bean["Count"], 3);
}

#[tokio::test]
async fn what_cannot_be_had_is_told_in_the_body() {
    let (status, body) = shown(asked(None, Some("nonsense"))).await;
    assert_eq!((status, &body["result"]), (200, &"ERROR".into()));
    let get = "Hadoop:service=NodeManager,name=Made::Count";
    let (_, body) = shown(asked(None, Some(get))).await;
    assert_eq!(body["beans"][0]["Count"], 3);
    assert!(body["beans"][0].get("tag.Context").is_none(), "{body}");
    let (_, body) = shown(asked(Some("no:such=bean"), None)).await;
    assert_eq!(body["beans"], serde_json::json!([]));
}
