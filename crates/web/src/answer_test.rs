//! Which format a caller gets, and what it looks like.
//! May touch: headers, small bodies.
//! Must not: need a server.

use super::*;

#[derive(Serialize)]
struct Apps {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    app: Vec<App>,
}

#[derive(Serialize)]
struct App {
    name: String,
    progress: f32,
}

#[derive(Serialize)]
struct Leaf {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
}

async fn text(answer: HttpResponse) -> String {
    let bytes = actix_web::body::to_bytes(answer.into_body()).await;
    String::from_utf8(bytes.unwrap().to_vec()).unwrap()
}

#[test]
fn the_header_decides_and_json_wins_a_draw() {
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (accept, wanted) in [
        ("*/*", Some(Format::Json)),
        ("application/json", Some(Format::Json)),
        ("application/xml", Some(Format::Xml)),
        ("application/xml, application/json", Some(Format::Json)),
        ("application/json;q=0.1, application/xml", Some(Format::Xml)),
        (browser, Some(Format::Xml)),
        ("text/html", None),
        ("application/xml;q=0", None),
        ("", None),
    ] {
        assert_eq!(Format::of(accept), wanted, "{accept}");
    }
}

#[tokio::test]
async fn lists_repeat_their_element_and_text_is_escaped() {
    let app = |name: &str| App {
        name: name.to_owned(),
        progress: 12.5,
    };
    let apps = Apps {
        app: vec![app("a<b>&\u{1}"), app("c")],
    };
    assert_eq!(
        text(Format::Xml.ok("apps", &apps)).await,
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?><apps><app>\
         <name>a&lt;b&gt;&amp;\u{fffd}</name><progress>12.5</progress></app>\
         <app><name>c</name><progress>12.5</progress></app></apps>"
    );
    assert_eq!(
        text(Format::Json.ok("apps", &apps)).await,
        r#"{"apps":{"app":[{"name":"a<b>&\u0001","progress":12.5},{"name":"c","progress":12.5}]}}"#
    );
    let none = Apps { app: Vec::new() };
    assert_eq!(text(Format::Json.ok("apps", &none)).await, r#"{"apps":{}}"#);
}

#[tokio::test]
async fn a_subtype_is_a_key_or_an_attribute() {
    let leaf = Leaf {
        kind: "capacitySchedulerLeafQueueInfo",
        name: "a",
    };
    let as_xml = text(Format::Xml.ok("queue", &leaf)).await;
    assert!(
        as_xml.ends_with("xsi:type=\"capacitySchedulerLeafQueueInfo\"><name>a</name></queue>"),
        "{as_xml}"
    );
    let as_json = text(Format::Json.ok("queue", &leaf)).await;
    assert!(
        as_json.starts_with(r#"{"queue":{"type":"capacitySchedulerLeafQueueInfo""#),
        "{as_json}"
    );
}

#[tokio::test]
async fn a_refusal_names_the_class_as_hadoop_does() {
    assert_eq!(
        text(Format::Json.not_found("app with id: x not found")).await,
        r#"{"RemoteException":{"exception":"NotFoundException","message":"app with id: x not found","javaClassName":"org.apache.hadoop.yarn.webapp.NotFoundException"}}"#
    );
    let xml = text(Format::Xml.bad_request("limit value must be greater then 0")).await;
    assert!(
        xml.ends_with(
            "<RemoteException><exception>BadRequestException</exception>\
             <message>limit value must be greater then 0</message>\
             <javaClassName>org.apache.hadoop.yarn.webapp.BadRequestException</javaClassName>\
             </RemoteException>"
        ),
        "{xml}"
    );
}
