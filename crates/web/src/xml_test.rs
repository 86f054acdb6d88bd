//! Bodies as XML, letter by letter.
//! May touch: made-up bodies.
//! Must not: need a server.

use super::*;

fn written(body: &impl Serialize) -> String {
    let text = document("x", body).unwrap();
    text.strip_prefix(HEAD).unwrap().to_owned()
}

#[derive(Serialize)]
struct Numbers {
    whole: i64,
    share: f32,
    third: f32,
    negative: f32,
    on: bool,
    none: Option<i64>,
    empty: &'static str,
    list: Vec<u32>,
    holder: Empty,
}

#[derive(Serialize)]
struct Empty {}

#[test]
fn numbers_are_javas_and_nothing_is_left_out() {
    let body = Numbers {
        whole: i64::MAX,
        share: 100.0,
        third: 33.333_336,
        negative: -1.0,
        on: true,
        none: None,
        empty: "",
        list: vec![1, 2],
        holder: Empty {},
    };
    assert_eq!(
        written(&body),
        "<x><whole>9223372036854775807</whole><share>100.0</share><third>33.333336</third>\
         <negative>-1.0</negative><on>true</on><empty/><list>1</list><list>2</list><holder/></x>"
    );
}

#[test]
fn text_cannot_become_markup() {
    assert_eq!(
        written(&"a<b>&\u{1}\r\n\u{ffff}]]>"),
        "<x>a&lt;b&gt;&amp;\u{fffd}&#13;\n\u{fffd}]]&gt;</x>"
    );
    let named = std::collections::BTreeMap::from([("type", "capacityScheduler<")]);
    assert_eq!(written(&named), "<x><type>capacityScheduler&lt;</type></x>");
}
