//! What `/conf` shows and hides.
//! May touch: a made-up configuration.
//! Must not: need a server.

use super::*;

async fn text(answer: HttpResponse) -> String {
    let bytes = actix_web::body::to_bytes(answer.into_body()).await;
    String::from_utf8(bytes.unwrap().to_vec()).unwrap()
}

fn made() -> Configuration {
    Configuration::of([
        ("a.plain", "1 < 2"),
        ("a.client.secret", "hidden1"),
        ("fs.s3a.bucket.x.secret.key", "hidden2"),
        ("My.PassWord.file", "hidden3"),
        ("ssl.server.keystore.keypassword", "hidden4"),
        ("a.reference", "${a.client.secret}"),
    ])
}

#[tokio::test]
async fn secrets_are_in_no_format() {
    for json in [true, false] {
        let all = text(show(&made(), None, json)).await;
        assert!(!all.contains("hidden"), "{all}");
        assert!(all.contains("yarn.resourcemanager.hostname"), "{all}");
    }
    let one = text(show(&made(), Some("a.client.secret"), true)).await;
    assert_eq!(
        one,
        r#"{"property":{"key":"a.client.secret","value":"<redacted>","isFinal":false,"resource":"-D"}}"#
    );
}

#[tokio::test]
async fn one_key_or_none() {
    let one = text(show(&made(), Some("a.plain"), false)).await;
    assert!(
        one.ends_with(
            "<configuration><property><name>a.plain</name><value>1 &lt; 2</value>\
             <final>false</final><source>-D</source></property></configuration>"
        ),
        "{one}"
    );
    let none = show(&made(), Some("no.such.key"), false);
    assert_eq!(none.status(), 404);
}
