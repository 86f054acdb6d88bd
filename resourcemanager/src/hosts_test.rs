//! Host files as Hadoop reads them.
//! May touch: temporary files.
//! Must not: know the daemon.

use super::*;

#[test]
fn words_count_and_comments_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("exclude");
    std::fs::write(
        &file,
        "a.example  b.example\n# all of this\nc # and this\n\n",
    )
    .unwrap();
    let lists = read(None, Some(&file)).unwrap();
    assert!(lists.include.is_empty());
    let hosts: Vec<&str> = lists.exclude.iter().map(|h| &**h).collect();
    assert_eq!(hosts, ["a.example", "b.example", "c"]);
}

#[test]
fn a_missing_list_is_named_with_its_key() {
    let text = read(Some(Path::new("/nowhere/include")), None)
        .unwrap_err()
        .to_string();
    assert!(text.contains("/nowhere/include"), "{text}");
    assert!(
        text.contains("yarn.resourcemanager.nodes.include-path"),
        "{text}"
    );
}

fn exclude_xml(text: &str) -> Result<HostLists, String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("exclude.XML");
    std::fs::write(&file, text).unwrap();
    read(None, Some(&file)).map_err(|e| e.to_string())
}

#[test]
fn an_xml_list_gives_hosts_their_own_time_to_go() {
    let lists = exclude_xml(
        "<?xml version=\"1.0\"?>\n<hosts>\n<!-- two racks -->\n<host><name>a</name></host>\n\
         <host><name>b, c</name><timeout>123</timeout></host>\n\
         <host><timeout> -1 </timeout><name><![CDATA[d]]></name></host><other><name>e</name></other></hosts>",
    )
    .unwrap();
    let hosts: Vec<&str> = lists.exclude.iter().map(|h| &**h).collect();
    assert_eq!(hosts, ["a", "b", "c", "d"]);
    let timeouts: Vec<(&str, i32)> = lists.timeouts_s.iter().map(|(h, s)| (&**h, *s)).collect();
    assert_eq!(timeouts, [("b", 123), ("c", 123), ("d", -1)]);
}

#[test]
fn a_broken_xml_list_is_refused_with_its_line() {
    for (text, words) in [
        (
            "<hosts>\n<host><name>a</name>",
            "line 2: an element is not closed",
        ),
        (
            "<hosts>\n<host><name>a</name><timeout>soon</timeout></host></hosts>",
            "line 2: <timeout> 'soon', want seconds, or -1 for none",
        ),
        (
            "<!DOCTYPE hosts [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><hosts/>",
            "a DOCTYPE is not taken",
        ),
        ("<hosts>&e;</hosts>", "the entity &e; is not known"),
        ("", "there is no element"),
    ] {
        let error = exclude_xml(text).unwrap_err();
        assert!(error.contains(words), "{error}");
        assert!(
            error.contains("yarn.resourcemanager.nodes.exclude-path"),
            "{error}"
        );
    }
}
