//! Tests of the XML reader beyond the probe files: limits, entities, includes, arbitrary bytes.
//! May touch: a temporary directory.
//! Must not: expect anything of Hadoop that was not seen there.

use std::path::Path;

use proptest::prelude::*;

use super::{Loader, Property};

fn read(text: &str) -> Result<Vec<Property>, String> {
    Loader::default()
        .document(Path::new("test.xml"), text.as_bytes())
        .map_err(|e| e.to_string())
}

fn pairs(text: &str) -> Vec<(String, Option<String>)> {
    let properties = read(text).unwrap();
    properties.into_iter().map(|p| (p.name, p.value)).collect()
}

fn error(text: &str) -> String {
    read(text).expect_err(text)
}

#[test]
fn an_entity_may_hold_properties() {
    let text = "<!DOCTYPE c [<!ENTITY p \"<property><name>k</name><value>1</value></property>\">]>\n<c>&p;</c>";
    assert_eq!(pairs(text), [("k".to_owned(), Some("1".to_owned()))]);
}

#[test]
fn an_entity_stands_in_attributes_and_in_other_entities() {
    let text = "<!DOCTYPE c [<!ENTITY a 'x&#38;b;'><!ENTITY b \"y\">]><c><property name='k' value='&a;\n&lt;'/></c>";
    assert_eq!(pairs(text), [("k".to_owned(), Some("xy <".to_owned()))]);
}

#[test]
fn entities_cannot_blow_up() {
    let mut dtd = String::from("<!ENTITY l0 \"ha ha ha ha ha ha ha ha\">");
    for i in 1..12 {
        let inner = format!("&l{};", i - 1).repeat(10);
        dtd = format!("{dtd}<!ENTITY l{i} \"{inner}\">");
    }
    let text =
        format!("<!DOCTYPE c [{dtd}]><c><property name='k'><value>&l11;</value></property></c>");
    assert!(error(&text).contains("expand to more than"));
    let again = text
        .replace("<value>&l11;</value>", "")
        .replace("name='k'", "name='&l11;'");
    assert!(error(&again).contains("expand to more than"));
}

#[test]
fn the_declaration_names_a_version_that_there_is() {
    for (declaration, taken) in [
        ("version=\"1.0\"", true),
        ("version='1.1' encoding='UTF-8'", true),
        ("version='1.2'", false),
        ("version='2.0'", false),
        ("encoding='UTF-8'", false),
    ] {
        let text = format!("<?xml {declaration}?><c/>");
        assert_eq!(read(&text).is_ok(), taken, "{text}");
    }
}

#[test]
fn utf_16_without_its_mark_is_known_by_its_declaration_alone() {
    let be = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16();
        units.flat_map(u16::to_be_bytes).collect()
    };
    let read = |bytes: &[u8]| Loader::default().document(Path::new("test.xml"), bytes);
    let with = be("<?xml version='1.0' encoding='UTF-16BE'?><c><property name='k' value='é'/></c>");
    let found = read(&with).unwrap();
    assert_eq!(found[0].value.as_deref(), Some("é"));
    assert!(read(&be("<c/>")).is_err());
}

#[test]
fn an_entity_that_holds_itself_is_refused() {
    let text = "<!DOCTYPE c [<!ENTITY a '&b;'><!ENTITY b '&a;'>]><c>&a;</c>";
    assert!(error(text).contains("holds itself"));
}

#[test]
fn nothing_external_is_read() {
    for doctype in [
        "<!DOCTYPE c SYSTEM 'c.dtd'>",
        "<!DOCTYPE c PUBLIC '-//x' 'http://example.org/c.dtd'>",
        "<!DOCTYPE c [<!ENTITY e PUBLIC '-//x' 'file:///etc/passwd'>]>",
        "<!DOCTYPE c [<!ENTITY % p SYSTEM 'file:///etc/passwd'> %p;]>",
    ] {
        error(&format!("{doctype}<c/>"));
    }
}

#[test]
fn depth_is_bounded_with_the_line() {
    let text = format!("{}\n<a>{}", "<a>".repeat(256), "</a>".repeat(257));
    let error = error(&text);
    assert!(
        error.starts_with("test.xml:2: ") && error.contains("deeper"),
        "{error}"
    );
}

#[test]
fn lines_are_those_of_the_property() {
    let text = "<c>\r\n<property><name>a</name><value>1\r\n2</value></property>\r\n\r\n<property name='b' value='1'/></c>";
    let found: Vec<_> = read(text)
        .unwrap()
        .into_iter()
        .map(|p| (p.name, p.origin.line, p.value))
        .collect();
    assert_eq!(
        found,
        [
            ("a".to_owned(), 2, Some("1\n2".to_owned())),
            ("b".to_owned(), 5, Some("1".to_owned()))
        ]
    );
}

#[test]
fn faults_that_woodstox_sees_are_seen() {
    for text in [
        "<c><property></c>",
        "<c/><c/>",
        "<c/><![CDATA[x]]>",
        "x<c/>",
        "<c>a]]>b</c>",
        "<c a='1' a='2'/>",
        "<c a='<'/>",
        "<c a='&nope;'/>",
        "<1c/>",
        "<c><!-- a -- b --></c>",
        "<c><?XML x?></c>",
        "<c/><!DOCTYPE c>",
        "<xi:include xmlns:x='u'><xi:fallback/></xi:include>",
        "<c x:a='1'/>",
        "<c><d xmlns:x='u'/><x:e/></c>",
        "<c>\u{1}</c>",
        "<c>&#0;</c>",
        "<?xml version='1.0' encoding='EBCDIC'?><c/>",
    ] {
        assert!(error(text).starts_with("test.xml:1: "), "{text}");
    }
}

#[test]
fn a_name_may_be_broken_over_lines() {
    let text = "<c><property><name>\n  yarn.x\n</name><value>1</value></property></c>";
    assert_eq!(pairs(text), [("yarn.x".to_owned(), Some("1".to_owned()))]);
}

#[test]
fn includes_are_found_counted_and_named_in_errors() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let include = |href: &str| {
        format!("<c xmlns:xi='http://www.w3.org/2001/XInclude'>\n<xi:include href='{href}'/></c>")
    };
    write("bad.xml", "<c>\n\n&nope;</c>");
    write("one.xml", &include("bad.xml"));
    let load = |name: &str| Loader::default().file(&dir.path().join(name));
    let error = load("one.xml").unwrap_err().to_string();
    assert!(error.contains("bad.xml:3: Undeclared"), "{error}");
    assert!(
        error.contains("(included by ") && error.contains("one.xml:2)"),
        "{error}"
    );

    write("a.xml", &include("b.xml"));
    write("b.xml", &include("a.xml"));
    let error = load("a.xml").unwrap_err().to_string();
    assert!(error.contains("b.xml:2: includes 'a.xml'"), "{error}");

    write("url.xml", &include("http://example.org/x.xml"));
    let error = load("url.xml").unwrap_err().to_string();
    assert!(error.contains("only local files"), "{error}");

    write("k.xml", "<c><property name='k' value='v'/></c>");
    write(
        "uri.xml",
        &include(&format!("file://{}", dir.path().join("k.xml").display())),
    );
    assert_eq!(load("uri.xml").unwrap()[0].name, "k");

    write(
        "f1.xml",
        "<c xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include href='k.xml'><xi:fallback><property name='fb' value='v'/></xi:fallback></xi:include><property name='after' value='v'/></c>",
    );
    let names: Vec<_> = load("f1.xml")
        .unwrap()
        .into_iter()
        .map(|p| p.name)
        .collect();
    assert_eq!(names, ["k", "after"]);
}

#[test]
fn a_tree_of_includes_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    for level in 0..15 {
        let next = format!("<i href='{}.xml'/>", level + 1).replace("<i ", "<include ");
        let text = format!("<c>{}</c>", next.repeat(4));
        std::fs::write(dir.path().join(format!("{level}.xml")), text).unwrap();
    }
    std::fs::write(dir.path().join("15.xml"), "<c/>").unwrap();
    let error = Loader::default()
        .file(&dir.path().join("0.xml"))
        .unwrap_err();
    assert!(
        error.to_string().contains("includes in one load"),
        "{error}"
    );
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let error = Loader::default().file(dir.path()).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
}

fn markup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<property>".to_owned()),
        Just("</property>".to_owned()),
        Just("<name>k</name>".to_owned()),
        Just("<value>v</value>".to_owned()),
        Just("<final>true</final>".to_owned()),
        Just("<include href='test.xml'/>".to_owned()),
        Just("<include href='é/none.xml'><fallback/></include>".to_owned()),
        Just("<!DOCTYPE c [<!ENTITY e \"&#60;a/>\">]>".to_owned()),
        Just("&e;".to_owned()),
        Just("<![CDATA[".to_owned()),
        Just("]]>".to_owned()),
        Just("<!--".to_owned()),
        Just("-->".to_owned()),
        Just("<?xml version='1.1'?>".to_owned()),
        Just("<c a='&e;' b:c=\"".to_owned()),
        "[a-zé<>&;#x0-9 \"'/!?\\[\\]%-]{0,12}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        let _ = Loader::default().document(Path::new("test.xml"), &bytes);
    }

    #[test]
    fn almost_xml_never_panics(text in markup(), wrap in any::<bool>()) {
        let text = if wrap { format!("<c>{text}</c>") } else { text };
        let _ = Loader::default().document(Path::new("test.xml"), text.as_bytes());
    }

    #[test]
    fn what_is_written_is_read(name in "[a-z][a-z.-]{0,20}", value in "[ -~é\n]{1,40}") {
        let escaped = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let text = format!("<configuration><property><name>{name}</name><value>{escaped}</value></property></configuration>");
        prop_assert_eq!(pairs(&text), [(name, Some(value))]);
    }
}
